"""The parts of experiments/accuracy by themselves: Facebook's hashed words, and what a verdict counts."""
import array
import json
import pathlib
import shutil
import sys
import tempfile
import unittest
import zipfile
import zlib

import blinktest
from blinktest import SOURCE_DIR

sys.path.insert(0, str(SOURCE_DIR / "experiments" / "accuracy"))
import bounds  # noqa: E402
import cells  # noqa: E402
import hashed  # noqa: E402
import raw  # noqa: E402
import table  # noqa: E402
from cells import Cell, Published  # noqa: E402


def member(code, kind, values):
    """An array of 4-byte numbers as numpy.save writes it."""
    header = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': ({len(values)},), }}"
    header += " " * (-(10 + len(header) + 1) % 64) + "\n"
    data = array.array(code, values).tobytes()
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode() + data


class HashedWords(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="blink-hashed-"))
        self.addCleanup(shutil.rmtree, self.folder)
        self.raw, self.target = self.folder / "features_raw.npz", self.folder / "features.npy"

    def write(self, starts, words, counts):
        with zipfile.ZipFile(self.raw, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, part in (("indptr", member("i", "<i4", starts)), ("indices", member("i", "<i4", words)),
                               ("data", member("f", "<f4", counts))):
                archive.writestr(name + ".npy", part)

    def read(self):
        """Rows of the .npy."""
        data = self.target.read_bytes()
        length = int.from_bytes(data[8:10], "little")
        self.assertEqual((10 + length) % 64, 0)
        self.assertIn(b"'descr': '<f4'", data[:10 + length])
        values = array.array("f", data[10 + length:])
        return [values[k:k + hashed.COLUMNS].tolist() for k in range(0, len(values), hashed.COLUMNS)]

    def test_a_word_counts_in_the_column_of_its_checksum(self):
        self.write([0, 2, 2, 3], [7, 4000, 7], [1.0, 1.0, 3.0])
        hashed.write_features(self.raw, self.target)
        wanted = [[0.0] * hashed.COLUMNS for _ in range(3)]
        wanted[0][zlib.crc32(b"7") % 128] += 1
        wanted[0][zlib.crc32(b"4000") % 128] += 1
        wanted[2][zlib.crc32(b"7") % 128] += 3
        self.assertEqual(self.read(), wanted)

    def test_words_that_share_a_column_are_added(self):
        first, second = next((0, word) for word in range(1, 2000)
                             if zlib.crc32(str(word).encode()) % 128 == zlib.crc32(b"0") % 128)
        self.write([0, 2], [first, second], [1.0, 1.0])
        hashed.write_features(self.raw, self.target)
        self.assertEqual(self.read()[0][zlib.crc32(b"0") % 128], 2.0)

    def test_arrays_that_do_not_fit_are_refused_and_nothing_is_left(self):
        for starts, words, counts in (([0, 3], [1, 2], [1.0, 1.0]), ([0, 2, 1, 2], [1, 2], [1.0, 1.0]),
                                      ([0, 1], [-1], [1.0]), ([], [], [])):
            self.write(starts, words, counts)
            with self.assertRaises(hashed.NotSparse):
                hashed.write_features(self.raw, self.target)
        self.assertFalse(self.target.exists())

    def test_a_file_that_is_no_archive_is_refused(self):
        self.raw.write_bytes(b"PK\x03\x04 torn")
        with self.assertRaises(hashed.NotSparse):
            hashed.write_features(self.raw, self.target)


class Verdicts(unittest.TestCase):
    """table.py on invented trials."""

    def rows(self, cell, *values):
        kind = "mae" if cell.kind == "mae" else "test_accuracy"
        return [{"dataset": cell.dataset, "kind": cell.kind, "variant": cell.variant, "model": cell.model,
                 "epsilon": cell.epsilon, "trial": str(trial), "label": "x", "binary": "x",
                 "options": "cora --epochs 300", kind: value}
                for trial, value in enumerate(values)]

    def judge(self, cell, published, values, others=()):
        """others: (cell, published, values) of the bounds."""
        known = {cell: published, **{other: figures for other, figures, _ in others}}
        rows = self.rows(cell, *values) + [row for other, _, found in others for row in self.rows(other, *found)]
        results = table.collect(rows, known)
        return table.judge(results[cell], results), results, known

    CORA = Cell("cora", "private", "hard", "gcn", "8")

    def test_a_cell_without_all_its_trials_is_not_counted(self):
        verdict, results, known = self.judge(self.CORA, Published(0.5, 0.001, ()), [0.5] * 4)
        self.assertIsNone(verdict)
        self.assertEqual(table.summary_line("cora", results, known),
                         "cora: 0 of 1 cells inside (0.0 % of all); 0 outside; 1 without all their trials")

    def test_no_other_trial_stands_for_one_that_is_missing(self):
        # with trial 0 the mean is outside; a verdict without it would be inside
        for missing in (0, 3):
            rows = [row for row in self.rows(self.CORA, *([0.6] + [0.5] * 9)) if row["trial"] != str(missing)]
            results = table.collect(rows, {self.CORA: Published(0.5, 0.001, ())})
            self.assertFalse(results[self.CORA].complete)
            self.assertIsNone(table.judge(results[self.CORA], results))
            self.assertIsNone(table.judge(results[self.CORA].with_all_trials(), results))
            self.assertIn("without all their trials",
                          table.summary_line("cora", results, {self.CORA: Published(0.5, 0.001, ())}))
            self.assertIn("| 4 of 5 |", table._rows("8", results[self.CORA], results)[0])

    def test_a_cell_with_none_of_its_trials_has_no_mean_and_can_be_written(self):
        mae = Cell("facebook", "mae", epsilon="8")
        known = {self.CORA: Published(0.5, 0.001, ()), mae: Published(1e-5, 1e-6, ())}
        rows = [row for cell in known for row in self.rows(cell, *[0.5] * 7) if int(row["trial"]) > 4]
        results = table.collect(rows, known)
        self.assertIsNone(results[self.CORA].mean)
        with tempfile.TemporaryDirectory() as folder:
            table.write_csv(results, pathlib.Path(folder) / "results.csv")
            table.write_markdown(results, known, pathlib.Path(folder) / "RESULTS.md", rows)
            self.assertIn("| 8 | 0 of 5 | – |", (pathlib.Path(folder) / "RESULTS.md").read_text())

    def test_a_bound_that_lacks_a_trial_bounds_nothing(self):
        cell = Cell("facebook", "private", "hard", "gcn", "6")
        low, high = Cell("facebook", "mlp", model="mlp"), Cell("facebook", "true", model="gcn")
        known = {cell: Published(0.8, 0.01, ()), low: Published(0.7, 0.01, ()), high: Published(0.9, 0.01, ())}
        rows = [row for each, value in ((cell, 0.7), (low, 0.5), (high, 0.9)) for row in self.rows(each, *[value] * 6)]
        self.assertEqual(table.judge(table.collect(rows, known)[cell], table.collect(rows, known)).word, "alike")
        rows = [row for row in rows if (row["kind"], row["trial"]) != ("mlp", "0")]
        self.assertIsNone(table.judge(table.collect(rows, known)[cell], table.collect(rows, known)))

    def markdown(self, rows, known, trials=None):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "RESULTS.md"
            table.write_markdown(table.collect(rows, known, trials), known, path, rows)
            return path.read_text()

    def test_the_tables_say_by_how_many_trials_they_judge_and_how_those_were_made(self):
        published = Published(0.5, 0.001, ("--learning-rate", "0.1"))
        options = " ".join(("cora",) + cells.arguments(self.CORA, published, 300))
        rows = [{**row, "options": options} for row in self.rows(self.CORA, *[0.5] * 5)]
        text = self.markdown(rows, {self.CORA: published})
        self.assertIn("Judged: 1 cells by 5 trials; 0 of them lack some.", text)
        self.assertIn("epochs of training (published: 300): 300 in 5 trials.", text)
        self.assertIn("1 cells were made with one set of options each, no cell with several.", text)
        head = text[:text.index("## Outside")]
        self.assertNotIn("**", head.replace("**Cora, CiteSeer**", "").replace("**Facebook**", ""))
        rows[1]["options"] = options.replace("--epochs 300", "--epochs 30")
        rows[2]["options"] = options.replace("--learning-rate 0.1", "--learning-rate 0.2")
        text = self.markdown(rows, {self.CORA: published}, 3)
        self.assertIn("Judged: 1 cells by 3 trials", text)
        self.assertIn("**1 cells are judged by fewer trials", text)
        self.assertIn("30 in 1 trials, 300 in 4 trials", text)
        self.assertIn("**1 cells have trials of other epochs than the published ones**: cora hard gcn epsilon 8.", text)
        self.assertIn("**1 cells mix several**: cora hard gcn epsilon 8.", text)
        self.assertIn("**1 cells have trials with other hyper-parameters than the published ones**: "
                      "cora hard gcn epsilon 8.", text)

    def test_another_draw_never_replaces_one_that_was_recorded(self):
        row = {**self.rows(self.CORA, 0.5)[0], "binary": "a"}
        again = {**row, "test_accuracy": 0.9}
        redone = {**again, "binary": "b"}
        retrained = {**again, "options": "cora --epochs 30"}
        for lines, counts in (([row, again], row), ([row, redone], redone), ([row, retrained], retrained),
                              ([row, redone, {**redone, "test_accuracy": 0.1}], redone), ([row, redone, again], row)):
            self.assertEqual(list(raw.newest(lines).values()), [counts])

    def test_one_point_or_two_deviations_whichever_is_more(self):
        for std, value, word in ((0.001, 0.5099, "inside"), (0.001, 0.511, "outside"), (0.02, 0.539, "inside"),
                                 (0.02, 0.541, "outside")):
            self.assertEqual(self.judge(self.CORA, Published(0.5, std, ()), [value] * 5)[0].word, word)

    def test_more_trials_do_not_change_the_verdict_of_the_first_five(self):
        verdict, results, _ = self.judge(self.CORA, Published(0.5, 0.001, ()), [0.52] * 5 + [0.49] * 10)
        self.assertEqual(verdict.word, "outside")
        self.assertEqual(table.judge(results[self.CORA].with_all_trials(), results).word, "inside")
        self.assertIn("+2.0 points (tolerance 1.0) with the first 5 trials; +0.0, inside, with all 15",
                      "\n".join(table._outside(results)))

    def test_the_trials_count_in_their_order_not_the_files(self):
        rows = self.rows(self.CORA, *([0.5] * 5 + [0.9]))
        results = table.collect(rows[::-1], {self.CORA: Published(0.5, 0.001, ())})
        self.assertEqual(results[self.CORA].mean, 0.5)

    def test_where_the_features_are_lost_what_is_recovered_is_compared(self):
        cell = Cell("facebook", "private", "hard", "gcn", "6")
        low, high = Cell("facebook", "mlp", model="mlp"), Cell("facebook", "true", model="gcn")
        bounds = [(low, Published(0.7, 0.01, ()), [0.5] * 5), (high, Published(0.9, 0.01, ()), [0.9] * 5)]
        # published: half of 20 points; tolerance: 2 points of 20
        for value, word in ((0.7, "alike"), (0.739, "alike"), (0.741, "unlike"), (0.65, "unlike")):
            self.assertEqual(self.judge(cell, Published(0.8, 0.01, ()), [value] * 5, bounds)[0].word, word)
        self.assertIsNone(self.judge(cell, Published(0.8, 0.01, ()), [0.7] * 5, bounds[:1])[0], "a bound is missing")
        _, results, _ = self.judge(cell, Published(0.8, 0.01, ()), [0.7] * 5, bounds)
        self.assertEqual([table.judge(results[bound], results) for bound in (low, high)], [None, None])

    def test_facebooks_self_loops_are_added_to_the_error_before_it_is_compared(self):
        loops = 179 / 22470**2
        verdict, _, _ = self.judge(Cell("facebook", "mae", epsilon="8"), Published(4e-6, 1e-8, ()), [4e-6 - loops] * 5)
        self.assertAlmostEqual(verdict.difference, 0, delta=1e-12)
        self.assertFalse(self.judge(Cell("cora", "mae", epsilon="8"), Published(4e-6, 1e-8, ()),
                                    [4e-6 - loops] * 5)[0].holds)

    def test_one_trial_of_facebook_soft_at_a_small_budget_is_all(self):
        self.assertEqual([cells.default_trials(Cell("facebook", "private", "soft", "gcn", str(epsilon)))
                          for epsilon in (4, 5)], [1, 5])


class Bounds(unittest.TestCase):
    """Values by hand; a draw's candidates are [name, validation loss, validation accuracy, test accuracy]."""

    @staticmethod
    def draw(test, *candidates):
        return {"dataset": "g", "what": "attributed", "test_accuracy": str(test), "candidates": json.dumps(candidates)}

    def test_the_best_without_a_report_is_chosen_by_validation(self):
        draw = self.draw(0.9, ["mlp, learning rate 0.01", 1.0, 0.8, 0.7], ["class-model", 0.4, 0.7, 0.6],
                         ["mean of class-model + mlp", 0.4, 0.75, 0.65], ["gcn soft, learning rate 1", 0.1, 0.9, 0.9],
                         ["mean of class-model + gcn soft", 0.1, 0.95, 0.95])
        self.assertEqual(bounds.features_only(draw), 0.65)
        self.assertIsNone(bounds.features_only(self.draw(0.9, ["gcn soft", 0.1, 0.9, 0.9])))

    def test_the_share_is_that_of_the_means(self):
        draws = [self.draw(0.80, ["mlp", 1, 0.5, 0.70]), self.draw(0.86, ["mlp", 1, 0.5, 0.72])]
        self.assertEqual(bounds.Share(draws, [0.90, 0.92]).text(), "60 ± 14")

    def test_a_share_that_is_not_above_zero_is_bold(self):
        self.assertEqual(bounds.Share([self.draw(0.69, ["mlp", 1, 0.5, 0.70])], [0.80]).text(), "**-10**")

    def test_a_gap_that_is_too_small_or_negative_has_no_share(self):
        for true_links in (0.709, 0.70, 0.5):
            self.assertEqual(bounds.Share([self.draw(0.8, ["mlp", 1, 0.5, 0.70])], [true_links]).text(),
                             "gap too small")

    def test_what_was_not_measured_has_no_share(self):
        self.assertEqual(bounds.Share([self.draw(0.8, ["mlp", 1, 0.5, 0.70])], []).text(), "")
        self.assertEqual(bounds.Share([self.draw(0.8, ["gcn soft", 1, 0.5, 0.70])], [0.9]).text(), "")

    def test_a_graph_that_was_never_measured_has_no_table(self):
        self.assertEqual(bounds.lines(["nowhere"]), [])
        self.assertEqual(bounds.lines(["cora"], pathlib.Path("/nonexistent")), [])


if __name__ == "__main__":
    blinktest.main()
