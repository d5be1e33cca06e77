"""What people write for the programs: flags, addresses and configuration files. What is given but wrong is never taken
for "not given", and every program says so in the same way."""
import contextlib
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time

import blinktest
from blinktest import BlinkTest, Deployment, must, run

PROXY = {"https_proxy": "http://user:secret@127.0.0.1:9"}
NO_ADDRESSES = ("", ":", "host", "host:", "host:x", "host:65536", "host: 1", "::1:7443", "[::1]", "[host]:1", "a b:1",
                "http://host:1", "unix:/run/blink", "1.2.3:4", "h\xf6st:1", "host:7443/")


class Flags(BlinkTest):
    """Command lines that are refused before anything is done."""

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="blink-e2e-"))
        self.addCleanup(shutil.rmtree, self.folder, True)
        self.aggregator = ("blink-aggregator", "--data", self.folder / "data", "--attributes", self.folder,
                           "--deployment", "e2e", "--roster", self.folder / "roster.json", "--insecure")
        self.provision = ("blink", "provision", "simulate", "--out", self.folder / "out", "--deployment", "e2e",
                          "--nodes", 6, "--kits", 1)
        self.conf = self.folder / "operator.conf"
        self.conf.write_text('aggregator="127.0.0.1:1"\ndeployment="e2e"\ninsecure=true\n')

    def test_an_empty_value_is_not_a_missing_one(self):
        for command in (("blink", "round", "create", "--config", "x", "--epsilon", 1, "--request-id", ""),
                        ("blink", "round", "create", "--config", "x", "--epsilon", 1, "--request-id="),
                        ("blink", "round", "list", "--config", ""), ("blink", "round", "status", "--config", "x", ""),
                        ("blink", "round", "result", "--config", "x", "0" * 32, "--output", ""),
                        ("blink", "round", "list", "--config", "x", "--aggregator", ""),
                        ("blink", "simulate", "--dataset", "x", "--epsilon", 1, "--tune", ""),
                        ("blink", "simulate", "--dataset", ""), ("blink", "dataset", "info", ""),
                        ("blink", "dataset", "convert", "--input", "x", "--output", ""),
                        ("blink", "provision", "revoke", "--out", "x", "--name", "y", "--serial", ""),
                        ("blink", "provision", "enrol", "--out", "x", "--node", 1, "--name", ""),
                        ("blink", "audit", "mechanism", "--degree-share", ""),
                        ("blink-node", "run", "--kit", "x", "--journal", "y", "--round", ""),
                        ("blink-node", "run", "--kit", "x", "--journal", "y", "--anchor", ""),
                        ("blink-node", "run", "--kit", "x", "--journal", "y", "--policy", ""),
                        (*self.aggregator, "--worker", ""), (*self.aggregator, "--port-file", ""),
                        (*self.aggregator, "--listen", ""), ("blink-aggregator", "--config", ""),
                        ("blink-aggregator", "doctor", "--config", ""), ("blink", "doctor", "--config", ""),
                        ("blink-node", "doctor", "--kit", "x", "--journal", "y", "--anchor", ""),
                        (*self.aggregator, "--data-key-file", ""), (*self.aggregator, "--retain-reports", ""),
                        ("blink-worker", "--round-folder", "x", "--attributes", "", "--output", "y")):
            self.assertEnds(run(*command), blinktest.USAGE, "empty" if command[-1] == "" or "" in command else "behind")

    def test_what_is_given_twice_is_refused(self):
        for command in (("blink", "simulate", "--dataset", "x", "--epsilon", 1, "--epsilon", 2),
                        ("blink", "simulate", "--dataset", "x", "--dataset", "y", "--epsilon", 1),
                        ("blink", "simulate", "--dataset", "x", "--epsilon", 1, "--json", "--json"),
                        ("blink", "round", "list", "--config", "x", "--config", "y"),
                        ("blink-node", "run", "--kit", "x", "--kit", "y", "--journal", "z"),
                        ("blink-node", "run", "--kit", "x", "--journal", "z", "--daemon", "--daemon"),
                        ("blink-aggregator", "--config", self.conf, "--config", self.conf),
                        ("blink-aggregator", "doctor", "--data", "x", "--data", "y"),
                        ("blink", "doctor", "--config", "x", "--config", "y"),
                        ("blink-node", "doctor", "--kit", "x", "--journal", "y", "--json", "--json"),
                        (*self.aggregator, "--insecure"), (*self.aggregator, "--listen", ":1", "--listen", ":2"),
                        ("blink-worker", "--round-folder", "x", "--round-folder", "y")):
            self.assertEnds(run(*command), blinktest.USAGE, "more than once")

    def test_a_number_that_would_be_rounded_is_refused(self):
        for command in ((*self.provision, "--aggregator", "127.0.0.1:1", "--send-spread", "0.5s"),
                        (*self.provision, "--aggregator", "127.0.0.1:1", "--epoch-min", "1ms"),
                        (*self.provision, "--aggregator", "127.0.0.1:1", "--epsilon-lifetime-max", "0.0000001"),
                        ("blink", "round", "create", "--config", self.conf, "--epsilon", 1, "--open-for", "1us"),
                        ("blink", "round", "create", "--config", self.conf, "--epsilon", 1, "--degree-share", "1e-9"),
                        ("blink", "simulate", "--dataset", "x", "--epsilon", "1.0000001"),
                        ("blink", "simulate", "--dataset", "x", "--epsilon", 1, "--degree-share", "0.0000000001"),
                        ("blink-node", "run", "--kit", "x", "--journal", "y", "--give-up-after", "1e-9"),
                        (*self.aggregator, "--worker-seconds-max", "1e-12"),
                        (*self.aggregator, "--retain-reports", "1500ms"), (*self.aggregator, "--retain-reports", "0s"),
                        ("blink-aggregator", "doctor", *self.aggregator[1:], "--epsilon", "1.0000001")):
            self.assertEnds(run(*command), blinktest.USAGE, command[-2])
        fleet = subprocess.run([blinktest.SOURCE_DIR / "deploy" / "compose-fleet", "2", "--degree-share", "1e-9"],
                               capture_output=True, text=True, check=False)
        self.assertEqual(fleet.returncode, 2)
        self.assertIn("--degree-share", fleet.stderr)

    def test_a_share_of_missing_nodes_that_is_no_node_is_refused(self):
        blinktest.generate_dataset(self.folder / "dataset", 40)
        done = run("blink", "simulate", "--dataset", self.folder / "dataset", "--epsilon", 6, "--missing", "1e-9")
        self.assertEnds(done, blinktest.BAD_INPUT, "--missing", "40 nodes")

    def test_a_request_id_that_no_aggregator_takes_is_refused_here(self):
        for request in (b"\xff", b"\xc3", b"a b", "h\xf6he".encode(), b"a\nb", b"a" * 65):
            done = subprocess.run([blinktest.BIN_DIR / "blink", "round", "create", "--config", self.conf, "--epsilon",
                                   "1", "--request-id", request], capture_output=True, check=False)
            self.assertEqual(done.returncode, blinktest.USAGE, done.stderr)
            self.assertIn(b"--request-id", done.stderr)
            self.assertIn(b"printable ASCII", done.stderr)
            done.stderr.decode("ascii")

    def test_every_program_refuses_the_same_addresses(self):
        for text in NO_ADDRESSES:
            self.assertEnds(run(*self.aggregator, "--listen", text), blinktest.USAGE,
                            "not HOST:PORT" if text else "empty")
        for text in NO_ADDRESSES[::4]:  # blink takes longer to start
            for command in ((*self.provision, "--aggregator", text),
                            (*self.provision, "--aggregator", "127.0.0.1:1", "--listen", text),
                            ("blink", "round", "list", "--config", self.conf, "--aggregator", text),
                            ("blink", "doctor", "--config", self.conf, "--aggregator", text)):
                done = run(*command)
                self.assertEnds(done, blinktest.USAGE, "not HOST:PORT" if text else "empty")
            self.conf.write_text(f'aggregator="{text}"\ndeployment="e2e"\ninsecure=true\n')
            self.assertEnds(run("blink", "round", "list", "--config", self.conf), blinktest.BAD_INPUT, "operator.conf")
            self.conf.write_text('aggregator="127.0.0.1:1"\ndeployment="e2e"\ninsecure=true\n')

    def test_a_client_needs_host_and_port_and_a_server_neither(self):
        for text in ("host:0", "[::1]:0", ":7443"):
            done = run("blink", "round", "list", "--config", self.conf, "--aggregator", text)
            self.assertEnds(done, blinktest.USAGE, "not HOST:PORT")
        # what is refused is not the address
        self.assertEnds(run(*self.aggregator, "--listen", "[::1]:0"), blinktest.BAD_INPUT, "roster.json")


class Files(BlinkTest):
    """Configuration files of a real deployment."""

    def setUp(self):
        self.blink = Deployment(nodes=12, kits=1)
        self.addCleanup(self.blink.__exit__, None, None, None)
        self.name = self.blink.kits()[0]
        self.config = self.blink.out / "aggregator" / "aggregator.conf"

    def aggregator(self):
        return run("blink-aggregator", "--config", self.config, timeout=60)

    def operator(self):
        return run("blink", "round", "list", "--config", self.blink.operator)

    def node(self, *arguments, **options):
        return run("blink-node", "run", "--kit", self.blink.kit(self.name), "--journal", self.blink.journal(self.name),
                   "--give-up-after", 1, *arguments, **options)

    @contextlib.contextmanager
    def edited(self, path, change):
        before = path.read_bytes()
        path.write_bytes(change(before))
        yield
        path.write_bytes(before)

    def test_a_syntax_error_is_named_by_file_and_line(self):
        for change, text in ((lambda t: b"nonsense\n" + t, ":1: "), (lambda t: b"\n[tls]\n" + t, ":2: "),
                             (lambda t: t + b'x="1', "quote"), (lambda t: b'deployment=""\n' + t, ":1: "),
                             (lambda t: b'deployment="a"\n' + t, "more than once|twice"),
                             (lambda t: b'color="blue"\n' + t, ":1: "),
                             (lambda t: t.decode().encode("utf-16"), "UTF-16")):
            for path, ask, code in ((self.config, self.aggregator, blinktest.USAGE),
                                    (self.blink.operator, self.operator, blinktest.BAD_INPUT)):
                with self.edited(path, change):
                    done = ask()
                self.assertEnds(done, code, path.name)
                self.assertRegex(done.err, text)
        for name in ("kit.json", "policy.json"):
            with self.edited(self.blink.kit(self.name) / name, lambda t: t.replace(b",", b",\n,", 1)):
                self.assertEnds(self.node(), blinktest.BAD_INPUT, f"{name}:", "not JSON")
        roster = self.config.parent / "roster.json"
        with self.edited(roster, lambda t: t.replace(b"{", b"{\n\n,", 1)):
            self.assertEnds(self.aggregator(), blinktest.BAD_INPUT, "roster.json: line 3: not JSON")
        with self.edited(roster, lambda t: t.replace(b"{", b'{"node_count":12,', 1)):
            self.assertEnds(self.aggregator(), blinktest.BAD_INPUT, "given twice")

    def test_what_editors_leave_in_files_does_no_harm(self):
        def change(text):
            lines = text.replace(b"\r", b"").split(b"\n")
            return b"\xef\xbb\xbf" + b"\r\n".join(line + b"  # why" if line.endswith(b'"') else line for line in lines)

        def plain(text):
            return b"\xef\xbb\xbf" + text.replace(b"\n", b"\r\n")

        kit = self.blink.kit(self.name)
        with contextlib.ExitStack() as edits:
            edits.enter_context(self.edited(self.config, change))
            edits.enter_context(self.edited(self.blink.operator, change))
            for name in ("kit.json", "policy.json", "lists.csv"):
                edits.enter_context(self.edited(kit / name, plain))
            self.blink.start_aggregator()
            self.blink.create_round()
            self.assertEnds(self.node("--leave", "at-receipt", environment=PROXY), blinktest.OK,
                            "https_proxy is set, and is not used")

    def test_a_file_that_may_not_be_read_is_not_missing(self):
        for path, ask in ((self.config, self.aggregator), (self.blink.operator, self.operator),
                          (self.blink.kit(self.name) / "kit.json", self.node),
                          (self.blink.kit(self.name) / "policy.json", self.node),
                          (self.blink.kit(self.name) / "lists.csv", self.node)):
            aside = path.with_name("aside")
            path.rename(aside)
            self.assertIn("No such file", ask().err, path)
            path.mkdir()
            self.assertRegex(ask().err, "folder, not a file|Is a directory")
            path.rmdir()
            path.symlink_to(path)
            self.assertIn("Too many levels of symbolic links", ask().err, path)
            path.unlink()
            aside.rename(path)

    def test_a_private_key_that_everybody_may_read_is_told(self):
        keys = [self.config.parent / "tls" / "server.key", self.blink.operator.parent / "tls" / "client.key",
                self.blink.kit(self.name) / "tls" / "client.key"]
        for key in keys + list(self.blink.out.rglob("ca.key")):
            self.assertEqual(key.stat().st_mode & 0o777, 0o600, key)
            key.chmod(0o644)
        self.blink.start_aggregator()
        self.assertIn(f"the private key {keys[0]} may be read by every user", self.blink.aggregator.log())
        self.assertNotIn("is missing", self.blink.aggregator.log(), "of a new folder nothing can be")
        self.assertIn(f"the private key {keys[1]} may be read by every user", self.operator().err)
        self.assertIn(f"the private key {keys[2]} may be read by every user", self.node().err)
        done = must("blink", "provision", "crl", "--out", self.blink.out)
        self.assertIn("ca.key may be read by every user", done.err)
        for key in keys:
            key.chmod(0o640)
        self.assertNotIn("may be read", self.node().err)

    def test_the_log_says_that_every_interface_is_listened_on(self):
        for listen, expected in (("0.0.0.0:0", True), (":0", True), ("[::]:0", True), ("127.0.0.1:0", False)):
            log = self.blink.folder / "listen.log"
            log.unlink(missing_ok=True)
            process = blinktest.Process("listen", [blinktest.BIN_DIR / "blink-aggregator", "--config", self.config,
                                                   "--listen", listen], log)
            blinktest.wait_until(lambda: "listening on" in process.log() or not process.running(), "the aggregator")
            self.assertEqual("every interface" in process.log(), expected, process.log())
            process.terminate()

    def test_a_health_check_asks_the_aggregator(self):
        check = ("blink-aggregator", "--config", self.config, "--check-health")
        self.assertEnds(run(*check), blinktest.UNREACHABLE, "health.sock")
        process = self.blink.start_aggregator()
        log = process.log()
        self.assertEnds(run(*check), blinktest.OK)
        process.popen.send_signal(signal.SIGSTOP)
        begun = time.monotonic()
        self.assertEnds(run(*check), blinktest.UNREACHABLE, "health.sock")
        self.assertLess(time.monotonic() - begun, 30)
        process.popen.send_signal(signal.SIGCONT)
        self.assertEnds(run(*check), blinktest.OK)
        self.assertEqual(process.log(), log, "a health check is nothing to log")
        process.terminate()
        self.assertEnds(run(*check), blinktest.UNREACHABLE, "health.sock")

    def start(self, data):
        self.config.write_text(self.config.read_text().replace('data="data"', f'data="{data}"'))
        return self.blink.start_aggregator(prefix=["sh", "-c", 'umask 0; exec "$0" "$@"'])

    def test_only_its_own_user_may_ask_for_its_health_wherever_the_data_is(self):
        data = self.blink.folder / "d%20?x=#1 %zz"  # what means something in a URI
        self.start(data)
        self.assertEnds(run("blink-aggregator", "--config", self.config, "--check-health"), blinktest.OK)
        self.assertEqual((data / "health.sock").stat().st_mode & 0o022, 0)
        self.assertEqual([path for path in data.rglob("*") if path.lstat().st_mode & 0o022], [])

    def test_an_aggregator_serves_where_no_socket_for_health_checks_can_be_made(self):
        data = self.blink.folder / ("deep" * 30)
        process = self.start(data)
        self.assertIn("too long for a socket", process.log())
        check = ("blink-aggregator", "--config", self.config, "--check-health")
        self.assertEnds(run(*check), blinktest.UNREACHABLE, "too long for a socket")
        process.terminate()
        self.config.write_text(self.config.read_text().replace(str(data), "data"))
        (self.blink.data / "health.sock").mkdir(parents=True)
        self.blink.start_aggregator()
        self.assertIn("health.sock is no socket: remove it", self.blink.aggregator.log())
        self.assertEnds(run(*check), blinktest.UNREACHABLE, "health.sock")

    def test_an_ended_round_is_not_opened_again_by_its_request_id(self):
        self.blink.start_aggregator()
        create = ("blink", "round", "create", "--config", self.blink.operator, "--epsilon", 6, "--request-id", "one")
        round_id = must(*create).out.strip()
        self.assertEqual(must(*create).out.strip(), round_id)
        must("blink", "round", "cancel", "--config", self.blink.operator, round_id)
        done = run(*create)
        self.assertEnds(done, blinktest.ROUND_FAILED, "cancelled", round_id, "another id")
        self.assertEqual(done.out, "")
        done = run(*create, "--json")
        self.assertEqual((done.code, done.json()["state"]), (blinktest.ROUND_FAILED, "cancelled"))

    def test_a_link_that_leads_nowhere_is_named_so(self):
        link = self.blink.folder / "link"
        link.symlink_to(self.blink.folder / "gone")
        config = self.config.read_text().replace('data="data"', f'data="{link}"')
        self.config.write_text(config)
        self.assertIn("symbolic link to", self.aggregator().err)
        done = run("blink-node", "init", "--kit", self.blink.kit(self.name), "--journal", link)
        self.assertEnds(done, blinktest.JOURNAL, "symbolic link")
        done = run("blink", "provision", "simulate", "--out", link, "--deployment", "x", "--nodes", 6, "--kits", 1,
                   "--aggregator", "127.0.0.1:1")
        self.assertEnds(done, blinktest.BAD_INPUT, "symbolic link")

    def test_a_proxy_in_the_environment_is_named_where_no_connection_comes_about(self):
        done = run("blink", "round", "list", "--config", self.blink.operator, environment=PROXY)
        self.assertEnds(done, blinktest.UNREACHABLE, "https_proxy is set, and is not used")
        self.assertNotIn("secret", done.err)
        self.assertNotIn("proxy", self.operator().err)


if __name__ == "__main__":
    blinktest.main()
