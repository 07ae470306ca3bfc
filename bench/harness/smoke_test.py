"""smoke_test.py BUILD_DIR: short runs give the table, the file and the plots that bench/run promises."""
import json
import math
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile

import data
import plots
import services
import targets
from company import Company
from drivers import SERVICES, Driver
from results import FIELDS, Ratio
from runner import Runner
from scenarios import Load, Scenario, Timed

HERE = pathlib.Path(__file__).resolve().parent
OPERATIONS = ("acquire", "cycle")
REQUESTS = {"first": 2, "acquire": 1, "cycle": 2}  # by the servers' count
COUNTED = ("raw", *SERVICES)  # whose requests are known exactly


def check(holds, what):
    if not holds:
        sys.exit(f"smoke_test: {what}")


class Bench:
    """Runs the benchmark of one build."""

    def __init__(self, build, scratch):
        self.build = build
        self.file = scratch / "out" / "bench.json"
        programs = pathlib.Path(build) / "bench"
        self.missing = {system for system in SERVICES if services.missing(system, programs)}
        self.services = tuple(system for system in SERVICES if system not in self.missing)

    def run(self, *options):
        return subprocess.run([sys.executable, "-B", HERE / "main.py", *options], stdout=subprocess.PIPE, text=True,
                              env={**os.environ, "ZKLOCK_BUILD_DIR": self.build})

    def measure(self, systems, *options):
        """Returns what was printed, and the entries of the file."""
        ran = self.run("--quick", "--systems", ",".join(systems), "--json", self.file, *options)
        check(ran.returncode == 0, f"status {ran.returncode} of {options}")
        entries = json.loads(self.file.read_text())
        for entry in entries:
            check_entry(entry)
        return ran.stdout, entries


def check_entry(entry):
    check(tuple(entry) == FIELDS, f"the fields of {entry}")
    check((entry["traffic"] is None) == (entry["scenario"] != "outage"), f"the traffic of {entry}")
    if entry["traffic"]:
        return check_traffic(entry)
    numbers = [entry[name] for name in FIELDS[3:10]] + [entry["requests_per_operation"]]
    check(all(isinstance(n, (int, float)) and math.isfinite(n) and n > 0 for n in numbers), f"the numbers of {entry}")
    latencies = [entry[name] for name in FIELDS[5:10]]
    check(latencies == sorted(latencies), f"the order of the percentiles of {entry}")
    if entry["scenario"] == "uncontended" and entry["system"] in COUNTED:
        check_requests(entry, REQUESTS[entry["parameters"]["operation"]])


def check_traffic(entry):
    """All clients connect again after a restart, and at no time when nothing happens."""
    traffic, clients = entry["traffic"], entry["parameters"]["clients"]
    gone, back = (traffic[when] // traffic["step_ms"] for when in ("gone_ms", "back_ms"))
    connects, requests = traffic["connects"], traffic["requests"]
    check(0 < gone < back < len(connects) == len(requests), f"the times of {entry}")
    check(not any(connects[:gone]), f"connects while nothing happens of {entry}")
    check(sum(requests[:gone]) >= clients, f"the heartbeats of {entry}")  # of two seconds
    check(sum(requests[back:]) >= clients, f"the requests afterwards of {entry}")
    if entry["parameters"]["outage"] == "restart":
        check(sum(connects[gone:]) >= clients, f"the connects of {entry}")
    check(f" of {clients} sessions were lost" in entry["note"], f"the note of {entry}")


def check_requests(entry, each):
    others = 5 / entry["operations"]  # what renews sessions
    check(abs(entry["requests_per_operation"] - each) < 0.1 + others, f"the requests of {entry}")


def kinds(entries):
    return {(e["system"], e["scenario"], *(f"{name}={value}" for name, value in e["parameters"].items()))
            for e in entries}


def uncontended(bench, scratch):
    """All systems that need no warming up; the plots; in memory, unless there is none."""
    systems = ("raw", "zklock", *SERVICES)
    drawn = scratch / "plots"
    printed, entries = bench.measure(systems, "--scenario", "uncontended", "--rounds", "4", "--plots", drawn)
    expected = {(system, "uncontended", f"operation={operation}") for operation in OPERATIONS
                for system in systems if system not in bench.missing}
    expected |= {(system, "uncontended", "operation=first") for system in ("raw", "zklock")}
    check(kinds(entries) == expected and len(entries) == len(expected), f"measured was {kinds(entries)}")
    place = data.Place("memory")
    check({e["data"] for e in entries} == {place.word()} and place.told() in printed, "where the data are")
    check("uncontended re-acquire, p50" in printed, "the table of targets")
    check("== what they promise" in printed, "the table of promises")
    for system in bench.missing:
        check(f"left out: {system}: " in printed, f"{system} is missing, and nobody says so")
    check([p.name for p in drawn.iterdir()] == ([] if plots.missing() else ["latency-uncontended.png"]), "the plots")


def processes(bench):
    """Contenders in two processes, of every system that can."""
    systems = ("zklock", "zklock-direct", "curator", "kazoo", *bench.services)
    _, entries = bench.measure(("raw", *systems), "--scenario", "handoff", "--scenario", "crowd", "--rounds", "1",
                               "--load", "processes=2")
    expected = {(system, "handoff", "processes=2", f"hold_us={hold_us}") for system in ("raw", *systems)
                for hold_us in (0, 1000)}
    expected |= {(system, "crowd", "processes=2", "waiters=2") for system in systems}
    expected |= {(system, "crowd", "processes=2", "waiters=2", "linger_ms=20")
                 for system in ("zklock", "zklock-direct", "curator")}
    check(kinds(entries) == expected, f"measured was {kinds(entries)}")
    for entry in entries:
        check("of the grants followed a hold of another process" in entry["note"], f"the note of {entry}")
        if entry["system"] == "raw":
            check_requests(entry, 3)  # a create, a watch and a delete


def outages(bench):
    """Fleets whose server starts again, or stands still."""
    systems = ("zklock", "curator")
    printed, entries = bench.measure(systems, "--scenario", "outage", "--clients", "20")
    expected = {(system, "outage", f"outage={kind}", "away_ms=2000", "clients=20", "session_ms=4000")
                for kind in ("restart", "stall") for system in systems}
    check(kinds(entries) == expected and len(entries) == len(expected), f"measured was {kinds(entries)}")
    check("whole x Curator" in printed, "the table of outages")
    compared = re.findall(r" zklock +requests .* \d+\.\d\d +\d+$", printed, re.MULTILINE)  # and sessions lost
    check(len(compared) == 2, f"{len(compared)} of two outages are compared with Curator's")


def too_short(bench):
    """A round in which a lock cannot be passed on is repeated, until one is."""
    load = Load("handoff", {"hold_us": 20_000, "ms": 1}, [Timed("handoff", {})], ("raw",), processes=2, rounds=1)
    runner = Runner(pathlib.Path(bench.build) / "bench", HERE.parent, load.systems, True, data.Place("memory"))
    try:
        runner.run([Scenario("handoff", [load])])
    finally:
        runner.close()
    check(not runner.failures, f"failures {runner.failures}")
    (found,) = runner.results.all
    check(found.operations() > 0 and len(found.rounds) == 1 and found.rounds[0].seconds > 0.020, f"found was {found}")


def scatter():
    """The interval of a ratio has the true one about 19 times of 20, and who reaches a goal is left open within it."""
    drawn = random.Random(7)
    for count in (6, 31, 200):
        found = [Ratio([drawn.lognormvariate(0, 0.2) for _ in range(count)]) for _ in range(1_000)]
        hits = sum(each.low <= 1 <= each.high for each in found)
        check(935 <= hits <= 990, f"{hits} of 1,000 intervals of {count} rounds have the true ratio")
    verdicts = {(0.99,) * 7: ("0.99 x (0.99 to 0.99)", targets.REACHED),
                (0.97,) * 7: ("0.97 x (0.97 to 0.97)", targets.MISSED),
                (0.97,) * 7 + (0.99,): ("0.97 x (0.97 to 0.99)", targets.OPEN),
                (0.97, 0.97, 0.99): ("0.97 x", targets.MISSED)}
    for rounds, expected in verdicts.items():
        judged = targets.judge(Ratio(rounds), "{:.2f} x", lambda value: value >= 0.98)
        check(judged == expected, f"the rounds {rounds} were judged {judged}")


ANSWERS = """
import sys, threading
def more():
    made = threading.Event()
    threading.Thread(target=lambda: (made.set(), threading.Event().wait()), daemon=True).start()
    made.wait()
for said in sys.stdin:
    more()
    print("ready" if "=" in said else "{}", flush=True)
"""


def processors_of(driver):
    return {frozenset(os.sched_getaffinity(thread)) for thread in driver.threads()}


def own_processors(scratch):
    """Processes that are measured together have a processor each, if there are enough, with all threads that they have
    and make; then they have all processors again."""
    here = os.sched_getaffinity(0)
    everywhere = {frozenset(here)}
    for count in (2, len(here) + 1):
        drivers = [Driver("raw", scratch, scratch, lambda: None, [sys.executable, "-c", ANSWERS]) for _ in range(count)]
        company = Company(drivers, scratch)
        try:
            company.set_up("handoff", {})
            company.start_measuring()
            for driver in drivers:
                driver.result()
            check(all(len(driver.threads()) == 3 for driver in drivers), "the threads")
            found = [processors_of(driver) for driver in drivers]
            if count <= len(here):
                check(all(len(own) == 1 and len(*own) == 1 for own in found), f"not one processor each: {found}")
                check(len(set().union(*found)) == count, f"not one of its own: {found}")
            else:
                check(all(own == everywhere for own in found), f"too few to share out: {found}")
            company.close()
            check(all(processors_of(driver) == everywhere for driver in drivers), "not all processors again")
        finally:
            for driver in drivers:
                driver.kill()


def on_disk(bench):
    if data.file_system(data.DISK) in data.IN_MEMORY:
        return
    systems = ("zklock", *bench.services)
    printed, entries = bench.measure(systems, "--scenario", "uncontended", "--rounds", "1", "--data", "disk")
    check({e["data"] for e in entries} == {"disk"} and "servers' data: on disk (/var/tmp" in printed,
          "where the data are")
    check({e["system"] for e in entries} == set(systems), "what was measured on a disk")


def main(build):
    with tempfile.TemporaryDirectory() as scratch:
        bench = Bench(build, pathlib.Path(scratch))
        scatter()
        uncontended(bench, pathlib.Path(scratch))
        processes(bench)
        outages(bench)
        too_short(bench)
        own_processors(pathlib.Path(scratch))
        on_disk(bench)
        for wrong in (("--scenario", "no-such-scenario"), ("--rounds", "0")):
            check(bench.run(*wrong).returncode == 2, f"{wrong} is accepted")
        if data.MEMORY.is_dir() and data.file_system(data.MEMORY) in data.IN_MEMORY:
            check(bench.run("--data", data.MEMORY).returncode == 1, "memory is taken for a disk")


if __name__ == "__main__":
    main(sys.argv[1])
