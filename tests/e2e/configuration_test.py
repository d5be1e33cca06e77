"""Where settings come from, what --check-config and --print-config say of them, and what a service manager is told."""
import os
import pathlib
import signal
import socket
import tempfile

import blinktest
from blinktest import BlinkTest, Deployment, must, run


class Configured(BlinkTest):
    """A deployment whose programs are asked."""

    def setUp(self):
        self.blink = Deployment(nodes=12, kits=1)
        self.addCleanup(self.blink.__exit__, None, None, None)
        self.name = self.blink.kits()[0]
        self.config = self.blink.out / "aggregator" / "aggregator.conf"

    def aggregator(self, *arguments, **environment):
        return run("blink-aggregator", "--config", self.config, *arguments, environment=environment)

    def node(self, *arguments, **environment):
        return run("blink-node", "run", "--kit", self.blink.kit(self.name), "--journal", self.blink.journal(self.name),
                   *arguments, environment=environment)

    def operator(self, *arguments, **environment):
        return run("blink", "round", "list", "--config", self.blink.operator, *arguments, environment=environment)


class Checks(Configured):
    """--check-config says what a start would, and leaves everything as it was."""

    def files(self):
        return {path: (path.stat().st_mtime_ns, path.stat().st_size)
                for path in self.blink.out.rglob("*") if path.is_file()}

    def test_a_good_configuration_is_told_and_nothing_is_touched(self):
        before = self.files()
        for ask in (self.aggregator, self.node, self.operator):
            done = ask("--check-config")
            self.assertEnds(done, blinktest.OK)
            self.assertIn("the configuration is good", done.out)
        self.assertEqual(self.files(), before)
        self.assertFalse((self.blink.data / "store").exists())

    def test_it_may_be_asked_while_the_programs_run(self):
        self.blink.start_aggregator()
        for ask in (self.aggregator, self.node, self.operator):
            self.assertEnds(ask("--check-config"), blinktest.OK)

    def test_no_list_is_read(self):
        (self.blink.kit(self.name) / "lists.csv").write_text("nonsense")
        self.assertEnds(self.node("--check-config"), blinktest.OK)
        self.assertEnds(self.node(), blinktest.BAD_INPUT, "lists.csv")

    def refuses(self, ask, path, change, code, *texts):
        before = path.read_bytes()
        if change is None:
            path.unlink()
        else:
            path.write_text(change(path.read_text()))
        checked, started = ask("--check-config"), ask("--give-up-after", 1) if ask == self.node else ask()
        path.write_bytes(before)
        self.assertEnds(checked, code, *texts)
        self.assertEqual((checked.code, checked.out), (started.code, ""), "as a start")

    def test_what_a_start_refuses_is_refused_with_the_same_code(self):
        aggregator, kit = self.config.parent, self.blink.kit(self.name)
        certificate = (kit / "tls" / "ca.crt").read_text()
        for name in ("roster.json", "tls/server.key", "tls/ca.crt", "tls/revoked.crl.pem"):
            self.refuses(self.aggregator, aggregator / name, None, blinktest.BAD_INPUT, pathlib.Path(name).name)
        self.refuses(self.aggregator, aggregator / "tls" / "server.crt", lambda _: certificate, blinktest.BAD_INPUT)
        self.refuses(self.aggregator, aggregator / "tls" / "revoked.crl.pem", lambda _: "x", blinktest.BAD_INPUT)
        self.refuses(self.aggregator, self.config, lambda text: text + 'color="blue"\n', blinktest.USAGE, "color")
        self.refuses(self.aggregator, self.config, lambda text: text + 'data="x"\n', blinktest.USAGE, "twice")
        for name in ("kit.json", "policy.json", "tls/client.key", "tls/ca.crt", "lists.csv"):
            self.refuses(self.node, kit / name, None, blinktest.BAD_INPUT, pathlib.Path(name).name)
        self.refuses(self.node, kit / "policy.json", lambda text: text.replace('"e2e"', '"other"'),
                     blinktest.REFUSED_BY_POLICY, "other")
        self.refuses(self.node, self.blink.journal(self.name) / "journal.blj", None, blinktest.JOURNAL, "journal.blj")
        for name in ("client.key", "client.crt", "ca.crt"):
            self.refuses(self.operator, self.blink.operator.parent / "tls" / name, None, blinktest.BAD_INPUT, name)

    def test_edges_among_the_attributes_are_found(self):
        (self.config.parent / "attributes" / "edges.csv").write_text("source,target\n0,1\n")
        self.assertEnds(self.aggregator("--check-config"), blinktest.BAD_INPUT, "edges")


class Sources(Configured):
    """A flag goes before a variable, that before the file, and that before the default."""

    def line(self, done, key):
        self.assertEnds(done, blinktest.OK)
        lines = [line for line in done.out.splitlines() if line.removeprefix("# kit: ").split("=")[0] == key]
        self.assertEqual(len(lines), 1, f"{key}\n{done}")
        return lines[0]

    def test_of_the_aggregator(self):
        listen = f"127.0.0.1:{self.blink.port}"
        number = self.config.read_text().splitlines().index(f'listen="{listen}"') + 1
        done = self.aggregator("--print-config")
        self.assertEqual(self.line(done, "listen"), f'listen="{listen}"  # {self.config}:{number}')
        self.assertEqual(self.line(done, "insecure"), 'insecure="false"  # default')
        self.assertIn("# http-listen is not set\n", done.out)
        done = self.aggregator("--print-config", BLINK_AGGREGATOR_LISTEN="127.0.0.1:0")
        self.assertEqual(self.line(done, "listen"), 'listen="127.0.0.1:0"  # BLINK_AGGREGATOR_LISTEN')
        done = self.aggregator("--print-config", "--listen=:9", BLINK_AGGREGATOR_LISTEN="127.0.0.1:0")
        self.assertEqual(self.line(done, "listen"), 'listen=":9"  # flag')
        done = run("blink-aggregator", "--print-config", environment={"BLINK_AGGREGATOR_CONFIG": self.config})
        self.assertIn(f"# the configuration file is {self.config} (BLINK_AGGREGATOR_CONFIG)", done.out)
        self.assertEqual(self.line(done, "deployment").split("  ")[0], 'deployment="e2e"')

    def test_what_is_printed_is_a_configuration(self):
        done = self.aggregator("--print-config", BLINK_AGGREGATOR_WORKER_SECONDS_MAX="17")
        again = self.config.with_name("again.conf")
        again.write_text(done.out)
        printed = must("blink-aggregator", "--config", again, "--print-config")
        values = [[line.split("  # ")[0] for line in text.out.splitlines() if line[0] != "#"]
                  for text in (done, printed)]
        self.assertEqual(*values)
        self.assertIn('worker-seconds-max="17"', values[1])
        must("blink-aggregator", "--config", again, "--check-config")

    def test_of_the_operator(self):
        done = self.operator("--print-config")
        self.assertRegex(self.line(done, "deployment"), f'^deployment="e2e"  # {self.blink.operator}:[0-9]+$')
        self.assertEqual(self.line(done, "insecure"), 'insecure="false"  # default')
        done = self.operator("--print-config", BLINK_OPERATOR_AGGREGATOR="127.0.0.1:1", BLINK_OPERATOR_DEPLOYMENT="x")
        self.assertEqual(self.line(done, "aggregator"), 'aggregator="127.0.0.1:1"  # BLINK_OPERATOR_AGGREGATOR')
        self.assertEqual(self.line(done, "deployment"), 'deployment="x"  # BLINK_OPERATOR_DEPLOYMENT')
        done = self.operator("--print-config", "--aggregator", "127.0.0.1:2", BLINK_OPERATOR_AGGREGATOR="127.0.0.1:1")
        self.assertEqual(self.line(done, "aggregator"), 'aggregator="127.0.0.1:2"  # flag')
        done = run("blink", "round", "list", environment={"BLINK_OPERATOR_CONFIG": str(self.blink.operator),
                                                          "BLINK_OPERATOR_AGGREGATOR": "127.0.0.1:1"})
        self.assertEnds(done, blinktest.UNREACHABLE, "127.0.0.1:1")

    def test_of_the_node(self):
        done = self.node("--print-config", BLINK_NODE_LOG_LEVEL="debug", BLINK_NODE_GIVE_UP_AFTER="3")
        self.assertEqual(self.line(done, "log-level"), 'log-level="debug"  # BLINK_NODE_LOG_LEVEL')
        self.assertEqual(self.line(done, "leave"), 'leave="when-sealed"  # default')
        self.assertIn(f'# kit: deployment="e2e"  # {self.blink.kit(self.name)}/kit.json', done.out)
        self.assertEnds(self.node(BLINK_NODE_GIVE_UP_AFTER="1"), blinktest.UNREACHABLE)
        done = run("blink-node", "account", "--json",
                   environment={"BLINK_NODE_KIT": str(self.blink.kit(self.name)), "BLINK_NODE_DAEMON": "true",
                                "BLINK_NODE_JOURNAL": str(self.blink.journal(self.name))})
        self.assertEnds(done, blinktest.OK)

    def test_a_variable_that_no_setting_has_is_refused_by_name(self):
        for ask, code, prefix in ((self.aggregator, blinktest.USAGE, "BLINK_AGGREGATOR"),
                                  (self.node, blinktest.USAGE, "BLINK_NODE"),
                                  (self.operator, blinktest.BAD_INPUT, "BLINK_OPERATOR")):
            for name, value, text in (("LOG_LEVL", "info", "is unknown"), ("HELP", "1", "is unknown"),
                                      ("CHECK_CONFIG", "true", "is unknown"), ("CONFIG_", "x", "is unknown")):
                done = ask(**{f"{prefix}_{name}": value})
                self.assertEnds(done, code, f"{prefix}_{name}", text)
        self.assertEnds(self.aggregator(BLINK_AGGREGATOR_LISTN=":1"), blinktest.USAGE,
                        "did you mean BLINK_AGGREGATOR_LISTEN?")
        self.assertEnds(self.aggregator(BLINK_AGGREGATOR_LISTEN=""), blinktest.USAGE, "BLINK_AGGREGATOR_LISTEN",
                        "is empty")

    def test_a_wrong_value_is_named_by_its_variable(self):
        for name, value in (("LISTEN", "host"), ("WORKER_THREADS", "many"), ("LOG_LEVEL", "loud"),
                            ("INSECURE", "perhaps")):
            done = self.aggregator(**{f"BLINK_AGGREGATOR_{name}": value})
            self.assertEnds(done, blinktest.USAGE, f"BLINK_AGGREGATOR_{name}: ", value)
        self.assertEnds(self.node(BLINK_NODE_LEAVE="never"), blinktest.USAGE, "BLINK_NODE_LEAVE: ")
        self.assertEnds(self.operator(BLINK_OPERATOR_INSECURE="perhaps"), blinktest.BAD_INPUT,
                        "BLINK_OPERATOR_INSECURE: ")

    def test_a_key_that_is_unknown_or_given_twice_is_refused_by_name_and_line(self):
        for path, ask, code in ((self.config, self.aggregator, blinktest.USAGE),
                                (self.blink.operator, self.operator, blinktest.BAD_INPUT)):
            text = path.read_text()
            line = len(text.splitlines()) + 1
            for added, why in (('color="blue"', "color is unknown"), ('deployment="x"', "deployment is given twice"),
                               ('check-config="true"', "check-config is unknown"), ('config="x"', "config is unknown")):
                path.write_text(f"{text}{added}\n")
                self.assertEnds(ask("--print-config"), code, f"{path.name}:{line}: ", why)
            path.write_text(text)


class Supervisor(BlinkTest):
    """What the programs tell a service manager by sd_notify(3)."""

    def setUp(self):
        self.blink = Deployment(nodes=12, kits=1)
        self.addCleanup(self.blink.__exit__, None, None, None)
        self.name = self.blink.kits()[0]
        self.folder = tempfile.mkdtemp(prefix="blink-n-")
        self.address = f"{self.folder}/notify"
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(self.address)
        self.socket.settimeout(blinktest.PATIENCE_SECONDS)
        self.addCleanup(self.socket.close)

    def next(self, *kinds):
        """The next message, of a kind that is wanted."""
        while True:
            message = self.socket.recv(4096).decode()
            if message.split("\n", maxsplit=1)[0] in kinds:
                return message

    def notifying(self, *variables):
        return ["env", f"NOTIFY_SOCKET={self.address}", *variables]

    def test_the_aggregator_is_ready_when_it_answers_calls(self):
        process = self.blink.start_aggregator(prefix=self.notifying())
        ready = self.next("READY=1")
        self.assertIn(f"STATUS=deployment e2e, roster version 1: serving on port {self.blink.port}", ready)
        process.popen.send_signal(signal.SIGHUP)
        self.assertIn("\nMONOTONIC_USEC=", self.next("RELOADING=1"))
        self.assertEqual(self.next("READY=1"), ready)
        self.assertEqual(process.terminate(), blinktest.OK)
        self.assertIn("STATUS=signal 15", self.next("STOPPING=1"))

    def test_an_aggregator_that_cannot_serve_is_never_ready(self):
        (self.blink.out / "aggregator" / "roster.json").unlink()
        done = run("blink-aggregator", "--config", self.blink.out / "aggregator" / "aggregator.conf",
                   environment={"NOTIFY_SOCKET": self.address})
        self.assertEnds(done, blinktest.BAD_INPUT)
        self.socket.settimeout(0.1)
        self.assertRaises(TimeoutError, self.socket.recv, 4096)

    def test_the_watchdog_hears_of_an_aggregator_that_answers(self):
        process = self.blink.start_aggregator(prefix=self.notifying("WATCHDOG_USEC=600000"))
        for _ in range(3):
            self.next("WATCHDOG=1")
        process.popen.send_signal(signal.SIGSTOP)
        self.socket.settimeout(2)
        with self.assertRaises(TimeoutError):
            while True:
                self.socket.recv(4096)
        self.socket.settimeout(blinktest.PATIENCE_SECONDS)
        process.popen.send_signal(signal.SIGCONT)
        self.next("WATCHDOG=1")

    def test_the_node_is_ready_when_it_has_its_kit_whoever_answers(self):
        process = self.blink._start("node", "blink-node", "run", "--daemon", "--kit", self.blink.kit(self.name),
                                    "--journal", self.blink.journal(self.name), prefix=self.notifying())
        self.assertIn("STATUS=nodes-0-11 of deployment e2e reports to 127.0.0.1:", self.next("READY=1"))
        process.terminate()
        self.assertIn("STATUS=signal 15", self.next("STOPPING=1"))

    def test_a_node_without_its_journal_is_never_ready(self):
        os.unlink(self.blink.journal(self.name) / "journal.blj")
        done = run("blink-node", "run", "--kit", self.blink.kit(self.name), "--journal", self.blink.journal(self.name),
                   environment={"NOTIFY_SOCKET": self.address})
        self.assertEnds(done, blinktest.JOURNAL)
        self.socket.settimeout(0.1)
        self.assertRaises(TimeoutError, self.socket.recv, 4096)

    def test_a_socket_that_nobody_reads_is_a_warning_and_nothing_worse(self):
        process = self.blink.start_aggregator(prefix=["env", "NOTIFY_SOCKET=/nowhere/notify"])
        self.assertIn("NOTIFY_SOCKET: nobody takes a message at /nowhere/notify", process.log())
        self.assertEqual(process.terminate(), blinktest.OK)


if __name__ == "__main__":
    blinktest.main()
