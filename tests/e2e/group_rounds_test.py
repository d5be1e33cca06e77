"""The two questions of LDPGen as rounds: links towards random groups, then towards the groups that the answers made."""
import collections
import csv
import filecmp
import json

import blinktest
from blinktest import BlinkTest, Deployment, must


class TwoQuestions(BlinkTest):
    NODES = 150

    def create(self, blink, *arguments):
        return blinktest.run("blink", "round", "create", "--config", blink.operator, "--json", *arguments)

    def ask(self, blink, *arguments):
        done = self.create(blink, *arguments)
        self.assertEqual(done.code, 0, done.err)
        return done.json()

    def allow(self, blink):
        for name in blink.kits():
            blink.edit_policy(name, mechanisms=["both-ends", "group-degrees"])

    def answer(self, blink, round_id):
        blink.start_fleet()
        status = blink.wait_for_state(round_id, "ready")
        blink.wait_for_fleet()
        return status

    def fetch(self, blink, round_id, name):
        folder = blink.folder / name
        shown = must("blink", "round", "result", "--config", blink.operator, round_id, "--output", folder).out
        return folder, json.loads((folder / "metrics.json").read_text()), shown

    @staticmethod
    def groups_in(path):
        with open(path, newline="") as file:
            return [int(row["group"]) for row in csv.DictReader(file)]

    def test_answers_make_groups_then_links_and_each_question_is_debited(self):
        with Deployment(nodes=self.NODES, kits=3) as blink:
            blink.start_aggregator()
            first = self.ask(blink, "--epsilon", 4, "--mechanism", "group-degrees")
            self.assertEqual((first["groups"], first["follows"], first["training"]["model"]), (2, None, "none"))
            refused = blinktest.run("blink-node", "run", "--kit", blink.kit(blink.kits()[0]), "--journal",
                                    blink.journal(blink.kits()[0]))
            self.assertEnds(refused, blinktest.REFUSED_BY_POLICY,
                            "the round asks for the mechanism group-degrees, the policy allows both-ends (mechanisms)")
            self.allow(blink)
            status = self.answer(blink, first["round_id"])
            self.assertEqual(blink.draws(), self.NODES)
            self.assertEqual(blink.account(blink.kits()[0])["epsilon_micro_spent_max"], 4_000_000)

            folder, metrics, shown = self.fetch(blink, first["round_id"], "groups")
            self.assertEqual(metrics, status["result"])
            self.assertEqual(sorted(path.name for path in folder.iterdir()), ["groups.csv", "metrics.json"])
            groups = self.groups_in(folder / "groups.csv")
            made = metrics["groups"]["made"]
            self.assertEqual((len(groups), set(groups)), (self.NODES, set(range(made))))
            self.assertGreaterEqual(metrics["groups"]["wanted"], made)
            self.assertEqual((metrics["groups"]["asked"], metrics["train"], metrics["estimate"]), (2, None, None))
            self.assertEqual(metrics["privacy"]["mechanism"], "group-degrees")
            self.assertEqual(metrics["privacy"]["achieved_epsilon_per_undirected_link"], 8)
            self.assertRegex(shown, rf"groups made +{made}\n")

            # killed between the questions
            blink.aggregator.kill()
            blink.start_aggregator()
            second = self.ask(blink, "--follows", first["round_id"], "--model", "gcn", "--epochs", 15)
            self.assertEqual((second["groups"], second["follows"], second["epsilon"]), (made, first["round_id"], "4"))
            self.assertIsNone(second["training"]["variant"])
            self.answer(blink, second["round_id"])
            self.assertEqual(blink.draws(), 2 * self.NODES)
            account = blink.account(blink.kits()[0])
            self.assertEqual((account["epsilon_micro_spent_max"], account["epsilon_micro_link_max"]),
                             (8_000_000, 16_000_000))
            folder, metrics, shown = self.fetch(blink, second["round_id"], "links")
            self.check_links(folder, metrics)
            self.assertEqual(metrics["groups"]["follows"], first["round_id"])
            self.assertEqual(metrics["groups"]["epsilon_of_both"], 8)
            self.assertEqual(metrics["train"]["model"], "gcn")
            self.assertIsNone(metrics["plausibility"])
            self.assertRegex(shown, r"of an entry, both rounds +8\n")
            self.assertRegex(shown, rf"links drawn +{metrics['groups']['links']}\n")

            # the same groups once more: nobody draws again
            third = self.ask(blink, "--follows", first["round_id"], "--model", "none")
            self.answer(blink, third["round_id"])
            self.assertEqual(blink.draws(), 2 * self.NODES)
            alone, metrics, _ = self.fetch(blink, third["round_id"], "alone")
            self.assertEqual(metrics["train"], None)
            self.assertTrue(filecmp.cmp(folder / "links.csv", alone / "links.csv", shallow=False))
            self.check_by_hand(blink, first, second, folder)

    def check_links(self, folder, metrics):
        with open(folder / "links.csv", newline="") as file:
            links = [(int(row["source"]), int(row["target"])) for row in csv.DictReader(file)]
        self.assertEqual(len(links), metrics["groups"]["links"])
        self.assertEqual(len(links), len(set(links)))
        self.assertTrue(all(a != b and 0 <= a < self.NODES and 0 <= b < self.NODES for a, b in links))
        self.assertGreater(len(links), 0)
        named = collections.Counter(source for source, _ in links)
        self.assertGreater(len(named), self.NODES // 4, "most nodes name somebody")
        with open(folder / "predictions.csv", newline="") as file:
            self.assertEqual(sum(1 for _ in csv.reader(file)), self.NODES + 1)

    def check_by_hand(self, blink, first, second, result):
        """blink-worker on the folders of the rounds."""
        worker = ("blink-worker", "--attributes", blink.out / "aggregator" / "attributes", "--output",
                  blink.folder / "again", "--round-folder")
        must(*worker, blink.round_folder(second["round_id"]))
        for name in ("links.csv", "links.npz", "predictions.csv", "curves.csv", "model.pt"):
            self.assertTrue(filecmp.cmp(result / name, blink.folder / "again" / name, shallow=False), name)
        must(*worker, blink.round_folder(second["round_id"]), "--model", "mlp", "--epochs", 3)
        later = json.loads((blink.folder / "again" / "metrics.json").read_text())
        self.assertEqual((later["kind"], later["train"]["model"]), ("replay", "mlp"))
        refused = blinktest.run(*worker, blink.round_folder(first["round_id"]), "--model", "gcn")
        self.assertEnds(refused, blinktest.BAD_INPUT, "asked about random groups")
        groups = blink.round_folder(second["round_id"]) / "groups"
        bytes_of_groups = bytearray(groups.read_bytes())
        bytes_of_groups[:2], bytes_of_groups[2:4] = b"\0\0", b"\1\0"
        if bytes_of_groups == groups.read_bytes():
            bytes_of_groups[:2] = b"\1\0"
        groups.write_bytes(bytes_of_groups)
        self.assertEnds(blinktest.run(*worker, blink.round_folder(second["round_id"])), blinktest.BAD_INPUT,
                        "does not hold the groups of")
        self.assertEnds(blinktest.run("blink", "simulate", "--dataset", blink.dataset, "--reports",
                                      blink.round_folder(first["round_id"])), blinktest.BAD_INPUT, "group-degrees")

    def test_what_no_round_can_ask_is_refused_with_the_remedy(self):
        with Deployment(nodes=30, kits=2) as blink:
            blink.start_aggregator()
            nobody = "0" * 32
            for arguments, words in (
                    ((), "--epsilon is missing"),
                    (("--epsilon", 1, "--groups", 3), "only --mechanism group-degrees asks about groups"),
                    (("--epsilon", 1, "--mechanism", "group-degrees", "--groups", 1001), "--groups"),
                    (("--epsilon", 1, "--mechanism", "group-degrees", "--degree-share", 0.1), "--degree-share"),
                    (("--epsilon", 1, "--mechanism", "group-degrees", "--implausible", "drop"), "--implausible"),
                    (("--epsilon", 1, "--mechanism", "group-degrees", "--degree-max", 9), "--degree-max"),
                    (("--epsilon", 1, "--mechanism", "group-degrees", "--model", "gcn"), "trains nothing"),
                    (("--epsilon", 1, "--mechanism", "group-degrees", "--tune"), "trains nothing"),
                    (("--follows", nobody, "--epsilon", 1), "it is that of the round that is followed"),
                    (("--follows", nobody, "--mechanism", "one-end"), "is of group-degrees"),
                    (("--follows", nobody, "--groups", 3), "--groups"),
                    (("--follows", nobody, "--variant", "soft"), "--variant"),
                    (("--follows", "12"), "'12' is no round id")):
                with self.subTest(arguments=arguments):
                    self.assertEnds(self.create(blink, *arguments), blinktest.USAGE, words)
            self.assertEnds(self.create(blink, "--follows", nobody), blinktest.REFUSED_BY_PEER,
                            "there is no such round")
            both = blink.create_round()
            self.assertEnds(self.create(blink, "--follows", both), blinktest.REFUSED_BY_PEER,
                            "it did not ask about groups of nodes")
            first = self.ask(blink, "--epsilon", 1, "--mechanism", "group-degrees", "--groups", 5)
            self.assertEqual(first["groups"], 5)
            self.assertEnds(self.create(blink, "--follows", first["round_id"]), blinktest.REFUSED_BY_PEER, "it is open")
            must("blink", "round", "seal", "--config", blink.operator, first["round_id"])
            self.assertEqual(blink.wait_for_state(first["round_id"], "failed")["reports"], 0)


if __name__ == "__main__":
    blinktest.main()
