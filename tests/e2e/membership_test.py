"""Members come, renew and go, with an authority that lives apart: nothing but requests, certificates, revocation lists
and rosters travels between its folder and those of aggregator, operator and devices."""
import json
import pathlib
import shutil
import subprocess
import tempfile
import time

import blinktest
from blinktest import BIN_DIR, BlinkTest, Process, Proxy, generate_dataset, must, run, wait_until

NODES = 600
FIRST, SECOND, THIRD = "nodes-0-299", "nodes-300-599", "nodes-600-604"


class AuthorityApart(BlinkTest):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="blink-e2e-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder, True)
        cls.out = cls.folder / "authority" / "out"
        cls.collect, cls.operator = cls.folder / "collect", cls.folder / "operator"
        cls.port = blinktest.free_port()
        # The graph, cut into lists and attributes, as devices and aggregator would have them of their own.
        for nodes in (NODES, NODES + 5):
            cut = cls.folder / f"cut-{nodes}"
            generate_dataset(cls.folder / f"dataset-{nodes}", nodes)
            must("blink", "provision", "simulate", "--out", cut, "--deployment", "clinics", "--nodes", nodes, "--kits",
                 2, "--aggregator", "127.0.0.1:1")
            must("blink", "dataset", "shard", "--dataset", cls.folder / f"dataset-{nodes}", "--out", cut)

    def setUp(self):
        self.processes = {}
        self.addCleanup(self.end)

    def end(self):
        for process in self.processes.values():
            if process.running():
                process.kill()

    def provision(self, command, *arguments):
        return must("blink", "provision", command, "--out", self.out, *arguments)

    def start(self, name, program, *arguments):
        self.processes[name] = Process(name, [BIN_DIR / program, *arguments], self.folder / f"{name}.log")
        return self.processes[name]

    def certify(self, name, folder, side="client"):
        """The request goes to the authority's machine, the certificate comes back."""
        desk = self.folder / "authority" / "desk"
        desk.mkdir(exist_ok=True)
        shutil.copy(folder / "tls" / f"{side}.csr", desk / "in.csr")
        self.provision("sign", "--name", name, "--request", desk / "in.csr", "--certificate", desk / "out.crt")
        (desk / "out.crt").replace(folder / "tls" / f"{side}.crt")

    def serial(self, name):
        enrolment = json.loads((self.out / "enrolment.json").read_text())
        entry = next(entry for entry in enrolment["enrolled"] if entry["name"] == name)
        return [certificate["serial"] for certificate in entry["certificates"]]

    def bring_list(self):
        """As an operator does it: a copy beside it, renamed."""
        new = self.collect / "tls" / "revoked.new"
        shutil.copy(self.out / "revoked.crl.pem", new)
        new.replace(self.collect / "tls" / "revoked.crl.pem")

    def device(self, name):
        return self.folder / "devices" / name

    def make_device(self, name, lists):
        shutil.copytree(self.out / "kits" / name, self.device(name) / "kit")
        shutil.copy(lists, self.device(name) / "kit" / "lists.csv")
        must("blink-node", "init", "--kit", self.device(name) / "kit", "--journal", self.device(name) / "journal")
        self.certify(name, self.device(name) / "kit")

    def start_node(self, name):
        return self.start(name, "blink-node", "run", "--kit", self.device(name) / "kit", "--journal",
                          self.device(name) / "journal", "--give-up-after", 600)

    def start_aggregator(self):
        process = self.start("aggregator", "blink-aggregator", "--config", self.collect / "aggregator.conf")

        def answers():
            self.assertTrue(process.running(), process.log()[-3000:])
            return run("blink", "round", "list", "--config", self.operator / "operator.conf").code == blinktest.OK

        wait_until(answers, "an answer from the aggregator", pause=0.2)
        return process

    def round(self, command, *arguments):
        return must("blink", "round", command, "--config", self.operator / "operator.conf", *arguments)

    def create_round(self, epsilon):
        return self.round("create", "--epsilon", epsilon, "--degree-share", 0.1, "--open-for", "30m", "--epochs", 5,
                          "--json").json()["round_id"]

    def status(self, round_id):
        return self.round("status", "--json", round_id).json()

    def wait_for_ready(self, round_id):
        def ready():
            status = self.status(round_id)
            self.assertNotIn(status["state"], ("failed", "cancelled"), status)
            return status if status["state"] == "ready" else None

        return wait_until(ready, "the result", pause=0.2)

    def test_enrol_sign_revoke_renew_retire_and_add(self):
        self.enrol()
        self.revoke_in_mid_stream()
        self.renew_in_mid_round()
        self.retire_and_add()

    def enrol(self):
        must("blink", "provision", "init", "--out", self.out, "--deployment", "clinics", "--nodes", NODES,
             "--aggregator", f"127.0.0.1:{self.port}")
        self.provision("enrol", "--aggregator", "--dns", "localhost", "--ip", "127.0.0.1")
        self.provision("enrol", "--operator", "ada")
        self.provision("enrol", "--nodes", "0-299")
        self.provision("enrol", "--nodes", "300-599")
        self.assertEnds(run("blink", "provision", "enrol", "--out", self.out, "--nodes", "299-300"),
                        blinktest.BAD_INPUT, FIRST)
        shutil.copytree(self.out / "aggregator", self.collect)
        shutil.copytree(self.out / "operators" / "ada", self.operator)
        shutil.copytree(self.folder / f"cut-{NODES}" / "aggregator" / "attributes", self.collect / "attributes")
        for folder, side, name in ((self.collect, "server", "aggregator"), (self.operator, "client", "ada")):
            must("blink", "provision", "request", "--key", folder / "tls" / f"{side}.key", "--request",
                 folder / "tls" / f"{side}.csr", "--name", name)
            self.certify(name, folder, side)
        for name in (FIRST, SECOND):
            self.make_device(name, self.folder / f"cut-{NODES}" / "kits" / name / "lists.csv")
        if shutil.which("openssl"):
            read = subprocess.run(["openssl", "crl", "-in", self.out / "revoked.crl.pem", "-CAfile",
                                   self.out / "ca" / "ca.crt", "-noout"],
                                  capture_output=True, text=True, check=False)
            self.assertIn("verify OK", read.stdout + read.stderr)
        # What does not travel is not there; and the authority's machine has no key of others.
        self.assertEqual(list(self.out.glob("**/*.key")), [self.out / "ca" / "ca.key"])
        for place in (self.collect, self.operator, self.folder / "devices"):
            self.assertEqual([path for path in place.glob("**/*") if path.name in ("ca.key", "enrolment.json")], [])

    def revoke_in_mid_stream(self):
        aggregator = self.start_aggregator()
        round_id = self.create_round(epsilon=1)
        proxy = Proxy(self.port, upstream_bytes_per_second=2048)
        self.addCleanup(proxy.close)
        kit = self.device(FIRST) / "kit" / "kit.json"
        kit.write_text(json.dumps({**json.loads(kit.read_text()), "aggregator": f"127.0.0.1:{proxy.port}"}))
        node = self.start_node(FIRST)
        wait_until(lambda: self.status(round_id)["reports"] > 0, "the first report of the slow gateway", pause=0.05)
        proxy.rate = 20  # the stream would be open for many minutes
        self.provision("revoke", "--name", FIRST, "--reason", "key-compromise")
        self.bring_list()
        brought = time.monotonic()
        wait_until(lambda: "cut a stream" in aggregator.log(), "the cut", pause=0.02)
        print(f"cut {time.monotonic() - brought:.2f} s after the list was brought")
        self.assertEqual(node.wait(120), blinktest.REFUSED_BY_PEER, node.log()[-2000:])
        self.assertIn(self.serial(FIRST)[0], node.log())
        self.assertIn("revoked", node.log())
        kept = self.status(round_id)["reports"]
        self.assertLess(kept, 300)
        # A second start is refused as well, and nothing that was acknowledged is gone.
        proxy.rate = None
        self.assertEqual(self.start_node(FIRST).wait(120), blinktest.REFUSED_BY_PEER)
        other = self.start_node(SECOND)
        wait_until(lambda: self.status(round_id)["reports"] == kept + 300, "the reports of the other gateway")
        self.round("seal", round_id)
        self.assertEqual(other.wait(120), blinktest.OK, other.log()[-2000:])
        result = self.wait_for_ready(round_id)
        self.assertEqual((result["reports"], result["missing"], result["retired_nodes"]), (kept + 300, 300 - kept, 0))

    def renew_in_mid_round(self):
        round_id = self.create_round(epsilon=4)
        node = self.start_node(SECOND)
        wait_until(lambda: self.status(round_id)["reports"] == 300, "the reports of the gateway")
        tls = self.device(SECOND) / "kit" / "tls"
        done = run("blink", "provision", "sign", "--out", self.out, "--name", SECOND, "--request", tls / "client.csr",
                   "--certificate", self.folder / "again.crt")
        self.assertEnds(done, blinktest.BAD_INPUT, "make a new key")
        must("blink", "provision", "request", "--key", tls / "new.key", "--request", tls / "client.csr", "--name",
             SECOND)
        (tls / "new.key").replace(tls / "client.key")
        self.certify(SECOND, self.device(SECOND) / "kit")
        old, _ = self.serial(SECOND)
        self.provision("revoke", "--name", SECOND, "--serial", old, "--reason", "superseded")
        self.bring_list()
        wait_until(lambda: "revocation list number 3" in self.processes["aggregator"].log(), "the list in force")
        self.round("seal", round_id)
        self.assertEqual(node.wait(120), blinktest.OK, node.log()[-2000:])
        self.assertEqual(self.wait_for_ready(round_id)["missing"], 300)

    def retire_and_add(self):
        self.assertEnds(run("blink", "provision", "roster", "--out", self.out, "--nodes", NODES - 1),
                        blinktest.BAD_INPUT, "fall away")
        done = self.provision("roster", "--nodes", NODES + 5, "--retire", "0-299")
        self.assertIn("305 of them active", done.out)
        self.provision("enrol", "--nodes", "600-604")
        done = self.provision("roster", "--retire", "602")  # a gateway that is retired in part
        self.assertIn("Roster version 3: 605 nodes, 304 of them active", done.out)
        shutil.copy(self.out / "aggregator" / "roster.json", self.collect / "roster.json")
        self.bring_list()
        open_round = self.create_round(epsilon=2)  # still of the first roster
        self.assertEqual(self.processes["aggregator"].terminate(), blinktest.OK)
        done = run("blink-aggregator", "--config", self.collect / "aggregator.conf", timeout=60)
        self.assertEnds(done, blinktest.BAD_INPUT, "a node that joins brings its row")
        shutil.rmtree(self.collect / "attributes")
        shutil.copytree(self.folder / f"cut-{NODES + 5}" / "aggregator" / "attributes", self.collect / "attributes")
        self.start_aggregator()

        # The open round ends with the nodes that hold its kits, and is estimated over its own n.
        node = self.start_node(SECOND)
        wait_until(lambda: self.status(open_round)["reports"] == 300, "reports with the kit of the first roster")
        self.round("seal", open_round)
        self.assertEqual(node.wait(120), blinktest.OK, node.log()[-2000:])
        result = self.wait_for_ready(open_round)
        self.assertEqual((result["node_count"], result["roster_version"], result["missing"]), (NODES, 1, 300))

        shutil.copy(self.out / "kits" / SECOND / "kit.json", self.device(SECOND) / "kit" / "kit.json")
        lists = self.folder / "nobody.csv"
        lists.write_text("node,neighbour\n")
        self.make_device(THIRD, lists)
        round_id = self.create_round(epsilon=6)
        node = self.start_node(THIRD)
        wait_until(lambda: self.status(round_id)["reports"] == 4, "the reports of those who joined")
        self.round("seal", round_id)
        self.assertEqual(node.wait(120), blinktest.OK, node.log()[-2000:])
        result = self.wait_for_ready(round_id)
        self.assertEqual((result["node_count"], result["active_nodes"], result["retired_nodes"], result["missing"]),
                         (NODES + 5, 304, 301, 300))
        self.assertEqual(result["result"]["reports"], {"received": 4, "nodes": NODES + 5, "retired": 301,
                                                       "missing": 300})

        self.go_on_with_a_newer_kit()

        # Going back is refused.
        self.assertEqual(self.processes["aggregator"].terminate(), blinktest.OK)
        roster = json.loads((self.collect / "roster.json").read_text())
        (self.collect / "roster.json").write_text(json.dumps({**roster, "roster_version": 1, "node_count": NODES,
                                                              "retired": []}))
        shutil.rmtree(self.collect / "attributes")
        shutil.copytree(self.folder / f"cut-{NODES}" / "aggregator" / "attributes", self.collect / "attributes")
        done = run("blink-aggregator", "--config", self.collect / "aggregator.conf", timeout=60)
        self.assertEnds(done, blinktest.BAD_INPUT, "never taken back")

    def account(self, name, *arguments):
        return must("blink-node", "account", "--kit", self.device(name) / "kit", "--journal",
                    self.device(name) / "journal", "--json", *arguments).json()

    def answer(self, name, epsilon, reports):
        """A round for one gateway alone, to its end."""
        round_id = self.create_round(epsilon)
        node = self.start_node(name)
        wait_until(lambda: self.status(round_id)["reports"] == reports, f"{reports} reports of {name}")
        beside = self.account(name)  # while the node runs
        self.assertEqual([entry["round_id"] for entry in beside["rounds"]][-1], round_id)
        self.round("seal", round_id)
        self.assertEqual(node.wait(120), blinktest.OK, node.log()[-2000:])
        return self.account(name)

    def go_on_with_a_newer_kit(self):
        """A journal of the first roster and a kit of a later one: spending goes on, and there is no way back."""
        kit = self.device(SECOND) / "kit" / "kit.json"
        journal = self.device(SECOND) / "journal" / "journal.blj"
        before = self.account(SECOND)
        # ε 1 of the round that went on without the other gateway, 4 of the renewal, 2 of the round of the first roster.
        self.assertEqual((before["roster_version"], before["node_count"]), (1, NODES))
        self.assertEqual((before["epsilon_micro_spent_max"], before["draws"], before["receipts"]),
                         (7_000_000, 900, 900))
        after = self.answer(SECOND, 4, 300)
        self.assertEqual((after["roster_version"], after["node_count"]), (3, NODES + 5))
        # The same ε in the same epoch, but another n: another draw, and a debit.
        self.assertEqual((after["epsilon_micro_spent_max"], after["draws"], after["receipts"]),
                         (11_000_000, 1200, 1200))
        self.assertEqual([entry["node_count"] for entry in after["rounds"]], [NODES] * 3 + [NODES + 5])
        self.assertEqual(after["epsilon_micro_left"], after["epsilon_micro_lifetime_max"] - 11_000_000)
        again = self.answer(SECOND, 4, 300)
        self.assertEqual((again["epsilon_micro_spent_max"], again["draws"], again["receipts"]),
                         (11_000_000, 1200, 1500))
        self.assertTrue(again["rounds"][-1]["again"])

        newest, bytes_before = kit.read_text(), journal.read_bytes()
        for older in ({"roster_version": 1, "node_count": NODES}, {"roster_version": 2}, {"node_count": NODES}):
            kit.write_text(json.dumps({**json.loads(newest), **older}))
            node = self.start_node(SECOND)
            self.assertEqual(node.wait(120), blinktest.JOURNAL, node.log()[-2000:])
            self.assertIn("has seen roster version 3 with n = 605", node.log())
        self.assertEqual(journal.read_bytes(), bytes_before)

        # The gateway is retired in part, its first node among them: the others report, and all are debited alike.
        self.provision("roster", "--retire", "300-309")
        retired = json.loads((self.out / "kits" / SECOND / "kit.json").read_text())
        self.assertEqual((retired["retired"], retired["roster_version"]), ([[300, 309]], 4))
        kit.write_text(json.dumps(retired))
        shutil.copy(self.out / "aggregator" / "roster.json", self.collect / "roster.json")
        self.assertEqual(self.processes["aggregator"].terminate(), blinktest.OK)
        self.start_aggregator()
        last = self.answer(SECOND, 3, 290)
        self.assertEqual((last["epsilon_micro_spent_max"], last["draws"], last["receipts"]), (14_000_000, 1500, 1790))
        for node in (300, 310):
            self.assertEqual(self.account(SECOND, "--node", node)["epsilon_micro_spent_max"], 14_000_000)


if __name__ == "__main__":
    blinktest.main()
