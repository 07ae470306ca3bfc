"""A fleet whose server goes away for a while: what is done to it, and what the fleet sends meanwhile."""
import dataclasses
import time

STEP_MS = 100  # servers/traffic.hpp: what comes is counted by these intervals
BEGIN_MS = 2_000  # the first so long of an outage, and of the time after it, are told apart
ENDS = {"restart": ("kill", "start"), "stall": ("pause", "resume")}
COUNTED = ("connects", "requests")


@dataclasses.dataclass
class Outage:
    """`kind`: what ENDS has. The server goes away at `calm_ms`, for `away_ms`, and is watched for `after_ms` then."""
    kind: str
    session_ms: int
    calm_ms: int
    away_ms: int
    after_ms: int

    def whole_ms(self):
        return self.calm_ms + self.away_ms + self.after_ms

    def happen(self, servers):
        """While the drivers measure. Returns what was counted."""
        away, back = ENDS[self.kind]
        servers.tell("count")
        start = time.monotonic()

        def wait_until(ms):
            time.sleep(max(start + ms / 1_000 - time.monotonic(), 0))

        wait_until(self.calm_ms)
        gone_ms = int(servers.tell(away))
        wait_until(self.calm_ms + self.away_ms)
        back_ms = int(servers.tell(back))
        wait_until(self.whole_ms())
        counts = [tuple(map(int, interval.split(","))) for interval in servers.tell("counts").split()]
        return Traffic(dict(zip(COUNTED, map(list, zip(*counts)))), gone_ms, back_ms, self.session_ms)


@dataclasses.dataclass
class Traffic:
    """What a fleet has sent, by STEP_MS."""
    counts: dict  # by what COUNTED has: a list
    gone_ms: int  # when the server went
    back_ms: int  # and when it served again
    session_ms: int

    def between(self, counted, from_ms, to_ms=None):
        return self.counts[counted][from_ms // STEP_MS:None if to_ms is None else to_ms // STEP_MS]

    def calm(self, counted):
        return self.between(counted, 0, self.gone_ms)

    def whole(self, counted):
        return self.between(counted, self.gone_ms)

    def first_away(self, counted):
        return self.between(counted, self.gone_ms, self.gone_ms + BEGIN_MS)

    def first_back(self, counted):
        return self.between(counted, self.back_ms, self.back_ms + BEGIN_MS)

    def late(self, counted):
        """The last session time-out of what was watched."""
        return self.counts[counted][-self.session_ms // STEP_MS:]

    def entry(self):
        """For the JSON file."""
        return {"step_ms": STEP_MS, **self.counts, "gone_ms": self.gone_ms, "back_ms": self.back_ms}
