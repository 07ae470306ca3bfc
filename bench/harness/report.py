"""The tables that are printed."""
from drivers import OURS, PEERS, PROMISES
from outage import COUNTED
from results import ratio


def best_peer(results, result):
    """The peer that does best under the same load."""
    peers = [p for p in (results.beside(result, system) for system in PEERS) if p]
    if not peers:
        return None
    if result.merit == "p50":
        return min(peers, key=lambda p: p.p(0.5) or float("inf"))
    return max(peers, key=lambda p: p.rate())


def advantage(result, other):
    """How many times as fast as the other."""
    return ratio(result, other, inverse=result.merit == "p50") or None


def shorter_tail(result, other):
    """How many times as long the other's p99 is."""
    own, others = result.p(0.99), other.p(0.99)
    return others / own if own and others else None


def show_parameters(parameters):
    return " ".join(str(value) if name in ("operation", "via", "port") else f"{name}={value}"
                    for name, value in parameters.items())


def show(value, form="{:,.1f}"):
    return "-" if value is None else form.format(value)


def short(value):
    """Few digits: 0.73, 12.4, 1,234"""
    if value is None:
        return "-"
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


HEADER = ("load", "system", "rate/s", "p50 us", "p90", "p99", "p99.9", "max", "requests", "x floor", "x best peer",
          "zklock x", "p99 x")


def rows(results, scenario):
    for r in results.all:
        if r.scenario != scenario:
            continue
        floor, peer = results.beside(r, "raw"), best_peer(results, r)
        zklock = results.beside(r, "zklock") if r.system not in ("raw", "zklock") else None
        yield (show_parameters(r.parameters), r.system, show(r.rate(), "{:,.0f}"),
               *(short(r.p(share)) for share in (0.5, 0.9, 0.99, 0.999, 1)), show(r.requests_per_operation(), "{:.2f}"),
               show(ratio(r, floor) if floor and r.system != "raw" else None, "{:.2f}"),
               show(advantage(r, peer) if peer and r.system in OURS else None, "{:.1f}"),
               show(advantage(zklock, r) if zklock else None, "{:.2f}"),
               show(shorter_tail(zklock, r) if zklock else None, "{:.2f}"))


TRAFFIC_HEADER = ("load", "system", "sent", "calm: peak", "peak", "2 s gone", "2 s back", "whole", "late: mean",
                  "late: peak", "whole x Curator", "sessions lost")


def traffic_rows(results, scenario):
    for r in results.all:
        if r.scenario != scenario:
            continue
        curator = results.beside(r, "curator")
        for counted in COUNTED:
            traffic = r.traffic()
            whole, late = traffic.whole(counted), traffic.late(counted)
            others = sum(curator.traffic().whole(counted)) if curator and curator is not r else None
            yield (show_parameters(r.parameters), r.system, counted, *(show(n, "{:,}") for n in (
                max(traffic.calm(counted)), max(whole), sum(traffic.first_away(counted)),
                sum(traffic.first_back(counted)), sum(whole))), show(sum(late) / len(late)), show(max(late), "{:,}"),
                show(sum(whole) / others if others else None, "{:.2f}"),
                show(r.figure("sessions_lost"), "{:.0f}"))


def lay_out(table):
    """Aligned columns; the first two to the left."""
    widths = [max(len(row[i]) for row in table) for i in range(len(table[0]))]
    for row in table:
        cells = (text.ljust(w) if i < 2 else text.rjust(w) for i, (text, w) in enumerate(zip(row, widths)))
        yield "  ".join(cells).rstrip()


def tables(results):
    names = list(dict.fromkeys(r.scenario for r in results.all))
    lines = []
    for name in names:
        counted = any(r.scenario == name and r.traffic() for r in results.all)
        table = [TRAFFIC_HEADER, *traffic_rows(results, name)] if counted else [HEADER, *rows(results, name)]
        lines += ["", f"== {name}", *lay_out(table)]
        lines += [f"   {r.system}, {show_parameters(r.parameters)}: {r.notes()}" for r in results.all
                  if r.scenario == name and r.note]
    lines += ["", "x floor: times the raw C client's p50, or of its rate where many wait at once. x best peer: how",
              "many times as fast as the best of Curator, kazoo and the C recipe. zklock x: how many times as fast",
              "zklock was as that row's system. All by the median over the rounds. p99 x: its p99 by that of zklock.",
              "outage: connects, and requests, of all clients together. peak: in 100 ms. 2 s gone, 2 s back: in the",
              "first 2 s after the server went, and after it served again. whole: since it went. late: in the last",
              "session time-out, each 100 ms."]
    return lines


def promises(results):
    """Of those that were measured: what the figures buy."""
    systems = [system for system in PROMISES if any(r.system == system for r in results.all)]
    table = [("system", "order", "fencing token", "survives a server's loss"),
             *((system, *PROMISES[system]) for system in systems)]
    return ["", "== what they promise", *("  ".join(cells) for cells in columns(table))] if systems else []


def columns(table):
    widths = [max(len(row[i]) for row in table) for i in range(len(table[0]))]
    return [[text.ljust(w) for text, w in zip(row, widths)] for row in table]
