"""Training on samples of the links, as a researcher and as an operator use it."""
import pathlib
import shutil
import tempfile
import unittest

import blinktest
from blinktest import must, run


class Batches(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="blink-sampling-"))
        self.addCleanup(shutil.rmtree, self.folder)
        self.dataset = self.folder / "dataset"
        blinktest.generate_dataset(self.dataset, 400)

    def simulate(self, *flags):
        return must("blink", "simulate", "--dataset", self.dataset, "--epsilon", 8, "--trials", 1, "--seed", 3,
                    "--learning-rate", 0.05, "--device", "cpu", "--json", "--quiet", *flags).json()

    def test_every_model_learns_from_hard_hybrid_and_true_links(self):
        for flags in (("--model", "gcn"), ("--model", "graphsage", "--variant", "hybrid"),
                      ("--model", "gat", "--graph", "true"), ("--model", "mlp")):
            train = self.simulate("--epochs", 30, "--batch-nodes", 50, "--fan-out", "5,3", *flags)["train"]
            self.assertGreater(train["test_accuracy_mean"], 0.5, flags)  # chance is a third
            self.assertEqual(train["batch_nodes"], 50)
            self.assertEqual(train["fan_out"], [5, 3])

    def test_with_nothing_left_out_it_is_the_full_training(self):
        flags = ("--epochs", 20, "--dropout", 0)
        full = self.simulate(*flags)["train"]
        sampled = self.simulate(*flags, "--batch-nodes", 10000, "--fan-out", "1000,1000")["train"]
        self.assertNotIn("batch_nodes", full)
        self.assertAlmostEqual(full["test_accuracy_mean"], sampled["test_accuracy_mean"], delta=0.02)
        self.assertAlmostEqual(full["validation_accuracy_mean"], sampled["validation_accuracy_mean"], delta=0.02)

    def test_a_search_tries_no_network_on_soft_links(self):
        train = self.simulate("--epochs", 3, "--tune", 8, "--batch-nodes", 100)["train"]
        names = [candidate["name"] for candidate in train["candidates"]]
        self.assertTrue(any("gcn hybrid" in name for name in names), names)
        self.assertFalse(any("soft" in name for name in names), names)

    def test_equal_seeds_and_any_threads_give_equal_bits(self):
        # The noise of reports is never the same.
        flags = ("--graph", "true", "--epochs", 5, "--batch-nodes", 64, "--model", "gat", "--deterministic")
        first, again = self.simulate(*flags, "--threads", 1)["train"], self.simulate(*flags, "--threads", 2)["train"]
        for name in ("test_accuracy_mean", "test_roc_auc_mean", "validation_accuracy_mean"):
            self.assertEqual(first[name], again[name])

    def test_what_cannot_be_sampled_is_refused_with_what_can(self):
        for flags, said in ((("--batch-nodes", 64, "--variant", "soft"), "choose hard or hybrid links"),
                            (("--fan-out", "10,10"), "say how many training nodes a batch has"),
                            (("--batch-nodes", 64, "--fan-out", 10), "--fan-out has 1 number, but there are 2 layers"),
                            (("--batch-nodes", 64, "--fan-out", "10,0"), "1 .. 1,000,000"),
                            (("--batch-nodes", 64, "--fan-out", "10,many"), "many is not a whole number"),
                            (("--batch-nodes", 64, "--model", "none"), "the model none trains nothing"),
                            (("--batch-nodes", 64, "--model", "stacked", "--prior", "attributed", "--tune", 0),
                             "knows no batches")):
            done = run("blink", "simulate", "--dataset", self.dataset, "--epsilon", 8, *flags)
            self.assertEqual(done.code, blinktest.USAGE, done)
            self.assertIn(said, done.err + done.out)


if __name__ == "__main__":
    blinktest.main()
