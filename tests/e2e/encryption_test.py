"""Reports at rest: encrypted, deleted after a time or by an operator, and keys that are changed."""
import base64
import os
import stat

import blinktest
from blinktest import BlinkTest, Deployment, must, run, wait_until

NODES = 60


class KeyedDeployment(BlinkTest):
    """What both classes below do."""

    def setUp(self):
        self.blink = Deployment(nodes=NODES, kits=2)
        self.addCleanup(self.blink.__exit__, None, None, None)
        self.key = self.make_key("data.key")

    def make_key(self, name):
        path = self.blink.folder / name
        path.write_bytes(base64.b64encode(os.urandom(32)) + b"\n")
        path.chmod(stat.S_IRUSR)
        return path

    def run_round(self, epsilon=6):
        """A whole round; returns its id."""
        round_id = self.blink.create_round(epsilon=epsilon)
        self.blink.start_fleet(arguments=("--round", round_id))
        self.blink.wait_for_state(round_id, "ready")
        self.blink.wait_for_fleet()
        return round_id

    def bytes_of_data(self):
        return {str(path): path.read_bytes() for path in self.blink.data.rglob("*") if path.is_file()}

    def refused_start(self, *arguments):
        return run("blink-aggregator", "--config", self.blink.out / "aggregator" / "aggregator.conf", *arguments)


class AtRest(KeyedDeployment):
    def test_a_round_is_encrypted_and_its_key_is_needed_ever_after(self):
        self.blink.start_aggregator("--data-key-file", self.key)
        round_id = self.run_round()
        self.assertTrue(self.blink.status(round_id)["encrypted"])
        reports = self.blink.round_folder(round_id) / "reports.blr"
        self.assertEqual(reports.read_bytes()[:8], b"BLINKR02")
        by_hand = run("blink-worker", "--round-folder", self.blink.round_folder(round_id), "--attributes",
                      self.blink.dataset, "--output", self.blink.folder / "again")
        self.assertEqual(by_hand.code, blinktest.BAD_INPUT, by_hand)
        self.assertEqual(self.blink.aggregator.terminate(), blinktest.OK)
        key = base64.b64decode(self.key.read_bytes())
        for name, content in self.bytes_of_data().items():
            self.assertNotIn(key, content, name)
            self.assertNotIn(self.key.read_bytes().strip(), content, name)
        self.assertNotIn(self.key.read_text().strip(), self.blink.aggregator.log())

        self.assertEnds(self.refused_start(), blinktest.BAD_INPUT, "none was given", "--data-key-file")
        other = self.make_key("other.key")
        self.assertEnds(self.refused_start("--data-key-file", other), blinktest.BAD_INPUT, "it was given",
                        "--old-data-key-file")
        # The old key beside a new one, once.
        self.blink.start_aggregator("--data-key-file", other, "--old-data-key-file", self.key)
        self.assertIn("the keys of 1 rounds are encrypted with the data key", self.blink.aggregator.log())
        self.assertEqual(self.blink.aggregator.terminate(), blinktest.OK)
        self.assertEnds(self.refused_start("--data-key-file", self.key), blinktest.BAD_INPUT, "it was given")
        self.blink.start_aggregator("--data-key-command", f"/bin/cat {other}")
        self.assertEqual(self.blink.state(round_id), "ready")

    def test_a_round_of_before_the_key_stays_as_it_is(self):
        self.blink.start_aggregator()
        first = self.run_round(epsilon=2)
        self.assertEqual(self.blink.aggregator.terminate(), blinktest.OK)
        self.blink.start_aggregator("--data-key-file", self.key)
        second = self.run_round(epsilon=4)
        self.assertEqual([self.blink.status(r)["encrypted"] for r in (first, second)], [False, True])

    def test_a_key_that_is_none_is_refused_and_never_shown(self):
        (self.blink.folder / "short.key").write_text("c2VjcmV0c2VjcmV0\n")
        for arguments, texts in (
                (("--data-key-file", self.blink.folder / "short.key"), ("short.key", "openssl rand -base64 32")),
                (("--data-key-file", self.blink.folder / "nowhere"), ("nowhere",)),
                (("--data-key-command", "/bin/false"), ("exit code 1",)),
                (("--data-key-command", "/bin/echo c2VjcmV0c2VjcmV0"), ("/bin/echo", "openssl rand")),
                (("--data-key-command", "/nowhere/program"), ("/nowhere/program",)),
                (("--data-key-command", f"/bin/cat {self.key} /dev/zero"), ("more than a key",)),
                (("--data-key-file", self.key, "--old-data-key-file", f"{self.key},{self.blink.folder / 'short.key'}"),
                 ("short.key",))):
            done = self.refused_start(*arguments)
            self.assertEnds(done, blinktest.BAD_INPUT, *texts)
            self.assertNotIn("c2VjcmV0c2VjcmV0\n", done.out + done.err)
        for arguments, texts in (
                (("--data-key-command", "cat key"), ("absolute path",)),
                (("--data-key-file", self.key, "--data-key-command", "/bin/true"), ("exclude each other",)),
                (("--old-data-key-file", self.key), ("--data-key-file",))):
            self.assertEnds(self.refused_start(*arguments), blinktest.USAGE, *texts)

    def test_keys_in_a_configuration_file_are_meant_from_its_folder(self):
        for name in ("a.key", "b.key"):
            self.make_key(name)
        conf = self.blink.out / "aggregator" / "aggregator.conf"
        conf.write_text(conf.read_text() + 'data-key-file="../../data.key"\n'
                        'old-data-key-file="../../a.key,../../b.key"\n')
        must("blink-aggregator", "--config", conf, "--check-config")
        (self.blink.folder / "b.key").unlink()
        self.assertEnds(run("blink-aggregator", "--config", conf, "--check-config"), blinktest.BAD_INPUT, "b.key")


class Deletion(KeyedDeployment):
    def test_reports_are_deleted_after_their_time_and_the_result_stays(self):
        self.blink.start_aggregator("--data-key-file", self.key, "--retain-reports", "2s")
        round_id = self.run_round()
        wait_until(lambda: self.blink.status(round_id)["reports_deleted"] and
                   not self.blink.status(round_id)["deleting"], "the deletion")
        self.assertFalse((self.blink.round_folder(round_id) / "reports.blr").exists())
        self.assertIn(f"round {round_id}: its {NODES} reports are deleted", self.blink.aggregator.log())
        must("blink", "round", "result", "--config", self.blink.operator, round_id)
        self.assertEnds(run("blink", "round", "retry", "--config", self.blink.operator, round_id),
                        blinktest.REFUSED_BY_PEER)
        self.assertRegex((self.blink.data / "audit.log").read_text(), f'delete reports.*{round_id}')
        self.assertEqual(self.blink.aggregator.terminate(), blinktest.OK)
        self.blink.start_aggregator("--data-key-file", self.key)
        self.assertEqual(self.blink.status(round_id)["reports"], NODES)

    def test_an_operator_deletes_a_round_and_no_report_is_left_in_a_file(self):
        self.blink.start_aggregator()
        round_id = self.run_round(epsilon=2)
        reports = (self.blink.round_folder(round_id) / "reports.blr").read_bytes()
        needles = self.first_report(reports)
        for needle in needles:
            self.assertTrue(any(needle in content for content in self.bytes_of_data().values()), "it is seen before")
        refused = run("blink", "round", "delete", "--config", self.blink.operator, round_id)
        self.assertEnds(refused, blinktest.USAGE, "--yes")
        open_round = self.blink.create_round(epsilon=2)
        self.assertEnds(run("blink", "round", "delete", "--config", self.blink.operator, "--yes", open_round),
                        blinktest.REFUSED_BY_PEER, "cancel it first")
        deleted = must("blink", "round", "delete", "--config", self.blink.operator, "--yes", "--json", round_id).json()
        self.assertEqual((deleted["state"], deleted["reports"], deleted["deleting"], deleted["result_deleted"]),
                         ("ready", NODES, False, True))
        for name, content in self.bytes_of_data().items():
            for needle in needles:
                self.assertNotIn(needle, content, name)
        self.assertFalse(self.blink.round_folder(round_id).exists())
        self.assertEnds(run("blink", "round", "result", "--config", self.blink.operator, round_id),
                        blinktest.REFUSED_BY_PEER, "deleted it")
        must("blink", "round", "delete", "--config", self.blink.operator, "--yes", round_id)  # twice is fine
        self.assertEqual(self.blink.aggregator.terminate(), blinktest.OK)
        self.blink.start_aggregator()
        self.assertEqual(self.blink.state(round_id), "ready")

    def first_report(self, reports):
        """As the store has it, and as reports.blr: the digest alone stays (records.h, report_file.h)."""
        size = int.from_bytes(reports[8 + 17:8 + 21], "little")
        self.assertGreater(size, 2)
        bits, digest = reports[8 + 21:8 + 21 + size], reports[8 + 21 + size:8 + 21 + size + 32]
        return digest + bits, bits + digest


if __name__ == "__main__":
    blinktest.main()
