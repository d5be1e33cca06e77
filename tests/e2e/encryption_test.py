"""Reports at rest: encrypted, and keys that are changed."""
import base64
import os
import stat

import blinktest
from blinktest import BlinkTest, Deployment, must, run

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


if __name__ == "__main__":
    blinktest.main()
