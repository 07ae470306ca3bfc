"""smoke_test.py BUILD_DIR: a short run gives the table, the file and the plots that bench/run promises."""
import json
import math
import os
import pathlib
import subprocess
import sys
import tempfile

import plots
from results import FIELDS

HERE = pathlib.Path(__file__).resolve().parent
EXPECTED = {(system, operation) for system in ("raw", "zklock") for operation in ("first", "acquire", "cycle")}


def check(holds, what):
    if not holds:
        sys.exit(f"smoke_test: {what}")


def run(build, *options):
    return subprocess.run([sys.executable, "-B", HERE / "main.py", *options], stdout=subprocess.PIPE, text=True,
                          env={**os.environ, "ZKLOCK_BUILD_DIR": build})


def check_entry(entry):
    check(tuple(entry) == FIELDS, f"the fields of {entry}")
    check(entry["scenario"] == "uncontended", f"the scenario of {entry}")
    numbers = [entry[name] for name in FIELDS[3:-1]]
    check(all(isinstance(n, (int, float)) and math.isfinite(n) and n > 0 for n in numbers), f"the numbers of {entry}")
    latencies = [entry[name] for name in FIELDS[5:10]]
    check(latencies == sorted(latencies), f"the order of the percentiles of {entry}")
    if entry["system"] == "raw":  # what the floor is made of, by the server's count
        requests = {"first": 2, "acquire": 1, "cycle": 2}[entry["parameters"]["operation"]]
        check(abs(entry["requests_per_operation"] - requests) < 0.1, f"the requests of {entry}")


def main(build):
    with tempfile.TemporaryDirectory() as scratch:
        file, drawn = pathlib.Path(scratch) / "out" / "bench.json", pathlib.Path(scratch) / "plots"
        ran = run(build, "--quick", "--scenario", "uncontended", "--systems", "raw,zklock", "--json", file,
                  "--plots", drawn)
        check(ran.returncode == 0, f"status {ran.returncode}")
        entries = json.loads(file.read_text())
        found = {(entry["system"], entry["parameters"]["operation"]) for entry in entries}
        check(found == EXPECTED and len(entries) == len(EXPECTED), f"measured was {found}")
        for entry in entries:
            check_entry(entry)
        check("uncontended re-acquire, p50" in ran.stdout, "the table of targets")
        check([p.name for p in drawn.iterdir()] == ([] if plots.missing() else ["latency-uncontended.png"]), "the plots")
    check(run(build, "--scenario", "no-such-scenario").returncode == 2, "an unknown scenario is accepted")


if __name__ == "__main__":
    main(sys.argv[1])
