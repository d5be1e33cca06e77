"""`doctor` of all three programs: it says what is wrong before it hurts, in the words of a start, and changes
nothing."""
import base64
import ctypes
import json
import os
import pathlib
import shutil
import socket
import struct
import subprocess

import blinktest
import postgres
from blinktest import BlinkTest, Deployment, must, run

NODES = 12
NO_RESOURCES = 9
FAKETIME = next(iter(pathlib.Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1")), None)


def crc32c(data):
    """The checksum of RocksDB's records."""
    crc = 0xffffffff
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82f63b78 if crc & 1 else 0)
    return crc ^ 0xffffffff


class Opens:
    """Whether a file is opened meanwhile, as the kernel tells (inotify)."""

    IN_ACCESS, IN_OPEN, IN_NONBLOCK = 0x1, 0x20, 0o4000

    def __init__(self, path):
        self.libc = ctypes.CDLL(None, use_errno=True)
        self.fd = self.libc.inotify_init1(self.IN_NONBLOCK)
        if self.libc.inotify_add_watch(self.fd, os.fsencode(path), self.IN_OPEN | self.IN_ACCESS) < 0:
            raise OSError(ctypes.get_errno(), "inotify_add_watch")

    def count(self):
        try:
            return len(os.read(self.fd, 4096)) // struct.calcsize("iIII")
        except BlockingIOError:
            return 0


class Doctored(BlinkTest):
    """A deployment whose programs are looked at."""

    def setUp(self):
        self.blink = Deployment(nodes=NODES, kits=1)
        self.addCleanup(self.blink.__exit__, None, None, None)
        self.name = self.blink.kits()[0]
        self.kit = self.blink.kit(self.name)
        self.config = self.blink.out / "aggregator" / "aggregator.conf"
        self.tls = self.blink.out / "aggregator" / "tls"

    def aggregator(self, *arguments, **options):
        return run("blink-aggregator", "doctor", "--config", self.config, *arguments, **options)

    def node(self, *arguments, **options):
        return run("blink-node", "doctor", "--kit", self.kit, "--journal", self.blink.journal(self.name), *arguments,
                   **options)

    def operator(self, *arguments, **options):
        return run("blink", "doctor", "--config", self.blink.operator, *arguments, **options)

    def start_aggregator(self, *arguments, **options):
        return run("blink-aggregator", "--config", self.config, *arguments, timeout=60, **options)

    def start_node(self, *arguments, **options):
        return run("blink-node", "run", "--kit", self.kit, "--journal", self.blink.journal(self.name),
                   "--give-up-after", 1, *arguments, **options)

    def files(self):
        return {path: (path.stat().st_mtime_ns, path.stat().st_size)
                for path in self.blink.out.rglob("*") if path.is_file()}

    def found(self, done, severity, check=None):
        """The texts of the findings of a severity."""
        return [finding["subject"] + ": " + finding["text"] for finding in done.json()["findings"]
                if finding["severity"] == severity and check in (None, finding["check"])]

    def finds(self, ask, code, check, *texts, **options):
        """One error or more, the first of this check and with these texts."""
        done = ask("--json", **options)
        self.assertEqual(done.code, code, f"\n{done}")
        errors = [finding for finding in done.json()["findings"] if finding["severity"] == "error"]
        self.assertTrue(errors, f"\n{done}")
        self.assertEqual(errors[0]["check"], check, f"\n{done}")
        for text in texts:
            self.assertIn(text, errors[0]["text"], f"\n{done}")
        return errors

    def finds_what_a_start_says(self, ask, start, code, check, **options):
        """The first error, which is the message of a start, and its exit code."""
        error = self.finds(ask, code, check, **options)[0]
        started = start(**options)
        self.assertEqual(started.code, code, f"\n{started}")
        self.assertIn(error["text"], started.err)

    def make_certificate(self, folder, side, name, *sign):
        stem = self.blink.out / folder / "tls" / side
        for end in (".key", ".crt", ".csr"):
            pathlib.Path(f"{stem}{end}").unlink(missing_ok=True)
        must("blink", "provision", "request", "--key", f"{stem}.key", "--request", f"{stem}.csr", "--name", name)
        must("blink", "provision", "sign", "--out", self.blink.out, "--name", name, "--request", f"{stem}.csr",
             "--certificate", f"{stem}.crt", *sign)

    def issue(self, key, certificate, names, usage, days=300):
        """As another tool makes them."""
        authority, extensions = self.blink.out / "ca", self.blink.folder / "ext"
        extensions.write_text(f"extendedKeyUsage={usage}\nsubjectAltName={names}\n")
        subprocess.run(f"openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout {key} -subj /CN=x "
                       f"| openssl x509 -req -CA {authority}/ca.crt -CAkey {authority}/ca.key -days {days} "
                       f"-extfile {extensions} -out {certificate}", shell=True, check=True, capture_output=True)


class Healthy(Doctored):
    """What is said where nothing is wrong."""

    def test_all_three_places_are_well_and_nothing_is_touched(self):
        before = self.files()
        done = self.aggregator("--json")
        self.assertEnds(done, blinktest.OK)
        self.assertEqual(self.found(done, "error"), [])
        warnings = [finding for finding in done.json()["findings"] if finding["severity"] == "warning"]
        # a build of single targets has a worker of an older commit
        self.assertLessEqual({finding["check"] for finding in warnings}, {"version"}, f"\n{done}")
        for check in ("certificate", "authority", "key", "revocations", "attributes", "configuration", "data", "port",
                      "descriptors", "store", "disk", "memory", "gpu", "clock"):
            self.assertTrue(self.found(done, "ok", check), f"{check}\n{done}")
        self.assertIn("skipped", {finding["severity"] for finding in done.json()["findings"]})
        self.assertEqual(self.files(), before)
        self.assertFalse((self.blink.data / "store").exists())
        self.blink.start_aggregator()
        for ask, program in ((self.node, "blink-node"), (self.operator, "blink"),
                             (self.aggregator, "blink-aggregator")):
            done = ask("--json")
            self.assertEnds(done, blinktest.OK)
            self.assertEqual(self.found(done, "error"), [], f"\n{done}")
            self.assertEqual(done.json()["program"], program)
            text = ask()
            self.assertEnds(text, blinktest.OK, "0 errors")
            self.assertEqual(len([line for line in text.out.splitlines() if line.startswith("ok ")]),
                             len(self.found(done, "ok")), f"\n{text}\n{done}")

    def test_a_running_aggregator_is_not_disturbed(self):
        process = self.blink.start_aggregator()
        round_id = self.blink.create_round()
        before = process.log()
        for _ in range(3):
            done = self.aggregator("--json")
            self.assertEnds(done, blinktest.OK)
            self.assertIn("serves", self.found(done, "ok", "running")[0])
            self.assertIn("has it open", self.found(done, "skipped", "store")[0])
        self.assertEqual(process.log(), before)
        self.assertEqual(self.blink.state(round_id), "open")
        self.assertEqual(process.terminate(), blinktest.OK)
        before = self.files()
        done = self.aggregator("--json")
        self.assertEnds(done, blinktest.OK)
        self.assertIn("has 1 rounds, of which 1 have not ended", self.found(done, "ok", "store")[0])
        self.assertEqual(self.files(), before)
        self.blink.start_aggregator()

    def test_no_list_is_opened(self):
        lists = self.kit / "lists.csv"
        lists.write_text("nonsense")
        lists.chmod(0o600)
        self.blink.start_aggregator()
        opens = Opens(lists)
        done = self.node("--json")
        self.assertEnds(done, blinktest.OK)
        self.assertIn("was not opened", self.found(done, "skipped", "lists")[0])
        self.assertEqual(opens.count(), 0)
        self.assertEnds(self.start_node(), blinktest.BAD_INPUT, "lists.csv")  # and a run does
        self.assertGreater(opens.count(), 0)

    def test_no_secret_is_told(self):
        self.blink.start_aggregator()
        secrets = [line for path in self.blink.out.rglob("*.key") for line in path.read_text().splitlines()[1:-1]]
        self.assertGreater(len(secrets), 3)
        wrong_proxy = "http://ada:sesame@127.0.0.1:1"
        for done in (self.aggregator(), self.node(), self.operator(), self.node("--proxy", wrong_proxy, "--json"),
                     self.operator("--proxy", wrong_proxy, "--json"),
                     self.aggregator("--store", "postgresql://ada:sesame@127.0.0.1:1/x", "--json")):
            for secret in [*secrets, "sesame"]:
                self.assertNotIn(secret, done.out + done.err)


class Refusals(Doctored):
    """What is wrong, and what is said of it."""

    def test_a_certificate_that_has_ended(self):
        for path, names, usage in ((self.tls / "server", "URI:blink://e2e/aggregator", "serverAuth"),
                                   (self.kit / "tls" / "client", "URI:blink://e2e/nodes/0-11", "clientAuth"),
                                   (self.blink.operator.parent / "tls" / "client", "URI:blink://e2e/operator/a",
                                    "clientAuth")):
            self.issue(f"{path}.key", f"{path}.crt", names, usage, days=0)
        for ask in (self.aggregator, self.node, self.operator):
            self.finds(ask, blinktest.BAD_INPUT, "certificate", "expired on", "have a new one signed")
        self.finds_what_a_start_says(self.aggregator, self.start_aggregator, blinktest.BAD_INPUT, "certificate")
        self.finds_what_a_start_says(self.node, self.start_node, blinktest.BAD_INPUT, "certificate")

    def test_a_certificate_or_a_list_that_ends_soon_is_a_warning(self):
        self.make_certificate("aggregator", "server", "aggregator", "--valid-for", "10d")
        self.make_certificate(f"kits/{self.name}", "client", self.name, "--valid-for", "10d")
        must("blink", "provision", "crl", "--out", self.blink.out, "--list-valid-for", "20d")
        done = self.aggregator("--json")
        self.assertEnds(done, blinktest.OK)
        self.assertIn("in 9 days", self.found(done, "warning", "certificate")[0])
        self.assertIn("expires on", self.found(done, "warning", "revocations")[0])
        self.blink.start_aggregator()
        done = self.node("--json")
        self.assertEnds(done, blinktest.OK)
        self.assertIn("in 9 days", self.found(done, "warning", "certificate")[0])
        self.assertIn("in 9 days", self.found(done, "warning", "aggregator")[0])

    def test_the_key_of_another_certificate(self):
        shutil.copyfile(self.blink.out / "operator" / "tls" / "client.key", self.tls / "server.key")
        shutil.copyfile(self.blink.out / "operator" / "tls" / "client.key", self.kit / "tls" / "client.key")
        for ask, start in ((self.aggregator, self.start_aggregator), (self.node, self.start_node)):
            self.finds_what_a_start_says(ask, start, blinktest.BAD_INPUT, "certificate")

    def test_a_certificate_of_somebody_else(self):
        self.issue(self.tls / "server.key", self.tls / "server.crt", "URI:blink://other/aggregator", "serverAuth")
        self.finds_what_a_start_says(self.aggregator, self.start_aggregator, blinktest.BAD_INPUT, "certificate")
        self.issue(self.kit / "tls" / "client.key", self.kit / "tls" / "client.crt", "URI:blink://e2e/node/3",
                   "clientAuth")
        self.finds(self.node, blinktest.REFUSED_BY_PEER, "identity", "blink://e2e/node/3", "blink://e2e/nodes/0-11")
        side = self.blink.operator.parent / "tls" / "client"
        self.issue(f"{side}.key", f"{side}.crt", "URI:blink://e2e/node/3", "clientAuth")
        self.finds(self.operator, blinktest.REFUSED_BY_PEER, "identity", "no operator of e2e")

    def test_a_revoked_certificate(self):
        must("blink", "provision", "revoke", "--out", self.blink.out, "--name", "aggregator")
        shutil.copyfile(self.blink.out / "revoked.crl.pem", self.tls / "revoked.crl.pem")
        self.finds(self.aggregator, blinktest.BAD_INPUT, "revocations", "names this machine's own certificate")

    def test_every_file_that_a_start_misses(self):
        for path in (self.tls / "server.key", self.tls / "ca.crt", self.tls / "revoked.crl.pem",
                     self.config.parent / "roster.json"):
            text = path.read_bytes()
            path.unlink()
            error = self.finds(self.aggregator, blinktest.BAD_INPUT,
                               {"revoked.crl.pem": "revocations", "roster.json": "configuration"}.get(
                                   path.name, "certificate"), path.name)[0]
            self.assertIn(error["text"], self.start_aggregator().err)
            path.write_bytes(text)
        for name, check in (("kit.json", "kit"), ("policy.json", "policy"), ("tls/client.key", "certificate"),
                            ("lists.csv", "lists")):
            text = (self.kit / name).read_bytes()
            (self.kit / name).unlink()
            self.finds(self.node, blinktest.BAD_INPUT, check, pathlib.Path(name).name)
            (self.kit / name).write_bytes(text)
        self.blink.operator.write_text("nonsense\n")
        self.finds(self.operator, blinktest.BAD_INPUT, "configuration", "operator.conf:1:")

    def test_an_encrypted_store_without_its_key_or_with_another(self):
        keys = {name: self.config.parent / f"{name}.key" for name in ("right", "wrong")}
        for path in keys.values():
            path.write_text(base64.b64encode(os.urandom(32)).decode())
            path.chmod(0o600)
        aggregator = self.blink.start_aggregator("--data-key-file", keys["right"])
        self.blink.create_round()
        aggregator.terminate()
        for given in ((), ("--data-key-file", keys["wrong"])):
            self.finds_what_a_start_says(lambda *more, given=given: self.aggregator(*given, *more),
                                         lambda given=given: self.start_aggregator(*given), blinktest.BAD_INPUT,
                                         "data key")
        self.assertEnds(self.aggregator("--data-key-file", keys["right"]), blinktest.OK, "can be opened")
        keys["right"].chmod(0o644)
        done = self.aggregator("--data-key-file", keys["right"], "--json")
        self.assertIn("right.key", json.dumps(self.found(done, "warning", "key")))

    def test_something_else_in_the_place_of_a_file_or_folder(self):
        self.blink.start_aggregator().terminate()
        data = self.blink.data
        for name, check in (("audit.log", "data"), ("rounds", "data"), ("store", "store")):
            aside = data / f"{name}.aside"
            (data / name).rename(aside)
            if aside.is_dir():
                (data / name).write_text("")
            else:
                (data / name).mkdir()
            error = self.finds(self.aggregator, blinktest.BAD_INPUT, check, name)[0]
            refused = self.start_aggregator()
            self.assertEnds(refused, blinktest.BAD_INPUT, str(data / name))
            self.assertNotIn("not mounted", refused.err + error["text"])
            (data / name).rmdir() if (data / name).is_dir() else (data / name).unlink()
            aside.rename(data / name)
        roster = self.config.parent / "roster.json"
        roster.unlink()
        roster.mkdir()
        self.finds_what_a_start_says(self.aggregator, self.start_aggregator, blinktest.BAD_INPUT, "configuration")

    def test_a_journal_that_is_missing_or_of_others_and_a_policy_that_forbids(self):
        self.blink.edit_policy(self.name, deployments=["other"])
        self.finds_what_a_start_says(self.node, self.start_node, blinktest.REFUSED_BY_POLICY, "policy")
        self.blink.edit_policy(self.name, deployments=["e2e"])
        journal = self.blink.journal(self.name) / "journal.blj"
        text = journal.read_bytes()
        journal.write_bytes(b"BLINKJ99" + text[8:])
        self.finds_what_a_start_says(self.node, self.start_node, blinktest.JOURNAL, "journal")
        for replace in (journal.unlink, journal.mkdir):
            replace()
            errors = self.finds(self.node, blinktest.JOURNAL, "journal")
            self.assertFalse([error for error in errors if "init" in error.get("remedy", "")],
                             "who makes another journal spends the budget twice")
        journal.rmdir()
        self.finds_what_a_start_says(self.node, self.start_node, blinktest.JOURNAL, "journal")
        journal.write_bytes(text)
        journal.chmod(0o644)
        self.assertIn("journal.blj", json.dumps(self.found(self.node("--json"), "warning", "journal")))

    def test_several_things_are_told_at_once(self):
        shutil.copyfile(self.blink.out / "operator" / "tls" / "client.key", self.tls / "server.key")
        (self.tls / "server.key").chmod(0o644)
        (self.config.parent / "roster.json").write_text("{}")
        with socket.create_server(("127.0.0.1", self.blink.port)):
            done = self.aggregator("--json")
        checks = [finding["check"] for finding in done.json()["findings"] if finding["severity"] == "error"]
        self.assertEqual(checks, ["configuration", "certificate", "port"], f"\n{done}")
        self.assertIn("every user", self.found(done, "warning", "key")[0])

    def test_a_port_that_is_taken(self):
        for flag, address in (("--listen", f"127.0.0.1:{self.blink.port}"),
                              ("--http-listen", f"127.0.0.1:{blinktest.free_port()}"),
                              ("--web-listen", f"127.0.0.1:{blinktest.free_port()}")):
            host, port = address.split(":")
            with socket.create_server((host, int(port))):
                error = self.finds(lambda *more: self.aggregator(flag, address, *more), blinktest.UNREACHABLE, "port",
                                   "cannot listen on", "taken")[0]
                started = self.start_aggregator(flag, address)
            self.assertEqual(started.code, blinktest.UNREACHABLE)
            self.assertIn(error["text"], started.err)

    def test_a_data_folder_that_is_a_file_or_may_not_be_written_to(self):
        self.finds(lambda *more: self.aggregator("--data", self.config, *more), blinktest.BAD_INPUT, "data",
                   "is no folder")
        small = self.blink.folder / "small"
        small.mkdir()
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m,mode=700", "blink-doctor", small],
                                 capture_output=True, check=False)
        if mounted.returncode != 0:
            self.skipTest("this user may mount nothing")
        self.addCleanup(subprocess.run, ["umount", small], check=True)
        self.finds(lambda *more: self.aggregator("--data", small, *more), NO_RESOURCES, "disk", "needs about")
        subprocess.run(["mount", "-o", "remount,ro", small], check=True)
        self.finds(lambda *more: self.aggregator("--data", small, *more), blinktest.BAD_INPUT, "data",
                   "Read-only file system")

    def test_a_store_of_another_format_or_without_its_files(self):
        self.blink.start_aggregator()
        self.assertEqual(self.blink.aggregator.terminate(), blinktest.OK)
        store = self.blink.data / "store"
        current = (store / "CURRENT").read_bytes()
        before = self.files()
        (store / "CURRENT").unlink()
        self.finds_what_a_start_says(self.aggregator, self.start_aggregator, blinktest.JOURNAL, "store")
        (store / "CURRENT").write_bytes(current)
        self.make_store_newer(store)
        self.finds(self.aggregator, blinktest.BAD_INPUT, "store", "format 9")
        self.assertEqual(set(self.files()), set(before))
        self.finds_what_a_start_says(self.aggregator, self.start_aggregator, blinktest.BAD_INPUT, "store")
        shutil.rmtree(store)
        self.finds_what_a_start_says(self.aggregator, self.start_aggregator, blinktest.JOURNAL, "store")
        self.assertFalse(store.exists())

    def test_a_store_with_rounds_of_a_newer_roster(self):
        roster = self.config.parent / "roster.json"
        text = roster.read_text()
        blinktest.edit_json(roster, {"roster_version": 2})
        self.blink.start_aggregator()
        self.blink.create_round()
        self.assertEqual(self.blink.aggregator.terminate(), blinktest.OK)
        roster.write_text(text)
        self.finds_what_a_start_says(self.aggregator, self.start_aggregator, blinktest.BAD_INPUT, "configuration")
        shutil.rmtree(self.blink.data / "rosters")
        self.finds_what_a_start_says(self.aggregator, self.start_aggregator, blinktest.BAD_INPUT, "store")

    def make_store_newer(self, store):
        """Changes the number of the format in the log of a store that was just made, and the record's checksum."""
        log = next(path for path in store.glob("*.log") if b"blink-store-1" in path.read_bytes())
        text = log.read_bytes()
        value = text.index(b"blink-store-1")
        start = value - 7  # of the record: four bytes of checksum, two of length, one of type
        while int.from_bytes(text[start + 4:start + 6], "little") != value + 13 - start - 7:
            start -= 1
        text = text[:value] + b"blink-store-9" + text[value + 13:]
        crc = crc32c(text[start + 6:value + 13])
        masked = ((crc >> 15 | crc << 17) + 0xa282ead8) & 0xffffffff
        log.write_bytes(text[:start] + masked.to_bytes(4, "little") + text[start + 4:])

    def test_an_aggregator_that_is_not_reached(self):
        for ask in (self.node, self.operator):
            self.finds(ask, blinktest.UNREACHABLE, "aggregator", "nothing listens at")
        with socket.create_server(("127.0.0.1", self.blink.port)):  # accepts, and says nothing
            for ask in (self.node, self.operator):
                self.finds(ask, blinktest.UNREACHABLE, "aggregator", "says nothing")

    def test_an_aggregator_of_another_authority(self):
        with Deployment(nodes=NODES, kits=1) as other:
            other.start_aggregator()
            self.blink.edit_kit(self.name, aggregator=f"127.0.0.1:{other.port}")
            self.finds(self.node, blinktest.UNREACHABLE, "aggregator", "does not verify against")

    def test_a_clock_that_jumped(self):
        later = 2_000_000_000 + 3 * 365 * 86400
        os.utime(self.kit / "kit.json", (later, later))
        os.utime(self.config.parent / "roster.json", (later, later))
        os.utime(self.blink.operator, (later, later))
        for ask in (self.aggregator, self.node, self.operator):
            self.assertIn("the clock is wrong, or was set back", self.found(ask("--json"), "warning", "clock")[0])
        if FAKETIME is None:
            self.skipTest("libfaketime is not installed")
        for when, text in (("@1970-01-01 00:00:30", "set the clock"), ("+20y", "expired on")):
            environment = {"LD_PRELOAD": str(FAKETIME), "FAKETIME": when, "FAKETIME_DONT_FAKE_MONOTONIC": "1",
                           "FAKETIME_DONT_RESET": "1"}
            for ask in (self.aggregator, self.node):
                self.finds(ask, blinktest.BAD_INPUT, "certificate", text, environment=environment)

    def test_few_descriptors_and_little_memory(self):
        done = subprocess.run(["prlimit", "--nofile=48:48", blinktest.BIN_DIR / "blink-aggregator", "doctor",
                               "--config", self.config], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, blinktest.BAD_INPUT, done.stdout + done.stderr)
        self.assertRegex(done.stdout, "error +descriptors")
        self.finds(lambda *more: self.aggregator("--worker-memory-bytes", 10_000_000, *more), NO_RESOURCES, "memory",
                   "no worker could finish this round")

    def test_a_worker_that_does_not_start(self):
        worker = self.blink.folder / "worker"
        worker.write_text("#!/bin/sh\necho 'libtorch.so: no such file' >&2\nexit 127\n")
        worker.chmod(0o755)
        self.finds(lambda *more: self.aggregator("--worker", worker, *more), blinktest.BAD_INPUT, "version",
                   "does not start: libtorch.so")
        worker.unlink()
        self.finds(lambda *more: self.aggregator("--worker", worker, *more), blinktest.BAD_INPUT, "configuration",
                   "--worker")

    def test_wrong_flags_are_refused_as_of_a_start(self):
        for ask, arguments in ((self.aggregator, ("--listen", "nowhere")), (self.aggregator, ("--epsilon", "0")),
                               (self.aggregator, ("--epsilon", "much")), (self.aggregator, ("--check-config",)),
                               (self.aggregator, ("--store", "postgresql://x/y?sslmode=requier")),
                               (self.aggregator, ("--insecure",)), (self.node, ("--daemon",)),
                               (self.node, ("--proxy", "x y")), (self.operator, ("--aggregator", "host")),
                               (self.operator, ("--round", "0" * 32))):
            self.assertEnds(ask(*arguments), blinktest.USAGE)
        self.assertEnds(run("blink-node", "doctor", "--kit", self.kit), blinktest.USAGE, "--journal")


class Databases(Doctored):
    """A store in PostgreSQL."""

    def test_it_is_asked_and_not_changed(self):
        if postgres.missing():
            self.skipTest(postgres.missing())
        with postgres.Postgres() as database:
            uri = self.blink.folder / "store.uri"
            uri.write_text(database.uri())
            uri.chmod(0o600)
            ask = lambda *more: self.aggregator("--store-file", uri, *more)  # noqa: E731
            tables = "SELECT count(*) FROM information_schema.tables WHERE table_schema = 'blink'"
            done = ask("--json")
            self.assertEnds(done, blinktest.OK)
            self.assertIn("the first start makes blink's tables", self.found(done, "ok", "store")[0])
            self.assertEqual(database.sql(tables), "0")
            self.blink.start_aggregator("--store-file", uri)
            done = ask("--json")
            self.assertEnds(done, blinktest.OK)
            self.assertIn("answers, with version 15", self.found(done, "ok", "store")[0])
            self.assertIn(f":{self.blink.aggregator.pid} has the lease now", self.found(done, "ok", "lease")[0])
            self.assertEqual(self.blink.aggregator.terminate(), blinktest.OK)
            self.assertIn("nobody has the lease now", self.found(ask("--json"), "ok", "lease")[0])
            database.sql("INSERT INTO blink.blink_schema (version, digest) VALUES (99, 'x')")
            error = self.finds(ask, blinktest.BAD_INPUT, "store", "the database has version 99")[0]
            self.assertIn(error["text"], self.start_aggregator("--store-file", uri).err)
            uri.write_text(database.uri("sesame-wrong"))
            error = self.finds(ask, blinktest.UNREACHABLE, "store", "authentication failed")[0]
            self.assertNotIn("sesame", error["text"])
            self.assertIn(error["text"], self.start_aggregator("--store-file", uri).err)
            uri.chmod(0o644)
            self.assertIn("remedy: chmod", ask().out)

    def test_a_uri_that_libpq_refuses_is_refused_without_a_connection(self):
        for query in ("sslmode=requier", "target_session_attrs=best", "connect_timeout=soon", "channel_binding=yes",
                      "ssl_min_protocol_version=SSLv3", "keepalives=maybe"):
            for arguments in (("--check-config",), ()):
                done = self.start_aggregator("--store", f"postgresql://ada:sesame@127.0.0.1:1/x?{query}", *arguments)
                self.assertEnds(done, blinktest.USAGE, f"a wrong {query.split('=', maxsplit=1)[0]}")
                self.assertNotIn("sesame", done.err)
        done = self.start_aggregator("--store", "postgresql://127.0.0.1:1/x?sslmode=require", "--check-config")
        self.assertEnds(done, blinktest.OK)


if __name__ == "__main__":
    blinktest.main()
