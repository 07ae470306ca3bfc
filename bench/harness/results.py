"""What was measured, and what is worked out from it."""
import collections
import dataclasses
import math
import statistics

FIELDS = ("system", "scenario", "parameters", "operations", "rate_per_s", "p50_us", "p90_us", "p99_us", "p999_us",
          "max_us", "requests_per_operation", "data", "note", "traffic")


def percentile(counts, share):
    """In microseconds, of {nanoseconds: count}; None when there is nothing."""
    left = share * sum(counts.values())
    for ns, count in sorted(counts.items()):
        left -= count
        if left <= 0:
            return ns / 1000
    return None


@dataclasses.dataclass
class Round:
    """One measurement of one system."""
    number: int  # of the round
    operations: int
    seconds: float
    requests: float
    latencies: dict  # nanoseconds: count
    figures: dict
    traffic: object = None  # of a fleet, over an outage

    def p50(self):
        return percentile(self.latencies, 0.5)

    def rate(self, one_by_one):
        """Operations per second. Where one follows the other and only a part of each is timed: of that part."""
        if one_by_one:
            total = sum(ns * count for ns, count in self.latencies.items())
            return sum(self.latencies.values()) / total * 1e9 if total else 0
        return self.operations / self.seconds if self.seconds else 0


@dataclasses.dataclass
class Result:
    """All rounds of one system under one load."""
    system: str
    scenario: str
    parameters: dict
    merit: str  # what counts: p50 or rate
    one_by_one: bool
    fewer_requests: int  # those of the cycle that belong to something else than what is timed
    rounds: list = dataclasses.field(default_factory=list)
    note: str = ""

    def latencies(self):
        merged = collections.Counter()
        for r in self.rounds:
            merged.update(r.latencies)
        return merged

    def operations(self):
        return sum(r.operations for r in self.rounds)

    def rate(self):
        return statistics.median(r.rate(self.one_by_one) for r in self.rounds)

    def requests_per_operation(self):
        operations = self.operations()
        return max(sum(r.requests for r in self.rounds) / operations - self.fewer_requests, 0) if operations else None

    def processor_us(self):
        """Of the client process, for each operation."""
        operations = self.operations()
        return sum(r.figures["processor_us"] for r in self.rounds) / operations if operations else None

    def has(self, name):
        return all(name in r.figures for r in self.rounds)

    def figure(self, name):
        return statistics.median(r.figures[name] for r in self.rounds)

    def traffic(self):
        """Of the only round."""
        return self.rounds[0].traffic

    def p(self, share):
        return percentile(self.latencies(), share)

    def notes(self):
        text = [self.note] if self.note else []
        if self.processor_us() is not None:
            text.append(f"client CPU {self.processor_us():.3g} us per operation")
        return "; ".join(text)

    def entry(self, data):
        """For the JSON file; `data`: where the servers had theirs."""
        merged = self.latencies()

        def rounded(value):
            return None if value is None else round(value, 3)

        return dict(zip(FIELDS, (
            self.system, self.scenario, self.parameters, self.operations(), rounded(self.rate()),
            *(rounded(percentile(merged, share)) for share in (0.5, 0.9, 0.99, 0.999, 1)),
            rounded(self.requests_per_operation()), data, self.notes(), self.traffic() and self.traffic().entry())))


class Ratio(float):
    """The median of what the rounds had, and how far it may be off: between `low` and `high` it is 19 times of 20. That
    goes by the order of the rounds alone, so they may scatter in any way. Of few rounds nothing can be said."""
    FEWEST = 6

    def __new__(cls, values):
        values = sorted(values)
        self = super().__new__(cls, statistics.median(values))
        self.known = len(values) >= cls.FEWEST
        outside = max(math.floor(len(values) / 2 - 0.98 * math.sqrt(len(values))) - 1, 0)  # rounds, at each end
        self.low, self.high = values[outside], values[-1 - outside]
        return self


def ratio(result, base, inverse=False):
    """How much longer, or how many times as many per second, in the median over the rounds, each compared with the
    base's round right beside it."""
    beside = {r.number: r for r in base.rounds}
    pairs = [(r, beside[r.number]) for r in result.rounds if r.number in beside]
    if result.merit == "p50":
        values = [a.p50() / b.p50() for a, b in pairs if a.p50() and b.p50()]
    else:
        values = [a.rate(result.one_by_one) / b.rate(base.one_by_one) for a, b in pairs if b.rate(base.one_by_one)]
    if inverse:
        values = [1 / value for value in values if value]
    return Ratio(values) if values else None


class Results:
    def __init__(self):
        self.all = []

    def find(self, system, scenario, **parameters):
        for r in self.all:
            if r.system == system and r.scenario == scenario and r.rounds and r.parameters == parameters:
                return r
        return None

    def beside(self, result, system):
        """What another system did under the same load."""
        return self.find(system, result.scenario, **result.parameters)
