"""The checks of tools/gpu-check's `run`: each returns what it found, raises Failed when that is wrong, or Skipped with
the reason."""
import contextlib
import json
import os
import platform
import re
import subprocess
import sys
import threading
import time

import blinktest
from blinktest import BIN_DIR, Deployment, must, run

MODELS = ("gcn", "graphsage", "gat", "mlp")
VARIANTS = ("hard", "hybrid", "soft")
TORCH_WANTED = "2.11.0"
# A GPU sums in another order, so the two trainings drift apart; without dropout they stay this near for the epochs of
# the comparison.
LOSS_TOLERANCE, ACCURACY_TOLERANCE = 0.02, 0.03
RESOURCES = 9  # exit code: out of memory


class Failed(Exception):
    pass


class Skipped(Exception):
    pass


class Host:
    """What the checks share: the device, a generated graph, and the folder of a round's reports once there is one."""

    def __init__(self, scratch, folder, torch, device, quick):
        self.scratch, self.folder, self.torch, self.device, self.quick = scratch, folder, torch, device, quick
        self.dataset, self.reports = scratch / "graph", None
        self.nodes = 200 if quick else 2708
        self.epochs = 5 if quick else 100
        self.features = ("--features", 48, "--words-per-node", 6, "--classes", 3) if quick else ()

    @property
    def gpu(self):
        return self.device != "cpu"

    def need_gpu(self):
        if not self.gpu:
            raise Skipped("needs a GPU: --device cpu was given")

    def simulate(self, *arguments, device=None, expect=(0,), timeout=580):
        done = run("blink", "simulate", *arguments, "--device", device or self.device, "--json", "--quiet",
                   timeout=timeout)
        if done.code not in expect:
            raise Failed(f"exit code {done.code} of blink simulate {' '.join(map(str, arguments))}: "
                         f"{done.err.strip()[-500:]}")
        return done

    def source(self):
        """Arguments for the same reports on every call: the round's, or drawn from a seed where no round could be
        held."""
        if self.reports:
            return ("--dataset", self.dataset, "--reports", self.reports)
        return ("--dataset", self.dataset, "--epsilon", 6, "--degree-share", 0.1, "--trials", 1,
                "--insecure-seeded-noise")


def nvidia_smi(query, device):
    """The values of one query, or None where there is no nvidia-smi."""
    with contextlib.suppress(OSError, subprocess.SubprocessError):
        done = subprocess.run(["nvidia-smi", f"--id={device.partition(':')[2]}", f"--query-gpu={query}",
                               "--format=csv,noheader,nounits"],
                              capture_output=True, text=True, timeout=20, check=True)
        return [value.strip() for value in done.stdout.strip().split(",")]
    return None


class GpuMemory:
    """The most memory in use on the card while the block runs, above what was in use before, MiB; None without
    nvidia-smi."""

    def __init__(self, device):
        self.device, self.before, self.most, self.done = device, None, None, threading.Event()

    def used(self):
        values = nvidia_smi("memory.used", self.device) if self.device != "cpu" else None
        return float(values[0]) if values else None

    def watch(self):
        while not self.done.wait(0.1):
            self.most = max(self.most, self.used() or 0)

    def __enter__(self):
        self.before = self.most = self.used()
        self.thread = threading.Thread(target=self.watch, daemon=True)
        if self.before is not None:
            self.thread.start()
        return self

    def __exit__(self, *_):
        self.done.set()
        if self.before is not None:
            self.thread.join()

    @property
    def mib(self):
        return None if self.before is None else self.most - self.before


def first_train(done):
    return done.json()["trials"][0]["train"]


# ---- the checks, in their order

def check_host(host):
    """What the host is; its torch has to be the one that blink was built with."""
    version = (host.torch / "version.py").read_text() if (host.torch / "version.py").exists() else ""
    found = re.search(r"__version__ = '([^']+)'", version)
    figures = {"machine": platform.machine(), "system": platform.platform(), "libc": platform.libc_ver()[1],
               "cores": os.cpu_count(), "python": platform.python_version(), "torch": found.group(1) if found else None}
    if host.gpu:
        names = ("name", "memory.total", "memory.used", "driver_version")
        figures["gpu"] = dict(zip(names, nvidia_smi(",".join(names), host.device) or []))
    if not found or found.group(1).split("+")[0] != TORCH_WANTED:
        raise Failed(f"torch {figures['torch']} is at {host.torch}, but blink was built with {TORCH_WANTED}")
    return figures


def libraries_missing(program):
    """What the loader does not find, by name; empty also where there is no ldd to ask."""
    try:
        listed = subprocess.run(["ldd", BIN_DIR / program], capture_output=True, text=True, check=False,
                                env={**os.environ, "LC_ALL": "C"})
    except OSError:
        return []
    absent = re.findall(r"(\S+) => not found|version `(\S+)' not found", listed.stdout + listed.stderr)
    return sorted({library or version for library, version in absent})


def check_libraries(host):
    """Every program finds its libraries and starts."""
    wrong = {}
    for program in ("blink", "blink-simulate", "blink-worker", "blink-aggregator", "blink-node"):
        done = run(program, "--version")
        missing = libraries_missing(program)
        if done.code != 0 or missing:
            wrong[program] = missing or done.err.strip()[-300:]
    if wrong:
        raise Failed(f"programs do not start, or lack libraries: {wrong}")
    return {"programs": 4}


def check_generate(host):
    must("blink", "dataset", "generate", "--output", host.dataset, "--nodes", host.nodes, *host.features)
    return {"nodes": host.nodes}


def check_unit_tests(host):
    """train_gpu_test: the models' own comparison of GPU and CPU."""
    report = host.scratch / "gtest.json"
    done = run("train_gpu_test", f"--gtest_output=json:{report}", timeout=580)
    if not report.exists():
        raise Failed(f"train_gpu_test ended with {done.code}: {(done.out + done.err)[-500:]}")
    tests = [test for suite in json.loads(report.read_text())["testsuites"] for test in suite["testsuite"]]
    failed = [f"{test['classname']}.{test['name']}" for test in tests if test.get("failures")]
    skipped = sum(test.get("result") == "SKIPPED" for test in tests)
    if failed:
        raise Failed(f"{len(failed)} of {len(tests)} failed: {', '.join(failed)}\n{done.out[-1500:]}")
    if host.gpu and skipped:
        raise Failed(f"{skipped} of {len(tests)} skipped, although there is a GPU\n{done.out[-800:]}")
    return {"tests": len(tests), "skipped": skipped}


def check_round(host):
    """A whole round on loopback with the released programs; the aggregator's worker trains on the device."""
    with Deployment(nodes=host.nodes, kits=3, dataset=host.dataset, name="gpu-check") as blink:
        blink.start_aggregator()
        blink.start_fleet(arguments=("--leave", "at-receipt"))
        round_id = blink.create_round(6, 0.1, "5m", host.epochs, "--device", host.device)
        blink.wait_for_fleet()
        blink.wait_for_state(round_id, "ready")
        result = host.scratch / "round-result"
        must("blink", "round", "result", "--config", blink.operator, round_id, "--output", result)
        metrics = json.loads((result / "metrics.json").read_text())
        host.reports = host.scratch / "round"
        host.reports.mkdir()
        for name in ("round.json", "reports.blr"):
            (host.reports / name).write_bytes((blink.data / "rounds" / round_id / name).read_bytes())
    used = metrics["train"]["device"]
    if not used.startswith(host.device):
        raise Failed(f"the worker trained on {used}, not on {host.device}")
    return {"nodes": host.nodes, "device": used, "test_accuracy": metrics["train"]["test_accuracy"],
            "epoch_ms": metrics["train"]["epoch_ms_mean"]}


def compare(host, model, variant):
    arguments = (*host.source(), "--model", model, "--epochs", host.epochs, "--dropout", 0, "--seed", 5)
    if model != "mlp":
        arguments += ("--variant", variant)
    # one thread on the CPU, so that even --device cpu compares two ways: there the result does not depend on the
    # threads
    cpu = first_train(host.simulate(*arguments, "--threads", 1, device="cpu"))
    device = first_train(host.simulate(*arguments))
    if not device["device"].startswith(host.device):
        raise Failed(f"trained on {device['device']}, not on {host.device}")
    loss = abs(device["validation_loss"] - cpu["validation_loss"])
    accuracy = abs(device["test_accuracy"] - cpu["test_accuracy"])
    figures = {"validation_loss_difference": loss, "test_accuracy_difference": accuracy,
               "cpu_epoch_ms": cpu["epoch_ms_mean"], "device_epoch_ms": device["epoch_ms_mean"]}
    if loss > LOSS_TOLERANCE or accuracy > ACCURACY_TOLERANCE:
        raise Failed(f"the device's training is not the CPU's: {figures}")
    return figures


def comparisons():
    pairs = [("mlp", "hard")] + [(model, variant) for model in MODELS if model != "mlp" for variant in VARIANTS]
    for model, variant in pairs:
        name = f"equal to the CPU: {model}" + ("" if model == "mlp" else f", {variant}")
        yield name, lambda host, model=model, variant=variant: compare(host, model, variant)


def check_repeatability(host):
    """The same seed on the same device twice: promised bit for bit on a CPU."""
    arguments = (*host.source(), "--epochs", host.epochs, "--seed", 5)
    first, second = (first_train(host.simulate(*arguments)) for _ in range(2))
    same = first["validation_loss"] == second["validation_loss"] and first["test_accuracy"] == second["test_accuracy"]
    if not same and not host.gpu:
        raise Failed(f"validation losses {first['validation_loss']} and {second['validation_loss']} of the same seed")
    return {"bit_for_bit": same}


def peer(host, model, links):
    """({form: milliseconds an epoch}, None), or (None, why not)."""
    epochs = 3 if host.quick else 200
    environment = dict(os.environ, PYTHONPATH=os.pathsep.join(
        [part for part in (str(host.torch.parent), os.environ.get("PYTHONPATH")) if part]))
    # not DIR/lib: the host's Python has libraries of its own
    environment["LD_LIBRARY_PATH"] = ":".join(part for part in os.environ["LD_LIBRARY_PATH"].split(":")
                                              if part != str(host.folder / "lib"))
    done = subprocess.run([sys.executable, host.folder / "python" / "pyg_peer.py", "--dataset", host.dataset, "--links",
                           links, "--model", model, "--device", host.device, "--epochs", str(epochs), "--form", "plain",
                           "sparse"], capture_output=True, text=True, check=False,
                          env=environment, timeout=300)
    if done.returncode != 0:
        return None, (done.stderr.strip().splitlines() or ["no message"])[-1]
    return {form: figures["epoch_ms"] for form, figures in json.loads(done.stdout)["forms"].items()}, None


def check_epochs(host):
    """An epoch (training and evaluation) on the device, beside torch-geometric's on the same links."""
    figures, why = {}, None
    for model in ("gcn", "graphsage", "gat"):
        output = host.scratch / f"result-{model}"
        arguments = (*host.source(), "--model", model, "--variant", "hard", "--epochs", 10 if host.quick else 300,
                     "--output", output)
        ours = first_train(host.simulate(*arguments))["epoch_ms_mean"]
        theirs, problem = peer(host, model, output / "links.csv") if why is None else (None, why)
        why = why or problem
        figures[model] = {"blink_epoch_ms": ours, "torch_geometric_epoch_ms": theirs,
                          "ratio_to_the_faster": theirs and min(theirs.values()) / ours}
    if why:
        figures["torch_geometric"] = f"not measured: {why}"
    return figures


def large_graph(host):
    nodes = 2000 if host.quick else 100_000
    folder = host.scratch / f"graph-{nodes}"
    if not folder.exists():
        must("blink", "dataset", "generate", "--output", folder, "--nodes", nodes, "--mean-degree", 10, "--features",
             500, "--words-per-node", 20, timeout=300)
    return folder, nodes


def check_memory(host):
    """Memory and time for a large graph, from drawn reports to a trained model."""
    folder, nodes = large_graph(host)
    figures = {"nodes": nodes}
    for model in ("gcn", "graphsage", "gat"):
        started = time.monotonic()
        with GpuMemory(host.device) as memory:
            done = host.simulate("--dataset", folder, "--epsilon", 8, "--trials", 1, "--model", model, "--epochs",
                                 5 if host.quick else 50)
        result = done.json()
        figures[model] = {"seconds": round(time.monotonic() - started, 2), "peak_rss_bytes": result["peak_rss_bytes"],
                          "gpu_mib": memory.mib, "epoch_ms": first_train(done)["epoch_ms_mean"]}
    return figures


HOG = """
import sys, torch
device = torch.device(sys.argv[1])
torch.zeros(1, device=device)
free, _ = torch.cuda.mem_get_info(device)
held = torch.empty(max(0, free - int(sys.argv[2])), dtype=torch.uint8, device=device)
print("held", held.numel(), flush=True)
sys.stdin.read()
"""


@contextlib.contextmanager
def little_memory_left(host, bytes_left):
    """Another process holds the card's memory, all but this much."""
    environment = dict(os.environ, PYTHONPATH=str(host.torch.parent))
    environment["LD_LIBRARY_PATH"] = ":".join(part for part in os.environ["LD_LIBRARY_PATH"].split(":")
                                              if part != str(host.folder / "lib"))
    with subprocess.Popen([sys.executable, "-c", HOG, host.device, str(bytes_left)], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, text=True, env=environment) as hog:
        try:
            line = hog.stdout.readline()
            if not line.startswith("held"):
                raise Failed("the process that takes the card's memory did not start")
            yield
        finally:
            hog.stdin.close()
            hog.wait(60)


def check_small_memory(host):
    """A training that does not fit on the card is refused with its own exit code, and goes on on the CPU when that was
    asked for."""
    host.need_gpu()
    arguments = (*host.source(), "--hidden", 4096, "--epochs", 3)
    before = nvidia_smi("memory.used", host.device)
    # A context takes half a GiB; the training, with 4096 hidden, several times what is left.
    with little_memory_left(host, 600 * 2**20):
        refused = host.simulate(*arguments, expect=(RESOURCES,))
        went_on = first_train(host.simulate(*arguments, "--on-out-of-memory", "cpu"))
    if not went_on["fell_back_to_cpu"] or not went_on["device"].startswith("cpu"):
        raise Failed(f"with --on-out-of-memory cpu it trained on {went_on['device']}")
    return {"message": refused.err.strip()[-300:], "went_on_on": went_on["device"],
            "memory_used_before_mib": before and before[0]}


def check_missing_device(host):
    """A device that does not exist is refused, not replaced."""
    done = host.simulate(*host.source(), "--epochs", 1, device="cuda:63", expect=tuple(range(1, 256)))
    if "cuda" not in done.err.lower():
        raise Failed(f"the message does not name the device: {done.err.strip()[-300:]}")
    return {"exit_code": done.code, "message": done.err.strip()[-300:]}


def all_checks():
    yield "host", check_host
    yield "libraries", check_libraries
    yield "unit tests of the models", check_unit_tests
    yield "a generated graph", check_generate
    yield "a round on loopback", check_round
    yield from comparisons()
    yield "repeatability", check_repeatability
    yield "a device that does not exist", check_missing_device
    yield "an epoch beside torch-geometric", check_epochs
    yield "memory of a large graph", check_memory
    yield "too little memory on the card", check_small_memory


def run_all(scratch, folder, torch, device, quick):
    host = Host(scratch, folder, torch, device, quick)
    results = []
    for name, check in all_checks():
        started = time.monotonic()
        try:
            entry = {"check": name, "result": "passed", "found": check(host)}
        except Skipped as reason:
            entry = {"check": name, "result": "skipped", "reason": str(reason)}
        except (Failed, AssertionError, OSError, KeyError, ValueError, subprocess.SubprocessError) as problem:
            entry = {"check": name, "result": "failed", "reason": f"{type(problem).__name__}: {problem}"[-2000:]}
        entry["seconds"] = round(time.monotonic() - started, 2)
        print(f"{entry['result']:8} {name} ({entry['seconds']} s)", file=sys.stderr, flush=True)
        results.append(entry)
    counts = {result: sum(entry["result"] == result for entry in results) for result in ("passed", "failed", "skipped")}
    return {"device": device, "quick": quick, "checks": results, "counts": counts, "passed": counts["failed"] == 0}
