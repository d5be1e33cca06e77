#!/usr/bin/env python3
"""Starts the real blink-aggregator and looks at how it starts, refuses and ends.

usage: aggregator_process_test.py BLINK_AGGREGATOR FAKE_WORKER
"""
import json
import os
import pathlib
import resource
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

AGGREGATOR, WORKER = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
NODES = 6


def write_attributes(folder):
    folder.mkdir(parents=True)
    (folder / "labels.csv").write_text("node,label\n" + "".join(f"{i},{i % 2}\n" for i in range(NODES)))
    (folder / "split.csv").write_text(
        "node,split\n" + "".join(f"{i},{('train', 'val', 'test')[i % 3]}\n" for i in range(NODES)))
    (folder / "behaviour").write_text("succeed")


def write_roster(path, **changes):
    roster = {"format": 1, "deployment": "demo", "roster_version": 1, "node_count": NODES, "retired": []}
    path.write_text(json.dumps({**roster, **changes}))


class AggregatorProcess(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory()
        self.root = pathlib.Path(self.temporary.name)
        write_attributes(self.root / "attributes")
        write_roster(self.root / "roster.json")
        self.process = None

    def tearDown(self):
        if self.process and self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        if self.process:
            self.process.stderr.close()
        self.temporary.cleanup()

    def flags(self, **changes):
        flags = {"data": self.root / "data", "attributes": self.root / "attributes", "deployment": "demo",
                 "roster": self.root / "roster.json", "listen": "127.0.0.1:0", "worker": WORKER,
                 "port-file": self.root / "port"}
        flags.update(changes)
        return [f"--{name}={value}" for name, value in flags.items() if value is not None]

    def run_to_end(self, arguments):
        done = subprocess.run([AGGREGATOR, *arguments], capture_output=True, text=True, timeout=60)
        return done.returncode, done.stderr + done.stdout

    def start(self, arguments, limits=None):
        """`limits`: resource limits of the process, {resource: value}."""
        def set_limits():
            for which, value in (limits or {}).items():
                resource.setrlimit(which, (value, value))

        self.process = subprocess.Popen([AGGREGATOR, *arguments], stderr=subprocess.PIPE, text=True,
                                        preexec_fn=set_limits)
        port_file = self.root / "port"
        for _ in range(600):
            if port_file.exists():
                return int(port_file.read_text())
            if self.process.poll() is not None:
                self.fail(self.process.stderr.read())
            time.sleep(0.05)
        self.fail("no port file after 30 s")

    def stop(self, with_signal=signal.SIGTERM):
        self.process.send_signal(with_signal)
        return self.process.wait(timeout=30)

    def test_serves_and_ends_cleanly_on_sigterm_and_starts_again(self):
        for with_signal in (signal.SIGTERM, signal.SIGINT):
            port = self.start(self.flags() + ["--insecure"])
            with socket.create_connection(("127.0.0.1", port), timeout=10):
                pass
            self.assertEqual(self.stop(with_signal), 0)
            self.process.stderr.close()
            (self.root / "port").unlink()

    def test_starts_again_after_sigkill(self):
        self.start(self.flags() + ["--insecure"])
        self.process.kill()
        self.process.wait()
        self.process.stderr.close()
        (self.root / "port").unlink()
        self.start(self.flags() + ["--insecure"])
        self.assertEqual(self.stop(), 0)

    def test_reads_a_configuration_whose_paths_are_relative_to_its_folder(self):
        config = self.root / "aggregator.conf"
        config.write_text(f'# a comment\ndata="data"\nattributes="attributes"\ndeployment="demo"\n'
                          f'roster="roster.json"\nlisten="127.0.0.1:0"\nworker="{WORKER}"\n'
                          f'insecure=true\nport-file="port"\n')
        here = os.getcwd()
        os.chdir("/")
        try:
            self.start(["--config", str(config)])
        finally:
            os.chdir(here)
        self.assertTrue((self.root / "data" / "store").is_dir())
        self.assertEqual(self.stop(), 0)

    def test_refuses_a_misspelt_key(self):
        config = self.root / "aggregator.conf"
        config.write_text('\nrooster="roster.json"\n')
        code, text = self.run_to_end(["--config", str(config), *self.flags(), "--insecure"])
        self.assertEqual(code, 2, text)
        self.assertIn(f"{config}:2: the key rooster is unknown: did you mean roster?", text)

    def test_names_the_line_of_a_wrong_value_unless_the_command_line_gave_it(self):
        config = self.root / "aggregator.conf"
        flags = [flag for flag in self.flags() if not flag.startswith("--listen")]
        for key, value in (("worker-threads", "abc"), ("log-level", "loud"), ("insecure", "maybe"),
                           ("listen", "127.0.0.1:99999"), ("worker-memory-bytes", "-1")):
            config.write_text(f'# first\n{key}="{value}"\n' + ("" if key == "insecure" else "insecure=true\n"))
            code, text = self.run_to_end(["--config", str(config), *flags])
            self.assertEqual(code, 2, text)
            self.assertIn(f"{config}:2: ", text)
            self.assertIn(f"--{key}", text)
        config.write_text("worker-threads=1\ninsecure=true\n")
        code, text = self.run_to_end(["--config", str(config), *flags, "--worker-threads=abc"])
        self.assertEqual(code, 2, text)
        self.assertNotIn(f"{config}:", text)

    def test_refuses_wrong_flags(self):
        for arguments, named in ((self.flags(), "--tls-certificate"),
                                 (self.flags(roster=None) + ["--insecure"], "--roster"),
                                 (self.flags(roster=self.root / "nothing") + ["--insecure"], "nothing"),
                                 (self.flags(deployment="other") + ["--insecure"], "--deployment is \"other\""),
                                 (self.flags() + ["--tls-ca=x", "--tls-key=x", "--tls-certificate=x"], "--revocations"),
                                 (self.flags() + ["--insecure", "--revocations=x"], "exclude"),
                                 (self.flags(deployment="No Spaces") + ["--insecure"], "deployment"),
                                 (self.flags() + ["--insecure", "--log-level=loud"], "loud"),
                                 (self.flags() + ["--insecure", "--tls-ca=x"], "exclude")):
            code, text = self.run_to_end(arguments)
            self.assertIn(code, (2, 3), text)
            self.assertIn(named, text)

    def test_refuses_plaintext_beyond_loopback(self):
        code, text = self.run_to_end(self.flags(listen="0.0.0.0:0") + ["--insecure"])
        self.assertEqual(code, 3, text)
        self.assertIn("loopback", text)

    def test_refuses_attributes_that_hold_edges_or_another_number_of_nodes(self):
        write_roster(self.root / "roster.json", node_count=NODES + 1)
        code, text = self.run_to_end(self.flags() + ["--insecure"])
        self.assertEqual(code, 3, text)
        self.assertIn(f"{NODES} nodes", text)
        write_roster(self.root / "roster.json")
        (self.root / "attributes" / "edges.csv").write_text("source,target\n0,1\n")
        code, text = self.run_to_end(self.flags() + ["--insecure"])
        self.assertEqual(code, 3, text)
        self.assertIn("edges", text)

    def test_refuses_a_malformed_roster(self):
        for changes in ({"format": 2}, {"node_count": 2}, {"retired": [[5, 6]]}, {"retired": [[0, 3]]},
                        {"colour": "red"}, {"roster_version": 0}):
            write_roster(self.root / "roster.json", **changes)
            code, text = self.run_to_end(self.flags() + ["--insecure"])
            self.assertEqual(code, 3, text)
            self.assertIn("roster.json", text)
        self.assertFalse((self.root / "data").exists(), "nothing was begun")

    def test_takes_the_next_roster_and_refuses_to_go_back(self):
        def starts():
            self.start(self.flags() + ["--insecure"])
            self.assertEqual(self.stop(), 0)
            self.process.stderr.close()
            (self.root / "port").unlink()

        def refused(why, **changes):
            write_roster(self.root / "roster.json", **changes)
            code, text = self.run_to_end(self.flags() + ["--insecure"])
            self.assertEqual(code, 3, text)
            self.assertIn(why, text)

        starts()
        write_roster(self.root / "roster.json", roster_version=2, retired=[[4, 4]])
        starts()
        refused("never taken back")
        refused("another roster of this version", roster_version=2)
        refused("never used again", roster_version=3)
        write_roster(self.root / "roster.json", roster_version=2, retired=[[4, 4]])
        starts()

    def test_refuses_a_missing_worker_and_missing_attributes(self):
        code, text = self.run_to_end(self.flags(worker=self.root / "nothing") + ["--insecure"])
        self.assertEqual(code, 3, text)
        self.assertIn("--worker", text)
        code, text = self.run_to_end(self.flags(attributes=self.root / "nothing") + ["--insecure"])
        self.assertEqual(code, 3, text)
        self.assertIn("nothing", text)

    def test_refuses_a_data_folder_that_another_aggregator_holds(self):
        self.start(self.flags() + ["--insecure"])
        code, text = self.run_to_end(self.flags(**{"port-file": None}) + ["--insecure"])
        self.assertNotEqual(code, 0)
        self.assertIn("another process holds", text)
        self.assertEqual(self.stop(), 0)

    def starts_and_ends(self, *more):
        self.start(self.flags() + ["--insecure", *more])
        self.assertEqual(self.stop(), 0)
        text = self.process.stderr.read()
        self.process.stderr.close()
        (self.root / "port").unlink()
        return text

    def test_refuses_a_folder_whose_store_is_missing_or_empty_unless_told_otherwise(self):
        self.starts_and_ends()
        data = self.root / "data"
        for make_empty in (False, True):
            shutil.rmtree(data / "store")
            if make_empty:
                (data / "store").mkdir()
            code, text = self.run_to_end(self.flags() + ["--insecure"])
            self.assertEqual(code, 5, text)
            self.assertIn("has no store", text)
            self.assertIn("--accept-data-loss", text)
            self.assertEqual(list((data / "store").glob("*")), [], "nothing was begun")
            self.assertIn("empty store", self.starts_and_ends("--accept-data-loss"))
            self.starts_and_ends()

    def test_refuses_a_store_that_is_older_than_its_rounds(self):
        self.starts_and_ends()
        sealed = self.root / "data" / "rounds" / ("0123456789abcdef" * 2)
        sealed.mkdir()
        (sealed / "round.json").write_text("{}")
        code, text = self.run_to_end(self.flags() + ["--insecure"])
        self.assertEqual(code, 5, text)
        self.assertIn("the store does not know it", text)
        self.assertIn("lost-rounds", self.starts_and_ends("--accept-data-loss"))
        self.assertTrue((self.root / "data" / "lost-rounds" / sealed.name / "round.json").exists())
        self.starts_and_ends()

    def test_keeps_what_the_folder_of_a_round_may_hold_besides(self):
        self.starts_and_ends()
        (self.root / "data" / "rounds" / "notes").mkdir()
        (self.root / "data" / "rounds" / ("0123456789abcdef" * 2)).mkdir()  # the remains of a write
        self.starts_and_ends()

    def serves(self, port):
        """Whether the server answers a new connection as HTTP/2 does: with its settings."""
        with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
            try:
                connection.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes((0, 0, 0, 4, 0, 0, 0, 0, 0)))
                return connection.recv(9)[3:4] == b"\x04"
            except OSError:
                return False

    def test_serves_again_after_more_connections_than_it_may_have_descriptors(self):
        port = self.start(self.flags() + ["--insecure"], limits={resource.RLIMIT_NOFILE: 100})
        self.assertTrue(self.serves(port))
        descriptors = pathlib.Path(f"/proc/{self.process.pid}/fd")
        crowd = [socket.create_connection(("127.0.0.1", port), timeout=10) for _ in range(300)]
        for _ in range(100):
            if not self.serves(port):
                break
            time.sleep(0.05)
        self.assertFalse(self.serves(port), "the crowd should fill it")
        self.assertLessEqual(len(list(descriptors.iterdir())), 75, "a quarter is left to the store and the worker")
        for connection in crowd:
            connection.close()
        for _ in range(600):
            if self.serves(port):
                break
            time.sleep(0.05)
        self.assertTrue(self.serves(port), "it never accepts again")
        self.assertEqual(self.stop(), 0)

    def test_outlives_a_quota_of_file_sizes(self):
        self.start(self.flags() + ["--insecure"])
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        ignored = int(next(line for line in status.splitlines() if line.startswith("SigIgn")).split()[1], 16)
        self.assertTrue(ignored >> (signal.SIGXFSZ - 1) & 1, "a write beyond the quota would kill it")
        self.assertEqual(self.stop(), 0)

    def test_refuses_an_address_that_is_none_or_taken(self):
        with socket.create_server(("127.0.0.1", 0)) as taken:
            for listen, code in (("127.0.0.1:99999", 2), ("127.0.0.1:x", 2), ("127.0.0.1:", 2),
                                 ("255.255.255.255:7443", 2), ("224.0.0.1:7443", 2), ("[ff02::1]:7443", 2),
                                 (f"127.0.0.1:{taken.getsockname()[1]}", 6)):
                ended, text = self.run_to_end(self.flags(listen=listen) + ["--insecure"])
                self.assertEqual(ended, code, text)
                self.assertIn(listen, text)

    def test_help_lists_the_exit_codes(self):
        code, text = self.run_to_end(["--help"])
        self.assertEqual(code, 0)
        self.assertIn("Exit codes", text)
        code, text = self.run_to_end(["--version"])
        self.assertEqual(code, 0)
        self.assertRegex(text, r"blink-aggregator \d")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
