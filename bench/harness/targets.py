"""What zklock must reach, as ratios of one run."""
from report import advantage
from results import Ratio, ratio
from scenarios import LINGER_MS

REACHED, MISSED, OPEN = "reached", "NOT REACHED", "open: more --rounds"


def targets(results):
    """Rows of (figure, at least, measured, verdict), with None where it was not measured."""
    def z(scenario, system="zklock", **parameters):
        return results.find(system, scenario, **parameters)

    def times(own, base):
        return ratio(own, base) if own and base else None

    def faster(own, other):
        return advantage(own, other) if own and other else None

    def each(scenario, system, **parameters):
        return z(scenario, **parameters), z(scenario, system, **parameters)

    rows = []

    def row(figure, at_least, measured, form, enough):
        rows.append((figure, at_least, *(("-", None) if measured is None else judge(measured, form, enough))))

    def at_most(limit):
        return lambda value: value <= limit

    def no_less(limit):
        return lambda value: value >= limit

    acquire = z("uncontended", operation="acquire")
    row("uncontended re-acquire, p50", "<= 1.03 x raw create", times(*each("uncontended", "raw", operation="acquire")),
        "{:.3f} x", at_most(1.03))
    row("... requests of acquire (and 1 of release)", "1", acquire and acquire.requests_per_operation(), "{:.2f}",
        at_most(1.05))
    row("first acquire on a path, p50", "<= 1.10 x raw create + children",
        times(*each("uncontended", "raw", operation="first")), "{:.3f} x", at_most(1.10))

    known = {"sessions": 2, "hold_us": 1000}  # held long enough for the waiter to know its predecessor
    own, curator = each("handoff", "curator", **known)
    row("hand-off, predecessor known, p50", "<= 1.15 x raw delete -> event", times(*each("handoff", "raw", **known)),
        "{:.3f} x", at_most(1.15))
    row("... faster than Curator", ">= 2.5 x", faster(own, curator), "{:.2f} x", no_less(2.5))
    row("... p99", "<= Curator's", own and curator and own.p(0.99) / curator.p(0.99), "{:.2f} x", at_most(1))

    crowd = z("crowd", waiters=1_000)
    row("crowd of 1,000", ">= 100 x Curator's rate", faster(*each("crowd", "curator", waiters=1_000)), "{:.1f} x",
        no_less(100))
    for via in ("leader", "follower"):
        row(f"... three servers, {via}", ">= 100 x Curator's rate",
            faster(*each("ensemble", "curator", servers=3, via=via, waiters=1_000)), "{:.1f} x", no_less(100))
    row("... rate at 100,000 waiters", ">= 0.5 x at 1,000", times(z("crowd", waiters=100_000), crowd), "{:.2f} x",
        no_less(0.5))
    row("... requests per grant", "<= 0.1", crowd and crowd.requests_per_operation(), "{:.3f}", at_most(0.1))

    own, curator = each("independent", "curator", paths=256)
    row("independent, 256 paths", ">= 12 x Curator", faster(own, curator), "{:.1f} x", no_less(12))

    memory = z("memory", waiters=100_000)
    row("pending waiter, of 100,000", "<= 1,536 bytes", memory and memory.figure("bytes_per_waiter"), "{:.0f}",
        at_most(1536))
    row("... more threads", "0", memory and memory.figure("more_threads"), "{:.0f}", at_most(0))
    cancel = z("cancel", waiters=10_000)
    row("cancel of 10,000, until the server shows none", "<= 1 s", cancel and cancel.figure("gone_ms") / 1000,
        "{:.2f} s", at_most(1))
    for figure, limit, known in (("acquire", "<= 1.20 x the plain port of the same server", {"operation": "acquire"}),
                                 ("crowd of 1,000", ">= 0.8 x the plain port's rate", {"waiters": 1_000})):
        own, plain = z("tls", **known, port="tls"), z("tls", **known, port="plain")
        row(f"TLS: {figure}", limit, times(own, plain), "{:.3f} x",
            at_most(1.2) if "operation" in known else no_less(0.8))
        least = 2 if "operation" in known else 50
        row("... faster than Curator with TLS", f">= {least} x", faster(own, z("tls", "curator", **known, port="tls")),
            "{:.2f} x", no_less(least))
    linger = z("linger", operation="acquire", linger_ms=10_000)
    row("linger re-acquire, p50", "<= 3 us", linger and linger.p(0.5), "{:.2f} us", at_most(3))
    cohort = z("cohort", waiters=1_000, cohort=4_096)
    row("cohort, local hand-offs", ">= 500,000/s", cohort and cohort.rate(), "{:,.0f}/s", no_less(500_000))
    row("client CPU per cycle, independent 256", "<= 1.3 x the raw C client's, same requests",
        same_requests(own, results), "{:.2f} x", at_most(1.3))
    hand_off_directly(row, z, times, faster, at_most, no_less)
    return rows


def judge(measured, form, enough):
    """What was measured, as text, with how far it may be off; and the verdict, which is left open where the goal lies
    within that."""
    text = form.format(measured)
    if not isinstance(measured, Ratio) or not measured.known:
        return text, REACHED if enough(measured) else MISSED
    ends = [measured.low, measured.high]
    text += f" ({' to '.join(form.removesuffix(' x').format(end) for end in ends)})"
    if enough(measured):
        return text, REACHED
    return text, OPEN if any(map(enough, ends)) else MISSED


def hand_off_directly(row, z, times, faster, at_most, no_less):
    """Of the option that hands off past the servers."""
    for scenario, more, floor, least in (("handoff", {}, 0.35, 6),
                                         ("ensemble", {"servers": 3, "via": "leader"}, 0.2, 12)):
        known = {**more, "processes": 2, "hold_us": 1000}
        own, plain = z(scenario, "zklock-direct", **known), z(scenario, **known)
        name = "three servers, " if more else ""
        row(f"direct hand-off, {name}two processes, hold 1 ms, p50", f"<= {floor:g} x raw delete -> event",
            times(own, z(scenario, "raw", **known)), "{:.3f} x", at_most(floor))
        row("... faster than Curator", f">= {least} x", faster(own, z(scenario, "curator", **known)), "{:.1f} x",
            no_less(least))
        row("... p99", "<= without the option", own and plain and own.p(0.99) / plain.p(0.99), "{:.2f} x", at_most(1))
    for name, known in (("acquire where nobody else is", {"operation": "acquire"}),
                        ("its cycle", {"operation": "cycle"})):
        own, plain = z("uncontended", "zklock-direct", **known), z("uncontended", **known)
        row(f"with that option, {name}, p50", "<= 1.02 x without", times(own, plain), "{:.3f} x", at_most(1.02))
        row("... requests", "as without", own and plain and own.requests_per_operation()
            - plain.requests_per_operation(), "{:+.2f}", lambda more: abs(more) < 0.05)
    row("with that option, crowd of 1,000, grants a second", ">= 0.98 x without",
        times(z("crowd", "zklock-direct", waiters=1_000), z("crowd", waiters=1_000)), "{:.3f} x", no_less(0.98))
    for processes in (2, 8):
        crowd = {"processes": processes, "waiters": processes}
        own = z("crowd", "zklock-direct", **crowd, linger_ms=LINGER_MS)
        row(f"direct and lingering, {processes} processes, hold 0, grants a second", ">= 5 x Curator",
            faster(own, z("crowd", "curator", **crowd, linger_ms=LINGER_MS)), "{:.1f} x", no_less(5))
        row("...", ">= 2 x without the options", faster(own, z("crowd", **crowd)), "{:.1f} x", no_less(2))


def same_requests(own, results):
    """The processor time of the floor that gathers its writes as zklock does: in multis, or each on its own."""
    if not own:
        return None
    singly = own.requests_per_operation() > 1
    base = results.find("raw", "independent", **({"paths": 256, "multi": 1} if singly else {"paths": 256}))
    return own.processor_us() / base.processor_us() if base else None


def lines(results):
    from report import lay_out
    rows = [row for row in targets(results) if row[-1] is not None]
    return ["", "== targets", *lay_out([("figure", "at least", "measured", ""), *rows])] if rows else []
