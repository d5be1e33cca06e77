"""Several deployments on one machine behind one port: the sample of deploy/haproxy with the real HAProxy."""
import contextlib
import re
import shutil
import socket
import ssl
import subprocess
import time
import urllib.request

import blinktest
from blinktest import SOURCE_DIR, BlinkTest, Deployment, free_port, run, wait_until

NODES = 24
DESCRIPTORS = 128  # of each aggregator
NAMES = ("clinic", "bank")


class Hosted(Deployment):
    """A deployment whose aggregator listens behind a balancer, which is all that kits and operators know."""

    def __init__(self, name, balancer_port):
        super().__init__(nodes=NODES, kits=1, name=name)
        self.balancer = f"127.0.0.1:{balancer_port}"
        for kit in self.kits():
            self.edit_kit(kit, aggregator=self.balancer)
        text = re.sub(r'(?m)^aggregator *=.*$', f'aggregator="{self.balancer}"', self.operator.read_text())
        self.operator.write_text(text)
        self.http_port = free_port()

    def start(self):
        return self.start_aggregator("--proxy-protocol-from", "127.0.0.1", "--http-listen",
                                     f"127.0.0.1:{self.http_port}", descriptors=DESCRIPTORS)

    def metric(self, name):
        with urllib.request.urlopen(f"http://127.0.0.1:{self.http_port}/metrics", timeout=30) as answer:
            text = answer.read().decode()
        return float(re.search(rf"(?m)^{re.escape(name)} (\S+)$", text)[1])


class SharedPort(BlinkTest):
    """Two deployments, each with an authority, members, operators and an aggregator of its own."""

    def setUp(self):
        if shutil.which("haproxy") is None:
            self.skipTest("haproxy is not installed: scripts/install-deps --haproxy")
        self.port = free_port()
        self.blinks = {}
        for name in NAMES:
            self.blinks[name] = Hosted(name, self.port)
            self.addCleanup(self.blinks[name].__exit__, None, None, None)
        self.clinic, self.bank = self.blinks["clinic"], self.blinks["bank"]
        config = self.clinic.folder / "haproxy.cfg"
        text = (SOURCE_DIR / "deploy" / "haproxy" / "haproxy.cfg").read_text()
        text = text.replace("bind :7443", f"bind 127.0.0.1:{self.port}")
        for port, name in (("7501", "clinic"), ("7502", "bank")):
            text = text.replace(f"127.0.0.1:{port}", f"127.0.0.1:{self.blinks[name].port}")
        config.write_text(text)
        log = self.clinic.folder / "haproxy.log"
        haproxy = blinktest.Process("haproxy", ["haproxy", "-db", "-f", config], log)
        self.addCleanup(haproxy.kill)

        def listens():
            self.assertTrue(haproxy.running(), haproxy.log())
            with socket.socket() as probe:
                return probe.connect_ex(("127.0.0.1", self.port)) == 0

        wait_until(listens, "HAProxy to listen")
        for blink in self.blinks.values():
            blink.start()

    def whole_round(self, blink):
        round_id = blink.create_round(epochs=5)
        blink.start_fleet()
        blink.wait_for_fleet()
        blink.wait_for_state(round_id, "ready")
        return round_id

    def connect(self, name, authority):
        """A connection of nobody in particular that asks for this name."""
        context = ssl.create_default_context(cafile=authority.out / "aggregator" / "tls" / "ca.crt")
        context.check_hostname = False
        raw = socket.create_connection(("127.0.0.1", self.port), timeout=30)
        self.addCleanup(raw.close)
        return context.wrap_socket(raw, server_hostname=name)

    def test_each_has_its_store_metrics_audit_log_and_operators(self):
        ids = {name: self.whole_round(blink) for name, blink in self.blinks.items()}
        for name, blink in self.blinks.items():
            self.assertEqual(blink.metric('blink_reports_accepted_total{kind="fresh"}'), NODES, name)
            self.assertEqual(blink.metric('blink_rounds{state="ready"}'), 1, name)
            listed = blinktest.must("blink", "round", "list", "--config", blink.operator, "--json").out
            audit = (blink.data / "audit.log").read_text()
            other = ids["bank" if name == "clinic" else "clinic"]
            self.assertIn(ids[name], listed)
            self.assertNotIn(other, listed + audit)
            self.assertRegex(audit, r'"peer":"ipv4:127\.0\.0\.1:\d+","action":"create"')

    def test_an_operator_of_one_is_refused_by_the_other(self):
        self.clinic.create_round()
        stranger = run("blink", "round", "list", "--config", self.clinic.operator, "--aggregator",
                       f"127.0.0.1:{self.bank.port}")
        self.assertEnds(stranger, blinktest.UNREACHABLE)
        # by the name of the other deployment, too: its authority did not sign the certificate
        tls = self.clinic.out / "operator" / "tls"
        context = ssl.create_default_context(cafile=self.bank.out / "aggregator" / "tls" / "ca.crt")
        context.load_cert_chain(tls / "client.crt", tls / "client.key")
        answer = b""
        with socket.create_connection(("127.0.0.1", self.port), timeout=30) as raw, contextlib.suppress(ssl.SSLError):
            with context.wrap_socket(raw, server_hostname="bank.blink.internal") as connection:
                connection.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0")
                answer = connection.recv(1)
        self.assertEqual(answer, b"")
        wait_until(lambda: self.bank.metric("blink_connections_failed_total") > 0, "the bank to refuse it")
        self.assertNotIn("clinic", (self.bank.data / "audit.log").read_text())

    def test_a_flood_on_one_leaves_the_other_alone(self):
        flood = []
        for _ in range(2 * DESCRIPTORS):
            connection = socket.create_connection(("127.0.0.1", self.port), timeout=30)
            self.addCleanup(connection.close)
            flood.append(connection)
            hello = ssl.MemoryBIO()
            asking = ssl.create_default_context().wrap_bio(ssl.MemoryBIO(), hello,
                                                           server_hostname="bank.blink.internal")
            try:
                asking.do_handshake()
            except ssl.SSLWantReadError:
                connection.sendall(hello.read())  # and then nothing more
        wait_until(lambda: self.bank.metric("blink_connections_failed_total") > 0, "the bank to refuse some")
        self.whole_round(self.clinic)
        self.assertEqual(self.clinic.metric("blink_connections_failed_total"), 0)

    def test_the_end_of_one_leaves_the_other_alone(self):
        self.bank.aggregator.kill()
        self.whole_round(self.clinic)
        refused = run("blink", "round", "list", "--config", self.bank.operator)
        self.assertEnds(refused, blinktest.UNREACHABLE)
        self.bank.start()
        self.whole_round(self.bank)

    def test_who_names_no_deployment_is_let_go(self):
        for name in ("other.blink.internal", "127.0.0.1", "blink.internal", "clinic.blink.internal.example.org"):
            with self.assertRaises((ssl.SSLError, ConnectionError), msg=name):
                self.connect(name, self.clinic)
        with self.connect("CLINIC.blink.internal", self.clinic) as known:
            self.assertIn("clinic", str(known.getpeercert()))
        with socket.create_connection(("127.0.0.1", self.port), timeout=30) as plain:
            plain.sendall(b"GET / HTTP/1.1\r\n\r\n")
            self.assertEqual(plain.recv(100), b"")
        with socket.create_connection(("127.0.0.1", self.port), timeout=30) as silent:
            begin = time.monotonic()
            self.assertEqual(silent.recv(1), b"", "it is closed")
            self.assertLess(time.monotonic() - begin, 25)
        for blink in self.blinks.values():
            self.assertEqual(blink.metric("blink_calls_in_flight"), 0)


class Sample(BlinkTest):
    """The sample as HAProxy reads it."""

    def test_haproxy_finds_no_fault(self):
        if shutil.which("haproxy") is None:
            self.skipTest("haproxy is not installed: scripts/install-deps --haproxy")
        done = subprocess.run(["haproxy", "-c", "-f", SOURCE_DIR / "deploy" / "haproxy" / "haproxy.cfg"],
                              capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertNotIn("WARNING", done.stdout + done.stderr)


if __name__ == "__main__":
    blinktest.main()
