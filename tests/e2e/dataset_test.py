"""`blink dataset convert` as a process: pipes and standard input lose nothing, and an edge list goes all the way to the
ids in a result."""
import csv
import gzip
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import threading
import time

import blinktest
from blinktest import BIN_DIR, BlinkTest, must, run

LINKS = 30_000  # more than a pipe holds


class Inputs(BlinkTest):
    """Every input may be a pipe."""

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="blink-e2e-"))
        self.addCleanup(shutil.rmtree, self.folder, True)
        self.output = self.folder / "set"
        self.links = "".join(f"{i},{i + 1}\n" for i in range(LINKS)).encode()

    def convert(self, *arguments, stdin=b""):
        shutil.rmtree(self.output, ignore_errors=True)
        done = subprocess.run([BIN_DIR / "blink", "dataset", "convert", *arguments, "--output", self.output],
                              input=stdin, capture_output=True, check=False, timeout=60)
        return done.returncode, done.stdout.decode(), done.stderr.decode()

    def edges(self):
        return len((self.output / "edges.csv").read_text().splitlines()) - 1

    def fifo(self, content):
        """A named pipe, which can be read once. So is the path of a process substitution."""
        path = self.folder / f"fifo-{len(list(self.folder.iterdir()))}"
        os.mkfifo(path)
        thread = threading.Thread(target=lambda: path.write_bytes(content))
        thread.start()
        self.addCleanup(thread.join)
        return path

    def test_standard_input_by_two_names_plain_and_gzip(self):
        for name in ("-", "/dev/stdin"):
            for content in (self.links, gzip.compress(self.links)):
                code, out, err = self.convert(name, stdin=content)
                self.assertEqual(code, blinktest.OK, err)
                self.assertIn(f"{LINKS + 1} nodes, {LINKS} links from {LINKS} lines", out)
                self.assertEqual(self.edges(), LINKS)

    def test_a_few_bytes_through_a_pipe(self):
        self.assertEqual(self.convert("-", stdin=b"0,1\n1,2\n")[0], blinktest.OK)
        self.assertEqual(self.edges(), 2)

    def test_all_inputs_through_pipes(self):
        labels = "".join(f"{i}\t{'red' if i % 3 else 'blue'}\n" for i in range(LINKS + 1)).encode()
        split = "".join(f"{i} {'train' if i % 2 else 'valid'}\n" for i in range(LINKS + 1)).encode()
        features = "".join(f"{i} {i % 7} 1\n" for i in range(LINKS + 1)).encode()
        code, _, err = self.convert(self.fifo(self.links), "--labels", self.fifo(gzip.compress(labels)), "--split",
                                    self.fifo(split), "--features", "-", stdin=features)
        self.assertEqual(code, blinktest.OK, err)
        info = must("blink", "dataset", "info", self.output, "--json").json()
        self.assertEqual([info[key] for key in ("nodes", "links", "features", "classes", "unlabelled")],
                         [LINKS + 1, LINKS, 2, 2, 0])
        self.assertEqual((self.output / "classes.txt").read_text(), "blue\nred\n")

    def test_an_empty_pipe_and_a_cut_gzip_stream_are_refused(self):
        self.assertEqual(self.convert("-")[0], blinktest.BAD_INPUT)
        code, _, err = self.convert("-", stdin=gzip.compress(self.links)[:-9])
        self.assertEqual(code, blinktest.BAD_INPUT)
        self.assertIn("standard input", err)
        self.assertFalse(self.output.exists())

    def test_a_signal_while_it_waits_for_input_leaves_nothing_behind(self):
        for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
            with subprocess.Popen([BIN_DIR / "blink", "dataset", "convert", "-", "--output", self.folder / "a" / "set"],
                                  stdin=subprocess.PIPE, stderr=subprocess.PIPE,
                                  preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_DFL)) as process:
                while not (self.folder / "a").exists() or not list((self.folder / "a").iterdir()):
                    self.assertIsNone(process.poll())
                    time.sleep(0.01)
                process.send_signal(number)
                self.assertEqual(process.wait(60), -number)
                self.assertEqual(process.stderr.read(), b"")
            self.assertEqual(list(self.folder.iterdir()), [])

    def test_two_standard_inputs_and_empty_paths_are_wrong_flags(self):
        self.assertEqual(self.convert("-", "--labels", "-", stdin=self.links)[0], blinktest.USAGE)
        self.assertEqual(self.convert("-", "--labels", "", stdin=self.links)[0], blinktest.USAGE)

    def test_the_ids_come_back_in_the_result(self):
        names = [f"#{i}, the {i}th" for i in range(60)]
        rows = [(names[i], names[j]) for i in range(60) for j in (i * 7 % 60, (i * 11 + 5) % 60) if i < j]
        with open(self.folder / "links.csv", "w", newline="") as file:
            csv.writer(file).writerows(rows)
        with open(self.folder / "labels.csv", "w", newline="") as file:
            csv.writer(file).writerows([("id", "label")] + [(name, k % 2 + 1) for k, name in enumerate(names)])
        must("blink", "dataset", "convert", self.folder / "links.csv", "--labels", self.folder / "labels.csv",
             "--random-split", 1, "--output", self.output)
        result = self.folder / "result"
        done = run("blink", "simulate", "--dataset", self.output, "--epsilon", 8, "--epochs", 2, "--output", result)
        self.assertEqual(done.code, blinktest.OK, done)
        with open(self.output / "nodes.csv", newline="") as file:
            known = {row["node"]: row["id"] for row in csv.DictReader(file)}
        self.assertEqual(set(known.values()), set(names))
        with open(result / "predictions.csv", newline="") as file:
            self.assertEqual({row["node"]: row["id"] for row in csv.DictReader(file)}, known)
        with open(result / "links.csv", newline="") as file:
            links = list(csv.DictReader(file))
        self.assertTrue(links)
        for row in links:
            self.assertEqual((known[row["source"]], known[row["target"]]), (row["source_id"], row["target_id"]))
        again = run("blink", "dataset", "convert", result / "links.csv", "--columns", "source_id,target_id", "--output",
                    self.folder / "again")
        self.assertEqual(again.code, blinktest.OK, again)


if __name__ == "__main__":
    blinktest.main()
