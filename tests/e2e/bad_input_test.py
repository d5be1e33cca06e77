"""Bad input: each kind is refused with its exit code and a precise sentence, and leaves the round and the ledger as
they were."""
import json
import os
import pathlib
import pty
import re
import shutil
import signal
import subprocess
import tempfile

import blinktest
from blinktest import BlinkTest, Deployment, must, run, wait_until

NODES = 30


class BadNodes(BlinkTest):
    """One aggregator with an open round; what a wrong node does must not show in it."""

    @classmethod
    def setUpClass(cls):
        cls.blink = Deployment(nodes=NODES, kits=3)
        cls.addClassCleanup(cls.blink.__exit__, None, None, None)
        cls.blink.start_aggregator()
        cls.pristine = cls.blink.folder / "pristine"
        shutil.copytree(cls.blink.out, cls.pristine, ignore=shutil.ignore_patterns("data"))

    def setUp(self):
        for part in ("kits", "journals"):
            shutil.rmtree(self.blink.out / part)
            shutil.copytree(self.pristine / part, self.blink.out / part)
        self.name = self.blink.kits()[0]
        self.round_id = self.blink.create_round(epsilon=6)
        self.addCleanup(self.cancel, self.round_id)

    def cancel(self, round_id):
        run("blink", "round", "cancel", "--config", self.blink.operator, round_id)

    def node(self, *arguments, name=None, journal=None):
        name = name or self.name
        return run("blink-node", "run", "--kit", self.blink.kit(name), "--journal", journal or self.blink.journal(name),
                   "--round", self.round_id, "--give-up-after", 5, *arguments)

    def assert_untouched(self, reports=0, draws=0):
        status = self.blink.status(self.round_id)
        self.assertEqual((status["state"], status.get("reports", 0)), ("open", reports))
        account = self.blink.account(self.name)
        self.assertEqual((account["draws"], account["epsilon_micro_spent_max"]), (draws, 6_000_000 if draws else 0))

    def test_a_round_above_the_policy_is_refused_by_the_node(self):
        self.blink.edit_policy(self.name, epsilon_micro_per_round_max=5_999_999)
        self.assertEnds(self.node(), blinktest.REFUSED_BY_POLICY, "5.999999")
        self.assert_untouched()

    def test_a_round_above_what_is_left_for_life_is_refused_by_the_node(self):
        self.blink.edit_policy(self.name, epsilon_micro_lifetime_max=5_000_000)
        self.assertEnds(self.node(), blinktest.REFUSED_BY_POLICY, "epsilon_micro_lifetime_max")
        self.assert_untouched()

    def test_a_signal_is_told_by_the_exit_code(self):
        for number, code in ((signal.SIGTERM, 143), (signal.SIGINT, 130)):
            # of an earlier process, which said the same
            (self.blink.folder / f"{self.name}.log").unlink(missing_ok=True)
            process = self.blink.start_node(self.name, "--round", self.round_id)
            # it has its handler then
            wait_until(lambda: "reports to" in process.log() or not process.running(), "the node")
            process.popen.send_signal(number)
            self.assertEqual(process.wait(), code, process.log())

    def test_a_deployment_that_the_policy_does_not_name_is_refused_at_the_start(self):
        self.blink.edit_policy(self.name, deployments=["other"])
        self.assertEnds(self.node(), blinktest.REFUSED_BY_POLICY, "e2e", "other")
        self.assert_untouched()

    def test_a_policy_can_lie_outside_the_kit_and_must_lie_somewhere(self):
        mine = self.blink.folder / "mine.json"
        shutil.move(self.blink.kit(self.name) / "policy.json", mine)
        self.assertEnds(self.node(), blinktest.BAD_INPUT, "policy.json", "--policy")
        blinktest.edit_json(mine, {"epsilon_micro_per_round_max": 1})
        self.assertEnds(self.node("--policy", mine), blinktest.REFUSED_BY_POLICY, "0.000001")
        shutil.move(mine, self.blink.kit(self.name) / "policy.json")
        self.assert_untouched()

    def test_a_kit_that_still_holds_a_policy_is_refused_with_the_remedy(self):
        self.blink.edit_kit(self.name, policy=1)
        self.assertEnds(self.node(), blinktest.BAD_INPUT, "policy.json")

    def test_a_round_of_another_number_of_nodes_is_refused_by_the_node(self):
        self.blink.edit_kit(self.name, node_count=NODES + 1)
        self.assertEnds(self.node(), blinktest.JOURNAL, str(NODES), str(NODES + 1))
        shutil.rmtree(self.blink.journal(self.name))
        must("blink-node", "init", "--kit", self.blink.kit(self.name), "--journal", self.blink.journal(self.name))
        done = self.node()
        self.assertEnds(done, blinktest.REFUSED_BY_POLICY, str(NODES), str(NODES + 1))
        self.assertEqual((self.blink.account(self.name)["draws"], self.blink.reports(self.round_id)), (0, 0))

    def test_a_round_of_another_roster_is_refused_by_the_node(self):
        self.blink.edit_kit(self.name, roster_version=2)
        self.assertEnds(self.node(), blinktest.REFUSED_BY_POLICY, "roster")
        self.assert_untouched()
        # the journal has seen the newer roster
        self.blink.edit_kit(self.name, roster_version=1)
        self.assertEnds(self.node(), blinktest.JOURNAL, "older roster")
        self.assert_untouched()

    def test_a_claim_that_the_certificate_does_not_cover_is_refused(self):
        mine, theirs = self.blink.kits()[:2]
        shutil.rmtree(self.blink.kit(theirs) / "tls")
        shutil.copytree(self.blink.kit(mine) / "tls", self.blink.kit(theirs) / "tls")
        done = self.node(name=theirs)
        self.assertIn(done.code, (blinktest.BAD_INPUT, blinktest.REFUSED_BY_PEER), f"\n{done}")
        self.assertIn("certificate", (done.err + done.out).lower())
        self.assert_untouched()
        self.assertEqual(self.blink.reports(self.round_id), 0)

    def test_a_certificate_of_another_authority_is_refused(self):
        with Deployment(nodes=NODES, kits=3) as foreign:
            shutil.rmtree(self.blink.kit(self.name) / "tls")
            shutil.copytree(foreign.kit(self.name) / "tls", self.blink.kit(self.name) / "tls")
            done = self.node()
        self.assertIn(done.code, (blinktest.UNREACHABLE, blinktest.REFUSED_BY_PEER, blinktest.BAD_INPUT), f"\n{done}")
        self.assertIn("certificate", (done.err + done.out).lower())
        self.assert_untouched()

    def test_an_operator_is_no_node(self):
        for file in ("client.crt", "client.key"):
            shutil.copy(self.blink.out / "operator" / "tls" / file, self.blink.kit(self.name) / "tls" / file)
        done = self.node()
        self.assertIn(done.code, (blinktest.BAD_INPUT, blinktest.REFUSED_BY_PEER), f"\n{done}")
        self.assert_untouched()

    def test_a_node_is_no_operator(self):
        config = self.blink.folder / "impostor"
        shutil.rmtree(config, ignore_errors=True)
        shutil.copytree(self.blink.out / "operator", config)
        for file in ("client.crt", "client.key"):
            shutil.copy(self.blink.kit(self.name) / "tls" / file, config / "tls" / file)
        done = run("blink", "round", "seal", "--config", config / "operator.conf", self.round_id)
        self.assertEnds(done, blinktest.REFUSED_BY_PEER, "operator")
        self.assert_untouched()

    def test_a_node_whose_journal_does_not_know_its_report_draws_no_second_one(self):
        self.assertEnds(self.node("--leave", "at-receipt"), blinktest.OK)
        count = self.blink.kit_size(self.name)
        second = self.blink.folder / "second-journal"
        shutil.rmtree(second, ignore_errors=True)
        must("blink-node", "init", "--kit", self.blink.kit(self.name), "--journal", second)
        done = self.node(journal=second)
        self.assertEnds(done, blinktest.JOURNAL, "older copy of the journal", "somebody else")
        account = must("blink-node", "account", "--kit", self.blink.kit(self.name), "--journal", second,
                       "--json").json()
        self.assertEqual(account["draws"], 0)
        self.assert_untouched(reports=count, draws=count)

    def test_an_older_journal_is_refused_by_its_anchor(self):
        journal, volume = self.blink.folder / "anchored", self.blink.folder / "volume"
        shutil.rmtree(journal, ignore_errors=True)
        shutil.rmtree(volume, ignore_errors=True)
        volume.mkdir()
        anchor = ("--anchor", volume / "node.anchor")
        kit = ("--kit", self.blink.kit(self.name), "--journal", journal)
        must("blink-node", "init", *kit, *anchor)
        old = (journal / "journal.blj").read_bytes()
        self.assertEnds(self.node(journal=journal), blinktest.JOURNAL, "--anchor")
        self.assertEnds(self.node("--leave", "at-receipt", *anchor, journal=journal), blinktest.OK)
        account = must("blink-node", "account", *kit, *anchor, "--json").json()
        self.assertEqual((account["anchor"], account["draws"]), ("agrees", self.blink.kit_size(self.name)))
        latest = (journal / "journal.blj").read_bytes()
        (journal / "journal.blj").write_bytes(old)
        self.assertEnds(self.node(*anchor, journal=journal), blinktest.JOURNAL, str(len(latest)), str(len(old)),
                        "latest copy")
        self.assertEnds(run("blink-node", "account", *kit, *anchor), blinktest.JOURNAL, "latest copy")
        (journal / "journal.blj").write_bytes(latest)
        (volume / "node.anchor").unlink()
        self.assertEnds(self.node(*anchor, journal=journal), blinktest.JOURNAL, "--replace")
        self.assertEnds(run("blink-node", "anchor", *kit, *anchor), blinktest.JOURNAL, "--replace")
        must("blink-node", "anchor", *kit, *anchor, "--replace")
        self.assertEnds(self.node("--leave", "at-receipt", *anchor, journal=journal), blinktest.OK)

    def test_the_account_names_what_was_spent_on_each_round(self):
        self.assertEnds(self.node("--leave", "at-receipt"), blinktest.OK)
        kit = ("--kit", self.blink.kit(self.name), "--journal", self.blink.journal(self.name))
        size = self.blink.kit_size(self.name)
        for node in ((), ("--node", 0)):
            account = must("blink-node", "account", *kit, *node, "--json").json()
            self.assertEqual(account["rounds"][0]["round_id"], self.round_id)
            self.assertEqual(account["rounds"][0]["receipts"], 1 if node else size)
            self.assertEqual(account["epsilon_micro_link_max"], 12_000_000)
            self.assertEqual(account["epsilon_micro_left"], 58_000_000)
            text = must("blink-node", "account", *kit, *node).out
            self.assertIn(f"{self.round_id}      1          6", text)
            self.assertIn("left: 58 of 64", text)
        self.assertEnds(run("blink-node", "account", *kit, "--node", size), blinktest.USAGE, f"not node {size}")

    def test_a_report_for_a_sealed_round_is_refused(self):
        names = self.blink.kits()
        self.assertEnds(self.node("--leave", "at-receipt", name=names[1]), blinktest.OK)
        must("blink", "round", "seal", "--config", self.blink.operator, self.round_id)
        done = self.node()
        self.assertEnds(done, blinktest.REFUSED_BY_PEER, "the round is ")
        self.assertEqual(self.blink.account(self.name)["draws"], 0)
        self.assertEqual(self.blink.wait_for_state(self.round_id, "ready")["reports"], self.blink.kit_size(names[1]))

    def test_a_stream_that_breaks_off_leaves_no_half_report(self):
        proxy = self.blink.proxy([self.name], upstream_bytes_per_second=2000)
        process = self.blink.start_node(self.name)
        blinktest.wait_until(lambda: proxy.upstream_bytes > 2500, "the node to be in its stream")
        proxy.close()
        process.kill()
        reports = self.blink.reports(self.round_id)
        self.blink.edit_kit(self.name, aggregator=f"127.0.0.1:{self.blink.port}")
        self.assertLessEqual(reports, self.blink.kit_size(self.name))
        self.assertEnds(self.node("--leave", "at-receipt"), blinktest.OK)
        self.assert_untouched(reports=self.blink.kit_size(self.name), draws=self.blink.kit_size(self.name))

    def test_a_node_without_its_journal_refuses(self):
        shutil.rmtree(self.blink.journal(self.name))
        done = self.node()
        self.assertEnds(done, blinktest.JOURNAL, "journal", "init")
        self.assertFalse((self.blink.journal(self.name) / "journal.blj").exists())
        self.assertEqual(self.blink.reports(self.round_id), 0)

    def test_a_damaged_journal_is_refused(self):
        path = self.blink.journal(self.name) / "journal.blj"
        data = bytearray(path.read_bytes())
        data[4] ^= 0xFF
        path.write_bytes(data)
        self.assertEnds(self.node(), blinktest.JOURNAL, "journal")
        self.assertEqual(self.blink.reports(self.round_id), 0)

    def test_a_fifo_in_place_of_a_file_is_refused_and_not_waited_for(self):
        kit, journal = self.blink.kit(self.name), self.blink.journal(self.name)
        for path, code in ((kit / "kit.json", blinktest.BAD_INPUT), (kit / "policy.json", blinktest.BAD_INPUT),
                           (kit / "lists.csv", blinktest.BAD_INPUT), (kit / "tls/client.crt", blinktest.BAD_INPUT),
                           (kit / "tls/client.key", blinktest.BAD_INPUT), (kit / "tls/ca.crt", blinktest.BAD_INPUT),
                           (journal / "journal.blj", blinktest.JOURNAL)):
            path.rename(self.blink.folder / "kept")
            os.mkfifo(path)
            self.assertEnds(self.node(), code, f"{path} is a device, a FIFO", "not a regular file")
            (self.blink.folder / "kept").replace(path)
        self.assert_untouched()

    def test_the_journal_of_another_kit_is_refused(self):
        mine, theirs = self.blink.kits()[:2]
        done = run("blink-node", "run", "--kit", self.blink.kit(mine), "--journal", self.blink.journal(theirs),
                   "--give-up-after", 5)
        self.assertEnds(done, blinktest.JOURNAL, "journal")
        self.assert_untouched()

    def test_a_second_process_on_one_journal_is_refused(self):
        # the first waits for the seal, and holds its journal
        process = self.blink.start_node(self.name, "--round", self.round_id)
        self.blink.wait_for_reports(self.round_id, self.blink.kit_size(self.name))
        self.assertEnds(self.node(), blinktest.JOURNAL, "journal")
        self.assertTrue(process.running(), process.log())
        process.terminate()

    def test_init_never_replaces_a_journal(self):
        done = run("blink-node", "init", "--kit", self.blink.kit(self.name), "--journal", self.blink.journal(self.name))
        self.assertEnds(done, blinktest.JOURNAL, "journal")
        self.assert_untouched()

    def lists(self, change):
        path = self.blink.kit(self.name) / "lists.csv"
        lines = path.read_text().splitlines()
        path.write_text("\n".join(change(lines)) + "\n")

    def refuses_lists(self, change, *texts):
        self.lists(change)
        self.assertEnds(self.node(), blinktest.BAD_INPUT, "lists.csv", *texts)
        self.assertEqual(self.blink.reports(self.round_id), 0)

    def test_a_neighbour_out_of_range_is_refused_when_the_kit_is_loaded(self):
        self.refuses_lists(lambda lines: lines[:1] + [f"0,{NODES}"] + [])

    def test_a_node_that_is_its_own_neighbour_is_refused(self):
        self.refuses_lists(lambda lines: lines[:1] + ["0,0"])

    def test_a_neighbour_given_twice_is_refused(self):
        self.refuses_lists(lambda lines: lines[:1] + ["0,3", "0,3"])

    def test_a_list_of_a_node_outside_the_kit_is_refused(self):
        self.refuses_lists(lambda lines: lines[:1] + [f"{NODES - 1},3"])

    def test_a_malformed_line_is_refused(self):
        self.refuses_lists(lambda lines: lines[:1] + ["0;3"])

    def test_an_unknown_key_of_a_kit_is_refused_by_name(self):
        self.blink.edit_kit(self.name, favourite_colour="blue")
        self.assertEnds(self.node(), blinktest.BAD_INPUT, "favourite_colour")

    def test_a_kit_that_is_missing_is_refused(self):
        done = run("blink-node", "run", "--kit", self.blink.folder / "nowhere", "--journal",
                   self.blink.journal(self.name))
        self.assertEnds(done, blinktest.BAD_INPUT, "nowhere")

    def test_an_aggregator_that_is_not_there_is_reported_as_unreachable(self):
        self.blink.edit_kit(self.name, aggregator=f"127.0.0.1:{blinktest.free_port()}")
        self.assertEnds(self.node(), blinktest.UNREACHABLE)
        self.assert_untouched()

    def test_insecure_is_for_loopback_only(self):
        self.blink.edit_kit(self.name, insecure=True, aggregator="192.0.2.1:7443")
        self.assertEnds(self.node(), blinktest.BAD_INPUT, "loopback")


class BadAggregator(BlinkTest):
    """The aggregator refuses to start on what it must not have."""

    def setUp(self):
        self.blink = Deployment(nodes=12, kits=1)
        self.addCleanup(self.blink.__exit__, None, None, None)
        self.config = self.blink.out / "aggregator" / "aggregator.conf"
        self.attributes = self.blink.out / "aggregator" / "attributes"

    def aggregator(self, *arguments):
        return run("blink-aggregator", "--config", self.config, *arguments, timeout=60)

    def test_an_attribute_folder_that_holds_edges_is_refused(self):
        shutil.copy(self.blink.dataset / "edges.csv", self.attributes / "edges.csv")
        self.assertEnds(self.aggregator(), blinktest.BAD_INPUT, "edges.csv")

    def test_attributes_of_another_number_of_nodes_are_refused(self):
        path = self.attributes / "labels.csv"
        path.write_text("\n".join(path.read_text().splitlines()[:-1]) + "\n")
        self.assertEnds(self.aggregator(), blinktest.BAD_INPUT, ".csv", "number of nodes")

    def test_an_unknown_key_of_the_configuration_is_refused(self):
        self.config.write_text(self.config.read_text() + '\nfavourite-colour="blue"\n')
        done = self.aggregator()
        self.assertIn(done.code, (blinktest.USAGE, blinktest.BAD_INPUT), f"\n{done}")
        self.assertIn("favourite-colour", done.err + done.out)

    def test_a_key_that_is_missing_is_refused(self):
        (self.config.parent / "tls" / "server.key").unlink()
        self.assertEnds(self.aggregator(), blinktest.BAD_INPUT, "server.key")

    def test_plaintext_beyond_loopback_is_refused(self):
        done = run("blink-aggregator", "--data", self.blink.folder / "d", "--attributes", self.attributes,
                   "--deployment", "e2e", "--roster", self.config.parent / "roster.json", "--listen", "0.0.0.0:0",
                   "--insecure", timeout=60)
        self.assertIn(done.code, (blinktest.USAGE, blinktest.BAD_INPUT), f"\n{done}")
        self.assertIn("loopback", (done.err + done.out).lower())

    def test_two_aggregators_on_one_data_folder_are_refused(self):
        self.blink.start_aggregator()
        done = self.aggregator("--listen", "127.0.0.1:0")
        self.assertNotEqual(done.code, blinktest.OK, f"\n{done}")
        self.assertTrue(self.blink.aggregator.running())


class BadOperators(BlinkTest):
    """What the operator's command refuses."""

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="blink-e2e-"))
        self.addCleanup(shutil.rmtree, self.folder, True)

    def dataset(self, edges):
        source = self.folder / "edges.csv"
        source.write_bytes(edges)
        return run("blink", "dataset", "convert", "--input", source, "--output", self.folder / "out")

    def test_a_malformed_line_is_refused_with_its_file_and_line(self):
        self.assertEnds(self.dataset(b"0,1\n1,2\n2,three,4,x\n"), blinktest.BAD_INPUT, "edges.csv", "3")

    def test_half_a_line_is_refused_with_its_file_and_line(self):
        self.assertEnds(self.dataset(b"0,1\n1,\n"), blinktest.BAD_INPUT, "edges.csv", "2")

    def test_an_empty_file_is_refused(self):
        self.assertEnds(self.dataset(b""), blinktest.BAD_INPUT, "edges.csv")

    def test_a_refused_conversion_leaves_nothing_behind(self):
        self.assertEnds(self.dataset(b"0,1\n1,2\n2,x\n"), blinktest.BAD_INPUT, "line 3")
        self.assertEqual([path.name for path in self.folder.iterdir()], ["edges.csv"])
        self.assertEqual(self.dataset(b"0,1\n1,2\n2,3\n").code, blinktest.OK)

    def test_a_file_of_another_format_is_named(self):
        for content, word in ((b"PK\x03\x04....x.npy", "numpy"), (b"\xfd7zXZ\0..", "xz -dc"), (b"[[0, 1]]", "JSON"),
                              ("0,1\n1,2\n".encode("utf-16"), "UTF-16"), (b"\x80\x04\x95.", "pickle")):
            self.assertEnds(self.dataset(content), blinktest.BAD_INPUT, "edges.csv", word)

    def test_what_a_message_quotes_cannot_move_the_cursor(self):
        for content in (b"a,b\nc\x1b[2J\n", b"graph [\n node [ id \x1b[2J ]\n]\n", b"%%MatrixMarket \x1b[2J\n1 1\n"):
            done = self.dataset(content)
            self.assertEnds(done, blinktest.BAD_INPUT)
            self.assertNotIn("\x1b", done.err)
        done = run("blink", "dataset", "convert", self.folder / "edges.csv", "--columns", "\x1b[2J", "--output",
                   self.folder / "made")
        self.assertEqual((done.code in (blinktest.USAGE, blinktest.BAD_INPUT), "\x1b" in done.err), (True, False), done)

    def test_a_data_set_that_is_missing_is_refused(self):
        done = run("blink", "simulate", "--dataset", self.folder / "nowhere", "--epsilon", 6)
        self.assertEnds(done, blinktest.BAD_INPUT, "nowhere")

    def test_an_epsilon_that_is_none_is_refused(self):
        for epsilon in ("0", "-1", "nan", "inf", "six"):
            done = run("blink", "simulate", "--dataset", self.folder, "--epsilon", epsilon)
            self.assertEnds(done, blinktest.USAGE, "--epsilon")

    def test_values_out_of_range_are_wrong_flags_and_named(self):
        for flag, value in (("--learning-rate", 0), ("--dropout", 1), ("--weight-decay", -1), ("--seed", -1),
                            ("--device", "tpu"), ("--graph", 0), ("--degree-share", 2), ("--trials", 0)):
            done = run("blink", "simulate", "--dataset", self.folder, "--epsilon", 6, flag, value)
            self.assertEnds(done, blinktest.USAGE, flag)
        for flag, value in (("--mean-degree", "nan"), ("--nodes", 2), ("--words-per-node", 9999), ("--seed", -1)):
            done = run("blink", "dataset", "generate", "--output", self.folder / "made", flag, value)
            self.assertEnds(done, blinktest.USAGE, flag)

    def test_numbers_are_taken_as_they_are_written_or_not_at_all(self):
        for flag, value in (("--seed", 2**64), ("--seed", "-1"), ("--seed", "1e3"), ("--seed", "0x10"),
                            ("--epsilon", "nan"), ("--epsilon", "inf"), ("--degree-share", "nan"), ("--missing", "nan"),
                            ("--epochs", 2**32), ("--epochs", "1.5"), ("--threads", "nan"), ("--trials", 2**63),
                            ("--learning-rate", "nan"), ("--dropout", "inf"), ("--weight-decay", "nan"),
                            ("--checkpoint-every", "nan"), ("--checkpoint-every", "-1")):
            done = run("blink", "simulate", "--dataset", self.folder, "--epsilon", 6, "--checkpoint", self.folder / "c",
                       flag, value)
            self.assertEnds(done, blinktest.USAGE, flag)
        self.assertEnds(run("blink", "simulate", "--dataset", self.folder, "--epsilon", 6, "--checkpoint-every", 5),
                        blinktest.USAGE, "--checkpoint")
        done = run("blink", "simulate", "--dataset", self.folder, "--epsilon", 6, "--model", "mlp", "--node-features",
                   "degree")
        self.assertEnds(done, blinktest.USAGE, "--node-features")
        self.assertEnds(run("blink", "audit", "mechanism", "--reports", 2**64), blinktest.USAGE, "--reports")
        self.assertEnds(run("blink", "dataset", "generate", "--output", self.folder / "made", "--seed", 2**64),
                        blinktest.USAGE, "--seed")
        self.assertEnds(run("blink-node", "run", "--kit", "k", "--journal", "j", "--give-up-after", "nan"),
                        blinktest.USAGE, "--give-up-after")
        self.assertEnds(run("blink-worker", "--round-folder", "r", "--attributes", "a", "--output", "o",
                            "--checkpoint-every", "nan"),
                        blinktest.USAGE, "--checkpoint-every")

    def test_every_number_is_refused_with_its_flag_and_what_it_may_be(self):
        dataset = self.folder / "dataset"
        blinktest.generate_dataset(dataset, 40)
        wide = {"--seed", "--split-seed", "--give-up-after", "--worker-memory-bytes", "--worker-cpu-seconds",
                "--worker-seconds-max", "--worker-silence-max"}
        seen = set()
        # with what is looked at before some of the ranges are
        for command, needed in ((("blink", "simulate"), {"--dataset": dataset, "--epsilon": 6}),
                                (("blink", "audit", "links"), {"--dataset": dataset}),
                                (("blink-node", "run"), {}), (("blink-node", "account"), {}),
                                (("blink-aggregator",), {}),
                                (("blink-worker",), {"--round-folder": "r", "--attributes": "a", "--output": "o"})):
            flags = re.findall(r"^ +(--[a-z-]+) (UINT|INT|FLOAT)", must(*command, "--help").out, re.MULTILINE)
            self.assertTrue(flags, command)
            for flag, kind in flags:
                seen.add(flag)
                self.assertEnds(run(*command, f"{flag}=six"), blinktest.USAGE, f"{flag}: six is not a ")
                given = [f"{name}={value}" for name, value in needed.items() if name != flag]
                beyond = 2**32 if flag not in wide else 2**64 if kind != "FLOAT" else "1e999"
                done = run(*command, *given, f"{flag}={beyond}")
                self.assertEnds(done, blinktest.USAGE)
                written = rf"{beyond}|{re.escape(f'{beyond:g}')}" if beyond == 2**32 else str(beyond)
                self.assertRegex(done.err + done.out, rf"{flag}(:| is)( Value)? ({written})\b", f"\n{done}")
                self.assertNotIn("could not convert", done.err.lower(), f"\n{done}")
        self.assertEqual(wide - seen, set())

    def test_a_result_that_cannot_be_printed_is_no_success(self):
        dataset = self.folder / "dataset"
        blinktest.generate_dataset(dataset, 40)
        for command in (("blink", "dataset", "info", dataset), ("blink", "--help"), ("blink", "--version"),
                        ("blink", "audit", "randomness", "--processes", "1", "--threads", "1", "--draws", "1",
                         "--quiet"),
                        ("blink", "simulate", "--dataset", dataset, "--epsilon", "6", "--trials", "1", "--epochs", "2",
                         "--json", "--quiet"),
                        ("blink-node", "--help"), ("blink-aggregator", "--version"), ("blink-worker", "--version")):
            with open("/dev/full", "wb") as full:
                done = subprocess.run([blinktest.BIN_DIR / command[0], *map(str, command[1:])], stdout=full,
                                      stderr=subprocess.PIPE, text=True, check=False)
            self.assertEqual(done.returncode, 9, command)
            self.assertIn("No space left on device", done.stderr)

    def test_a_file_that_is_too_large_is_no_death(self):
        dataset = self.folder / "dataset"
        blinktest.generate_dataset(dataset, 40)
        command = f"ulimit -f 1; exec {blinktest.BIN_DIR}/blink simulate --dataset {dataset} --epsilon 6 --trials 1" \
                  f" --epochs 2 --quiet --output {self.folder}/result | cat; exit ${{PIPESTATUS[0]}}"
        done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 9, done.stderr)
        self.assertIn("File too large", done.stderr)
        self.assertIn("test accuracy", done.stdout)
        self.assertFalse((self.folder / "result").exists() or (self.folder / "result.tmp").exists())

    def test_a_limit_of_the_address_space_is_no_defect(self):
        out = self.folder / "out"
        must("blink", "provision", "simulate", "--out", out, "--deployment", "e2e", "--nodes", 12, "--kits", 1,
             "--aggregator", "127.0.0.1:1")
        config = out / "aggregator" / "aggregator.conf"
        lines = config.read_text().splitlines(True)
        config.write_text("".join(line for line in lines if not line.startswith("attributes")))
        command = f"ulimit -v 300000; exec {blinktest.BIN_DIR}/blink-aggregator --config {config} " \
                  "--listen 127.0.0.1:0"
        done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(done.returncode, 9, done.stderr)
        self.assertIn("ulimit -v", done.stderr)

    def test_what_may_not_be_written_is_bad_input_and_is_said_at_the_start(self):
        for flags in (("--epsilon", 6, "--output", "/sys/blink"), ("--graph", "true", "--checkpoint", "/sys/blink"),
                      ("--graph", "true", "--save", "/sys/blink")):
            dataset = self.folder / "dataset"
            if not dataset.exists():
                blinktest.generate_dataset(dataset, 40)
            done = run("blink", "simulate", "--dataset", dataset, "--epochs", 100000, *flags)
            self.assertEnds(done, blinktest.BAD_INPUT, "/sys/blink")
        for audit in (("mechanism", "--reports", 1_000_000_000), ("randomness", "--processes", 400)):
            done = run("blink", "audit", *audit, "--ignore-memory", "--output", "/sys/blink")
            self.assertEnds(done, blinktest.BAD_INPUT, "/sys/blink")

    def test_a_simulation_leaves_its_end_to_the_signal(self):
        dataset = self.folder / "dataset"
        blinktest.generate_dataset(dataset, 40)
        for number in (signal.SIGTERM, signal.SIGINT):  # a shell says 143 and 130
            with subprocess.Popen([blinktest.BIN_DIR / "blink", "simulate", "--dataset", dataset, "--graph", "true",
                                   "--epochs", "100000", "--trials", "1000"], stdout=subprocess.DEVNULL,
                                  stderr=subprocess.DEVNULL) as process:
                process.send_signal(number)
                self.assertEqual(process.wait(), -number)

    def test_seeded_noise_is_never_called_private(self):
        dataset = self.folder / "dataset"
        blinktest.generate_dataset(dataset, 40)
        result = self.folder / "result"
        done = must("blink", "simulate", "--dataset", dataset, "--epsilon", 6, "--epochs", 3, "--seed", 1,
                    "--insecure-seeded-noise", "--json", "--output", result)
        for privacy in (done.json()["privacy"], json.loads((result / "metrics.json").read_text())["privacy"]):
            self.assertIs(privacy["private"], False)
            self.assertEqual(privacy["noise"], "seeded")
            self.assertIsNone(privacy["achieved_epsilon"])

    def test_a_worker_says_what_is_wrong_in_words_to_a_person_and_in_json_to_the_aggregator(self):
        command = [str(blinktest.BIN_DIR / "blink-worker"), "--round-folder", str(self.folder / "nowhere"),
                   "--attributes", str(self.folder), "--output", str(self.folder / "result")]
        terminal, programs_end = pty.openpty()
        self.addCleanup(os.close, terminal)
        with open(programs_end, "wb", closefd=True) as out:
            to_person = subprocess.run(command, stdout=out, stderr=subprocess.PIPE, text=True, check=False)
        self.assertEqual(to_person.returncode, blinktest.BAD_INPUT, to_person.stderr)
        self.assertIn("blink-worker: ", to_person.stderr)
        to_aggregator = subprocess.run(command, capture_output=True, text=True, check=False)
        told = json.loads(to_aggregator.stdout.splitlines()[-1])
        self.assertEqual(told["exit_code"], blinktest.BAD_INPUT)
        self.assertIn(f"blink-worker: {told['error']}\n", to_person.stderr)

    def test_unknown_flags_are_refused(self):
        for program in ("blink", "blink-node", "blink-aggregator", "blink-worker"):
            done = run(program, "--colour", "blue")
            self.assertEnds(done, blinktest.USAGE, f"{program}: there is no option --colour")
        self.assertEnds(run("blink", "simulat", "--epsilon", 6), blinktest.USAGE, "there is no subcommand simulat")


if __name__ == "__main__":
    blinktest.main()
