"""What is measured. Each part is a function of (place, record) that calls record(measure, value) for each figure."""
import contextlib
import json
import os
import pathlib
import subprocess
import sys
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "e2e"))

OUT_OF_RESOURCE = 9  # exit codes of common/base/exit_code.h
EPOCHS = 10
EPSILON = 8  # of the service
FEATURES, WORDS = 128, 10
WORKER_BYTES_MAX = 16_000_000_000
PATIENCE_SECONDS = 4 * 3600
MB = 1_000_000


class Failed(Exception):
    pass


def bytes_in(*folders):
    total = 0
    for folder in folders:
        for path in folder.rglob("*"):
            with contextlib.suppress(OSError):
                total += 0 if path.is_dir() else path.lstat().st_size
    return total


class DiskPeak:
    """The largest size that a folder had, sampled until it is closed."""

    def __init__(self, folder):
        self.folder, self.peak, self.ended = folder, 0, threading.Event()
        self.thread = threading.Thread(target=self._sample, daemon=True)
        self.thread.start()

    def _sample(self):
        while not self.ended.wait(0.5):
            self.peak = max(self.peak, bytes_in(self.folder))

    def close(self):
        self.ended.set()
        self.thread.join()
        return max(self.peak, bytes_in(self.folder))


def run_measured(command, environment=None):
    """Runs it to its end: (exit code, stdout, stderr, seconds, peak memory in bytes by the kernel's count)."""
    began = time.monotonic()
    process = subprocess.Popen([str(part) for part in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               text=True, env={**os.environ, **(environment or {})})
    texts = ["", ""]

    def drain(index, stream):
        texts[index] = stream.read()

    readers = [threading.Thread(target=drain, args=pair) for pair in enumerate((process.stdout, process.stderr))]
    for reader in readers:
        reader.start()
    try:
        _, status, usage = os.wait4(process.pid, 0)
    except BaseException:
        process.kill()
        raise
    process.returncode = os.waitstatus_to_exitcode(status)
    for reader in readers:
        reader.join()
    process.stdout.close()
    process.stderr.close()
    return process.returncode, *texts, time.monotonic() - began, usage.ru_maxrss * 1024


class Place:
    """Where one size is measured, and on which graph."""

    def __init__(self, scratch, options, nodes, say):
        self.scratch, self.options, self.nodes, self.say = scratch, options, nodes, say
        self.blink = options.programs.resolve() / "blink"

    def must(self, *arguments):
        code, out, err, seconds, peak = run_measured([self.blink, *arguments])
        if code != 0:
            raise Failed(f"blink {' '.join(map(str, arguments))}\nexit code {code}: {err.strip()[-1500:]}")
        return out, seconds, peak

    def generate(self, record):
        """The graph's folder."""
        folder = self.scratch / "dataset"
        _, seconds, peak = self.must("dataset", "generate", "--output", folder, "--nodes", self.nodes, "--mean-degree",
                                     10, "--features", FEATURES, "--words-per-node", WORDS, "--model",
                                     self.options.model)
        record("generate_seconds", seconds)
        record("generate_peak_bytes", peak)
        record("model", self.options.model)
        self.say(f"generated in {seconds:.1f} s")
        return folder


def refusal_of(message):
    """The words of a refusal, without the name of the program."""
    return message.strip().splitlines()[-1].removeprefix("blink: ")


def table(place, record):
    """`blink simulate` from drawn reports to a trained GCN on the Hard links."""
    folder = place.generate(record)
    for epsilon in place.options.epsilon:
        work = place.scratch / f"epsilon-{epsilon}"
        work.mkdir()
        disk = DiskPeak(work)
        code, out, err, seconds, peak = run_measured(
            [place.blink, "simulate", "--dataset", folder, "--epsilon", epsilon, "--trials", 1, "--tune", 0, "--model",
             "gcn", "--epochs", EPOCHS, "--device", "cpu", "--save-reports", work / "reports", "--json", "--quiet"],
            {"TMPDIR": str(work)})
        disk_bytes = disk.close()
        subprocess.run(["rm", "-rf", work], check=True)
        if code == OUT_OF_RESOURCE:
            record("refused", refusal_of(err), epsilon)
            place.say(f"epsilon {epsilon}: refused")
            continue
        if code != 0:
            raise Failed(f"blink simulate ended with code {code}: {err.strip()[-1500:]}")
        result = json.loads(out)
        estimate, report = result["estimate"], result["report"]
        epochs = EPOCHS * result["train"]["epoch_ms_mean"] / 1000
        stages = {"draw": place.nodes * report["privatize_us_mean"] / 1e6,
                  "checks": (result["plausibility"] or {}).get("seconds", 0.0),
                  "estimate": estimate["mle_seconds"] + estimate["denoise_seconds"], "epochs": epochs}
        for stage, value in stages.items():
            record(f"{stage}_seconds", float(value), epsilon)
        record("all_seconds", seconds, epsilon)
        record("peak_bytes", peak, epsilon)
        record("predicted_bytes", float(result["memory_need_bytes"]), epsilon)
        record("disk_bytes", disk_bytes, epsilon)
        record("report_bytes", float(report["bytes_mean"]), epsilon)
        record("test_accuracy", float(result["train"]["test_accuracy_mean"]), epsilon)
        place.say(f"epsilon {epsilon}: {seconds:.1f} s, {peak / MB:,.0f} MB")


def peak_of(pid):
    """VmHWM in bytes; 0 when the process has ended."""
    with contextlib.suppress(OSError, StopIteration):
        lines = pathlib.Path(f"/proc/{pid}/status").read_text().splitlines()
        return 1024 * next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:"))
    return 0


class Service:
    """A deployment whose nodes are hosted by a few gateways. The machine's memory does not count when a round is
    created, since what is measured here ends with the seal."""

    def __init__(self, place, record):
        import blinktest  # only now: it reads where the programs are when it is imported
        self.blinktest, self.place, self.record = blinktest, place, record
        dataset = place.generate(record)
        began = time.monotonic()
        self.blink = blinktest.Deployment(nodes=place.nodes, kits=place.options.kits, dataset=dataset, name="million",
                                          policy=("--epsilon-per-round-max", EPSILON, "--epsilon-lifetime-max", 64),
                                          patience=PATIENCE_SECONDS)
        record("provision_seconds", time.monotonic() - began)
        record("kits", place.options.kits)
        self.gateways_peak = 0

    def __enter__(self):
        self.blink.__enter__()
        return self

    def __exit__(self, *error):
        self.blink.__exit__(*error)

    def start_aggregator(self):
        self.blink.start_aggregator("--log-level", "warning", "--ignore-memory", "--worker-memory-bytes",
                                    WORKER_BYTES_MAX)

    def look(self, round_id, fleet):
        """The round's status. Meanwhile the peaks of the gateways are kept, which is lost when they end."""
        self.gateways_peak = max([self.gateways_peak, *(peak_of(process.pid) for process in fleet)])
        for process in fleet:
            if process.popen.poll() not in (None, 0):
                raise Failed(f"a gateway ended with code {process.popen.returncode}: {process.log()[-1500:]}")
        return self.status(round_id)

    def status(self, round_id):
        """Of a machine that is very busy a call may get no answer in its time."""
        for _ in range(20):
            done = self.blinktest.run("blink", "round", "status", "--config", self.blink.operator, "--json", round_id)
            if done.code == self.blinktest.OK:
                return done.json()
            if done.code != self.blinktest.UNREACHABLE or not self.blink.aggregator.running():
                break
            time.sleep(5)
        raise Failed(f"the aggregator gave no status: {done}\n{self.blink.aggregator.log()[-1500:]}")

    def wait_until(self, round_id, fleet, reached, patience=PATIENCE_SECONDS):
        end, last = time.monotonic() + patience, 0.0
        while True:
            status = self.look(round_id, fleet)
            if reached(status):
                return status
            if time.monotonic() > end:
                raise Failed(f"waited {patience} s in vain; the round is {status['state']}")
            if time.monotonic() - last > 10:
                last = time.monotonic()
                self.place.say(f"{status['state']}, {status['reports']:,} reports, aggregator "
                               f"{peak_of(self.blink.aggregator.pid) / MB:.0f} MB")
            time.sleep(0.2 if self.place.nodes < 100_000 else 1)

    def record_peak(self, when):
        self.record(f"aggregator_{when}_peak_bytes", peak_of(self.blink.aggregator.pid))

    def create_round(self):
        return self.blink.create_round(EPSILON, 0.1, "8h", EPOCHS)

    def finish(self, round_id, fleet):
        """Waits for the seal, and for more if that was asked for. The gateways have to end well."""
        sealed = self.wait_until(round_id, fleet, lambda status: status["state"] != "open")
        if sealed["state"] == "failed" or sealed["reports"] != self.place.nodes:
            raise Failed(f"sealed with {sealed['reports']:,} reports of {self.place.nodes:,}: {sealed}")
        for process in fleet:
            if process.wait(900) != 0:
                raise Failed(f"a gateway ended with code {process.popen.returncode}: {process.log()[-1500:]}")
        # reports.blr is written after the state has changed
        self.wait_until(round_id, [], lambda status: status["state"] not in ("open", "sealed"))
        return sealed


def service(place, record):
    """Gateways draw all reports and send them; the round is sealed when all are there."""
    with Service(place, record) as stage:
        stage.start_aggregator()
        stage.record_peak("start")
        began = time.monotonic()
        round_id = stage.create_round()
        fleet = stage.blink.start_fleet()
        stage.wait_until(round_id, fleet, lambda status: status["reports"] > 0 or status["state"] != "open")
        first = time.monotonic()
        record("first_report_seconds", first - began)
        stage.wait_until(round_id, fleet, lambda status: status["reports"] == place.nodes or status["state"] != "open")
        record("sending_seconds", time.monotonic() - first)
        stage.record_peak("received")
        stage.finish(round_id, fleet)
        record("all_seconds", time.monotonic() - began)
        record("gateway_peak_bytes", stage.gateways_peak)
        record("store_bytes", bytes_in(stage.blink.data / "store"))
        record("round_bytes", bytes_in(stage.blink.round_folder(round_id)))
        record("journals_bytes", bytes_in(stage.blink.out / "journals"))
        state = stage.status(round_id)["state"]
        if place.options.until == "ready":
            state = stage.wait_until(round_id, [], lambda status: status["state"] in ("ready", "failed"))["state"]
        elif state not in ("ready", "failed"):
            stage.blinktest.run("blink", "round", "cancel", "--config", stage.blink.operator, round_id)
        # the status, the list and the web page of a round so large
        stage.blinktest.must("blink", "round", "list", "--config", stage.blink.operator, "--json")
        record("ends", state if place.options.until == "ready" else "sealed")
        stage.record_peak("end")
        place.say(f"sealed; aggregator {peak_of(stage.blink.aggregator.pid) / MB:.0f} MB")


def crash(place, record):
    """Everything is killed when half of the reports are there. What the gateways have receipts for must be held."""
    with Service(place, record) as stage:
        stage.start_aggregator()
        round_id = stage.create_round()
        fleet = stage.blink.start_fleet()
        stage.wait_until(round_id, fleet, lambda status: status["reports"] > 0 or status["state"] != "open")
        # a poll costs as much as thousands of reports
        stage.wait_until(round_id, fleet,
                         lambda status: status["reports"] >= 0.4 * place.nodes or status["state"] != "open")
        stage.blink.aggregator.kill()
        for process in fleet:
            process.kill()
        receipts = sum(stage.blink.account(kit)["receipts"] for kit in stage.blink.kits())
        stage.start_aggregator()
        held = stage.status(round_id)["reports"]
        record("killed_at", receipts)
        record("held_after", held)
        place.say(f"killed with {receipts:,} receipts; {held:,} reports are held")
        if held < receipts:
            raise Failed(f"{receipts - held:,} acknowledged reports are gone")
        fleet = stage.blink.start_fleet()
        sealed = stage.finish(round_id, fleet)
        record("sealed_with", sealed["reports"])
        stage.record_peak("end")
        stage.blinktest.run("blink", "round", "cancel", "--config", stage.blink.operator, round_id)


PARTS = {"table": table, "service": service, "crash": crash}
