"""Runs the loads: starts servers and drivers, lets the systems take turns, and collects."""
import contextlib
import dataclasses
import functools
import itertools
import sys
import time

from company import Company
from drivers import BECOME_FASTER, SERVICES, Driver, DriverError
from report import show_parameters
from results import Result, Results, Round
from servers import Clearance, Servers
from services import STARTERS

ROOT = "/bench"  # below it is all that is written
LONGEST_ROUND_MS = 4_000  # from then on, no operation is what was found


class Runner:
    def __init__(self, programs, sources, systems, quick, place, addresses=None):
        self.programs, self.sources, self.systems = programs, sources, systems
        self.quick = quick
        self.place = place  # of the servers' data
        self.addresses = addresses
        self._servers = None  # that are used now
        self._services = {}  # of the scenario, by system
        self.results = Results()
        self.failures = []
        self._drivers = {}
        self._used_paths = []
        self._paths = map(self._use, itertools.count(time.time_ns()))
        self._clearance = Clearance(addresses, ROOT) if addresses else None

    def close(self, at_once=False, clear=True):
        """`at_once`: in the middle of something. `clear`: what was written to servers that go on."""
        for driver in self._drivers.values():
            if at_once:
                driver.kill()
            else:
                driver.close()
        if self._clearance and clear:
            self._clearance.clear(self._used_paths)

    def _use(self, number):
        self._used_paths.append(f"{ROOT}/{number}")
        return self._used_paths[-1]

    def run(self, scenarios):
        if "curator" in self.systems and any("curator" in load.systems for s in scenarios for load in s.loads):
            self._with_servers(1, None, self._warm_up_curator)
        start = time.monotonic()
        for number, scenario in enumerate(scenarios, 1):
            progress(f"[{number}/{len(scenarios)}] {scenario.name} ({time.monotonic() - start:.0f} s so far)")
            ours_alone = scenario.one_way_us or scenario.special  # what only servers that are started here can do
            if self.addresses and (ours_alone or scenario.servers > len(self.addresses)):
                progress("    left out: the given servers do not allow it")
                continue
            with self._services_of(scenario):
                self._with_servers(scenario.servers, scenario.one_way_us, lambda servers: self._run(scenario, servers),
                                   scenario.special)

    @contextlib.contextmanager
    def _services_of(self, scenario):
        """Fresh ones, too, with as many members."""
        wanted = {system for load in scenario.loads for system in load.systems}
        try:
            for system in SERVICES:
                if system in wanted and system in self.systems:
                    self._services[system] = STARTERS[system](self.place, scenario.servers)
            yield
        finally:
            for service in self._services.values():
                service.close()
            self._services.clear()

    def _with_servers(self, members, one_way_us, use, special=None):
        if self.addresses:
            servers = Servers.running(self.addresses)
        else:
            servers = Servers.start(self.programs, members, one_way_us, special, self.place.folder)
        self._servers = servers
        try:
            self._warm_up_servers(servers)
            use(servers)
        finally:
            self._servers = None
            servers.close()

    def _run(self, scenario, servers):
        for load in scenario.loads:
            systems = [system for system in load.systems if system in self.systems]
            results = {(system, port): [Result(system, scenario.name, {**t.parameters, **at(port)}, t.merit, t.one_by_one,
                                               t.fewer_requests) for t in load.timed]
                       for system in systems for port in load.ports}
            if systems:
                progress(f"    {show_parameters(load.timed[0].parameters)}")
            if load.processes > 1 and "curator" in systems:
                self._attempt(scenario, load, lambda: self._warm_up_curators(load, servers))
            for i in range(load.rounds):
                # Each begins a round as often as the others, so that nobody always profits from the same neighbour.
                turns = [(system, port) for system in load.systems_of(i) if system in systems for port in load.ports]
                first = i % len(turns) if turns else 0
                for system, port in turns[first:] + turns[:first]:
                    progress(f"        round {i + 1} of {load.rounds}: {system} {port}", passing=True)
                    self._attempt(scenario, load, functools.partial(self._measure, load, i, system, port, servers,
                                                                    results[system, port]))
            for result in itertools.chain(*results.values()):
                if result.rounds:
                    result.note = load.note(result) if load.note else ""
                    self.results.all.append(result)

    def _attempt(self, scenario, load, measure):
        try:
            measure()
        except DriverError as error:
            self.failures.append(f"{error} ({scenario.name}, {show_parameters(load.timed[0].parameters)})")
            progress("    " + self.failures[-1])
            self._check_servers()

    def _measure(self, load, number, system, port, servers, results):
        counted = self._services.get(system, servers)
        values = {**self._where(load, system, port, servers), **load.values_for(system)}
        if counted is servers:
            self._serve("prepare", {"servers": servers.addresses[0], "path": values["path"],
                                    "paths": values.get("paths", 0)})
        company = self._company(system, load.processes)
        try:
            while not self._measure_by(company, load, number, values, servers, counted, results):
                values["ms"] *= 2
        finally:
            company.close()

    def _where(self, load, system, port, servers):
        path = next(self._paths)
        if system in self._services:
            return {"servers": self._services[system].addresses[load.member], "path": path}
        address = (servers.secure if port == "tls" else servers.distant or servers.addresses)[load.member]
        return {"servers": address, "path": path, **({"tls_ca": servers.authority} if port == "tls" else {})}

    def _company(self, system, processes):
        """The first process is the one that measures alone, too."""
        return Company([self._driver(system, name=f"{system}#{i}" if i else system) for i in range(processes)],
                       self.place.scratch)

    def _measure_by(self, company, load, number, values, servers, counted, results):
        """Returns whether that is the round. On a busy machine, a short time may pass without a single operation."""
        path = values["path"]
        for driver in company.drivers:
            if load.fresh_process or driver.system not in BECOME_FASTER:
                driver.close()
        company.set_up(load.workload, values)
        if load.outage:
            self._measure_outage(company, load, number, servers, results)
            return True
        processor_before = servers.processor_us()
        before = counted.requests()
        company.start_measuring()
        more, asked_otherwise = {}, 0
        if load.until_children is not None:
            seen = self._serve("until_children", {"servers": servers.addresses[0], "path": path,
                                                  "children": load.until_children})
            asked_otherwise = seen["operations"] + 3  # and what connecting and closing takes
        found = company.result()
        requests = counted.requests() - before - asked_otherwise
        if everything := found["figures"].pop("all_operations", 0):  # some end after what is measured has
            requests *= found["operations"] / everything
        if processor_before is not None:
            more["servers_processor_us"] = servers.processor_us() - processor_before
        company.tear_down()
        if not found["operations"] and values.get("ms", LONGEST_ROUND_MS) < LONGEST_ROUND_MS:
            return False
        if load.until_children is not None:
            more["gone_ms"] = (seen["figures"]["seen_ns"] - found["figures"]["started_ns"]) / 1e6
        for result, timed in zip(results, load.timed):
            latencies = dict(map(tuple, found["latencies"].get(timed.name, [])))
            result.rounds.append(Round(number, found["operations"], found["seconds"], requests, latencies,
                                       {**found["figures"], **more}))
        return True

    def _measure_outage(self, company, load, number, servers, results):
        """A server that starts again counts from 0, whatever it counts; what stands before it does not."""
        company.start_measuring()
        traffic = load.outage.happen(servers)
        found = company.result()
        company.tear_down()
        requests = sum(traffic.counts["requests"])
        for result in results:
            result.rounds.append(Round(number, found["operations"], found["seconds"], requests, {}, found["figures"],
                                       traffic))

    def _driver(self, system, name=None):
        return self._drivers.setdefault(name or system, Driver(system, self.programs, self.sources,
                                                               self._check_servers))

    def _check_servers(self):
        if self._servers:
            self._servers.check()
        for service in self._services.values():
            service.check()

    def _serve(self, workload, values):
        driver = self._driver("raw", name="service")
        driver.set_up(workload, values)
        found = driver.measure()
        driver.tear_down()
        return found

    def _warm_up_servers(self, servers):
        """Until the virtual machines of the servers have compiled what counts."""
        driver = self._driver("raw", name="service")
        for address in servers.addresses:
            for workload, values in (("crowd", {"waiters": 200, "ms": 1_200}),
                                     ("crowd", {"waiters": 200, "multi": 64, "ms": 300}),
                                     ("handoff", {"sessions": 2, "hold_us": 0, "ms": 200})):
                if self.quick:
                    values["ms"] //= 2
                values["ms"] //= len(servers.addresses)
                driver.set_up(workload, {"servers": address, "path": next(self._paths), **values})
                driver.measure()
                driver.tear_down()
        if servers.secure:
            self._warm_up_tls(servers)

    def _warm_up_tls(self, servers):
        """By zklock, since the C client has no TLS; one request at a time, as that is what takes the longest."""
        driver = self._driver("zklock")
        for workload, values in (("crowd", {"waiters": 200}), ("uncontended", {})):
            driver.set_up(workload, {"servers": servers.secure[0], "tls_ca": servers.authority,
                                     "path": next(self._paths), "ms": 1_500 if self.quick else 4_000, **values})
            driver.measure()
            driver.tear_down()

    def _warm_up_curator(self, servers):
        progress("warming up Curator")
        driver = self._driver("curator")
        for workload, values in (("uncontended", {}), ("independent", {"paths": 64}),
                                 ("handoff", {"sessions": 2, "hold_us": 0}), ("crowd", {"waiters": 50})):
            driver.set_up(workload, {"servers": servers.addresses[0], "path": next(self._paths),
                                     "ms": 1_000 if self.quick else 4_000, **values})
            driver.measure()
            driver.tear_down()


    def _warm_up_curators(self, load, servers):
        """A virtual machine for each process; those that take part for the first time have everything to compile."""
        self._measure(dataclasses.replace(load, values={**load.values, "ms": 1_000 if self.quick else 4_000}), 0,
                      "curator", "", servers, [])


def at(port):
    """The parameter of that name, where there is more than one."""
    return {"port": port} if port else {}


def progress(text, passing=False):
    """To standard error. What passes is overwritten by what follows, on a terminal, and left out elsewhere."""
    terminal = sys.stderr.isatty()
    if passing and not terminal:
        return
    print(f"\r\x1b[K{text[:118] if passing else text}" if terminal else text, end="" if passing else "\n",
          file=sys.stderr, flush=True)
