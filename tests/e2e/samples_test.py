"""Files that released versions wrote: this version opens them, goes on with them, and refuses newer formats."""
import csv
import filecmp
import json
import pathlib
import re
import shutil
import tempfile

import blinktest
from blinktest import (BAD_INPUT, BIN_DIR, JOURNAL, OK, SOURCE_DIR, BlinkTest, Process, edit_json, free_port, must, run,
                       wait_until)

VERSIONS = sorted(path for path in (SOURCE_DIR / "tests" / "samples").iterdir() if path.is_dir())
KITS = ("nodes-0-11", "nodes-12-23")


class Sample:
    """A copy of one version's samples, which a test may change."""

    def __init__(self, version):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="blink-e2e-"))
        self.at = self.folder / version.name
        shutil.copytree(version, self.at)
        self.said = json.loads((self.at / "said.json").read_text())
        self.operator = self.at / "operator" / "operator.conf"
        self.aggregator = self.at / "aggregator"
        self.finished, self.open = self.said["finished"]["round_id"], self.said["open"]["round_id"]
        self.round_folder = self.aggregator / "data" / "rounds" / self.finished
        self.port = free_port()
        for path in (self.operator, self.aggregator / "aggregator.conf", *self.at.glob("kits/*/kit.json")):
            path.write_text(path.read_text().replace("127.0.0.1:7443", f"127.0.0.1:{self.port}"))

    def kit(self, name):
        anchor = self.at / "journals" / f"{name}.anchor"
        return ("--kit", self.at / "kits" / name, "--journal", self.at / "journals" / name,
                *(("--anchor", anchor) if anchor.exists() else ()))

    def journal(self, name):
        return self.at / "journals" / name / "journal.blj"

    def start_aggregator(self):
        process = Process("aggregator", [BIN_DIR / "blink-aggregator", "--config",
                                         self.aggregator / "aggregator.conf"], self.folder / "aggregator.log")

        def answers():
            if not process.running():
                raise AssertionError(f"the aggregator ended\n{process.log()}")
            return run("blink", "round", "list", "--config", self.operator).code == OK

        wait_until(answers, "an answer from the aggregator", pause=0.1)
        return process

    def status(self, round_id):
        return must("blink", "round", "status", "--config", self.operator, "--json", round_id).json()


def links_of(folder):
    """(source, target) -> weight, of a result's links.csv."""
    with open(folder / "links.csv", newline="") as file:
        return {(row["source"], row["target"]): float(row.get("weight", 1)) for row in csv.DictReader(file)}


class SampleTest(BlinkTest):
    def samples(self):
        """Every version's; paths in messages say which one failed."""
        self.assertTrue(VERSIONS)
        for version in VERSIONS:
            sample = Sample(version)
            self.addCleanup(shutil.rmtree, sample.folder, True)
            yield sample

    def assertIncludes(self, now, then, where=""):
        """Everything of `then` is in `now`, with the same value; keys may have been added."""
        if not isinstance(then, dict):
            self.assertEqual(now, then, where)
            return
        for key, value in then.items():
            self.assertIn(key, now, where)
            self.assertIncludes(now[key], value, f"{where}.{key}")

    def assertRefused(self, path, done, code, *texts):
        """A refusal that says `texts`, and that left the file as it was."""
        before = path.read_bytes()
        self.assertEnds(done(), code, *texts)
        self.assertEqual(path.read_bytes(), before, f"{path} has changed")


class Journals(SampleTest):
    def test_an_account_says_what_it_said_then(self):
        for sample in self.samples():
            for name in KITS:
                account = must("blink-node", "account", *sample.kit(name), "--json").json()
                then = sample.said[name]
                for key in ("rounds", "epochs"):
                    self.assertEqual(len(account[key]), len(then[key]))
                    for now, before in zip(account.pop(key), then.pop(key)):
                        self.assertIncludes(now, before, key)
                self.assertIncludes(account, then)

    def test_a_newer_journal_is_refused_by_its_number(self):
        for sample in self.samples():
            for name in KITS:
                path = sample.journal(name)
                path.write_bytes(re.sub(rb"^BLINKJ\d", b"BLINKJ9", path.read_bytes()))
                for command in ("account", "run"):
                    self.assertRefused(path, lambda: run("blink-node", command, *sample.kit(name)), JOURNAL,
                                       f"{path} has format 9, and this program reads format ",
                                       "use the version of blink that wrote it")

    def test_a_newer_anchor_is_refused_by_its_number_and_never_replaced(self):
        for sample in self.samples():
            path = sample.at / "journals" / f"{KITS[0]}.anchor"
            path.write_text(path.read_text().replace("blink-anchor 1", "blink-anchor 2"))
            for command in (("run",), ("anchor", "--replace")):
                self.assertRefused(path, lambda: run("blink-node", *command, *sample.kit(KITS[0])), JOURNAL,
                                   "has format 2, and this program reads format 1")

    def test_newer_kits_and_policies_are_refused_by_their_number(self):
        for sample in self.samples():
            for name in ("kit.json", "policy.json"):
                path = sample.at / "kits" / KITS[0] / name
                text = path.read_text()
                edit_json(path, {"format": 2, "new_key": 1})
                self.assertRefused(path, lambda: run("blink-node", "run", *sample.kit(KITS[0])), BAD_INPUT,
                                   f"{path} has format 2, and this program reads format 1")
                path.write_text(text)


class Aggregators(SampleTest):
    def test_old_rounds_are_served_and_the_next_round_uses_old_journals(self):
        for sample in self.samples():
            aggregator = sample.start_aggregator()
            self.addCleanup(lambda process=aggregator: process.running() and process.kill())
            listed = must("blink", "round", "list", "--config", sample.operator, "--json").out
            self.assertIn(sample.finished, listed)
            self.assertIn(sample.open, listed)
            finished = sample.status(sample.finished)
            self.assertIncludes(finished, sample.said["finished"])
            # below its quorum: it fails once its deadline is past
            still_open = sample.status(sample.open)
            self.assertIn(still_open["state"], ("open", "failed"))
            self.assertEqual(still_open["reports"], sample.said["open"]["reports"])

            result = sample.folder / "result"
            must("blink", "round", "result", "--config", sample.operator, sample.finished, "--output", result)
            then = sample.round_folder / "result"
            names = sorted(path.name for path in then.iterdir())
            self.assertEqual(sorted(path.name for path in result.iterdir()), names)
            self.assertEqual(filecmp.cmpfiles(then, result, names, shallow=False), (names, [], []))

            round_id = must("blink", "round", "create", "--config", sample.operator, "--epsilon", "2", "--epochs", "3",
                            "--json").json()["round_id"]
            nodes = [Process(name, [BIN_DIR / "blink-node", "run", *sample.kit(name), "--round", round_id],
                             sample.folder / name) for name in KITS]
            for node in nodes:
                self.assertEqual(node.wait(), OK, node.log())
            wait_until(lambda: sample.status(round_id)["state"] == "ready", "the new round's result")
            for name in KITS:
                account = must("blink-node", "account", *sample.kit(name), "--json").json()
                self.assertEqual(account["epsilon_micro_spent_max"], sample.said[name]["epsilon_micro_spent_max"] + 2e6)
            self.assertEqual(aggregator.terminate(), OK, aggregator.log())

    def test_a_newer_roster_is_refused_by_its_number(self):
        for sample in self.samples():
            path = sample.aggregator / "roster.json"
            edit_json(path, {"format": 2, "new_key": 1})
            self.assertRefused(path, lambda: run("blink-aggregator", "--config", sample.aggregator / "aggregator.conf"),
                               BAD_INPUT, "has format 2, and this program reads format 1")

    def test_the_authority_goes_on_with_its_enrolment(self):
        for sample in self.samples():
            out = sample.folder / "out"
            out.mkdir()
            shutil.copy(sample.at / "enrolment.json", out)
            (out / "aggregator").mkdir()
            must("blink", "provision", "roster", "--out", out, "--nodes", 26)
            roster = json.loads((out / "aggregator" / "roster.json").read_text())
            self.assertEqual((roster["node_count"], roster["retired"]), (26, [[23, 23]]))
            path = out / "enrolment.json"
            edit_json(path, {"format": 2})
            self.assertRefused(path, lambda: run("blink", "provision", "roster", "--out", out, "--nodes", 27),
                               BAD_INPUT, "has format 2, and this program reads format 1")


class RoundFolders(SampleTest):
    def worker(self, sample, output):
        return run("blink-worker", "--round-folder", sample.round_folder, "--attributes",
                   sample.aggregator / "attributes", "--output", output)

    def simulate(self, sample, *arguments):
        return run("blink", "simulate", "--dataset", sample.at / "dataset", "--reports", sample.round_folder, "--json",
                   *arguments)

    def assertSameLinks(self, sample, result):
        then, now = links_of(sample.round_folder / "result"), links_of(result)
        self.assertEqual(sorted(now), sorted(then))
        for pair, weight in then.items():
            self.assertAlmostEqual(now[pair], weight, places=5, msg=pair)

    def test_old_reports_give_the_links_that_they_gave_then(self):
        for sample in self.samples():
            for name, start in (("worker", lambda output: self.worker(sample, output)),
                                ("simulate", lambda output: self.simulate(sample, "--output", output))):
                output = sample.folder / name
                self.assertEnds(start(output), OK)
                self.assertSameLinks(sample, output)

    def test_an_old_result_is_recognised_and_replaced(self):
        for sample in self.samples():
            result = sample.round_folder / "result"
            self.assertEnds(self.simulate(sample, "--output", result), BAD_INPUT, "holds a result already")
            then = json.loads((result / "metrics.json").read_text())
            self.assertEnds(self.simulate(sample, "--output", result, "--replace"), OK)
            now = json.loads((result / "metrics.json").read_text())
            for part in ("privacy", "reports", "estimate", "train", "classes", "plausibility"):
                self.assertEqual(set(then[part]) - set(now[part]), set(), f"figures of {part} that are gone")

    def test_the_figures_that_are_documented_are_there(self):
        text = (SOURCE_DIR / "docs" / "PROTOCOL.md").read_text()
        documented = set(re.findall(r"`([a-z_0-9]+)`", text[text.index("\n## Result\n"):text.index("\n## Exit codes")]))
        for sample in self.samples():
            metrics = json.loads((sample.round_folder / "result" / "metrics.json").read_text())
            self.assertLessEqual({"kind", "privacy", "reports", "plausibility", "estimate", "train", "classes"},
                                 set(metrics) & documented)
            for part, keys in (("privacy", {"private", "simulated", "noise"}),
                               ("estimate", {"prior", "expected_links", "links", "trained_links", "tie_seed"}),
                               ("train", {"best_epoch", "test_accuracy_95", "deterministic", "warnings"})):
                self.assertLessEqual(keys, set(metrics[part]) & documented)

    def test_newer_reports_are_refused_by_their_number(self):
        for sample in self.samples():
            path = sample.round_folder / "reports.blr"
            path.write_bytes(b"BLINKR03" + path.read_bytes()[8:])
            says = f"{path} has format 3, and this program reads format 2"
            self.assertRefused(path, lambda: self.worker(sample, sample.folder / "result"), BAD_INPUT, says)
            self.assertRefused(path, lambda: self.simulate(sample), BAD_INPUT, says)

    def test_a_field_that_a_newer_round_has_is_refused_by_its_name(self):
        for sample in self.samples():
            path = sample.round_folder / "round.json"
            edit_json(path, {"field_of_tomorrow": 1})
            self.assertRefused(path, lambda: self.worker(sample, sample.folder / "result"), BAD_INPUT,
                               "field_of_tomorrow")

    def test_a_training_goes_on_from_an_old_checkpoint_or_says_why_not(self):
        for sample in self.samples():
            done = self.simulate(sample, "--epochs", 2000, "--threads", 1, "--checkpoint-every", 0, "--checkpoint",
                                 sample.at / "checkpoint")
            if done.code == BAD_INPUT:  # such states are for one version and one kind of machine
                self.assertEnds(done, BAD_INPUT, "is of another simulation")
                continue
            self.assertEnds(done, OK)
            train = done.json()["trials"][0]["train"]
            self.assertTrue(train["resumed_from_epoch"] or "the training began anew" in " ".join(train["warnings"]),
                            train)

    def test_a_newer_checkpoint_is_refused_by_its_number(self):
        for sample in self.samples():
            for path in sample.at.glob("checkpoint/*/*.checkpoint"):
                path.write_bytes(b"BLINKTRAIN-2" + path.read_bytes()[12:])
                done = self.simulate(sample, "--epochs", 2000, "--threads", 1, "--checkpoint", sample.at / "checkpoint")
                self.assertEnds(done, BAD_INPUT)
                if "another simulation" not in done.err:
                    self.assertIn("has format 2, and this program reads format 1", done.err)


if __name__ == "__main__":
    blinktest.main()
