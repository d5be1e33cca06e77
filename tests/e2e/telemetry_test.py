"""What an aggregator shows to whoever watches it: /metrics, /healthz and /readyz, asked over plain HTTP as Prometheus
and a balancer ask. Also that alerts, dashboard and documents name the metrics that there are, and no others."""
import contextlib
import http.client
import json
import os
import re
import resource
import shutil
import signal
import socket
import subprocess
import threading
import time
import unittest

import blinktest
from blinktest import Deployment, must, run

PROMETHEUS = blinktest.SOURCE_DIR / "deploy" / "prometheus"
DASHBOARD = blinktest.SOURCE_DIR / "deploy" / "grafana" / "blink-aggregator.json"
NAME = r"\b(?:blink|process)_[a-z0-9_]+\b"
SAMPLE = re.compile(r'^([a-z_][a-z0-9_]*)(?:\{((?:[a-z_]+="(?:[^"\\]|\\.)*",?)*)\})? (\S+)$')
LABEL = re.compile(r'([a-z_]+)="((?:[^"\\]|\\.)*)"')


def http_port(process, start=1):
    """Where it listens since its first start, or a later one, as its log says."""
    def told():
        return re.findall(r"over HTTP: listening on \S+, port (\d+)", process.log())[start - 1:]

    return int(blinktest.wait_until(told, "the line about HTTP in the log")[0])


def get(port, path, method="GET"):
    """(status, text) of one request."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    with contextlib.closing(connection):
        connection.request(method, path)
        answer = connection.getresponse()
        return answer.status, answer.read().decode()


class Metrics:
    """The text format of Prometheus, read strictly by another program than the one that writes it."""

    def __init__(self, text):
        self.text, self.types, self.helps, self.samples = text, {}, {}, {}
        if not text.endswith("\n"):
            raise AssertionError("the last line has no end")
        for line in text.splitlines():
            if line.startswith("# HELP "):
                name, about = line[7:].split(" ", 1)
                self._once(self.helps, name, about)
            elif line.startswith("# TYPE "):
                name, kind = line[7:].split(" ")
                self._once(self.types, name, kind)
            else:
                self._take(line)

    @staticmethod
    def _once(table, key, value):
        if key in table:
            raise AssertionError(f"{key} comes twice")
        table[key] = value

    def _take(self, line):
        sample = SAMPLE.match(line)
        if not sample:
            raise AssertionError(f"not a sample: {line!r}")
        name, labels, value = sample.groups()
        if self.family(name) is None:
            raise AssertionError(f"{name} has no TYPE before it")
        self._once(self.samples, (name, frozenset(LABEL.findall(labels or ""))), float(value))

    def family(self, name):
        base = re.sub(r"_(bucket|sum|count)$", "", name)
        return name if name in self.types else base if self.types.get(base) == "histogram" else None

    def value(self, name, **labels):
        """None: there is no such sample."""
        return self.samples.get((name, frozenset(labels.items())))

    def of(self, name):
        """All samples of that name: [(labels, value)]."""
        return [(dict(labels), value) for (have, labels), value in self.samples.items() if have == name]


def scrape(port):
    status, text = get(port, "/metrics")
    if status != 200:
        raise AssertionError(f"/metrics answers {status}: {text}")
    return Metrics(text)


def names_in(text):
    return set(re.findall(NAME, text))


def documented():
    """Names in the first column of the table of docs/AGGREGATOR.md."""
    text = (blinktest.SOURCE_DIR / "docs" / "AGGREGATOR.md").read_text()
    section = text.split("## What an aggregator shows", 1)[1].split("\n## ", 1)[0]
    return {name for row in re.findall(r"^\| (`.*?) \|", section, re.MULTILINE) for name in names_in(row)}


def expressions(dashboard):
    """What the panels and the variables of a dashboard ask Prometheus for."""
    queries = [target["expr"] for panel in dashboard["panels"] for target in panel.get("targets", [])]
    return queries + [variable["definition"] for variable in dashboard["templating"]["list"]
                      if "definition" in variable]


class Metering(blinktest.BlinkTest):
    """One aggregator and its rounds, watched from the beginning to the end."""

    @classmethod
    def setUpClass(cls):
        cls.blink = Deployment(nodes=60, kits=3)
        cls.addClassCleanup(cls.blink.__exit__, None, None, None)
        cls.port = http_port(cls.blink.start_aggregator("--http-listen", "127.0.0.1:0"))
        cls.first = scrape(cls.port)
        cls.round_id = cls.blink.create_round(epochs=300)
        cls.opened = scrape(cls.port)
        kits = cls.blink.kits()
        cls.reported = cls.blink.kit_size(kits[0])
        cls.blink.start_node(kits[0])
        cls.blink.wait_for_reports(cls.round_id, cls.reported)
        cls.part = scrape(cls.port)
        cls.blink.start_fleet(kits[1:])
        cls.running = cls.watch_worker()
        cls.blink.wait_for_state(cls.round_id, "ready")
        cls.blink.wait_for_fleet()
        cls.last = blinktest.wait_until(
            lambda: (now := scrape(cls.port)).value("blink_worker_running") == 0 and now, "the end of the worker")

    @classmethod
    def watch_worker(cls):
        """Stops the worker in its work, and returns what is told of it. A checkpoint is put beside it: in a training as
        short as this one it writes none."""
        aggregator = cls.blink.aggregator

        def told():
            now = scrape(cls.port)
            return (now.value("blink_worker_resident_memory_bytes") or 0) > 1 << 20  # no longer in its exec

        blinktest.wait_until(told, "a worker", pause=0.005)
        workers = aggregator.children()
        for pid in workers:
            os.kill(pid, signal.SIGSTOP)
        folder = cls.blink.round_folder(cls.round_id) / "result.checkpoint"
        existed = folder.exists()
        folder.mkdir(exist_ok=True)
        (folder / "test.checkpoint").touch()
        blinktest.wait_until(lambda: scrape(cls.port).value("blink_worker_silent_seconds") > 1, "a silent worker")
        now = scrape(cls.port)
        (folder / "test.checkpoint").unlink()
        if not existed:
            folder.rmdir()
        for pid in workers:
            os.kill(pid, signal.SIGCONT)
        return now

    def test_every_family_has_a_help_and_a_type_and_a_name_of_this_program(self):
        for seen in (self.first, self.running, self.last):
            self.assertEqual(set(seen.helps), set(seen.types))
            for name, kind in seen.types.items():
                self.assertRegex(name, f"^{NAME}$")
                self.assertIn(kind, ("gauge", "counter", "histogram"))
                self.assertEqual(kind == "counter", name.endswith("_total"), name)
                self.assertGreater(len(seen.helps[name]), 10, name)

    def test_the_buckets_of_a_histogram_add_up(self):
        for name in [name for name, kind in self.last.types.items() if kind == "histogram"]:
            by_rest = {}
            for labels, value in self.last.of(f"{name}_bucket"):
                bound = labels.pop("le")
                by_rest.setdefault(frozenset(labels.items()), []).append((float(bound.replace("+Inf", "inf")), value))
            for rest, buckets in by_rest.items():
                counts = [count for _, count in sorted(buckets)]
                self.assertEqual(counts, sorted(counts), name)
                self.assertEqual(counts[-1], self.last.value(f"{name}_count", **dict(rest)), name)

    def test_nothing_has_happened_before_the_first_round(self):
        self.assertEqual(self.first.value("blink_reports_accepted_total", kind="fresh"), 0)
        self.assertEqual({value for _, value in self.first.of("blink_reports_refused_total")}, {0})
        self.assertEqual({value for _, value in self.first.of("blink_rounds")}, {0})
        self.assertEqual(self.first.of("blink_round_missing_nodes"), [])
        self.assertEqual(self.first.value("blink_ready"), 1)

    def test_an_open_round_says_how_many_are_missing(self):
        self.assertEqual(self.opened.value("blink_rounds", state="open"), 1)
        self.assertEqual(self.opened.value("blink_round_missing_nodes", round=self.round_id), 60)
        self.assertEqual(self.part.value("blink_round_missing_nodes", round=self.round_id), 60 - self.reported)
        self.assertEqual(self.part.value("blink_round_reported_nodes", round=self.round_id), self.reported)
        self.assertEqual(self.part.value("blink_round_active_nodes", round=self.round_id), 60)
        left = self.opened.value("blink_round_deadline_timestamp_seconds", round=self.round_id) - time.time()
        self.assertLess(left, 600)
        self.assertGreater(left, 0)

    def test_a_worker_that_is_stopped_grows_silent(self):
        self.assertGreater(self.running.value("blink_worker_silent_seconds"), 1)
        self.assertEqual(self.running.value("blink_worker_attempts"), 1)
        self.assertGreater(self.running.value("blink_worker_resident_memory_bytes"), 1 << 20)
        self.assertGreaterEqual(self.running.value("blink_worker_checkpoint_age_seconds"), 0.5)
        self.assertEqual(len(self.running.of("blink_worker_progress_ratio")), 1)
        self.assertEqual(self.last.of("blink_worker_silent_seconds"), [])

    def test_a_finished_round_is_counted(self):
        last = self.last
        self.assertEqual(last.value("blink_reports_accepted_total", kind="fresh"), 60)
        self.assertEqual(last.value("blink_rounds", state="ready"), 1)
        self.assertEqual(last.value("blink_worker_exits_total", kind="done"), 1)
        self.assertEqual(last.value("blink_store_batch_reports_sum"), 60)
        self.assertEqual(last.of("blink_round_missing_nodes"), [], "only open rounds are named")
        for stage in ("open", "estimating", "training"):
            self.assertEqual(last.value("blink_round_stage_seconds_count", stage=stage), 1, stage)
        took = [last.value("blink_round_stage_seconds_sum", stage=stage) for stage in ("estimating", "training")]
        self.assertGreater(sum(took), 1, "it was stopped in one of them")
        self.assertEqual({value for _, value in last.of("blink_reports_refused_total")}, {0})

    def test_certificates_disk_and_process_are_as_the_system_says(self):
        now = scrape(self.port)
        for of in ("aggregator", "authority"):
            self.assertGreater(now.value("blink_certificate_expiry_timestamp_seconds", of=of), time.time())
        self.assertGreater(now.value("blink_revocations_expiry_timestamp_seconds"), time.time())
        size = shutil.disk_usage(self.blink.data).total
        self.assertAlmostEqual(now.value("blink_data_disk_size_bytes") / size, 1, delta=0.01)
        pid = self.blink.aggregator.pid
        descriptors = len(os.listdir(f"/proc/{pid}/fd"))
        self.assertAlmostEqual(now.value("process_open_fds"), descriptors, delta=5)
        self.assertEqual(now.value("process_max_fds"), resource.prlimit(pid, resource.RLIMIT_NOFILE)[0])
        self.assertLess(abs(now.value("process_start_time_seconds") - time.time()), 3600)
        version = re.search(r"(\d+\.\d+\.\d+) \(commit (\S+)\)", must("blink-aggregator", "--version").out)
        self.assertEqual(now.value("blink_build_info", version=version.group(1), commit=version.group(2)), 1)

    def test_the_documents_have_every_metric_and_no_other(self):
        seen = {name for now in (self.first, self.part, self.running, self.last) for name in now.types}
        self.assertEqual(documented() - seen, set(), "documented, and not there")
        self.assertEqual(seen - documented(), set(), "not documented")

    def test_alerts_and_the_dashboard_use_metrics_that_there_are(self):
        every = [now for now in (self.first, self.part, self.running, self.last)]
        for path, texts in ((PROMETHEUS / "blink-alerts.yml",
                             re.findall(r"expr:(.*?)\n +(?:for|labels):", (PROMETHEUS / "blink-alerts.yml").read_text(),
                                        re.DOTALL)),
                            (DASHBOARD, expressions(json.loads(DASHBOARD.read_text())))):
            self.assertGreater(len(texts), 10, path)
            for name in set().union(*map(names_in, texts)):
                self.assertTrue(any(name in {have for have, _ in now.samples} for now in every), f"{path}: {name}")

    def test_promtool_finds_nothing_wrong(self):
        if shutil.which("promtool") is None:
            self.skipTest("promtool is missing: scripts/install-deps --prometheus")
        for now in (self.first, self.running, self.last):
            done = subprocess.run(["promtool", "check", "metrics"], input=now.text, capture_output=True, text=True,
                                  timeout=60, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(done.stderr + done.stdout, "")
        for command in (["check", "config", "prometheus.yml"], ["check", "rules", "blink-alerts.yml"],
                        ["test", "rules", "blink-alerts-test.yml"]):
            done = subprocess.run(["promtool", *command], cwd=PROMETHEUS, capture_output=True, text=True, timeout=60,
                                  check=False)
            self.assertEqual(done.returncode, 0, done.stderr + done.stdout)


class Probes(blinktest.BlinkTest):
    """Those who ask whether it serves."""

    def setUp(self):
        self.blink = Deployment(nodes=12, kits=1)
        self.addCleanup(self.blink.__exit__, None, None, None)
        self.config = self.blink.out / "aggregator" / "aggregator.conf"

    def start(self, start=1):
        process = self.blink.start_aggregator("--http-listen", "127.0.0.1:0")
        return process, http_port(process, start)

    def assertReady(self, port, status, *texts):
        have, text = get(port, "/readyz")
        self.assertEqual(have, status, text)
        for part in texts:
            self.assertIn(part, text)

    def check_health(self):
        return run("blink-aggregator", "--config", self.config, "--check-health")

    def test_there_are_three_paths_and_two_methods(self):
        _, port = self.start()
        self.assertEqual(get(port, "/healthz"), (200, "ok\n"))
        self.assertEqual(get(port, "/readyz"), (200, "ready\n"))
        self.assertEqual(get(port, "/healthz", "HEAD"), (200, ""))
        for path in ("/", "/metrics/", "/debug/pprof", "/healthz/../metrics", "/%6detrics"):
            self.assertEqual(get(port, path)[0], 404, path)
        for method in ("POST", "PUT", "DELETE", "OPTIONS"):
            self.assertEqual(get(port, "/metrics", method)[0], 405, method)

    def test_nothing_listens_unless_it_is_told_to(self):
        process = self.blink.start_aggregator()
        self.assertNotIn("HTTP", process.log())

    def test_the_configuration_file_may_say_where(self):
        self.config.write_text(self.config.read_text() + '\nhttp-listen=":0"\ngrpc-reflection=true\n')
        process = self.blink.start_aggregator()
        self.assertEqual(get(http_port(process), "/healthz")[0], 200)
        self.assertNotIn("whoever reaches", process.log())

    def test_the_log_warns_of_an_address_that_others_reach(self):
        process = self.blink.start_aggregator("--http-listen", "0.0.0.0:0")
        self.assertIn("whoever reaches 0.0.0.0:0 reads the metrics", process.log())

    def test_a_port_that_is_taken_is_refused_by_name(self):
        with socket.create_server(("127.0.0.1", 0)) as taken:
            address = f"127.0.0.1:{taken.getsockname()[1]}"
            done = run("blink-aggregator", "--config", self.config, "--http-listen", address)
            self.assertEnds(done, blinktest.UNREACHABLE, f"--http-listen: cannot listen on {address}", "taken")
        done = run("blink-aggregator", "--config", self.config, "--http-listen", f"127.0.0.1:{self.blink.port}")
        self.assertEnds(done, blinktest.UNREACHABLE, f"cannot listen on 127.0.0.1:{self.blink.port}")
        for address in ("9464", "127.0.0.1", "127.0.0.1:x", "http://127.0.0.1:9464"):
            done = run("blink-aggregator", "--config", self.config, "--http-listen", address)
            self.assertEnds(done, blinktest.USAGE, "--http-listen", address)

    def test_it_is_not_ready_while_its_store_takes_no_write(self):
        process, port = self.start()
        self.assertEnds(self.check_health(), blinktest.OK)
        self.blink.create_round()
        # A quota that is used up. What it acknowledged is kept. Its log and its audit log cannot grow either.
        resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (1, resource.RLIM_INFINITY))
        refused = run("blink", "round", "create", "--config", self.blink.operator, "--epsilon", 6)
        self.assertIn("cannot write to the audit log", refused.err)
        self.blink.start_node(self.blink.kits()[0])
        blinktest.wait_until(lambda: get(port, "/readyz")[0] == 503, "a store that takes no report")
        self.assertReady(port, 503, "not ready: cannot store", "restart the aggregator")
        self.assertEqual(get(port, "/healthz"), (200, "ok\n"), "the process lives")
        now = scrape(port)
        self.assertEqual(now.value("blink_ready"), 0)
        self.assertEqual(now.value("blink_store_writable"), 0)
        self.assertGreaterEqual(now.value("blink_store_failed_writes_total"), 1)
        blinktest.wait_until(lambda: self.check_health().code == blinktest.UNREACHABLE, "a health check that fails")
        self.assertEnds(self.check_health(), blinktest.UNREACHABLE, "its store takes no write")
        process.terminate()
        _, port = self.start(start=2)
        self.assertReady(port, 200)
        self.assertEnds(self.check_health(), blinktest.OK)

    def test_it_is_not_ready_while_it_stops(self):
        process, port = self.start()
        self.blink.create_round(epochs=2000)
        self.blink.start_fleet()
        blinktest.wait_until(lambda: scrape(port).value("blink_worker_running") == 1, "a worker", pause=0.005)
        for pid in process.children():
            os.kill(pid, signal.SIGSTOP)  # so that its end takes the five seconds that it is given
        process.popen.send_signal(signal.SIGTERM)
        blinktest.wait_until(lambda: get(port, "/readyz")[0] == 503, "the end of its readiness", patience=4)
        self.assertReady(port, 503, "not ready: the aggregator stops")
        self.assertEqual(get(port, "/healthz")[0], 200)
        self.assertEqual(process.wait(), blinktest.OK)

    def test_a_probe_leaves_no_descriptor_and_no_line(self):
        process, port = self.start()
        for path in ("/healthz", "/readyz", "/metrics"):
            get(port, path)
        self.check_health()
        time.sleep(1)
        descriptors, log = len(os.listdir(f"/proc/{process.pid}/fd")), process.log()
        end = time.monotonic() + 5
        probes = 0
        while time.monotonic() < end:
            self.assertEqual(get(port, ("/healthz", "/readyz", "/metrics")[probes % 3])[0], 200)
            probes += 1
            time.sleep(0.01)
        self.assertGreater(probes, 50)
        blinktest.wait_until(lambda: len(os.listdir(f"/proc/{process.pid}/fd")) == descriptors,
                             "as many descriptors as before", patience=30)
        self.assertEqual(process.log(), log)

    def test_peers_that_say_nothing_keep_no_probe_out(self):
        process, port = self.start()
        with contextlib.ExitStack() as stack:
            for n in range(300):
                peer = stack.enter_context(socket.create_connection(("127.0.0.1", port)))
                with contextlib.suppress(OSError):
                    peer.sendall(b"GET /metrics HTTP/1.1\r\nX-Slow: " if n % 2 else b"")
            begun = time.monotonic()
            self.assertEqual(get(port, "/readyz")[0], 200)
            self.assertLess(time.monotonic() - begun, 5)
            self.assertLess(len(os.listdir(f"/proc/{process.pid}/fd")), 200)

    def test_the_service_goes_on_beside_a_flood_of_probes(self):
        process, port = self.start()
        stop = threading.Event()

        def flood():
            while not stop.is_set():
                with contextlib.suppress(OSError, http.client.HTTPException):
                    get(port, "/metrics")

        threads = [threading.Thread(target=flood) for _ in range(4)]
        for thread in threads:
            thread.start()
        try:
            round_id = self.blink.create_round()
            self.blink.start_fleet()
            self.blink.wait_for_state(round_id, "ready")
        finally:
            stop.set()
            for thread in threads:
                thread.join()
        self.assertTrue(process.running())


class OwnParser(unittest.TestCase):
    """That the parser of these tests refuses what is wrong."""

    def test_it_reads_samples_with_and_without_labels(self):
        read = Metrics('# HELP a As.\n# TYPE a gauge\na{x="1",y="\\"z"} 2.5\n# HELP b Bs.\n# TYPE b gauge\nb +Inf\n')
        self.assertEqual(read.value("a", x="1", y='\\"z'), 2.5)
        self.assertEqual(read.value("b"), float("inf"))

    def test_it_refuses_what_is_no_sample_has_no_type_or_comes_twice(self):
        for text in ("a 1\n", "# TYPE a gauge\na\n", "# TYPE a gauge\na 1\na 1\n", "# TYPE a gauge\na{x=1} 1\n",
                     "# TYPE a gauge\na 1", "# TYPE a gauge\na_sum 1\n", "# TYPE a gauge\n# TYPE a gauge\n"):
            with self.assertRaises((AssertionError, ValueError), msg=text):
                Metrics(text)


if __name__ == "__main__":
    blinktest.main()
