"""A whole round over mutually authenticated gRPC, as processes."""
import csv
import filecmp
import json
import pathlib
import shutil
import tempfile

import blinktest
from blinktest import BlinkTest, Deployment, must


class WholeRound(BlinkTest):
    """Collection, denoising and training, and the same from the stored reports without a network."""

    def whole_round(self, nodes, kits):
        with Deployment(nodes=nodes, kits=kits) as blink:
            blink.start_aggregator()
            round_id = blink.create_round(epsilon=6, epochs=40)
            blink.start_fleet()
            status = blink.wait_for_state(round_id, "ready")
            blink.wait_for_fleet()

            self.assertEqual(status["reports"], nodes)
            self.assertEqual(blink.draws(), nodes)
            for name in blink.kits():
                account = blink.account(name)
                self.assertEqual(account["draws"], account["nodes"])
                self.assertEqual(account["epsilon_micro_spent_max"], 6_000_000)

            result = blink.folder / "result"
            must("blink", "round", "result", "--config", blink.operator, round_id, "--output", result)
            self.check_against_simulation(blink, round_id, result)
            self.check_refusal_of_damaged_results(blink, round_id, result)
            self.assertEqual(blink.aggregator.terminate(), blinktest.OK)

    def check_against_simulation(self, blink, round_id, result):
        metrics = json.loads((result / "metrics.json").read_text())
        replay_folder = blink.folder / "replay"
        replay = blink.simulate(round_id, "--output", replay_folder)
        self.assertEqual(replay["estimate"]["links"], metrics["estimate"]["links"])
        self.assertEqual(replay["train"]["test_accuracy_mean"], metrics["train"]["test_accuracy"])
        self.assertEqual(replay["plausibility"]["flagged"], metrics["plausibility"]["flagged"])
        for artifact in ("links.csv", "predictions.csv", "plausibility.csv"):
            self.assertTrue((result / artifact).stat().st_size > 0)
            self.assertTrue(filecmp.cmp(result / artifact, replay_folder / artifact, shallow=False),
                            f"{artifact} of the round and of the replay differ")
        with open(result / "predictions.csv", newline="") as file:
            self.assertEqual(sum(1 for _ in csv.reader(file)), blink.nodes + 1)

    def check_refusal_of_damaged_results(self, blink, round_id, result):
        stored, again = blink.round_folder(round_id) / "result", blink.folder / "again"
        fetch = "blink", "round", "result", "--config", blink.operator, round_id, "--output", again
        names = sorted(path.name for path in stored.iterdir())
        self.assertEqual(names, sorted(path.name for path in result.iterdir()))
        for name in names:
            good = (stored / name).read_bytes()
            for bad in (b"", good[:-1], b"x" + good[1:], None):
                if bad is None:
                    (stored / name).unlink()
                else:
                    (stored / name).write_bytes(bad)
                damaged = blinktest.run(*fetch)
                self.assertEnds(damaged, blinktest.JOURNAL, name)
                self.assertFalse(again.exists() or again.with_name("again.partial").exists())
            (stored / name).write_bytes(good)
        must(*fetch)

    def test_a_node_that_claims_links_to_everybody_is_listed_and_dropped_and_notices_nothing(self):
        nodes, liar = 150, 7
        with Deployment(nodes=nodes, kits=3) as blink:
            lists = blink.kit(blink.kits()[0]) / "lists.csv"
            header, *lines = lists.read_text().splitlines()
            claims = [f"{liar},{other}" for other in range(nodes) if other != liar]
            before = [line for line in lines if int(line.split(",")[0]) < liar]
            after = [line for line in lines if int(line.split(",")[0]) > liar]
            lists.write_text("\n".join([header, *before, *claims, *after]) + "\n")
            blink.start_aggregator()
            round_id = blink.create_round(6, 0.1, "10m", 5, "--implausible", "drop", "--degree-max", nodes // 2)
            blink.start_fleet()
            status = blink.wait_for_state(round_id, "ready")
            blink.wait_for_fleet()  # each ends with exit code 0

            self.assertEqual(status["implausible"], "drop")
            # by its ones alone, since the operator knows that none has so many links
            self.assertGreaterEqual(status["flagged"], 1)
            checks = status["result"]["plausibility"]
            self.assertEqual(checks["flags"][0]["node"], liar)
            self.assertGreaterEqual(checks["dropped"], 1)  # an honest node is flagged too in one round of a thousand
            self.assertEqual(status["result"]["estimate"]["nodes_without_report"], checks["dropped"])
            shown = must("blink", "round", "result", "--config", blink.operator, round_id).out
            self.assertIn(f"flagged node {liar}", shown)

    def test_gateways_report_and_the_result_is_that_of_the_replay(self):
        self.whole_round(nodes=150, kits=3)

    def test_single_nodes_report_and_the_result_is_that_of_the_replay(self):
        self.whole_round(nodes=12, kits=12)


class AttributedPrior(BlinkTest):
    """A round whose estimate takes features and labels as well: the aggregator's affair alone."""

    def test_a_round_with_it_gives_the_result_of_its_replay_and_no_node_notices(self):
        with Deployment(nodes=120, kits=3) as blink:
            blink.start_aggregator()
            create = ("blink", "round", "create", "--config", blink.operator, "--epsilon", 3, "--epochs", 15, "--json")
            attributed = must(*create, "--prior", "attributed").json()
            self.assertEqual(attributed["training"]["prior"], "attributed")
            self.assertEqual(attributed["degree_share"], "0.02", "by the rule of this prior")
            blink.start_fleet()
            status = blink.wait_for_state(attributed["round_id"], "ready")
            blink.wait_for_fleet()
            result = blink.folder / "result"
            shown = must("blink", "round", "result", "--config", blink.operator, attributed["round_id"], "--output",
                         result).out
            self.assertRegex(shown, r"prior +attributed")
            self.assertRegex(shown, r"chosen +\w")
            metrics = json.loads((result / "metrics.json").read_text())
            self.assertEqual(metrics, status["result"])
            self.assertEqual(metrics["estimate"]["prior"], "attributed")
            self.assertGreater(metrics["estimate"]["beta"]["expected_links"], 0)
            self.assertNotIn("mae", metrics["estimate"], "an aggregator knows no true link")
            names = [candidate["name"] for candidate in metrics["train"]["candidates"]]
            self.assertIn(metrics["train"]["chosen"], names)
            for candidate in metrics["train"]["candidates"]:
                self.assertNotIn("test_accuracy", candidate, "an aggregator has no use for it")
            self.check_replay(blink, attributed["round_id"], metrics, result)

            # the same parameters: the fleet has its reports already
            beta = must(*create, "--degree-share", "0.02").json()
            blink.start_fleet()
            self.assertEqual(blink.wait_for_state(beta["round_id"], "ready")["result"]["estimate"]["prior"], "beta")
            blink.wait_for_fleet()
            self.assertEqual(blink.draws(), blink.nodes, "the prior is no part of what a node is asked")
            folders = [blink.round_folder(round["round_id"]) / "reports.blr" for round in (attributed, beta)]
            self.assertTrue(filecmp.cmp(*folders, shallow=False))
            self.check_later(blink, beta["round_id"], metrics)

    def check_replay(self, blink, round_id, metrics, result):
        replay_folder = blink.folder / "replay"
        replay = blink.simulate(round_id, "--output", replay_folder)
        self.assertEqual(replay["estimate"]["links"], metrics["estimate"]["links"])
        self.assertEqual(replay["train"]["chosen"], metrics["train"]["chosen"])
        self.assertEqual(replay["train"]["test_accuracy_mean"], metrics["train"]["test_accuracy"])
        self.assertIn("mae", replay["estimate"]["beta"])
        for artifact in ("links.csv", "links.npz", "predictions.csv", "curves.csv", "model.pt"):
            self.assertTrue(filecmp.cmp(result / artifact, replay_folder / artifact, shallow=False),
                            f"{artifact} of the round and of the replay differ")

    def check_later(self, blink, round_id, metrics):
        """The reports of a round of the other prior, analysed once more; ties are decided by the round's id, so not to
        the same bits."""
        again = blink.folder / "again"
        must("blink-worker", "--round-folder", blink.round_folder(round_id), "--attributes",
             blink.out / "aggregator" / "attributes", "--output", again, "--prior", "attributed")
        later = json.loads((again / "metrics.json").read_text())
        self.assertEqual(later["kind"], "replay")
        self.assertEqual(later["estimate"]["prior"], "attributed")
        self.assertAlmostEqual(later["estimate"]["expected_links"], metrics["estimate"]["expected_links"],
                               delta=0.05 * metrics["estimate"]["expected_links"])

    def test_a_round_that_asks_for_what_there_is_not_is_refused_when_it_is_created(self):
        with Deployment(nodes=30, kits=2) as blink:
            blink.start_aggregator()
            create = ("blink", "round", "create", "--config", blink.operator, "--epsilon", 3)
            self.assertEnds(blinktest.run(*create, "--prior", "gamma"), blinktest.USAGE, "--prior")
            self.assertEnds(blinktest.run(*create, "--model", "stacked"), blinktest.USAGE,
                            "which the attributed prior alone has")


class OneEnd(BlinkTest):
    """Rounds in which one end alone reports a pair."""

    NODES = 150

    def create(self, blink, *arguments):
        return blink.create_round(6, 0.1, "10m", 15, "--mechanism", "one-end", *arguments)

    def allow(self, blink):
        for name in blink.kits():
            blink.edit_policy(name, mechanisms=["both-ends", "one-end"])

    def test_nodes_answer_only_when_their_policy_says_so_and_a_link_costs_half(self):
        with Deployment(nodes=self.NODES, kits=3) as blink:
            blink.start_aggregator()
            round_id = self.create(blink)
            self.assertEqual(blink.status(round_id)["mechanism"], "one-end")
            refused = blinktest.run("blink-node", "run", "--kit", blink.kit(blink.kits()[0]), "--journal",
                                    blink.journal(blink.kits()[0]))
            self.assertEnds(refused, blinktest.REFUSED_BY_POLICY,
                            "the round asks for the mechanism one-end, the policy allows both-ends (mechanisms)")
            self.assertEqual((blink.draws(), blink.reports(round_id)), (0, 0))

            self.allow(blink)
            blink.start_fleet()
            metrics = blink.wait_for_state(round_id, "ready")["result"]
            blink.wait_for_fleet()
            self.assertEqual(blink.draws(), self.NODES)
            account = blink.account(blink.kits()[0])
            self.assertEqual((account["epsilon_micro_spent_max"], account["epsilon_micro_link_max"]),
                             (6_000_000, 6_000_000))
            self.assertEqual(account["rounds"][0]["mechanism"], "one-end")
            privacy = metrics["privacy"]
            self.assertEqual(privacy["mechanism"], "one-end")
            self.assertEqual(privacy["achieved_epsilon_per_undirected_link"], privacy["achieved_epsilon"])
            checks = metrics["plausibility"]
            self.assertIn("the tests of pairs were not made", checks["note"])
            self.assertIsNone(checks["lie_seen_half"])

            # both ends, in the same epoch with the same budget: another draw
            both = blink.create_round(6, 0.1, "10m", 15)
            blink.start_fleet()
            blink.wait_for_state(both, "ready")
            blink.wait_for_fleet()
            self.assertEqual(blink.draws(), 2 * self.NODES)
            account = blink.account(blink.kits()[0])
            self.assertEqual((account["epsilon_micro_spent_max"], account["epsilon_micro_link_max"]),
                             (12_000_000, 18_000_000))
            # an epoch with the same parameters: the same bytes
            again = self.create(blink)
            blink.start_fleet()
            blink.wait_for_state(again, "ready")
            blink.wait_for_fleet()
            self.assertEqual(blink.draws(), 2 * self.NODES)
            self.assertTrue(filecmp.cmp(blink.round_folder(round_id) / "reports.blr",
                                        blink.round_folder(again) / "reports.blr", shallow=False))
            sizes = [(blink.round_folder(shown) / "reports.blr").stat().st_size for shown in (round_id, both)]
            self.assertLess(sizes[0], sizes[1])

    def test_a_round_goes_on_without_those_who_do_not_report_and_is_that_of_the_replay(self):
        with Deployment(nodes=self.NODES, kits=3) as blink:
            blink.start_aggregator()
            self.allow(blink)
            round_id = self.create(blink, "--implausible", "drop")
            reporting = blink.kits()[:2]
            expected = sum(blink.kit_size(name) for name in reporting)
            # killed in the middle of the collection, and started again
            blink.proxy(reporting[1:], upstream_bytes_per_second=3000)
            blink.start_fleet(reporting)
            blink.wait_for_reports(round_id, 1)
            blink.aggregator.kill()
            blink.start_aggregator()
            blink.wait_for_reports(round_id, expected)
            must("blink", "round", "seal", "--config", blink.operator, round_id)
            status = blink.wait_for_state(round_id, "ready")
            blink.wait_for_fleet()
            metrics = status["result"]
            self.assertEqual(blink.draws(), expected)
            self.assertEqual(metrics["reports"]["missing"], self.NODES - expected)
            self.assertEqual(metrics["estimate"]["nodes_without_report"],
                             self.NODES - expected + metrics["plausibility"]["dropped"])

            result, replay_folder = blink.folder / "result", blink.folder / "replay"
            must("blink", "round", "result", "--config", blink.operator, round_id, "--output", result)
            replay = blink.simulate(round_id, "--output", replay_folder)
            self.assertEqual(replay["mechanism"]["name"], "one-end")
            self.assertEqual(replay["estimate"]["links"], metrics["estimate"]["links"])
            for artifact in ("links.csv", "degrees.csv", "predictions.csv", "plausibility.csv"):
                self.assertTrue(filecmp.cmp(result / artifact, replay_folder / artifact, shallow=False),
                                f"{artifact} of the round and of the replay differ")

            again = blink.folder / "again"
            must("blink-worker", "--round-folder", blink.round_folder(round_id), "--attributes",
                 blink.out / "aggregator" / "attributes", "--output", again, "--prior", "attributed", "--variant",
                 "soft", "--model", "gcn", "--tune", 0)
            later = json.loads((again / "metrics.json").read_text())
            self.assertEqual((later["privacy"]["mechanism"], later["estimate"]["prior"]), ("one-end", "attributed"))

    def test_a_mechanism_that_is_none_is_refused(self):
        with Deployment(nodes=30, kits=2) as blink:
            blink.start_aggregator()
            self.assertEnds(blinktest.run("blink", "round", "create", "--config", blink.operator, "--epsilon", 3,
                                          "--mechanism", "both"), blinktest.USAGE, "--mechanism")


class WithoutLabels(BlinkTest):
    """Rounds about graphs of which little is known beside the links: they give links and degrees."""

    NODES = 60

    def edge_list(self, folder):
        """A ring with chords, as a list of links between names and nothing else."""
        path = folder / "links.txt"
        pairs = [(i, (i + step) % self.NODES) for i in range(self.NODES) for step in (1, 2, 3)]
        path.write_text("".join(f"person-{a:02} person-{b:02}\n" for a, b in pairs))
        return path

    def create(self, blink, *arguments):
        return blinktest.run("blink", "round", "create", "--config", blink.operator, "--epsilon", 8, "--json",
                             *arguments)

    def check_result(self, blink, round_id):
        result = blink.folder / "result"
        shown = must("blink", "round", "result", "--config", blink.operator, round_id, "--output", result).out
        self.assertRegex(shown, r"model +none: links and degrees alone")
        self.assertRegex(shown, r"precision expected +0\.\d")
        self.assertEqual(sorted(path.name for path in result.iterdir()),
                         ["degrees.csv", "links.csv", "links.npz", "metrics.json", "plausibility.csv"])
        metrics = json.loads((result / "metrics.json").read_text())
        self.assertIsNone(metrics["train"])
        self.assertGreater(metrics["estimate"]["expected_quality"]["auc"], 0.8)
        with open(result / "degrees.csv", newline="") as file:
            degrees = list(csv.DictReader(file))
        self.assertEqual(sorted(row["id"] for row in degrees), [f"person-{i:02}" for i in range(self.NODES)])
        mean = sum(float(row["degree"]) for row in degrees) / self.NODES
        self.assertAlmostEqual(mean, 6, delta=1.5, msg="every node has 6 links")
        self.assertTrue(all(float(row["deviation"]) >= 0 for row in degrees))
        with open(result / "links.csv", newline="") as file:
            links = list(csv.DictReader(file))
        self.assertGreater(len(links), self.NODES)
        self.assertTrue(all(0 < float(link["weight"]) <= 1 for link in links))
        return result, metrics

    def test_an_edge_list_alone_comes_to_links_and_degrees(self):
        with tempfile.TemporaryDirectory() as made:
            dataset = pathlib.Path(made) / "dataset"
            must("blink", "dataset", "convert", self.edge_list(pathlib.Path(made)), "--output", dataset)
            self.assertIn("no node has a label", must("blink", "dataset", "info", dataset).out)
            with Deployment(nodes=self.NODES, kits=2, dataset=dataset) as blink:
                blink.start_aggregator()
                for wrong in ((), ("--model", "gcn"), ("--tune",), ("--prior", "attributed")):
                    self.assertEnds(self.create(blink, *wrong), blinktest.REFUSED_BY_PEER, "no node has a label",
                                    "--model none")
                self.assertEnds(self.create(blink, "--model", "none", "--prior", "attributed"),
                                blinktest.REFUSED_BY_PEER, "nothing is known of the nodes", "--prior beta")
                self.assertEnds(self.create(blink, "--model", "none", "--epochs", 5), blinktest.USAGE,
                                "--epochs is set")
                self.assertEqual(must("blink", "round", "list", "--config", blink.operator, "--json").json(), [])
                created = self.create(blink, "--model", "none").json()
                self.assertEqual(created["training"]["model"], "none")
                self.assertIsNone(created["training"]["epochs"])
                blink.start_fleet()
                blink.wait_for_state(created["round_id"], "ready")
                blink.wait_for_fleet()
                result, metrics = self.check_result(blink, created["round_id"])
                replay = blink.simulate(created["round_id"], "--output", blink.folder / "replay")
                self.assertIsNone(replay["train"])
                self.assertEqual(replay["estimate"]["expected_links"], metrics["estimate"]["expected_links"])
                self.assertLess(replay["estimate"]["degree_mae"], 3)
                for artifact in ("links.csv", "degrees.csv", "plausibility.csv"):
                    self.assertTrue(filecmp.cmp(result / artifact, blink.folder / "replay" / artifact, shallow=False),
                                    f"{artifact} of the round and of the replay differ")

    def test_an_aggregator_that_knows_nothing_of_the_nodes_serves_rounds_without_a_model(self):
        with Deployment(nodes=self.NODES, kits=2) as blink:
            configuration = blink.out / "aggregator" / "aggregator.conf"
            lines = [line for line in configuration.read_text().splitlines() if not line.startswith("attributes=")]
            configuration.write_text("\n".join(lines) + "\n")
            shutil.rmtree(blink.out / "aggregator" / "attributes")
            blink.start_aggregator()
            self.assertEnds(self.create(blink), blinktest.REFUSED_BY_PEER, "no node has a label")
            created = self.create(blink, "--model", "none", "--variant", "hard").json()
            blink.start_fleet()
            status = blink.wait_for_state(created["round_id"], "ready")
            blink.wait_for_fleet()
            self.assertEqual(status["result"]["estimate"]["variant"], "hard")

    def test_features_alone_are_enough_for_the_attributed_prior(self):
        with Deployment(nodes=self.NODES, kits=2) as blink:
            attributes = blink.out / "aggregator" / "attributes"
            for name in ("labels.csv", "split.csv", "classes.txt"):
                (attributes / name).unlink(missing_ok=True)
            (attributes / "nodes.csv").write_text("node,id\n" + "".join(f"{i},{i}\n" for i in range(self.NODES)))
            blink.start_aggregator()
            created = self.create(blink, "--model", "none", "--prior", "attributed").json()
            blink.start_fleet()
            status = blink.wait_for_state(created["round_id"], "ready")
            blink.wait_for_fleet()
            self.assertEqual(status["result"]["estimate"]["prior"], "attributed")
            self.assertIsNone(status["result"]["train"])

    def test_a_folder_of_attributes_that_is_missing_is_named_with_what_to_do(self):
        with Deployment(nodes=12, kits=1) as blink:
            shutil.rmtree(blink.out / "aggregator" / "attributes")
            done = blinktest.run("blink-aggregator", "--config", blink.out / "aggregator" / "aggregator.conf")
            self.assertEnds(done, blinktest.BAD_INPUT, "is not a folder", "leave out --attributes")


class SeveralRounds(BlinkTest):
    def test_a_second_round_with_the_same_parameters_draws_nothing_anew(self):
        with Deployment(nodes=40, kits=2) as blink:
            blink.start_aggregator()
            folders = []
            for _ in range(2):
                round_id = blink.create_round(epsilon=4, epochs=5)
                blink.start_fleet()
                blink.wait_for_state(round_id, "ready")
                blink.wait_for_fleet()
                folders.append(blink.round_folder(round_id) / "reports.blr")
            self.assertEqual(blink.draws(), 40)
            self.assertTrue(filecmp.cmp(*folders, shallow=False), "the same epoch gave other reports")

    def test_rounds_that_are_open_at_once_are_both_served(self):
        with Deployment(nodes=30, kits=2, policy=("--epsilon-lifetime-max", 5)) as blink:
            blink.start_aggregator()
            first = blink.create_round(epsilon=2, epochs=5)
            second = blink.create_round(epsilon=3, epochs=5)
            blink.start_fleet(arguments=("--daemon",))
            blink.wait_for_state(first, "ready")
            blink.wait_for_state(second, "ready")
            for name in blink.kits():
                self.assertEqual(blink.processes[name].terminate(), blinktest.OK)
            self.assertEqual(blink.draws(), 60)

    def test_a_round_below_its_quorum_fails_and_says_so(self):
        with Deployment(nodes=30, kits=3) as blink:
            blink.start_aggregator()
            round_id = blink.create_round(4, 0.1, "10m", 5, "--quorum", 25)
            names = blink.kits()
            blink.start_fleet(names[:1], arguments=("--leave", "at-receipt"))
            blink.wait_for_fleet()
            must("blink", "round", "seal", "--config", blink.operator, round_id)
            status = blink.wait_for_state(round_id, "failed")
            self.assertIn("quorum", status["failure_reason"].lower())
            self.assertIn("25", status["failure_reason"])

    def test_a_round_with_missing_reports_goes_on(self):
        with Deployment(nodes=30, kits=3) as blink:
            blink.start_aggregator()
            round_id = blink.create_round(4, 0.1, "10m", 5)
            blink.start_fleet(blink.kits()[:2], arguments=("--leave", "at-receipt"))
            blink.wait_for_fleet()
            must("blink", "round", "seal", "--config", blink.operator, round_id)
            status = blink.wait_for_state(round_id, "ready")
            self.assertEqual(status["reports"], 20)

    def test_a_cancelled_round_stays_cancelled(self):
        with Deployment(nodes=30, kits=3) as blink:
            blink.start_aggregator()
            round_id = blink.create_round(4, 0.1, "10m", 5)
            must("blink", "round", "cancel", "--config", blink.operator, round_id)
            self.assertEqual(blink.state(round_id), "cancelled")
            done = blinktest.run("blink", "round", "watch", "--config", blink.operator, round_id)
            self.assertEqual(done.code, blinktest.ROUND_FAILED, f"\n{done}")


if __name__ == "__main__":
    blinktest.main()
