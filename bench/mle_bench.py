#!/usr/bin/env python3
"""The beta-model's solver beside NEMtropy, the field's, on the same degrees in one run.

    pip install NEMtropy==4.0.0 && python3 bench/mle_bench.py [BUILD/bin/mle_bench]

Degrees: those of the Facebook graph where BLINK_DATASETS names its folder, else of a generated power law. Both sides
start from the raw degrees and end with a value for each node: blink's classing and fit (best of 5; it clips to [1,
n-2]), NEMtropy's UndirectedGraph and solve_tool (best of 3 after a first call, in which numba compiles), each by its
faster methods at their default tolerance. Both check their answer before they return it: blink over pairs of classes,
NEMtropy over pairs of nodes, which takes most of its call; `unchecked` is its time without that (blink's is never
without). The residuals, largest |expected - d| / d over nodes, are computed here, the same way for both. Prints CSV,
then the ratios against NEMtropy's fastest answer with a residual below 1e-6.
"""
import contextlib
import io
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import warnings

try:
    import numpy as np
    from NEMtropy import UndirectedGraph
except ImportError as missing:
    sys.exit(f"mle_bench.py: {missing}: pip install NEMtropy==4.0.0 (best in a virtual environment)")

METHODS = (("cm_exp", "fixed-point"), ("cm_exp", "newton"))


def load_degrees(program):
    folder = os.environ.get("BLINK_DATASETS")
    edges = pathlib.Path(folder or "", "facebook", "edges.csv")
    if folder and edges.exists():
        pairs = np.loadtxt(edges, delimiter=",", skiprows=1, dtype=np.int64)
        return "facebook", np.bincount(pairs.ravel())
    text = subprocess.run([program, "power", "22470", "1"], check=True, capture_output=True, text=True).stdout
    return "power law", np.array(text.split(), dtype=np.int64)


def residual(degrees, beta):
    """Largest |expected - d| / d, with the pairs of distinct beta summed."""
    distinct, inverse, count = np.unique(beta, return_inverse=True, return_counts=True)
    degree = np.zeros(len(distinct))
    degree[inverse] = degrees
    p = 1 / (1 + np.exp(-np.add.outer(distinct, distinct)))
    expected = p @ count - np.diag(p)
    return np.max(np.abs(expected - degree) / degree)


def nemtropy(degrees, model, method):
    """(seconds of the whole call, seconds without NEMtropy's check, residual)"""
    best, beta = (float("inf"), float("inf")), None
    for call in range(4):
        with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            begin = time.perf_counter()
            graph = UndirectedGraph(degree_sequence=degrees.astype(float))
            check, checking = graph._solution_error, []

            def timed_check():
                started = time.perf_counter()
                check()
                checking.append(time.perf_counter() - started)

            graph._solution_error = timed_check
            graph.solve_tool(model=model, method=method, initial_guess="degrees")
            seconds = time.perf_counter() - begin
        if call > 0:
            best = min(best, (seconds, seconds - sum(checking)))
        beta = np.log(graph.x)
    return *best, residual(degrees, beta)


def main():
    root = pathlib.Path(__file__).resolve().parent.parent
    program = sys.argv[1] if len(sys.argv) > 1 else str(root / "build" / "release" / "bin" / "mle_bench")
    if not os.access(program, os.X_OK):
        sys.exit(f"mle_bench.py: no program {program}: build the target mle_bench, and give its path")
    name, degrees = load_degrees(program)
    degrees = np.clip(degrees, 1, len(degrees) - 2)
    print("solver,degrees,nodes,seconds,unchecked,residual")
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder, "degrees")
        np.savetxt(file, degrees, fmt="%d")
        run = subprocess.run([program, "fit", str(file)], check=True, capture_output=True, text=True)
        own = json.loads(run.stdout)
        own_residual = residual(degrees, np.loadtxt(f"{file}.beta"))
    print(f"blink,{name},{len(degrees)},{own['seconds']:.3g},,{own_residual:.2g}", flush=True)
    times = []
    for model, method in METHODS:
        seconds, unchecked, reached = nemtropy(degrees, model, method)
        print(f"NEMtropy {model} {method},{name},{len(degrees)},{seconds:.3g},{unchecked:.3g},{reached:.2g}",
              flush=True)
        if reached < 1e-6:
            times.append((seconds, unchecked, reached))
    if not times:
        sys.exit("mle_bench.py: no method of NEMtropy came to a residual below 1e-6")
    seconds, unchecked, reached = min(times)
    print(f"blink is {seconds / own['seconds']:.0f} times as fast ({unchecked / own['seconds']:.0f} times as NEMtropy "
          f"without its check), at a residual of {own_residual:.2g} against {reached:.2g}")


if __name__ == "__main__":
    main()
