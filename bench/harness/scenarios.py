"""What is measured: the scenarios, each with its loads, and which systems take part."""
import dataclasses

from drivers import ON_ZOOKEEPER, OURS, PEERS, SERVICES, SYSTEMS
from outage import Outage

LINGER_MS = 20
POLL_US = 1_000  # between two tries for a lock of Redis, in the mean; its users' libraries wait 100 ms and more

# What a system's driver is told beside the load.
OF_SYSTEM = {"zklock-direct": {"handoff": "127.0.0.1:0"}, "redis": {"poll_us": POLL_US},
             "redis-fsync": {"poll_us": POLL_US}}


@dataclasses.dataclass
class Timed:
    """One result of a measurement: the part that is timed, under the parameters by which it is known."""
    name: str  # in the driver's report
    parameters: dict
    merit: str = "p50"
    one_by_one: bool = False
    fewer_requests: int = 0


@dataclasses.dataclass
class Load:
    """What is asked of the drivers. The systems take turns, round by round."""
    workload: str
    values: dict
    timed: list
    systems: tuple = ON_ZOOKEEPER
    processes: int = 1  # contenders in so many, each with a client of its own
    rounds: int = 3
    peers_every: int = 1  # rounds; then they work as many times longer
    member: int = 0  # through which server; the leader is the first
    ports: tuple = ("",)  # of one server, "tls" or "plain": each system has a turn at each of them
    fresh_process: bool = False
    extra: dict = dataclasses.field(default_factory=dict)  # values for one system only
    until_children: int = None  # wait until the path has no more children than that
    note: object = None  # a function of the result, for what the fields cannot tell
    outage: Outage = None  # that happens meanwhile

    def systems_of(self, number):
        """Who has a turn in this round."""
        everybody = number % self.peers_every == 0
        return [system for system in self.systems if everybody or system not in PEERS + SERVICES]

    def has(self, parameters):
        """All of them, each as NAME=VALUE."""
        return any(set(parameters) <= {f"{name}={value}" for name, value in timed.parameters.items()}
                   for timed in self.timed)

    def values_for(self, system):
        longer = self.peers_every if system in PEERS + SERVICES else 1
        return {name: value * longer if name in ("ms", "paths") and longer > 1 else value
                for name, value in {**self.values, **OF_SYSTEM.get(system, {}), **self.extra.get(system, {})}.items()}


@dataclasses.dataclass
class Scenario:
    name: str
    loads: list
    servers: int = 1
    one_way_us: int = None
    special: str = None  # about its one server: tls (it has a port for that), or outages


ONE_WAY_US = 500
BATCH = 64  # writes in one multi, as zklock gathers them


def scenarios(quick, clients=None):
    """All of them, in the order in which they are run. `clients`: so many are in a fleet."""
    scale = Scale(quick, clients)
    return [
        Scenario("raw", [
            scale.latency(Load("uncontended", {}, [
                Timed("acquire", {"operation": "create"}, one_by_one=True, fewer_requests=1),
                Timed("release", {"operation": "delete"}, one_by_one=True, fewer_requests=1)], ("raw",))),
            scale.latency(Load("children", {}, [
                Timed("children", {"operation": "children"}, one_by_one=True)], ("raw",))),
            scale.latency(Load("handoff", {"sessions": 2, "hold_us": 0}, [
                Timed("handoff", {"operation": "event"}, one_by_one=True, fewer_requests=2)], ("raw",)))]),
        Scenario("uncontended", scale.uncontended(systems=SYSTEMS) + scale.first()),
        Scenario("handoff", [load for sessions in scale.choose([2, 8], [2]) for hold_us in (0, 1000)
                             for load in scale.handoff(sessions, hold_us, systems=SYSTEMS)]
                 + [load for processes in scale.choose([2, 8], [2]) for hold_us in (0, 1000)
                    for load in scale.handoff_apart(processes, hold_us)]),
        Scenario("crowd", [load for waiters in scale.choose([10, 100, 1_000, 10_000, 100_000], [10, 1_000, 100_000])
                           for load in scale.crowd(waiters, systems=SYSTEMS)]
                 + [load for processes, waiters in scale.choose([(2, 2), (8, 8), (8, 64)], [(2, 2)])
                    for load in scale.crowd_apart(processes, waiters)]
                 + [load for processes in scale.choose([2, 8], [2])
                    for load in scale.crowd_apart(processes, processes, {"linger_ms": LINGER_MS})]),
        Scenario("independent", [load for paths in scale.choose([8, 64, 256, 1_000], [8, 256])
                                 for load in scale.independent(paths)] + scale.arrivals(64, 1_000)),
        Scenario("cancel", [scale.cancel(waiters) for waiters in (scale.choose(1_000, 100), 10_000)]),
        Scenario("memory", [scale.memory(waiters) for waiters in (scale.choose(1_000, 100), 100_000)]),
        Scenario("fleet", [scale.fleet(session_ms) for session_ms in scale.choose([10_000, 4_000], [4_000])]),
        Scenario("outage", [scale.outage(*outage) for outage in scale.choose(
            [("restart", 10_000, 5_000), ("restart", 10_000, 15_000), ("stall", 10_000, 6_000)],
            [("restart", 4_000, 2_000), ("stall", 4_000, 2_000)])], special="outages"),
        Scenario("ensemble", [load for member, via in enumerate(("leader", "follower"))
                              for load in scale.several(member, {"servers": 3, "via": via}, ("etcd",))], servers=3),
        Scenario("distance", scale.several(0, {"round_trip_us": 2 * ONE_WAY_US}), one_way_us=ONE_WAY_US),
        Scenario("tls", scale.at_both_ports(scale.uncontended() + scale.handoff(2, 1_000) + scale.crowd(1_000)),
                 special="tls"),
        Scenario("linger", [scale.latency(Load("uncontended", {"linger_ms": 10_000}, [
            Timed(name, {"operation": name, "linger_ms": 10_000}, one_by_one=True, fewer_requests=0)
            for name in ("acquire", "cycle")], ("zklock",)))]),
        Scenario("cohort", [scale.rate(Load("crowd", {"waiters": 1_000, "cohort": 4_096}, [
            Timed("acquire", {"waiters": 1_000, "cohort": 4_096}, "rate")], ("zklock",)))]),
    ]


def cancel_note(result):
    return f"the server showed none after {result.figure('gone_ms'):.0f} ms (rate: completions)"


def memory_note(result):
    heap = f"{result.figure('bytes_per_waiter'):.0f} bytes of heap and " if result.has("bytes_per_waiter") else ""
    return (f"{heap}{result.figure('resident_bytes_per_waiter'):.0f} resident bytes per waiter, "
            f"{result.figure('more_threads'):.0f} more threads; timed is the start of a waiter")


def fleet_note(result):
    if not result.has("servers_processor_us"):
        return ""
    each = sum(r.figures["servers_processor_us"] for r in result.rounds) / result.operations()
    return f"an operation is a second of one client; servers' CPU {each:.3g} us per operation"


def outage_note(result):
    return f"{result.figure('sessions_lost'):.0f} of {result.parameters['clients']} sessions were lost"


def apart_note(result):
    grants = sum(r.figures["grants"] for r in result.rounds)
    share = sum(r.figures["passed_on"] for r in result.rounds) / grants if grants else 0
    return f"{share:.0%} of the grants followed a hold of another process"


def waiting_systems(waiters):
    """Who can have so many waiters that can be cancelled: the peers need a thread for each, the C recipe a session."""
    return ("zklock", "curator", "kazoo") if waiters <= 1_000 else ("zklock",)


class Scale:
    """How often and how long."""

    def __init__(self, quick, clients):
        self.quick = quick
        self.clients = clients

    def choose(self, full, quick):
        return quick if self.quick else full

    def latency(self, load):
        """How the scheduler places a turn's threads decides more than anything else: many short turns, then, for the
        systems whose ratio is narrow."""
        load.peers_every = 4
        load.rounds = self.choose(36, 16)
        load.values["ms"] = self.choose(100, 60)
        return load

    def rate(self, load):
        load.rounds = self.choose(3, 1)
        load.values["ms"] = self.choose(1_000, 500)
        return load

    def cancel(self, waiters):
        return Load("cancel", {"waiters": waiters}, [Timed("cancel", {"waiters": waiters})], waiting_systems(waiters),
                    rounds=self.choose(3, 1), until_children=1, note=cancel_note)

    def memory(self, waiters):
        return Load("memory", {"waiters": waiters}, [Timed("call", {"waiters": waiters})], waiting_systems(waiters),
                    rounds=self.choose(3, 1), fresh_process=True, note=memory_note)

    def fleet(self, session_ms):
        clients = self.clients or self.choose(1_000, 100)
        parameters = {"clients": clients, "session_ms": session_ms}
        return Load("fleet", {"sessions": clients, "session_ms": session_ms, "paths": clients // 2,
                              "ms": self.choose(10_000, 2_000)},
                    [Timed("fleet", parameters)], ("raw", "zklock", "curator"), rounds=1, note=fleet_note)

    def outage(self, kind, session_ms, away_ms):
        clients = self.clients or self.choose(300, 100)
        # A busy machine takes its time to start a server again, so a quick round with that is watched for longer.
        watched = 8 if self.quick and kind == "restart" else 3
        happens = Outage(kind, session_ms, session_ms // 2, away_ms, watched * session_ms)
        values = {"sessions": clients, "session_ms": session_ms, "paths": clients, "outage": kind,
                  "ms": happens.whole_ms()}
        parameters = {"outage": kind, "away_ms": away_ms, "clients": clients, "session_ms": session_ms}
        return Load("fleet", values, [Timed("fleet", parameters)], ("zklock", "curator"), rounds=1, note=outage_note,
                    outage=happens)

    def uncontended(self, member=0, more={}, systems=ON_ZOOKEEPER):
        return [self.latency(Load("uncontended", {}, [
            Timed("acquire", {**more, "operation": "acquire"}, one_by_one=True, fewer_requests=1),
            Timed("cycle", {**more, "operation": "cycle"}, one_by_one=True)], systems, member=member))]

    def first(self):
        load = self.latency(Load("first", {"paths": self.choose(100, 60)}, [
            Timed("first", {"operation": "first"}, one_by_one=True, fewer_requests=1)]))
        return [load]

    def handoff(self, sessions, hold_us, member=0, more={}, systems=ON_ZOOKEEPER):
        # The floor needs a create and a watch before each delete.
        parameters = {"sessions": sessions, "hold_us": hold_us}
        timed = [Timed("handoff", {**more, **parameters})]
        load = self.latency(Load("handoff", dict(parameters), timed, systems, member=member))
        return [load]

    def handoff_apart(self, processes, hold_us, member=0, more={}, services=SERVICES):
        parameters = {"processes": processes, "hold_us": hold_us}
        return [self.latency(Load("handoff", {"hold_us": hold_us}, [Timed("handoff", {**more, **parameters})],
                                  ("raw", *OURS, "curator", "kazoo", *services), processes, member=member,
                                  note=apart_note))]

    def crowd_apart(self, processes, waiters, options={}):
        # No floor: without a lock they would not wait for each other. The options are ours.
        parameters = {"processes": processes, "waiters": waiters, **options}
        others = () if options else ("kazoo", *SERVICES)
        load = Load("crowd", {"waiters": waiters, **options}, [Timed("acquire", parameters, "rate")],
                    (*OURS, "curator", *others), processes, note=apart_note)
        load.rounds = self.choose(9, 4)
        load.values["ms"] = self.choose(500, 250)
        return [load]

    def crowd(self, waiters, member=0, more={}, systems=ON_ZOOKEEPER):
        # A thread, or a session, for each waiter, and each reads the names of all (with Redis, asks all the time): more
        # than that is no fun.
        most = {"curator": 1_000, "kazoo": self.choose(1_000, 100), "c-recipe": self.choose(1_000, 100),
                "etcd": 100, "redis": 100, "redis-fsync": 100}
        load = Load("crowd", {"waiters": waiters}, [Timed("acquire", {**more, "waiters": waiters}, "rate")],
                    tuple(s for s in systems if waiters <= most.get(s, waiters)), member=member,
                    extra={"raw": {"multi": BATCH}})
        self.rate(load)
        if waiters > 10_000:
            load.values["ms"] = self.choose(3_000, 1_500)  # so that there are grants at any time of the queue's turns
        return [load]

    def independent(self, paths):
        return [self.rate(Load("independent", {"paths": paths}, [Timed("cycle", {"paths": paths}, "rate")],
                               extra={"raw": {"multi": BATCH}})),
                self.rate(Load("independent", {"paths": paths}, [Timed("cycle", {"paths": paths, "multi": 1}, "rate")],
                               ("raw",)))]

    def arrivals(self, paths, per_s):
        parameters = {"paths": paths, "arrivals_per_s": per_s}
        return [self.rate(Load("arrivals", dict(parameters), [Timed("acquire", parameters)],
                               ("raw", "zklock", "curator", "kazoo")))]

    def at_both_ports(self, loads):
        """With TLS, and beside it without, by the plain port of the same server."""
        for load in loads:
            load.ports = ("tls", "plain")
            load.systems = tuple(s for s in load.systems if s in (*OURS, "curator"))
            if load.workload == "crowd":
                load.rounds = self.choose(9, 5)
        return loads

    def several(self, member, more, services=()):
        """What counts where the round trip is longer."""
        systems = ON_ZOOKEEPER + services
        loads = (self.uncontended(member, more, systems) + self.handoff(2, 0, member, more, systems)
                 + self.handoff_apart(2, 1_000, member, more, services) + self.crowd(1_000, member, more, systems))
        for load in loads:
            load.rounds = self.choose(max(load.rounds * 5 // 9, 3), max(load.rounds // 2, 1))
            if load.workload == "crowd" or self.quick:
                load.systems = tuple(s for s in load.systems if s in ("raw", *OURS, "curator", *services))
        return loads
