"""Crashes: whatever dies, the round completes, nothing that was acknowledged is lost, and nothing is drawn twice."""
import json
import os
import pathlib
import shutil
import signal
import time

import blinktest
from blinktest import BlinkTest, Deployment, wait_until


class Crashes(BlinkTest):
    def finish(self, blink, round_id, nodes):
        """The round completes with every report, and the journals know of one draw per node and of its receipt."""
        status = blink.wait_for_state(round_id, "ready")
        blink.wait_for_fleet()
        self.assertEqual(status["reports"], nodes)
        for name in blink.kits():
            account = blink.account(name)
            self.assertEqual(account["draws"], account["nodes"], name)
        self.assertEqual(blink.draws(), nodes)
        replay = blink.simulate(round_id)
        self.assertEqual(replay["dataset"]["nodes"], nodes)
        return status

    def begin_training(self, blink, *arguments):
        """A round whose training goes on for a while: its id, and the process ids of its worker."""
        blink.start_aggregator(*arguments)
        round_id = blink.create_round(epsilon=6, epochs=4000)
        blink.start_fleet()
        blink.wait_for_state(round_id, "training")
        return round_id, blink.aggregator.children()

    def test_the_aggregator_is_killed_in_the_middle_of_collection(self):
        nodes = 300
        with Deployment(nodes=nodes, kits=3) as blink:
            names = blink.kits()
            blink.start_aggregator()
            # one gateway has been acknowledged, one is in the middle of its stream, one has not started
            round_id = blink.create_round(epsilon=1)
            blink.proxy(names[1:2], upstream_bytes_per_second=6000)
            blink.start_node(names[0])
            blink.wait_for_reports(round_id, blink.kit_size(names[0]))
            slow = blink.start_node(names[1])
            wait_until(lambda: blink.proxies[0].upstream_bytes > 5000, "the second gateway to send")
            blink.aggregator.kill()
            acknowledged = blink.account(names[0])
            blink.start_aggregator()
            self.assertGreaterEqual(blink.reports(round_id), acknowledged["draws"], "an acknowledged report was lost")
            self.assertTrue(slow.running(), slow.log())
            blink.start_node(names[2])
            self.finish(blink, round_id, nodes)

    def test_the_aggregator_is_killed_again_and_again_while_a_fleet_reports(self):
        nodes = 240
        with Deployment(nodes=nodes, kits=4) as blink:
            blink.start_aggregator()
            round_id = blink.create_round(epsilon=1)
            blink.proxy(blink.kits(), upstream_bytes_per_second=8000)
            blink.start_fleet()
            highest = 0
            for step in (1, nodes // 3, nodes // 2):
                blink.wait_for_reports(round_id, step)
                highest = max(highest, blink.reports(round_id))
                blink.aggregator.kill()
                blink.start_aggregator()
                self.assertGreaterEqual(blink.reports(round_id), highest, "a report that was counted is gone")
            self.finish(blink, round_id, nodes)

    def test_a_node_is_killed_before_its_acknowledgement(self):
        nodes = 120
        with Deployment(nodes=nodes, kits=2) as blink:
            names = blink.kits()
            blink.start_aggregator()
            round_id = blink.create_round(epsilon=1)
            # what the aggregator answers is swallowed as soon as the reports are under way
            proxy = blink.proxy(names[:1], mute_after_upstream_bytes=6000)
            node = blink.start_node(names[0])
            wait_until(proxy.muted.is_set, "the first gateway to send its reports")
            wait_until(lambda: blink.reports(round_id) > 0, "a report whose receipt never arrives")
            node.kill()
            drawn = blink.account(names[0])["draws"]
            self.assertEqual(drawn, blink.kit_size(names[0]))
            blink.edit_kit(names[0], aggregator=f"127.0.0.1:{blink.port}")
            blink.start_fleet()
            self.finish(blink, round_id, nodes)

    def test_a_node_is_killed_after_its_draw_and_before_anything_is_sent(self):
        nodes = 60
        with Deployment(nodes=nodes, kits=2) as blink:
            names = blink.kits()
            blink.start_aggregator()
            round_id = blink.create_round(epsilon=1)
            proxy = blink.proxy(names[:1], upstream_bytes_per_second=3000)
            node = blink.start_node(names[0])
            wait_until(lambda: (blink.journal(names[0]) / "journal.blj").stat().st_size > 2000 or
                       proxy.upstream_bytes > 5000, "a draw in the journal")
            node.kill()
            blink.edit_kit(names[0], aggregator=f"127.0.0.1:{blink.port}")
            blink.start_fleet()
            self.finish(blink, round_id, nodes)

    def test_the_worker_is_killed_while_it_trains(self):
        nodes = 120
        with Deployment(nodes=nodes, kits=2) as blink:
            round_id, workers = self.begin_training(blink)
            self.assertEqual(len(workers), 1, "one child process trains")
            self.assertIn("blink-worker", pathlib.Path(f"/proc/{workers[0]}/cmdline").read_text())
            os.kill(workers[0], signal.SIGKILL)
            blink.wait_for_fleet()  # or one of its nodes may report to the other round, and wait for the seal
            # collection goes on: another round is made and served
            other = blink.create_round(epsilon=5, epochs=5)
            self.assertEqual(blink.state(other), "open")
            status = self.finish(blink, round_id, nodes)
            self.assertGreaterEqual(status["attempts"], 2)

    def test_the_worker_is_stopped_while_it_trains(self):
        nodes = 120
        with Deployment(nodes=nodes, kits=2) as blink:
            round_id, workers = self.begin_training(blink, "--worker-silence-max", 2)
            os.kill(workers[0], signal.SIGSTOP)
            wait_until(lambda: not alive(workers[0]), "the stopped worker to be ended", patience=30)
            self.finish(blink, round_id, nodes)
            self.assertIn("gave no sign of life for 2s", blink.aggregator.log())
            self.assertEqual(blink.status(round_id)["attempts"], 2)

    def test_a_round_that_could_not_be_trained_is_retried_without_a_new_report(self):
        nodes = 120
        with Deployment(nodes=nodes, kits=3) as blink:
            blink.start_aggregator()
            round_id = blink.create_round(epsilon=6, epochs=20)
            first, second, last = blink.kits()
            blink.start_fleet([first, second])
            reported = blink.kit_size(first) + blink.kit_size(second)
            blink.wait_for_reports(round_id, reported)
            command = "blink", "round"
            at = "--config", blink.operator, round_id
            missing = blinktest.must(*command, "missing", *at, "--json").json()
            self.assertEqual((missing["missing"], missing["ranges"]), (nodes - reported, [[reported, nodes - 1]]))
            self.assertIn(f"{reported}-{nodes - 1}\n", blinktest.must(*command, "missing", *at).out)

            split = blink.out / "aggregator" / "attributes" / "split.csv"
            good = split.read_text()
            split.write_text(good.replace(",val", ",train"))
            blinktest.must(*command, "seal", *at)
            failed = blink.wait_for_state(round_id, "failed")
            self.assertIn("validation split", failed["failure_reason"])
            self.assertEnds(blinktest.run(*command, "retry", *at), blinktest.REFUSED_BY_PEER, "validation split")
            split.write_text(good)
            blinktest.must(*command, "retry", *at, "--model", "mlp")
            status = blink.wait_for_state(round_id, "ready")
            self.assertEqual((status["reports"], status["result"]["train"]["model"]), (reported, "mlp"))
            self.assertEqual(status["failure_reason"], "")
            self.assertEnds(blinktest.run(*command, "retry", *at), blinktest.REFUSED_BY_PEER, "is ready")

    def test_the_aggregator_is_killed_while_its_worker_trains(self):
        nodes = 120
        with Deployment(nodes=nodes, kits=2) as blink:
            round_id, workers = self.begin_training(blink)
            blink.aggregator.kill()
            wait_until(lambda: not any(alive(pid) for pid in workers), "the orphaned worker to end", patience=30)
            blink.start_aggregator()
            status = self.finish(blink, round_id, nodes)
            self.assertGreaterEqual(status["attempts"], 2)

    def test_the_aggregator_is_told_to_end_while_its_worker_trains_and_the_next_one_goes_on(self):
        nodes = 120
        with Deployment(nodes=nodes, kits=2) as blink:
            round_id, workers = self.begin_training(blink)
            checkpoint = blink.round_folder(round_id) / "result.checkpoint" / "training.checkpoint"
            self.assertFalse(checkpoint.exists(), "the first one is due after 20 s")
            began = time.monotonic()
            self.assertEqual(blink.aggregator.terminate(), blinktest.OK)
            self.assertLess(time.monotonic() - began, 10, "containers are killed after 10 s")
            self.assertFalse(any(alive(pid) for pid in workers), "the worker is left behind")
            self.assertTrue(checkpoint.exists(), blink.aggregator.log())
            blink.start_aggregator()
            self.finish(blink, round_id, nodes)
            metrics = json.loads((blink.round_folder(round_id) / "result" / "metrics.json").read_text())
            self.assertGreater(metrics["train"]["resumed_from_epoch"], 0)

    def test_a_worker_that_is_asked_twice_ends_at_once(self):
        nodes = 60
        with Deployment(nodes=nodes, kits=2) as blink:
            round_id, workers = self.begin_training(blink)
            for _ in range(2):
                os.kill(workers[0], signal.SIGTERM)
            wait_until(lambda: not alive(workers[0]), "the worker to end", patience=10)
            self.finish(blink, round_id, nodes)

    def test_the_aggregator_and_its_worker_are_killed_together(self):
        nodes = 60
        with Deployment(nodes=nodes, kits=2) as blink:
            round_id, workers = self.begin_training(blink)
            blink.aggregator.kill()
            for pid in workers:
                if alive(pid):
                    os.kill(pid, signal.SIGKILL)
            blink.start_aggregator()
            self.finish(blink, round_id, nodes)

    def test_an_older_copy_of_the_store_is_restored_in_mid_round(self):
        nodes = 90
        with Deployment(nodes=nodes, kits=3) as blink:
            names = blink.kits()
            blink.start_aggregator()
            round_id = blink.create_round(epsilon=2)
            blink.start_node(names[0])
            blink.wait_for_reports(round_id, 30)
            self.assertEqual(blink.aggregator.terminate(), blinktest.OK)
            backup = blink.folder / "backup"
            shutil.copytree(blink.data, backup)
            blink.start_aggregator()
            blink.start_node(names[1])
            blink.wait_for_reports(round_id, 60)
            # the disk is lost: the second gateway's acknowledged reports are gone, and it still runs
            blink.aggregator.kill()
            shutil.rmtree(blink.data)
            shutil.copytree(backup, blink.data)
            blink.start_aggregator()
            blink.wait_for_reports(round_id, 60)
            blink.start_node(names[2])
            self.finish(blink, round_id, nodes)


def alive(pid):
    """Whether the process exists and is no zombie."""
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


if __name__ == "__main__":
    blinktest.main()
