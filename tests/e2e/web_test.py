"""The web page for operators: a real aggregator, a real round, and headless Chromium, which signs in with the
operator's certificate. Pictures lie in build/<preset>/e2e/web. `scripts/install-deps --browser` brings what is needed.
"""
import contextlib
import http.client
import json
import pathlib
import re
import shutil
import socket
import ssl
import time
import unittest
import urllib.parse

import blinktest
from blinktest import BIN_DIR, SOURCE_DIR, Deployment, must, run
from browser import Browser, missing_programs

PICTURES = BIN_DIR.parent / "e2e" / "web"
AXE = SOURCE_DIR / ".deps" / "axe" / "axe_playwright_python" / "axe.min.js"
PHONE, NARROW, DESKTOP = (360, 740), (320, 640), (1280, 900)


def web_port(process, start=1):
    """The port of the page, of this start of a program whose log goes on."""
    def find():
        found = re.findall(r"web page for operators: listening on \S+, port (\d+)", process.log())
        return int(found[start - 1]) if len(found) >= start else None
    return blinktest.wait_until(find, "the port of the web page")


class Watching(blinktest.BlinkTest):
    """An operator looks at a round in a browser."""

    @classmethod
    def setUpClass(cls):
        if missing_programs() or not AXE.exists():
            missing = ", ".join(missing_programs()) or "axe"
            raise unittest.SkipTest(f"{missing} is missing: scripts/install-deps --browser")
        shutil.rmtree(PICTURES, ignore_errors=True)
        PICTURES.mkdir(parents=True)
        cls.blink = Deployment(nodes=60, kits=3)
        cls.addClassCleanup(cls.blink.__exit__, None, None, None)
        cls.origin = f"https://127.0.0.1:{web_port(cls.blink.start_aggregator('--web-listen', '127.0.0.1:0'))}"
        tls = cls.blink.out / "operator" / "tls"
        cls.browser = Browser(cls.blink.folder / "browser", authority=tls / "ca.crt", certificate=tls / "client.crt",
                              key=tls / "client.key")
        cls.addClassCleanup(cls.browser.__exit__, None, None, None)
        cls.watch()

    @classmethod
    def watch(cls):
        """One round, seen from open to ready on one page that nobody reloads."""
        page = cls.page = cls.browser.open(f"{cls.origin}/")
        page.wait_for("document.getElementById('connection').textContent === 'Live' && "
                      "document.body.innerText.includes('There is no round yet')")
        cls.round_id = cls.blink.create_round(6, 0.1, "10m", 60, "--tune", "3")
        cls.states = []
        page.run("""window.seen = []; new MutationObserver(() => {
            const step = document.querySelector('.steps [aria-current]')?.textContent;
            if (step && window.seen.at(-1) !== step) window.seen.push(step);
        }).observe(document.getElementById('round-body'), {subtree: true, childList: true, attributes: true});
        window.announced = []; new MutationObserver(() => window.announced.push(
            document.getElementById('announcer').textContent)).observe(
            document.getElementById('announcer'), {childList: true, characterData: true, subtree: true}); true""")
        page.wait_for(f"document.getElementById('round-title').textContent === 'Round {cls.round_id[:8]}'")
        cls.blink.start_fleet(cls.blink.kits()[:1])
        cls.blink.wait_for_reports(cls.round_id, 20)
        page.wait_for("document.body.innerText.includes('20 of 60') && "
                      "document.body.innerText.includes('40 of 60 nodes have not reported')")
        cls.open_text = page.text()
        cls.violations = {"open": cls.axe(page)}
        cls.take_picture(page, "open-desktop")
        cls.blink.start_fleet(cls.blink.kits()[1:])
        cls.blink.wait_for_state(cls.round_id, "ready")
        cls.wait_for_charts(page)
        cls.ready_text = page.text()

    @staticmethod
    def wait_for_charts(page):
        page.wait_for("document.querySelectorAll('#round-body figure svg[role=img]').length >= 4 && "
                      "document.querySelector('.matrix') && !document.body.innerText.includes('Loading')")

    @staticmethod
    def axe(page):
        if not page.run("typeof axe === 'object'"):
            page.run(AXE.read_text(encoding="utf-8") + "; true")
        found = page.run("""axe.run(document, {runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa',
            'best-practice']}).then((result) => result.violations.map((one) => one.id + ': ' + one.help + ': ' +
            one.nodes.slice(0, 3).map((node) => node.html.slice(0, 150)).join(' | ')))""")
        return found

    @staticmethod
    def take_picture(page, name):
        page.screenshot(PICTURES / f"{name}.png")

    def test_the_page_shows_every_step_without_a_reload(self):
        seen = self.page.run("window.seen")
        self.assertEqual(seen[0], "Collecting reports")
        self.assertEqual(seen[-1], "Ready")
        self.assertGreaterEqual(len(seen), 3, seen)

    def test_screen_readers_hear_of_steps_and_not_of_every_report(self):
        announced = self.page.run("window.announced")
        self.assertIn(f"Round {self.round_id[:8]}: Ready", announced)
        self.assertLessEqual(len(announced), 5, announced)

    def test_an_open_round_shows_who_is_missing_and_what_it_costs(self):
        for text in ("20 of 60", "40 of 60 nodes have not reported", "One link, in all reports of this round",
                     "epsilon 12", "it costs twice as much", "What is not protected", "Signed in as", "operator",
                     "Certificate of the aggregator", "List of revoked certificates", "Your certificate", "are free"):
            self.assertIn(text, self.open_text)

    def test_a_ready_round_shows_what_its_result_has(self):
        metrics = json.loads(self.blink.round_folder(self.round_id).joinpath("result/metrics.json").read_text())
        train = metrics["train"]
        for text in (f"{100 * train['test_accuracy']:.1f} %", f"{100 * train['validation_accuracy']:.1f} %",
                     f"{100 * train['features_only']['validation_accuracy']:.1f} %", train["features_only"]["name"],
                     train["chosen"], "Confusion matrix", "Learning curves", "Degrees", "Implausible reports",
                     "Stage times", "Training of the model"):
            self.assertIn(text, self.ready_text)

    def test_the_checker_finds_nothing_at_any_size_and_in_any_colours(self):
        self.assertEqual(self.violations["open"], [])
        page = self.browser.open(f"{self.origin}/#/rounds/{self.round_id}")
        self.wait_for_charts(page)
        page.run("document.querySelectorAll('details').forEach((one) => { one.open = true; }); true")
        for name, (width, height) in (("desktop", DESKTOP), ("phone", PHONE), ("narrow", NARROW)):
            for colours, dark in (("light", False), ("dark", True)):
                page.prefer(dark=dark, reduced_motion=dark)
                page.resize(width, height)
                time.sleep(0.3)  # charts are drawn anew
                self.assertEqual(self.axe(page), [], f"{name}, {colours}")
                self.assertLessEqual(page.run("document.documentElement.scrollWidth"), width, f"{name}: sideways")
        page.run("document.querySelectorAll('details').forEach((one) => { one.open = false; }); true")
        for name, (width, height) in (("desktop", DESKTOP), ("phone", PHONE)):
            for colours, dark in (("light", False), ("dark", True)):
                page.prefer(dark=dark)
                page.resize(width, height)
                time.sleep(0.3)
                self.take_picture(page, f"ready-{name}-{colours}")
        self.assertEqual(page.complaints, [])
        page.close()

    def test_the_checker_finds_a_fault_that_is_put_in(self):
        page = self.browser.open(f"{self.origin}/", *PHONE)
        page.wait_for("document.getElementById('connection').textContent === 'Live'")
        page.run("document.getElementById('rounds-note').style.color = '#888888'; "
                 "document.getElementById('main').append(document.createElement('img')); true")
        found = " ".join(self.axe(page))
        self.assertIn("color-contrast", found)
        self.assertIn("image-alt", found)
        page.close()

    def test_charts_have_a_title_a_description_and_their_numbers(self):
        page = self.page
        charts = page.run("""[...document.querySelectorAll('figure svg[role=img]')].map((one) => ({
            title: one.querySelector('title').textContent, text: one.querySelector('desc').textContent,
            numbers: one.closest('figure').querySelector('summary').textContent}))""")
        self.assertGreaterEqual(len(charts), 4)
        for chart in charts:
            self.assertTrue(chart["title"] and chart["text"], chart)
            self.assertIn("the numbers", chart["numbers"])
        page.run("document.querySelectorAll('details').forEach((one) => { one.open = true; }); true")
        page.wait_for("document.querySelectorAll('figure details table tbody tr').length > 20")

    def test_it_works_without_a_mouse(self):
        page = self.browser.open(f"{self.origin}/")
        page.wait_for("document.getElementById('connection').textContent === 'Live' && "
                      "document.querySelector('#round-list a')")
        page.press("Tab")
        self.assertEqual(page.run("document.activeElement.textContent"), "Skip to the rounds")
        self.assertTrue(page.run("document.activeElement.getBoundingClientRect().left >= 0"))
        page.press("Tab")
        self.assertEqual(page.run("document.activeElement.getAttribute('href')"), f"#/rounds/{self.round_id}")
        self.assertEqual(page.run("getComputedStyle(document.activeElement).outlineStyle"), "solid")
        page.press("Enter")
        page.wait_for("document.activeElement.id === 'round-title'")
        page.close()

    def test_nothing_is_asked_for_elsewhere_and_nothing_fails(self):
        hosts = {urllib.parse.urlsplit(address)._replace(path="", query="", fragment="").geturl()
                 for address in self.page.requests}
        self.assertEqual(hosts, {self.origin})
        self.assertGreater(len(self.page.requests), 10)
        self.assertEqual(self.page.complaints, [])
        self.assertEqual(set(self.page.codes.values()), {200})

    def test_what_the_page_says_of_a_round_that_there_is_not(self):
        page = self.browser.open(f"{self.origin}/#/rounds/{'0' * 32}", *PHONE)
        page.wait_for("document.querySelector('#round-body .note.bad')")
        self.assertEqual(self.axe(page), [])
        page.close()


class Refusals(blinktest.BlinkTest):
    """Whoever is no operator, and whoever asks too much."""

    @classmethod
    def setUpClass(cls):
        cls.blink = Deployment(nodes=24, kits=2)
        cls.addClassCleanup(cls.blink.__exit__, None, None, None)
        cls.process = cls.blink.start_aggregator("--web-listen", "127.0.0.1:0")
        cls.port = web_port(cls.process)
        cls.operator = cls.blink.out / "operator" / "tls"
        cls.node = cls.blink.kit(cls.blink.kits()[0]) / "tls"

    def context(self, folder):
        context = ssl.create_default_context(cafile=self.blink.out / "ca" / "ca.crt")
        if folder is not None:
            context.load_cert_chain(folder / "client.crt", folder / "client.key")
        return context

    def ask(self, path, folder=None, method="GET", headers=None, port=None):
        connection = http.client.HTTPSConnection("127.0.0.1", port or self.port, timeout=30,
                                                 context=self.context(folder or self.operator))
        try:
            connection.request(method, path, headers=headers or {})
            answer = connection.getresponse()
            return answer.status, answer.read().decode(), dict(answer.getheaders())
        finally:
            connection.close()

    def test_an_operator_reads_and_nobody_writes(self):
        status, text, headers = self.ask("/api/rounds")
        self.assertEqual(status, 200)
        self.assertEqual(json.loads(text)["deployment"], "e2e")
        self.assertIn("default-src 'none'", headers["Content-Security-Policy"])
        self.assertEqual(headers["Cache-Control"], "no-store")
        self.assertEqual(self.ask("/", method="HEAD")[:2], (200, ""))
        for method in ("POST", "PUT", "DELETE", "PATCH", "OPTIONS"):
            self.assertEqual(self.ask("/api/rounds", method=method)[0], 405, method)

    def test_nobody_gets_in_without_a_certificate(self):
        connection = http.client.HTTPSConnection("127.0.0.1", self.port, timeout=30,
                                                 context=ssl.create_default_context(
                                                     cafile=self.blink.out / "ca" / "ca.crt"))
        with self.assertRaises((ssl.SSLError, OSError, http.client.HTTPException)):
            connection.request("GET", "/")
            connection.getresponse()
        connection.close()

    def test_a_node_is_told_that_the_page_is_for_operators(self):
        status, text, _ = self.ask("/", self.node)
        self.assertEqual(status, 403)
        self.assertIn("It is for operators", text)
        self.assertEqual(self.ask("/api/rounds", self.node)[0], 403)
        self.assertEqual(self.ask("/api/events", self.node)[0], 403)

    def test_an_operator_of_another_authority_is_refused(self):
        with Deployment(nodes=12, kits=1) as other:
            with self.assertRaises((ssl.SSLError, OSError, http.client.HTTPException)):
                self.ask("/", other.out / "operator" / "tls")

    def test_paths_lead_nowhere_else(self):
        for path in ("/../store", "/api/rounds/../../store", "/%2e%2e/", "/api/rounds/" + "0" * 32, "/etc/passwd",
                     "//etc/passwd", "/api/rounds/" + "a" * 3000):
            self.assertEqual(self.ask(path)[0], 404, path)
        self.assertEqual(self.ask("/", headers={"X": "x" * 9000})[0], 431)

    def test_peers_that_do_not_read_hold_up_no_round(self):
        with contextlib.ExitStack() as stack:
            for k in range(60):  # in the handshake, in the request, in a stream
                raw = stack.enter_context(socket.create_connection(("127.0.0.1", self.port)))
                with contextlib.suppress(OSError):
                    if k % 3 == 0:
                        raw.sendall(b"\x16\x03\x01")
                    else:
                        peer = stack.enter_context(self.context(self.operator).wrap_socket(
                            raw, server_hostname="127.0.0.1"))
                        peer.sendall(b"GET /api/events HTTP/1.1\r\nHost: x\r\n" + (b"\r\n" if k % 3 == 1 else b""))
            before = self.memory()
            round_id = self.blink.create_round(epochs=10)
            self.blink.start_fleet()
            self.blink.wait_for_state(round_id, "ready")
            begun = time.monotonic()
            self.assertEqual(self.ask(f"/api/rounds/{round_id}")[0], 200)
            self.assertLess(time.monotonic() - begun, 5)
            self.assertLess(self.memory() - before, 64 << 20)

    def memory(self):
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return 1024 * int(re.search(r"VmRSS:\s+(\d+) kB", status).group(1))

    def test_the_address_is_checked(self):
        config = self.blink.out / "aggregator" / "aggregator.conf"
        for address in ("9465", "127.0.0.1:x", "https://127.0.0.1:1"):
            self.assertEnds(run("blink-aggregator", "--config", config, "--web-listen", address), blinktest.USAGE,
                            "--web-listen", address)
        with Deployment(nodes=12, kits=1) as other, socket.create_server(("127.0.0.1", 0)) as taken:
            address = f"127.0.0.1:{taken.getsockname()[1]}"
            done = run("blink-aggregator", "--config", other.out / "aggregator" / "aggregator.conf", "--web-listen",
                       address)
            self.assertEnds(done, blinktest.UNREACHABLE, f"--web-listen: cannot listen on {address}")
            done = run("blink-aggregator", "--insecure", "--deployment", "e2e", "--roster",
                       other.out / "aggregator" / "roster.json", "--data", other.folder / "data", "--listen",
                       "127.0.0.1:0", "--web-listen", "0.0.0.0:0")
            self.assertEnds(done, blinktest.BAD_INPUT, "--web-listen", "loopback")


class Certificates(blinktest.BlinkTest):
    """What changes while the aggregator runs."""

    def setUp(self):
        self.blink = Deployment(nodes=12, kits=1)
        self.addCleanup(self.blink.__exit__, None, None, None)
        self.operator = self.blink.out / "operator" / "tls"

    def context(self):
        context = ssl.create_default_context(cafile=self.blink.out / "ca" / "ca.crt")
        context.load_cert_chain(self.operator / "client.crt", self.operator / "client.key")
        return context

    def test_a_revoked_operator_loses_the_page_and_its_stream(self):
        port = web_port(self.blink.start_aggregator("--web-listen", "127.0.0.1:0"))
        raw = socket.create_connection(("127.0.0.1", port), timeout=60)
        stream = self.context().wrap_socket(raw, server_hostname="127.0.0.1")
        stream.sendall(b"GET /api/events HTTP/1.1\r\nHost: x\r\n\r\n")
        text = b""
        while b"event: hello" not in text:
            text += stream.recv(4096)
        must("blink", "provision", "revoke", "--out", self.blink.out, "--name", "operator")
        shutil.copy(self.blink.out / "revoked.crl.pem", self.blink.out / "aggregator" / "tls" / "revoked.crl.pem")
        begun = time.monotonic()
        with contextlib.suppress(OSError):
            while stream.recv(4096):
                pass
        self.assertLess(time.monotonic() - begun, 10)
        stream.close()

        def refused():
            connection = http.client.HTTPSConnection("127.0.0.1", port, timeout=30, context=self.context())
            connection.request("GET", "/")
            answer = connection.getresponse()
            return answer.status == 403 and "revoked" in answer.read().decode()

        self.assertTrue(blinktest.wait_until(refused, "a refusal", patience=10))

    def test_nothing_listens_unless_it_is_told_to(self):
        process = self.blink.start_aggregator()
        self.assertNotIn("web page", process.log())

    def test_the_configuration_file_may_say_where_and_another_certificate_needs_no_restart(self):
        config = self.blink.out / "aggregator" / "aggregator.conf"
        config.write_text(config.read_text() + '\nweb-listen=":0"\n')
        port = web_port(self.blink.start_aggregator())

        def serial():
            with socket.create_connection(("127.0.0.1", port), timeout=30) as raw, \
                    self.context().wrap_socket(raw, server_hostname="127.0.0.1") as connection:
                return connection.getpeercert()["serialNumber"]

        before = serial()
        tls, folder = self.blink.out / "aggregator" / "tls", self.blink.folder
        must("blink", "provision", "request", "--key", folder / "new.key", "--request", folder / "new.csr",
             "--name", "aggregator")
        must("blink", "provision", "sign", "--out", self.blink.out, "--name", "aggregator", "--request",
             folder / "new.csr", "--certificate", folder / "new.crt")
        (folder / "new.key").replace(tls / "server.key")
        (folder / "new.crt").replace(tls / "server.crt")
        blinktest.wait_until(lambda: serial() != before, "another certificate", patience=30)


if __name__ == "__main__":
    blinktest.main()
