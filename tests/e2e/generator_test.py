"""blink dataset generate --model, as a process."""
import pathlib
import shutil
import tempfile

import blinktest
from blinktest import BlinkTest, run


class Models(BlinkTest):
    """Models of links."""

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="blink-e2e-"))
        self.addCleanup(shutil.rmtree, self.folder, True)

    def generate(self, name, *arguments):
        return run("blink", "dataset", "generate", "--output", self.folder / name, "--nodes", 400, *arguments)

    def test_each_model_makes_a_data_set_that_a_seed_repeats(self):
        for model in ("degree-corrected", "rmat", "chung-lu"):
            digests = set()
            for name in ("one", "two"):
                self.assertEnds(self.generate(model + name, "--model", model), blinktest.OK, "400 nodes, 780 links")
                digests.add(blinktest.must("blink", "dataset", "info", self.folder / (model + name),
                                           "--json").json()["sha256"])
            self.assertEqual(len(digests), 1, model)

    def test_flags_of_another_model_are_refused_and_not_lost(self):
        for arguments, words in ((("--model", "rmat", "--homophily", 0.5), "--homophily belongs to"),
                                 (("--model", "rmat", "--degree-exponent", 2.5), "--degree-exponent belongs to"),
                                 (("--rmat", "0.25,0.25,0.25,0.25"), "--rmat belongs to --model rmat"),
                                 (("--model", "rmat", "--rmat", "0.5,0.5"), "--rmat has 2 shares"),
                                 (("--model", "rmat", "--rmat", "0.5,0.5,0.5,0.5"), "--rmat has the sum 2"),
                                 (("--model", "chung-lu", "--degree-exponent", 2), "--degree-exponent is 2"),
                                 (("--model", "kronecker"), "--model")):
            self.assertEnds(self.generate("made", *arguments), blinktest.USAGE, words)


if __name__ == "__main__":
    blinktest.main()
