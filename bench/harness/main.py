"""bench/run: measures zklock, its floor and its peers, in turn and on the same servers. See bench/README.md."""
import argparse
import json
import os
import pathlib
import signal
import subprocess
import sys
import time

import plots
import report
import services
import targets
from data import Place
from drivers import SERVICES, SYSTEMS
from runner import Runner, progress
from scenarios import scenarios
from servers import ServersError

SOURCES = pathlib.Path(__file__).resolve().parent.parent


def parse(arguments):
    names = [s.name for s in scenarios(quick=False)]
    parser = argparse.ArgumentParser(
        prog="bench/run", description="Installs what is missing, builds, starts ZooKeeper servers, and measures "
        "zklock, the plain C client (the floor), Curator, kazoo and ZooKeeper's C recipe in turn, and beside them the "
        "locks of etcd and Redis on servers of their own, where Debian's packages of those are or can be installed. "
        "bench/README.md says how.",
        epilog="ZKLOCK_BUILD_DIR names a build tree to take the programs from (built with ZKLOCK_BENCH=ON); without it "
        "they are built in build/bench. The exit status is 0 when everything was measured, whatever came out.",
        allow_abbrev=False)
    parser.add_argument("--scenario", metavar="NAME", action="append", choices=names,
                        help=f"only this one; may be repeated. One of: {', '.join(names)}")
    parser.add_argument("--load", metavar="NAME=VALUE", action="append",
                        help="only loads with this parameter, such as processes=2; may be repeated: with all of them")
    parser.add_argument("--systems", metavar="LIST", default=",".join(SYSTEMS), type=system_list,
                        help="separated by commas, of: %(default)s (the default)")
    parser.add_argument("--servers", metavar="HOST:PORT[,HOST:PORT...]", type=address_list,
                        help="running ZooKeeper servers; by default the benchmark starts its own, 1 or 3")
    parser.add_argument("--data", metavar="WHERE", default="memory",
                        help="where the servers that it starts keep their data: memory (the default: /dev/shm), disk "
                        "(/var/tmp, and every write is synced before it is answered), or a folder on a disk")
    parser.add_argument("--rounds", metavar="N", type=positive,
                        help="so many of each load; fewer than its own number are quick and say little")
    parser.add_argument("--clients", metavar="N", type=positive, help="so many in fleet and outage")
    parser.add_argument("--json", metavar="FILE", type=pathlib.Path, help="write the results there")
    parser.add_argument("--plots", metavar="DIR", type=pathlib.Path, help="draw plots there, as PNG files")
    parser.add_argument("--quick", action="store_true",
                        help="less of everything: about 8 minutes, where the whole takes 40")
    return parser.parse_args(arguments)


def positive(text):
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"'{text}' is not positive")
    return number


def system_list(text):
    chosen = text.split(",")
    for name in chosen:
        if name not in SYSTEMS:
            raise argparse.ArgumentTypeError(f"'{name}' is none of {', '.join(SYSTEMS)}")
    return [system for system in SYSTEMS if system in chosen]


def address_list(text):
    for address in text.split(","):
        host, _, port = address.rpartition(":")
        if not host or not port.isdecimal() or not 1 <= int(port) <= 65535:
            raise argparse.ArgumentTypeError(f"'{address}' is not HOST:PORT")
    return text.split(",")


def build(draws, systems):
    """Returns the folder with the programs."""
    if given := os.environ.get("ZKLOCK_BUILD_DIR"):
        return pathlib.Path(given).resolve() / "bench"
    extra = (["--plots"] if draws else []) + (["--services"] if set(systems) & set(SERVICES) else [])
    subprocess.run(["bash", SOURCES / "build", *extra], check=True)
    return SOURCES.parent / "build" / "bench" / "bench"


def make_room(options):
    """For what is to be written: found out before anything is measured, not after."""
    if options.json:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.open("a", encoding="utf-8").close()
    if options.plots:
        options.plots.mkdir(parents=True, exist_ok=True)


def leave_out_missing(options, programs):
    """Returns lines that tell which systems, and why."""
    lines = []
    for system in SERVICES:
        if system in options.systems and (why := services.missing(system, programs)):
            options.systems.remove(system)
            lines.append(f"left out: {system}: {why}")
    for line in lines:
        progress(line)
    return lines


def choose(options):
    """The scenarios and loads that were asked for."""
    chosen = [s for s in scenarios(options.quick, options.clients)
              if not options.scenario or s.name in options.scenario]
    for scenario in chosen:
        scenario.loads = [load for load in scenario.loads if load.has(options.load or [])]
        for load in scenario.loads:
            load.rounds = options.rounds or load.rounds
    return [scenario for scenario in chosen if scenario.loads]


def measure(programs, options, place):
    """Returns what was measured, and what went wrong, if anything did."""
    chosen = choose(options)
    start = time.monotonic()
    runner = Runner(programs, SOURCES, options.systems, options.quick, place, options.servers)
    broken_off = None
    try:
        runner.run(chosen)
        runner.close()
    except ServersError as error:
        broken_off = str(error)
        runner.close(at_once=True, clear=False)  # there is nobody to answer
    except BaseException:
        runner.close(at_once=True)
        raise
    progress(f"measured in {time.monotonic() - start:.0f} s")
    if broken_off:
        return runner.results, broken_off
    if runner.failures:
        return runner.results, f"{len(runner.failures)} measurements failed: {runner.failures[0]}"
    return runner.results, None if runner.results.all else "none of these systems takes part in such a load"


def data_of(result, options, place):
    return None if options.servers and result.system not in SERVICES else place.word()


def main():
    options = parse(sys.argv[1:])
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        make_room(options)
        place = Place(options.data)
        programs = build(options.plots, options.systems)
        left_out = leave_out_missing(options, programs)
        if options.plots and (missing := plots.missing()):
            progress(f"no plots: {missing}")
            options.plots = None
        results, problem = measure(programs, options, place)
    except subprocess.CalledProcessError as error:
        return f"bench/run: the build failed (status {error.returncode})"
    except (OSError, ServersError) as error:
        return f"bench/run: {error}"

    where = "that of the given ZooKeeper servers is theirs to know; of others: " if options.servers else ""
    print(*report.tables(results), *report.promises(results), "", f"servers' data: {where}{place.told()}", *left_out,
          *targets.lines(results), sep="\n")
    if options.json:
        options.json.write_text(json.dumps([r.entry(data_of(r, options, place)) for r in results.all], indent=1) + "\n")
    if options.plots:
        for name in plots.draw(results, options.plots):
            print(f"drawn: {name}")
    return f"bench/run: {problem}" if problem else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
