"""Hostile peers and ordinary bad networks, with the real programs: what comes in at the port, and what surrounds a
node. Beside every nuisance a fleet has to complete its round."""
import base64
import contextlib
import json
import os
import pathlib
import resource
import shutil
import signal
import socket
import ssl
import subprocess
import threading
import unittest
import warnings

import blinktest
from blinktest import BIN_DIR, BlinkTest, Deployment, must, run, wait_until

NODES = 30
FAKETIME = next(iter(pathlib.Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1")), None)


class Shares:
    """What an aggregator with this limit of open files gives: the arithmetic of connection_ledger.h."""

    def __init__(self, descriptors):
        budget = descriptors - min(512, descriptors // 2)
        self.open = budget - budget // 8
        self.handshakes = self.open // 2
        self.of_one_address = self.open // 4
        self.of_one_name = min(64, max(2, self.open // 8))


def pass_on(client, upstream):
    """Copies what each of the two connections sends to the other, until one of them ends."""
    def copy(source, target):
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                target.sendall(data)
        for end in (source, target):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    other = threading.Thread(target=copy, args=(upstream, client), daemon=True)
    other.start()
    copy(client, upstream)
    other.join()


def still_open(connections):
    """How many of these the other side has not closed."""
    count = 0
    for connection in connections:
        connection.setblocking(False)
        try:
            count += connection.recv(1) != b""
        except (BlockingIOError, ssl.SSLWantReadError):
            count += 1
        except OSError:
            pass
    return count


def resident_bytes(pid):
    return int(pathlib.Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


class Peers(BlinkTest):
    """One aggregator; every test annoys it and then lets a node through."""

    @classmethod
    def setUpClass(cls):
        cls.blink = Deployment(nodes=NODES, kits=3)
        cls.addClassCleanup(cls.blink.__exit__, None, None, None)
        cls.blink.start_aggregator()
        cls.names = cls.blink.kits()

    def setUp(self):
        self.round_id = self.blink.create_round(epsilon=6)
        self.addCleanup(run, "blink", "round", "cancel", "--config", self.blink.operator, self.round_id)

    def connect(self, source="127.0.0.1"):
        connection = socket.create_connection(("127.0.0.1", self.blink.port), source_address=(source, 0))
        connection.settimeout(30)
        self.addCleanup(connection.close)
        return connection

    def assert_log_says(self, text, again=lambda: None):
        """`again` does once more what ought to be logged: of many failures in a second only some are."""
        def said():
            again()
            return text in self.blink.aggregator.log()

        wait_until(said, f"'{text}' in the aggregator's log", pause=0.3)

    def assert_a_node_is_served(self, name=None):
        name = name or self.names[-1]
        done = run("blink-node", "run", "--kit", self.blink.kit(name), "--journal", self.blink.journal(name), "--round",
                   self.round_id, "--leave", "at-receipt", "--give-up-after", 60)
        self.assertEnds(done, blinktest.OK)
        self.assertEqual(self.blink.reports(self.round_id), self.blink.kit_size(name))

    def test_what_is_not_tls_is_hung_up_on_and_named_in_the_log(self):
        for sent, why in ((b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes(9), "it speaks plaintext gRPC to a TLS port"),
                          (b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n", "it sent an HTTP/1 request to a TLS port"),
                          (bytes(range(200, 0, -1)), "what it sent is not TLS"),
                          (b"\x16\x03\x01\xff\xff" + bytes(2000), "TLS handshake with 127.0.0.1:")):
            def send():
                connection = self.connect()
                with contextlib.suppress(ConnectionError):
                    connection.sendall(sent)
                    while connection.recv(4096):
                        pass

            self.assert_log_says(why, send)
        self.assert_a_node_is_served()

    def test_a_tls_that_is_too_old_is_named_in_the_log(self):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
            try:
                context.set_ciphers("ALL:@SECLEVEL=0")
                context.minimum_version = context.maximum_version = ssl.TLSVersion.TLSv1_1
            except (ssl.SSLError, ValueError) as error:
                self.skipTest(f"this Python speaks no TLS 1.1: {error}")
        def shake_hands():
            with self.assertRaises((ssl.SSLError, OSError)):
                context.wrap_socket(self.connect())

        self.assert_log_says("it speaks no TLS that is new enough", shake_hands)
        self.assert_a_node_is_served()

    def test_two_machines_with_one_key_and_two_journals(self):
        name = self.names[0]
        original = self.blink.start_node(name, "--round", self.round_id)  # stays connected until the seal
        self.addCleanup(original.kill)
        self.blink.wait_for_reports(self.round_id, self.blink.kit_size(name))
        thief = self.blink.folder / "thief"
        shutil.copytree(self.blink.kit(name), thief / "kit")
        self.addCleanup(shutil.rmtree, thief)
        must("blink-node", "init", "--kit", thief / "kit", "--journal", thief / "journal")
        done = run("blink-node", "run", "--kit", thief / "kit", "--journal", thief / "journal", "--round",
                   self.round_id, "--give-up-after", 30)
        self.assertEnds(done, blinktest.JOURNAL, "older copy of the journal",
                        "somebody else reports with this certificate")
        self.assertTrue(original.running(), original.log())
        must("blink", "round", "seal", "--config", self.blink.operator, self.round_id)
        self.assertEqual(original.wait(), blinktest.OK, original.log())
        self.assertEqual(self.blink.status(self.round_id)["reports"], self.blink.kit_size(name))

    def test_two_machines_with_copies_of_one_journal(self):
        name = self.names[1]
        must("blink-node", "run", "--kit", self.blink.kit(name), "--journal", self.blink.journal(name), "--round",
             self.round_id, "--leave", "at-receipt")
        copy = self.blink.folder / "copy"
        shutil.copytree(self.blink.kit(name), copy / "kit")
        shutil.copytree(self.blink.journal(name), copy / "journal")
        self.addCleanup(shutil.rmtree, copy)
        done = run("blink-node", "run", "--kit", copy / "kit", "--journal", copy / "journal", "--round", self.round_id,
                   "--leave", "at-receipt", "--give-up-after", 30)
        self.assertEnds(done, blinktest.OK)  # the same bytes, the same receipt
        self.assertEqual(self.blink.reports(self.round_id), self.blink.kit_size(name))

    def test_ten_thousand_silent_connections_keep_nobody_out(self):
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        count = max(200, min(10_000, hard // 2 - 1000))
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        self.addCleanup(resource.setrlimit, resource.RLIMIT_NOFILE, (soft, hard))
        before = resident_bytes(self.blink.aggregator.pid)
        hello = b"\x16\x03\x01\x02\x00\x01"  # a record that does not come to its end
        crowd = []
        self.addCleanup(lambda: [connection.close() for connection in crowd])
        for i in range(count):
            # many hosts, so that no address has more than its share; half of them fall silent in mid-handshake
            connection = socket.socket()
            crowd.append(connection)
            connection.bind((f"127.0.0.{2 + i % 50}", 0))
            connection.connect(("127.0.0.1", self.blink.port))
            if i % 2:
                with contextlib.suppress(OSError):  # it was cut to make room
                    connection.sendall(hello)
        self.assert_a_node_is_served()
        grown = resident_bytes(self.blink.aggregator.pid) - before
        print(f"{count} silent connections (limit of open files {hard}): {grown / count / 1000:.1f} KB each",
              flush=True)
        self.assertLess(grown / count, 100_000)

    def test_one_address_gets_a_share_of_the_handshakes_and_no_more(self):
        hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        crowd = []
        self.addCleanup(lambda: [connection.close() for connection in crowd])
        if hard > 30_000:
            self.skipTest(f"a quarter of {hard} descriptors is more than one test should open")
        share = Shares(hard).of_one_address
        soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        self.addCleanup(resource.setrlimit, resource.RLIMIT_NOFILE, (soft, hard))
        for _ in range(share + 100):
            connection = socket.socket()
            crowd.append(connection)
            connection.bind(("127.0.0.77", 0))
            connection.connect(("127.0.0.1", self.blink.port))
        self.assert_log_says("too many connections: refused one from 127.0.0.77:")
        self.assert_a_node_is_served()

    def test_a_connection_that_speaks_http2_and_then_nothing_keeps_nobody_out(self):
        tls = self.blink.kit(self.names[0]) / "tls"
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        context.load_cert_chain(tls / "client.crt", tls / "client.key")
        context.set_alpn_protocols(["h2"])
        before = resident_bytes(self.blink.aggregator.pid)
        count = 200
        for i in range(count):
            connection = context.wrap_socket(self.connect())
            self.addCleanup(connection.close)
            if i % 2:
                connection.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\0\0\0\4\0\0\0\0\0")
        name = self.names[0].replace("-", "/", 1)
        self.assert_log_says(f"refused a connection of blink://e2e/{name} from 127.0.0.1:")
        self.assert_a_node_is_served()
        grown = resident_bytes(self.blink.aggregator.pid) - before
        print(f"{count} silent authenticated connections: {grown / count / 1000:.1f} KB each", flush=True)
        self.assertLess(grown / count, 500_000)


class Descriptors(BlinkTest):
    """Aggregators with few descriptors, and peers that want them all."""

    def crowd(self, hosts, count):
        connections = []
        for i in range(count):
            connection = socket.socket()
            self.addCleanup(connection.close)
            connection.bind((hosts[i % len(hosts)], 0))
            connection.connect(("127.0.0.1", self.blink.port))
            connections.append(connection)
        return connections

    def authenticated(self, count, tls=None):
        tls = tls or self.blink.kit(self.names[0]) / "tls"
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        context.load_cert_chain(tls / "client.crt", tls / "client.key")
        context.set_alpn_protocols(["h2"])
        connections = []
        for _ in range(count):
            with contextlib.suppress(OSError):
                connection = context.wrap_socket(socket.create_connection(("127.0.0.1", self.blink.port)))
                self.addCleanup(connection.close)
                connections.append(connection)
                connection.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\0\0\0\4\0\0\0\0\0")
                connection.recv(9)
        return connections

    def assert_served(self):
        round_id = self.blink.create_round()
        done = run("blink-node", "run", "--kit", self.blink.kit(self.names[1]), "--journal",
                   self.blink.journal(self.names[1]), "--round", round_id, "--leave", "at-receipt", "--give-up-after",
                   60)
        self.assertEnds(done, blinktest.OK)
        must("blink", "round", "cancel", "--config", self.blink.operator, round_id)

    def test_shares_hold_for_every_limit_of_open_files(self):
        with Deployment(nodes=NODES, kits=3) as self.blink:
            self.names = self.blink.kits()
            for descriptors in (64, 128, 700):
                with self.subTest(descriptors=descriptors):
                    self.blink.start_aggregator(descriptors=descriptors)
                    shares = Shares(descriptors)
                    one = self.crowd(["127.0.0.77"], 2 * shares.of_one_address)
                    wait_until(lambda: still_open(one) <= shares.of_one_address, "the share of one address to be held")
                    self.assertEqual(still_open(one), shares.of_one_address)
                    self.assert_served()
                    few = self.crowd([f"127.0.0.{host}" for host in range(80, 86)], descriptors)
                    self.assert_served()
                    wait_until(lambda: still_open(one + few) <= shares.handshakes, "the handshakes to keep their share")
                    known = self.authenticated(shares.of_one_name + 10)
                    wait_until(lambda: still_open(known) <= shares.of_one_name, "the share of one name to be held")
                    self.assert_served()
                    for connection in one + few + known:
                        connection.close()
                    self.assertEqual(self.blink.aggregator.terminate(), blinktest.OK)

    def test_a_revoked_certificate_does_not_lock_out_the_next_one_of_its_name(self):
        with Deployment(nodes=NODES, kits=3) as self.blink:
            self.names = self.blink.kits()
            name, out, tls = self.names[0], self.blink.out, self.blink.kit(self.names[0]) / "tls"
            aggregator = self.blink.start_aggregator(descriptors=256)
            round_id = self.blink.create_round()
            stolen = self.blink.folder / "stolen"
            shutil.copytree(tls, stolen)
            share = Shares(256).of_one_name
            held = self.authenticated(share, stolen)
            self.assertEqual(still_open(held), share)
            enrolled = json.loads((out / "enrolment.json").read_text())
            entry = next(entry for entry in enrolled["enrolled"] if entry["name"] == name)
            serial = entry["certificates"][0]["serial"]
            must("blink", "provision", "request", "--key", tls / "new.key", "--request", tls / "new.csr", "--name",
                 name)
            must("blink", "provision", "sign", "--out", out, "--name", name, "--request", tls / "new.csr",
                 "--certificate", tls / "new.crt")
            (tls / "new.key").replace(tls / "client.key")
            (tls / "new.crt").replace(tls / "client.crt")
            must("blink", "provision", "revoke", "--out", out, "--name", name, "--serial", serial)
            shutil.copy(out / "revoked.crl.pem", out / "aggregator" / "tls" / "new.pem")
            (out / "aggregator" / "tls" / "new.pem").replace(out / "aggregator" / "tls" / "revoked.crl.pem")
            whose = f"blink://e2e/{name.replace('-', '/', 1)}"
            wait_until(lambda: f"cutting {share} connections whose certificate is revoked: {whose} with serial number "
                       f"{serial} ({share})" in aggregator.log(), "the line of the cut")
            again = self.authenticated(share, stolen)  # the thief comes again at once
            done = run("blink-node", "run", "--kit", self.blink.kit(name), "--journal", self.blink.journal(name),
                       "--round", round_id, "--leave", "at-receipt", "--give-up-after", 60)
            self.assertEnds(done, blinktest.OK)
            wait_until(lambda: still_open(held + again) == 0, "the connections of the revoked certificate to be cut")
            refused = [line for line in aggregator.log().splitlines() if f"refused a connection of {whose} " in line]
            self.assertEqual(len(refused), 1, refused)
            self.assertIn(f"the certificate with serial number {serial} was revoked on ", refused[0])
            # Who still has the old certificate is told so.
            for file in ("client.key", "client.crt"):
                shutil.copy(stolen / file, tls / file)
            done = run("blink-node", "run", "--kit", self.blink.kit(name), "--journal", self.blink.journal(name),
                       "--round", round_id, "--leave", "when-sealed", "--give-up-after", 60)
            self.assertEnds(done, blinktest.REFUSED_BY_PEER, "was revoked on")

    def test_too_few_descriptors_are_refused_at_the_start(self):
        with Deployment(nodes=NODES, kits=1) as blink:
            done = subprocess.run(["prlimit", "--nofile=63:63", str(BIN_DIR / "blink-aggregator"), "--config",
                                   str(blink.out / "aggregator" / "aggregator.conf")], capture_output=True, text=True,
                                  timeout=60, check=False)
            self.assertEqual(done.returncode, blinktest.BAD_INPUT, done.stderr)
            self.assertIn("the limit of open files is 63, and an aggregator needs 64", done.stderr)


class Restarts(BlinkTest):
    """What a fleet does when its aggregator was gone."""

    def test_nodes_that_connect_again_are_no_warnings(self):
        with Deployment(nodes=NODES, kits=10) as blink:
            aggregator = blink.start_aggregator()
            round_id = blink.create_round()
            fleet = blink.start_fleet(blink.kits()[:-1], ("--round", round_id))
            # the last kit is missing, so that the round stays open
            blink.wait_for_reports(round_id, NODES - 3)
            aggregator.kill()
            wait_until(lambda: all("trying again in" in node.log() for node in fleet), "the fleet to miss it")
            aggregator.log_path.unlink()
            aggregator = blink.start_aggregator()
            must("blink", "round", "seal", "--config", blink.operator, round_id)
            for node in fleet:
                node.wait()
            self.assertEqual(aggregator.terminate(), blinktest.OK)
            loud = [line for line in aggregator.log().splitlines() if " warning " in line or " error " in line]
            self.assertEqual(loud, [], aggregator.log())


class Certificates(BlinkTest):
    """The aggregator's own certificate: refused when no node would accept it, replaced while it serves."""

    def setUp(self):
        self.blink = Deployment(nodes=NODES, kits=1)
        self.addCleanup(self.blink.__exit__, None, None, None)
        self.tls = self.blink.out / "aggregator" / "tls"

    def issue(self, names, usage="serverAuth", authority=None, key_type="ec -pkeyopt ec_paramgen_curve:P-256"):
        """Key and certificate as another tool makes them."""
        authority = authority or self.blink.out / "ca"
        key, crt, ext = (self.blink.folder / name for name in ("other.key", "other.crt", "other.ext"))
        ext.write_text(f"extendedKeyUsage={usage}\n" + (f"subjectAltName={names}\n" if names else ""))
        subprocess.run(f"openssl req -newkey {key_type} -nodes -keyout {key} -subj /CN=x "
                       f"| openssl x509 -req -CA {authority}/ca.crt -CAkey {authority}/ca.key -days 300 -extfile {ext} "
                       f"-out {crt}", shell=True, check=True, capture_output=True)
        return key, crt

    def put(self, key, crt):
        for source, target in ((key, "server.key"), (crt, "server.crt")):
            fresh = self.tls / "fresh"
            shutil.copyfile(source, fresh)
            fresh.chmod(0o600)
            fresh.rename(self.tls / target)

    def served_serial(self):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        context.load_verify_locations(self.blink.out / "ca" / "ca.crt")
        client = self.blink.kit(self.blink.kits()[0]) / "tls"
        context.load_cert_chain(client / "client.crt", client / "client.key")
        with context.wrap_socket(socket.create_connection(("127.0.0.1", self.blink.port))) as connection:
            return connection.getpeercert()["serialNumber"]

    def test_a_certificate_that_no_node_accepts_is_refused_with_the_nodes_reason(self):
        own = "URI:blink://e2e/aggregator"
        good = [(self.tls / name).read_bytes() for name in ("server.key", "server.crt")]
        with Deployment(nodes=6, kits=1) as other:
            for what, options, why in (
                    ("only a CN", {"names": ""}, "carries no URI"),
                    ("another deployment's", {"names": "URI:blink://other/aggregator"}, "is blink://other/aggregator"),
                    ("a node's name", {"names": "URI:blink://e2e/node/3"}, "is blink://e2e/node/3, not"),
                    ("two names", {"names": own + ",URI:blink://e2e/node/3"}, "and blink://e2e/node/3, not"),
                    ("a client's", {"names": own, "usage": "clientAuth"}, "it is not one for servers"),
                    ("another authority's", {"names": own, "authority": other.out / "ca"}, "does not verify against"),
                    ("a key that is too short", {"names": own, "key_type": "rsa:1024"}, "cannot be used for TLS"),
                    ("a curve that TLS does not have",
                     {"names": own, "key_type": "ec -pkeyopt ec_paramgen_curve:secp256k1"}, "cannot be used for TLS")):
                with self.subTest(what):
                    self.put(*self.issue(**options))
                    done = run("blink-aggregator", "--config", self.blink.out / "aggregator" / "aggregator.conf")
                    self.assertEnds(done, blinktest.BAD_INPUT, "server.crt", why)
        (self.tls / "server.key").write_bytes(good[0])
        (self.tls / "server.crt").write_bytes(good[1])
        self.blink.start_aggregator()

    def test_another_certificate_is_taken_without_a_restart_and_a_bad_one_is_not(self):
        aggregator = self.blink.start_aggregator()
        before = self.served_serial()
        self.put(*self.issue("URI:blink://e2e/aggregator"))
        wait_until(lambda: self.served_serial() != before, "the new certificate", pause=0.2)
        taken = self.served_serial()
        self.assertIn("is in use for new connections", aggregator.log())
        self.put(*self.issue("URI:blink://e2e/operator/ann"))
        wait_until(lambda: "the certificate is not replaced" in aggregator.log(), "the refusal", pause=0.2)
        self.assertIn("is blink://e2e/operator/ann, not blink://e2e/aggregator", aggregator.log())
        refusals = aggregator.log().count("the certificate is not replaced")
        aggregator.popen.send_signal(signal.SIGHUP)
        wait_until(lambda: aggregator.log().count("the certificate is not replaced") > refusals, "SIGHUP", pause=0.2)
        self.assertEqual(self.served_serial(), taken)
        # a pipe that nobody writes to must not hold up whoever looks at it
        for name in ("server.crt", "revoked.crl.pem"):
            (self.tls / name).rename(self.tls / "aside")
            os.mkfifo(self.tls / name)
            wait_until(lambda: f"{name} is a device, a FIFO" in aggregator.log(), "the refusal", pause=0.2)
            must("blink", "round", "list", "--config", self.blink.operator)
            (self.tls / "aside").rename(self.tls / name)

    def test_everybody_warns_before_a_certificate_expires(self):
        out = self.blink.out
        kit = self.blink.kits()[0]
        for name, folder, side in (("aggregator", "aggregator", "server"), ("operator", "operator", "client"),
                                   (kit, f"kits/{kit}", "client")):
            stem = out / folder / "tls" / side
            stem.with_suffix(".key").unlink()
            must("blink", "provision", "request", "--key", f"{stem}.key", "--request", f"{stem}.csr", "--name", name)
            must("blink", "provision", "sign", "--out", out, "--name", name, "--request", f"{stem}.csr",
                 "--certificate", f"{stem}.crt", "--valid-for", "10d")
        must("blink", "provision", "crl", "--out", out, "--list-valid-for", "20d")
        aggregator = self.blink.start_aggregator()
        self.assertIn("server.crt expires on", aggregator.log())
        self.assertIn("revoked.crl.pem expires on", aggregator.log())
        done = run("blink", "round", "list", "--config", self.blink.operator)
        self.assertEnds(done, blinktest.OK, "client.crt expires on", "in 9 days")
        self.blink.create_round()
        done = run("blink-node", "run", "--kit", self.blink.kit(kit), "--journal", self.blink.journal(kit), "--leave",
                   "at-receipt", "--give-up-after", 60)
        self.assertEnds(done, blinktest.OK)
        self.assertEqual(done.err.count("client.crt expires on"), 1, done.err)
        listed = must("blink", "provision", "list", "--out", out).out
        self.assertEqual(listed.count("expires soon"), 3, listed)
        self.assertIn(f"blink://e2e/{kit.replace('-', '/', 1)}", listed)


class Networks(BlinkTest):
    """Every test has a deployment of its own: it is about addresses, names and clocks."""

    def setUp(self):
        self.blink = Deployment(nodes=NODES, kits=1)
        self.addCleanup(self.blink.__exit__, None, None, None)
        self.name = self.blink.kits()[0]

    def node(self, *arguments, environment=None, give_up_after=60):
        return run("blink-node", "run", "--kit", self.blink.kit(self.name), "--journal", self.blink.journal(self.name),
                   "--leave", "at-receipt", "--give-up-after", give_up_after, *arguments, environment=environment)

    def test_a_proxy_in_the_environment_is_nobodys_business(self):
        asked = threading.Event()
        trap = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(trap.close)

        def catch():
            with contextlib.suppress(OSError):
                trap.accept()
                asked.set()

        threading.Thread(target=catch, daemon=True).start()
        proxy = f"http://127.0.0.1:{trap.getsockname()[1]}"
        environment = {name: proxy for name in ("http_proxy", "https_proxy", "grpc_proxy", "HTTP_PROXY", "HTTPS_PROXY")}
        environment["no_proxy"] = ""
        self.blink.start_aggregator()
        self.blink.create_round()
        self.assertEnds(self.node(environment=environment), blinktest.OK)
        self.assertEnds(run("blink", "round", "list", "--config", self.blink.operator, environment=environment),
                        blinktest.OK)
        self.assertFalse(asked.is_set(), "somebody asked the proxy")

    def serve_connections(self, serve):
        """Calls `serve` with each connection to a new port of loopback, in a thread of its own; returns the port."""
        server = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(server.close)

        def accept():
            with contextlib.suppress(OSError):
                while True:
                    threading.Thread(target=serve, args=(server.accept()[0],), daemon=True).start()

        threading.Thread(target=accept, daemon=True).start()
        return server.getsockname()[1]

    def start_proxy(self, *, credentials=None, names=None):
        """A proxy for CONNECT that knows these names; returns its address and what it was asked for."""
        wanted = credentials and "Basic " + base64.b64encode(credentials.encode()).decode()
        asked = []

        def serve(client):
            with contextlib.suppress(OSError), client:
                head = b""
                while not head.endswith(b"\r\n\r\n"):
                    head += client.recv(1)
                lines = head.decode().split("\r\n")
                asked.append(lines[0])
                given = dict(line.split(": ", 1) for line in lines[1:] if line).get("Proxy-Authorization")
                if wanted and given != wanted:
                    return client.sendall(b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n")
                host, port = lines[0].split()[1].rsplit(":", 1)
                with socket.create_connection((names.get(host, host), int(port))) as upstream:
                    client.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
                    pass_on(client, upstream)

        return f"127.0.0.1:{self.serve_connections(serve)}", asked

    def test_a_node_and_an_operator_whose_only_way_out_is_a_proxy(self):
        hidden = f"aggregator.invalid:{self.blink.port}"  # which no DNS knows, but the proxy does
        address, asked = self.start_proxy(credentials="node:s3cret", names={"aggregator.invalid": "127.0.0.1"})
        self.blink.start_aggregator()
        self.blink.create_round()
        around = {"no_proxy": "*", "NO_PROXY": "aggregator.invalid", "no_grpc_proxy": "aggregator.invalid"}
        self.blink.edit_kit(self.name, aggregator=hidden)
        refused = self.node("--proxy", f"http://{address}", environment=around, give_up_after=3)
        self.assertEnds(refused, blinktest.UNREACHABLE)
        self.assertIn("407 Proxy Authentication Required", refused.err)
        self.blink.edit_kit(self.name, aggregator=hidden, proxy=f"http://node:s3cret@{address}")
        sent = self.node(environment=around)
        self.assertEnds(sent, blinktest.OK)
        self.assertNotIn("s3cret", sent.err)
        listed = run("blink", "round", "list", "--config", self.blink.operator, "--aggregator", hidden, "--proxy",
                     f"http://node:s3cret@{address}", environment=around)
        self.assertEnds(listed, blinktest.OK)
        self.assertEqual(set(asked), {f"CONNECT {hidden} HTTP/1.1"}, "the proxy sees where to, and TLS")

    def test_a_proxy_that_is_none_or_stands_beside_insecure_is_refused(self):
        for wrong in ("https://proxy:1", "proxy", "http://user@proxy:1", "http://a:b%40c@proxy:1", "socks5://proxy:1"):
            refused = self.node("--proxy", wrong)
            self.assertEnds(refused, blinktest.USAGE)
            self.blink.edit_kit(self.name, proxy=wrong)
            self.assertEnds(self.node(), blinktest.BAD_INPUT)
        self.blink.edit_kit(self.name, proxy="http://user:s3cret@127.0.0.1:1", insecure=True)
        refused = self.node()
        self.assertEnds(refused, blinktest.BAD_INPUT)
        self.assertIn("a proxy is for TLS", refused.err)
        self.assertNotIn("s3cret", refused.err)

    def start_balancer(self, header):
        """Passes connections on from 127.0.0.2, each behind this header; returns its port."""
        def serve(client):
            with contextlib.suppress(OSError), client, socket.create_connection(
                    ("127.0.0.1", self.blink.port), source_address=("127.0.0.2", 0)) as upstream:
                upstream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                for byte in header:  # the worst way to send it
                    upstream.sendall(bytes([byte]))
                pass_on(client, upstream)

        return self.serve_connections(serve)

    def test_behind_a_balancer_limits_and_logs_see_the_caller(self):
        aggregator = self.blink.start_aggregator("--proxy-protocol-from", "127.0.0.2")
        self.blink.create_round()
        port = self.start_balancer(b"PROXY TCP4 203.0.113.9 127.0.0.1 40112 7443\r\n")
        self.blink.edit_kit(self.name, aggregator=f"127.0.0.1:{port}")
        self.assertEnds(self.node(), blinktest.OK)
        refused = run("blink", "round", "cancel", "--config", self.blink.operator, "--aggregator", f"127.0.0.1:{port}",
                      "f" * 32)
        self.assertEnds(refused, blinktest.REFUSED_BY_PEER)
        records = (self.blink.data / "audit.log").read_text()
        self.assertIn('"peer":"ipv4:203.0.113.9:40112","action":"cancel"', records)
        with socket.create_connection(("127.0.0.1", port)) as plain:
            plain.sendall(b"GET / HTTP/1.1\r\n\r\n")
            plain.recv(100)
        wait_until(lambda: "TLS handshake with 203.0.113.9:40112 failed" in aggregator.log(), "the caller in the log")

    def test_a_balancer_that_sends_no_header_is_refused_and_others_are_served_meanwhile(self):
        aggregator = self.blink.start_aggregator("--proxy-protocol-from", "127.0.0.2")
        self.blink.create_round()
        silent = [socket.create_connection(("127.0.0.1", self.blink.port), source_address=("127.0.0.2", 0))
                  for _ in range(300)]
        for connection in silent:
            self.addCleanup(connection.close)
        self.assertEnds(self.node(), blinktest.OK)
        silent[-1].settimeout(30)
        self.assertEqual(silent[-1].recv(1), b"", "it is closed")
        port = self.start_balancer(b"")
        self.blink.edit_kit(self.name, aggregator=f"127.0.0.1:{port}")
        self.assertEnds(self.node(give_up_after=3), blinktest.UNREACHABLE)
        wait_until(lambda: "does it send the PROXY protocol?" in aggregator.log(), "the reason in the log")
        busy = sum(int(field) for field in (pathlib.Path(f"/proc/{aggregator.pid}/stat").read_text()
                                            .rsplit(")", 1)[1].split()[11:13]))
        self.assertLess(busy / os.sysconf("SC_CLK_TCK"), 20, "it waits, and does not spin")

    def test_a_header_from_elsewhere_is_believed_by_nobody(self):
        aggregator = self.blink.start_aggregator("--proxy-protocol-from", "192.0.2.1")
        port = self.start_balancer(b"PROXY TCP4 203.0.113.9 127.0.0.1 40112 7443\r\n")
        self.blink.edit_kit(self.name, aggregator=f"127.0.0.1:{port}")
        self.assertEnds(self.node(give_up_after=3), blinktest.UNREACHABLE)
        self.assertNotIn("203.0.113.9", aggregator.log())
        for wrong in ("balancer.example.org", "10.0.0.0/8", "10.0.0.5:7443", ""):
            refused = run("blink-aggregator", "--config", self.blink.out / "aggregator" / "aggregator.conf",
                          "--proxy-protocol-from", wrong, "--listen", "127.0.0.1:0")
            self.assertEnds(refused, blinktest.USAGE, "--proxy-protocol-from")

    def test_an_aggregator_on_ipv6(self):
        try:
            socket.create_server(("::1", 0), family=socket.AF_INET6).close()
        except OSError as error:
            self.skipTest(f"no IPv6 here: {error}")
        self.blink.start_aggregator("--listen", f":{self.blink.port}")  # every interface, so that a zone can be named
        for host in ("[::1]", "[::1%lo]", "[::1%01]"):  # names and numbers of zones may look like escapes of a URI
            address = f"{host}:{self.blink.port}"
            self.assertEnds(run("blink", "round", "list", "--config", self.blink.operator, "--aggregator", address),
                            blinktest.OK)
            self.blink.edit_kit(self.name, aggregator=address)
            self.blink.create_round()
            self.assertEnds(self.node(), blinktest.OK)

    def with_hosts(self, hosts):
        """What runs a command with a name resolution of its own: this hosts file and nothing else."""
        files = {"hosts": hosts, "nsswitch.conf": "hosts: files\n", "resolv.conf": "nameserver 127.0.0.1\n"}
        for file, text in files.items():
            (self.blink.folder / file).write_text(text)
        binds = "".join(f"mount --bind {self.blink.folder / file} /etc/{file} && " for file in files)
        isolated = ["unshare", "--mount", "--map-root-user"] if os.getuid() else ["unshare", "--mount"]
        if not all(pathlib.Path("/etc", file).exists() for file in files) or subprocess.run(
                isolated + ["sh", "-c", binds + "true"], capture_output=True, check=False).returncode:
            self.skipTest("no mount namespace of one's own here")
        return [*isolated, "sh", "-c", binds + 'exec "$0" "$@"']

    def test_an_aggregator_that_is_not_yet_in_the_dns(self):
        isolated = self.with_hosts("127.0.0.1 localhost\n")
        self.blink.start_aggregator()
        self.blink.create_round()
        self.blink.edit_kit(self.name, aggregator=f"collect.example.org:{self.blink.port}")
        log = self.blink.folder / "late.log"
        node = blinktest.Process("late", [*isolated, BIN_DIR / "blink-node", "run", "--kit",
                                          self.blink.kit(self.name), "--journal", self.blink.journal(self.name),
                                          "--leave", "at-receipt"], log)
        self.addCleanup(lambda: node.running() and node.kill())
        wait_until(lambda: "is not known here" in node.log() and "trying again in" in node.log(),
                   "the node to miss the name")
        with open(self.blink.folder / "hosts", "a") as hosts:  # the same file: a bind mount follows the inode
            hosts.write("127.0.0.1 collect.example.org\n")
        self.assertEqual(node.wait(), blinktest.OK, node.log())

    def test_a_name_is_listened_on_at_all_its_addresses_or_not_at_all(self):
        isolated = self.with_hosts("127.0.0.1 both\n127.0.0.2 both\n127.0.0.1 both\n198.51.100.1 both\n")
        listen = ("--listen", f"both:{self.blink.port}")
        with socket.create_server(("127.0.0.2", self.blink.port)):
            # the nodes would reach another program at one of the addresses
            done = subprocess.run([*isolated, BIN_DIR / "blink-aggregator", "--config",
                                   self.blink.out / "aggregator" / "aggregator.conf", *listen], capture_output=True,
                                  text=True, timeout=60, check=False)
            self.assertEqual(done.returncode, blinktest.UNREACHABLE, done.stderr)
            self.assertIn("Address already in use", done.stderr)
        self.blink.start_aggregator(*listen, prefix=isolated)
        socket.create_connection(("127.0.0.2", self.blink.port)).close()

    def fake(self, offset):
        if FAKETIME is None:
            self.skipTest("libfaketime is not installed")
        return {"LD_PRELOAD": str(FAKETIME), "FAKETIME": offset, "FAKETIME_DONT_FAKE_MONOTONIC": "1",
                "FAKETIME_DONT_RESET": "1"}

    def test_a_clock_that_is_ten_minutes_wrong_does_not_matter(self):
        self.blink.start_aggregator()
        for offset in ("+10m", "-10m"):
            # the journal's clock does not run back: the second round is of the same epoch, and draws nothing new
            self.blink.create_round()
            self.assertEnds(self.node(environment=self.fake(offset)), blinktest.OK)
        self.assertEqual(self.blink.account(self.name)["draws"], NODES)

    def test_a_clock_in_1970_is_named_with_both_dates(self):
        self.blink.start_aggregator()
        round_id = self.blink.create_round()
        done = self.node(environment=self.fake("@1970-01-01 00:00:30"), give_up_after=5)
        self.assertEnds(done, blinktest.BAD_INPUT, "is not valid before", "clock says 1970-01-01", "set the clock")
        self.assertEqual((self.blink.account(self.name)["draws"], self.blink.reports(round_id)), (0, 0))
        self.assertEnds(self.node(), blinktest.OK)

    def test_an_aggregator_whose_clock_is_years_ahead_does_not_start_and_says_why(self):
        if FAKETIME is None:
            self.skipTest("libfaketime is not installed")
        done = run("blink-aggregator", "--config", self.blink.out / "aggregator" / "aggregator.conf",
                   environment=self.fake("+20y"), timeout=60)
        self.assertEnds(done, blinktest.BAD_INPUT, "expired on")

    def test_commands_name_the_address_and_what_to_do_when_nobody_answers(self):
        deaf = socket.create_server(("127.0.0.1", 0))  # accepts, and says nothing
        self.addCleanup(deaf.close)
        silent, closed = f"127.0.0.1:{deaf.getsockname()[1]}", f"127.0.0.1:{blinktest.free_port()}"
        for command in (("list",), ("status", "0" * 32), ("seal", "0" * 32), ("cancel", "0" * 32),
                        ("result", "0" * 32, "--output", self.blink.folder / "result")):
            done = run("blink", "round", *command, "--config", self.blink.operator, "--aggregator", closed)
            self.assertEnds(done, blinktest.UNREACHABLE, closed, "is the aggregator running there?")
        done = run("blink", "round", "list", "--config", self.blink.operator, "--aggregator", silent)
        self.assertEnds(done, blinktest.UNREACHABLE, silent, "says nothing")
        self.blink.start_aggregator()
        done = run("blink", "round", "seal", "--config", self.blink.operator, "0" * 32)
        self.assertIn(f"127.0.0.1:{self.blink.port}", done.err)


if __name__ == "__main__":
    blinktest.main()
