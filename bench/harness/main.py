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
import targets
from drivers import SYSTEMS
from runner import Runner, progress
from scenarios import scenarios

SOURCES = pathlib.Path(__file__).resolve().parent.parent


def parse(arguments):
    names = [s.name for s in scenarios(quick=False)]
    parser = argparse.ArgumentParser(
        prog="bench/run", description="Installs what is missing, builds, starts ZooKeeper servers, and measures "
        "zklock, the plain C client (the floor), Curator, kazoo and ZooKeeper's C recipe in turn. bench/README.md says "
        "how.",
        epilog="ZKLOCK_BUILD_DIR names a build tree to take the programs from (built with ZKLOCK_BENCH=ON); without it "
        "they are built in build/bench. The exit status is 0 when everything was measured, whatever came out.",
        allow_abbrev=False)
    parser.add_argument("--scenario", metavar="NAME", action="append", choices=names,
                        help=f"only this one; may be repeated. One of: {', '.join(names)}")
    parser.add_argument("--systems", metavar="LIST", default=",".join(SYSTEMS), type=system_list,
                        help="separated by commas, of: %(default)s (the default)")
    parser.add_argument("--servers", metavar="HOST:PORT[,HOST:PORT...]", type=address_list,
                        help="running servers; by default the benchmark starts its own, 1 or 3, in memory")
    parser.add_argument("--json", metavar="FILE", type=pathlib.Path, help="write the results there")
    parser.add_argument("--plots", metavar="DIR", type=pathlib.Path, help="draw plots there, as PNG files")
    parser.add_argument("--quick", action="store_true",
                        help="less of everything: under 3 minutes, where the whole takes under 20")
    return parser.parse_args(arguments)


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


def build():
    """Returns the folder with the programs."""
    if given := os.environ.get("ZKLOCK_BUILD_DIR"):
        return pathlib.Path(given).resolve() / "bench"
    subprocess.run(["bash", SOURCES / "build"], check=True)
    return SOURCES.parent / "build" / "bench" / "bench"


def main():
    options = parse(sys.argv[1:])
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        programs = build()
    except subprocess.CalledProcessError as error:
        return f"bench/run: the build failed (status {error.returncode})"
    chosen = [s for s in scenarios(options.quick) if not options.scenario or s.name in options.scenario]
    start = time.monotonic()
    runner = Runner(programs, SOURCES, options.systems, options.quick, options.servers)
    try:
        runner.run(chosen)
    finally:
        runner.close()
    progress(f"measured in {time.monotonic() - start:.0f} s")

    print(*report.tables(runner.results), *targets.lines(runner.results), sep="\n")
    if options.json:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(json.dumps([r.entry() for r in runner.results.all], indent=1) + "\n")
    if options.plots:
        for name in plots.draw(runner.results, options.plots):
            print(f"drawn: {name}")
    if runner.failures:
        return f"bench/run: {len(runner.failures)} measurements failed: {runner.failures[0]}"
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
