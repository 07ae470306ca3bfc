"""Pictures of the results, as PNG files."""
import os
import pathlib

from drivers import SYSTEMS
from report import show_parameters

COLOURS = dict(zip(SYSTEMS, ("#888888", "#c2185b", "#f48fb1", "#1565c0", "#2e7d32", "#ef6c00", "#6a1b9a", "#00838f",
                             "#795548")))


def missing():
    """What keeps plots from being drawn, or None."""
    try:
        library()
        return None
    except ImportError as error:
        return f"{error}; Debian's package python3-matplotlib has what draws them"


def library():
    os.environ.setdefault("MPLBACKEND", "Agg")
    import matplotlib.pyplot
    return matplotlib.pyplot


def draw(results, folder):
    """Returns the files' names."""
    plots = library()
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    written = []

    def save(figure, name):
        figure.tight_layout()
        figure.savefig(folder / name, dpi=130)
        plots.close(figure)
        written.append(folder / name)

    for scenario in ("uncontended", "handoff", "ensemble", "distance"):
        timed = [r for r in results.all if r.scenario == scenario and r.merit == "p50"]
        loads = list(dict.fromkeys(show_parameters(r.parameters) for r in timed))
        if not loads:
            continue
        figure, axes = plots.subplots(1, len(loads), figsize=(4.6 * len(loads), 4), squeeze=False)
        for axis, load in zip(axes[0], loads):
            for r in timed:
                if show_parameters(r.parameters) == load:
                    plot_latencies(axis, r)
            axis.set_title(f"{scenario}: {load}", fontsize=10)
        save(figure, f"latency-{scenario}.png")
    for scenario, count in (("crowd", "waiters"), ("independent", "paths")):
        figure, axis = plots.subplots(figsize=(6.5, 4.5))
        if plot_rates(axis, results, scenario, count):
            axis.set_title(f"{scenario}: grants per second against {count}")
            save(figure, f"rate-{scenario}.png")
        else:
            plots.close(figure)
    return written


def plot_latencies(axis, result):
    """The share of operations that took longer, so that the tail is seen."""
    counts = sorted(result.latencies().items())
    left = total = sum(count for _, count in counts)
    if not total:
        return
    times, shares = [], []
    for ns, count in counts:
        times.append(ns / 1000)
        shares.append(left / total)
        left -= count
    axis.step(times, shares, where="post", label=result.system, color=COLOURS[result.system])
    axis.set(xscale="log", yscale="log", xlabel="microseconds", ylabel="share that takes longer")
    axis.set_yticks([1, 0.5, 0.1, 0.01, 0.001], ["all", "p50", "p90", "p99", "p99.9"])
    axis.set_ylim(0.0005, 1.1)
    axis.grid(alpha=0.3)
    axis.legend(fontsize=8)


def plot_rates(axis, results, scenario, count):
    drawn = False
    for system in SYSTEMS:
        points = sorted((r.parameters[count], r.rate()) for r in results.all
                        if r.system == system and r.scenario == scenario and set(r.parameters) == {count})
        if points:
            axis.plot(*zip(*points), marker="o", label=system, color=COLOURS[system])
            drawn = True
    axis.set(xscale="log", yscale="log", xlabel=count, ylabel="grants per second")
    axis.grid(alpha=0.3)
    if drawn:
        axis.legend()
    return drawn
