#!/usr/bin/env python3
"""The estimate of the Python package beside that of the program, on the same reports in one run.

    PYTHON-WITH-BLINK-LDP bench/python_bench.py DATASET.. [--blink PROGRAM] [--epsilon N] [--repeats N]

Of the package the whole call of blink.estimate is measured. Of the program it is the estimate alone, as it reports it;
it also counts which of the links are true. Both run on one thread, in turn, and the best of the repeats counts. Prints
CSV with the ratio.
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile
import time

try:
    import blink
except ImportError as missing:
    sys.exit(f"python_bench.py: {missing}: install the package into this Python (python/README.md)")

ROOT = pathlib.Path(__file__).resolve().parents[1]


def simulate(options, dataset, *more):
    done = subprocess.run([options.blink, "simulate", "--dataset", dataset, "--model", "none", "--threads", "1",
                           "--trials", "1", "--json", "--quiet", *more], check=True, capture_output=True, text=True)
    return json.loads(done.stdout)


def measure(options, dataset, folder):
    """(seconds of the program, seconds of the package, nodes), for each variant."""
    simulate(options, dataset, "--epsilon", options.epsilon, "--save-reports", folder)
    round_folder = pathlib.Path(folder) / "trial-1"
    reports = blink.Reports.from_round(round_folder)
    for variant in ("hard", "hybrid", "soft"):
        theirs, ours = [], []
        for _ in range(options.repeats):
            estimate = simulate(options, dataset, "--reports", round_folder, "--variant", variant)["estimate"]
            theirs.append(estimate["mle_seconds"] + estimate["denoise_seconds"])
            started = time.perf_counter()
            blink.estimate(reports, variant=variant, threads=1)
            ours.append(time.perf_counter() - started)
        yield variant, min(theirs), min(ours), reports.node_count


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("datasets", nargs="+", metavar="DATASET", help="data-set folders, with their links")
    parser.add_argument("--blink", default=ROOT / "build/release/bin/blink", type=pathlib.Path, help="the program")
    parser.add_argument("--epsilon", default="4")
    parser.add_argument("--repeats", default=5, type=int)
    options = parser.parse_args()
    print("dataset,nodes,variant,program_seconds,package_seconds,ratio")
    for dataset in options.datasets:
        with tempfile.TemporaryDirectory() as folder:
            for variant, theirs, ours, nodes in measure(options, dataset, folder + "/reports"):
                print(f"{pathlib.Path(dataset).name},{nodes},{variant},{theirs:.4f},{ours:.4f},{ours / theirs:.3f}",
                      flush=True)


if __name__ == "__main__":
    main()
