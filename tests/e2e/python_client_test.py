"""A client that knows docs/PROTOCOL.md alone (python_client/blink_client.py) against the aggregator: its reports are
accepted, and every kind of wrong report gets the documented status. With the gRPC that scripts/install-deps pins, and
with the newest one: each class in a process of its own, since a process has one gRPC."""
import csv
import dataclasses
import hashlib
import pathlib
import sys
import unittest

import blinktest
from blinktest import SOURCE_DIR, BlinkTest, Deployment

LIBRARIES = "python-client-newest" if "NewestGrpc" in sys.argv else "python-client"
sys.path[:0] = [str(SOURCE_DIR / ".deps" / LIBRARIES), str(pathlib.Path(__file__).parent / "python_client")]
try:
    import grpc

    import blink_client
    from blink_client import Client, Parameters, Report, codec, draw
    MISSING = None
except ImportError as error:
    MISSING = f"{error}: scripts/install-deps --python-client brings what a client in Python needs"

NODES = 1200  # rows long enough for every coding
KITS = 3


def neighbours_of(kit):
    lists = {}
    with open(kit / "lists.csv", newline="") as file:
        for row in csv.DictReader(file):
            lists.setdefault(int(row["node"]), []).append(int(row["neighbour"]))
    return lists


class ClientTest(BlinkTest):
    """One aggregator; every test has a round of its own and looks at what it left."""

    KITS = KITS
    NODES = NODES

    @classmethod
    def setUpClass(cls):
        if MISSING:
            raise unittest.SkipTest(MISSING)
        cls.blink = Deployment(nodes=cls.NODES, kits=cls.KITS)
        cls.addClassCleanup(cls.blink.__exit__, None, None, None)
        cls.blink.start_aggregator()
        name = cls.blink.kits()[0]
        cls.hosted = range(cls.blink.kit_size(name))
        cls.lists = neighbours_of(cls.blink.kit(name))
        cls.tls = cls.blink.kit(name) / "tls"
        cls.client = cls.connect(cls.tls)
        cls.stranger = len(cls.hosted)  # the first node of the next kit

    @classmethod
    def connect(cls, tls, **options):
        client = Client(f"127.0.0.1:{cls.blink.port}", cls.blink.name, tls, **options)
        cls.addClassCleanup(client.close)
        return client

    def open_round(self, epsilon=6, degree_share=0.1, *arguments):
        round_id = self.blink.create_round(epsilon, degree_share, "10m", 30, *arguments)
        self.addCleanup(blinktest.run, "blink", "round", "cancel", "--config", self.blink.operator, round_id)
        [shown] = self.client.rounds(0, round_id).rounds
        return shown

    def report(self, shown, node=0):
        return draw(Parameters.of(shown.parameters), node, self.lists.get(node, []))

    def held(self, shown, node=0):
        [seen] = self.client.rounds(node, shown.round_id).rounds
        return seen.held_digest

    def refused(self, code, call, *arguments, window=True, **options):
        """The call has to fail with this code, and with a retry window in the trailing metadata."""
        with self.assertRaises(grpc.RpcError) as caught:
            result = call(*arguments, **options)
            if hasattr(result, "__iter__"):
                list(result)
        error = caught.exception
        self.assertEqual(error.code(), code, error.details())
        if window:
            trailing = dict(error.trailing_metadata())
            lowest, highest = (int(text) for text in trailing["blink-retry-window-ms"].split(","))
            self.assertTrue(0 <= lowest <= highest <= 86_400_000)
        return error.details()


class NewestGrpc(ClientTest):
    """What depends on the version of gRPC: how it verifies the aggregator, and its calls."""

    KITS, NODES = 1, 60

    @classmethod
    def setUpClass(cls):
        if LIBRARIES != "python-client-newest":
            raise unittest.SkipTest("a process has one gRPC: run this class alone")
        super().setUpClass()
        print(f"grpcio {grpc.__version__}", flush=True)

    def test_a_report_is_accepted(self):
        shown = self.open_round()
        report = self.report(shown)
        self.assertEqual(self.client.submit(shown, 0, report).receipt.digest, report.digest)
        self.assertEqual(self.held(shown), report.digest)

    def test_the_aggregators_address_is_a_name_too(self):
        client = Client(f"127.0.0.1:{self.blink.port}", self.blink.name, self.tls, name="127.0.0.1")
        self.addCleanup(client.close)
        self.assertEqual(list(client.rounds(0).rounds), [])

    def test_a_name_that_the_certificate_lacks_is_refused(self):
        elsewhere = Client(f"127.0.0.1:{self.blink.port}", "elsewhere", self.tls)
        self.addCleanup(elsewhere.close)
        self.refused(grpc.StatusCode.UNAVAILABLE, elsewhere.rounds, 0, window=False)


class PythonClient(ClientTest):
    # ---- what the document fixes

    def test_known_values_of_the_document_hold(self):
        for epsilon, share, numerator in ((1_098_612, 0, 4611687016862474031), (6_000_000, 100_000, 82941600285371030),
                                          (50_000_000, 0, 1)):
            self.assertEqual(Parameters(epsilon, share, NODES).flip_numerator, numerator)
        example = Report(Parameters(6_000_000, 100_000, 10), bytes.fromhex("10055501"), -3)
        self.assertEqual(example.digest.hex(), "bbba05e45d6f8346d65d38cf7ba3633afb54c731d8f71b5794807a8f4523b7e2")
        self.assertEqual(codec.own_pairs(4, 10), [1, 3, 6, 8])
        example = Report(Parameters(6_000_000, 100_000, 10, 2), codec.encode([1, 0, 0, 1]), -3)
        self.assertEqual(example.coded_bits.hex(), "100209")
        self.assertEqual(example.digest.hex(), "c038641ab59971faf7dffab04eda0fc9a915634bfdf0b4674fbe796d86033531")

    def test_an_open_round_is_shown_with_its_parameters(self):
        shown = self.open_round(epsilon=2.5, degree_share=0.25)
        self.assertEqual(Parameters.of(shown.parameters), Parameters(2_500_000, 250_000, NODES))
        self.assertEqual((shown.roster_version, shown.held_digest), (1, b""))
        self.assertIn(shown.round_id, [seen.round_id for seen in self.client.rounds(0).rounds])
        self.assertEqual(shown.state, blink_client.common_pb.ROUND_STATE_OPEN)

    # ---- what is accepted

    def test_a_report_is_accepted_and_the_same_again_gets_the_same_receipt(self):
        # packed, patterns, gaps of ones; no degree; no bits
        for epsilon, share in ((0.05, 0.1), (2, 0.1), (6, 0.1), (8, 0), (3, 1)):
            with self.subTest(epsilon=epsilon, share=share):
                shown = self.open_round(epsilon, share)
                report = self.report(shown)
                reply = self.client.submit(shown, 0, report)
                receipt = reply.receipt
                self.assertEqual((receipt.round_id, receipt.node_id, receipt.digest),
                                 (shown.round_id, 0, report.digest))
                self.assertGreater(receipt.received_minute, 0)
                self.assertLessEqual(reply.retry.min_ms, reply.retry.max_ms)
                self.assertEqual(self.client.submit(shown, 0, report, chunk_bytes=7).receipt, receipt)
                self.assertEqual(self.held(shown), report.digest)
                self.assertEqual(self.blink.reports(shown.round_id), 1)

    def test_a_report_of_the_own_pairs_alone_is_accepted_where_one_end_reports(self):
        shown = self.open_round(3, 0.1, "--mechanism", "one-end")
        self.assertEqual(shown.parameters.mechanism, 2)
        report = self.report(shown, 3)
        self.assertEqual(self.client.submit(shown, 3, report).receipt.digest, report.digest)
        both = Parameters(3_000_000, 100_000, NODES)
        bits_of_all = Report(report.parameters, draw(both, 4, []).coded_bits, 1)
        self.refused(grpc.StatusCode.INVALID_ARGUMENT, self.client.submit, shown, 4, bits_of_all)
        self.refused(grpc.StatusCode.INVALID_ARGUMENT, self.client.submit, shown, 4, draw(both, 4, []))

    def test_an_answer_about_groups_is_accepted_and_what_is_none_is_refused(self):
        created = blinktest.must("blink", "round", "create", "--config", self.blink.operator, "--epsilon", 2,
                                 "--mechanism", "group-degrees", "--groups", 3, "--json").json()
        self.addCleanup(blinktest.run, "blink", "round", "cancel", "--config", self.blink.operator, created["round_id"])
        [shown] = self.client.rounds(0, created["round_id"]).rounds
        parameters = Parameters.of(shown.parameters)
        self.assertEqual((parameters.mechanism, parameters.group_count, parameters.degree_share_ppm), (3, 3, 0))
        groups = self.client.groups(shown, 0)
        self.assertEqual((len(groups), set(groups)), (NODES, {0, 1, 2}))
        report = blink_client.answer(parameters, groups, self.lists.get(0, []))
        self.assertEqual(self.client.submit(shown, 0, report).receipt.digest, report.digest)
        self.assertEqual(self.held(shown), report.digest)
        for what, coded in (("a number too many", report.coded_bits + b"\0"), ("no number", b""),
                            ("a number too few", codec.group_degrees([1, 2])),
                            ("a superfluous digit", b"\x80\0" + codec.group_degrees([1, 2])),
                            ("a number of more than 64 bits", b"\xff" * 9 + b"\x02" + codec.group_degrees([1, 2]))):
            with self.subTest(what):
                self.refused(grpc.StatusCode.INVALID_ARGUMENT, self.client.submit, shown, 1, Report(parameters, coded))
        other = dataclasses.replace(parameters, groups_sha256=bytes(32))
        self.refused(grpc.StatusCode.INVALID_ARGUMENT, self.client.submit, shown, 1,
                     Report(other, codec.group_degrees([1, 2, 3])))
        for node, part, code in ((0, 1, grpc.StatusCode.NOT_FOUND), (0, 2**32 - 1, grpc.StatusCode.NOT_FOUND),
                                 (self.stranger, 0, grpc.StatusCode.PERMISSION_DENIED)):
            request = blink_client.node_pb.GetGroupsRequest(deployment=self.blink.name, node_id=node,
                                                            round_id=shown.round_id, part=part)
            self.refused(code, self.client.node.GetGroups, request)

    def test_the_report_of_one_round_answers_another_of_the_same_parameters(self):
        first, second = self.open_round(), self.open_round()
        report = self.report(first)
        self.assertEqual(self.client.submit(first, 0, report).receipt.digest,
                         self.client.submit(second, 0, report).receipt.digest)

    def test_a_gateway_streams_reports_and_a_refusal_does_not_end_the_stream(self):
        shown = self.open_round()
        reports = {node: self.report(shown, node) for node in range(5)}
        requests = [(self.client.header(shown, node, report), report.coded_bits) for node, report in reports.items()]
        wrong = self.report(shown, 5)
        requests[2:2] = [(self.client.header(shown, 5, wrong, digest=bytes(32)), wrong.coded_bits),
                         (self.client.header(shown, self.stranger, wrong), wrong.coded_bits)]
        replies = self.client.submit_many(requests)
        for node, report in reports.items():
            self.assertEqual(replies[node].receipt.digest, report.digest)
        self.assertEqual(replies[5].refusal.code, grpc.StatusCode.INVALID_ARGUMENT.value[0])
        self.assertEqual(replies[self.stranger].refusal.code, grpc.StatusCode.PERMISSION_DENIED.value[0])
        self.assertEqual(self.client.digests(shown, 0, self.hosted[-1]),
                         {node: report.digest for node, report in reports.items()})
        self.refused(grpc.StatusCode.PERMISSION_DENIED, self.client.digests, shown, 0, self.stranger)

    # ---- what is refused

    def test_wrong_content_is_refused(self):
        shown = self.open_round()
        report = self.report(shown)
        parameters = report.parameters
        bits = [0] * NODES
        bits[0] = 1  # the node's own
        packed = b"\x10" + codec.varint(0) + bytes(NODES // 8)
        other_n = Parameters(parameters.epsilon_micro, parameters.degree_share_ppm, NODES + 1)
        other_epsilon = Parameters(parameters.epsilon_micro - 1, parameters.degree_share_ppm, NODES)
        other_mechanism = Parameters(parameters.epsilon_micro, parameters.degree_share_ppm, NODES, 2)
        content = {
            "a byte after the end": Report(parameters, report.coded_bits + b"\0", report.noisy_degree),
            "the last byte missing": Report(parameters, report.coded_bits[:-1], report.noisy_degree),
            "another coding than the canonical": Report(parameters, packed, report.noisy_degree),
            "a superfluous digit of k": Report(parameters, b"\x12\x80\x00", report.noisy_degree),
            "the bit of the node itself": Report(parameters, codec.encode(bits), report.noisy_degree),
            "another n": draw(other_n, 0, []),
            "another epsilon": draw(other_epsilon, 0, []),
            "another mechanism": Report(other_mechanism, report.coded_bits, report.noisy_degree),
            "no degree": Report(parameters, report.coded_bits, None),
            "no bits": Report(parameters, b"", report.noisy_degree),
        }
        for what, wrong in content.items():
            with self.subTest(what):
                self.refused(grpc.StatusCode.INVALID_ARGUMENT, self.client.submit, shown, 0, wrong)
        changes = {
            "a wrong digest": {"digest": hashlib.sha256(b"").digest()},
            "a short digest": {"digest": bytes(31)},
            "another roster": {"roster_version": 2},
            "a malformed round": {"round_id": shown.round_id.upper() + "0"},
            "no degree in the header": {"noisy_degree": None},
        }
        for what, change in changes.items():
            with self.subTest(what):
                self.refused(grpc.StatusCode.INVALID_ARGUMENT, self.client.submit, shown, 0, report, **change)
        self.assertEqual((self.held(shown), self.blink.reports(shown.round_id)), (b"", 0))

    def test_a_wrong_order_or_size_of_the_parts_is_refused(self):
        shown = self.open_round()
        report = self.report(shown)
        header, coded = self.client.header(shown, 0, report), report.coded_bits
        streams = {
            "nothing": (),
            "no header": (coded,),
            "the header after a chunk": (coded, header),
            "two headers": (header, header, coded),
            "a header after the bits": (header, coded, header),
            "a truncated stream": (header, coded[:-1]),
            "a header alone": (header,),
            "more than announced": (header, coded, b"\0"),
            "an empty chunk": (header, b"", coded),
            "a chunk too large": (header, bytes(blink_client.CHUNK_BYTES + 1)),
            "more coded bytes than a row can have": (self.client.header(shown, 0, report, coded_bytes=1 << 20), coded),
        }
        for what, parts in streams.items():
            with self.subTest(what):
                self.refused(grpc.StatusCode.INVALID_ARGUMENT, self.client.send, *parts)
        self.assertEqual((self.held(shown), self.blink.reports(shown.round_id)), (b"", 0))

    def test_what_the_certificate_does_not_cover_is_refused(self):
        shown = self.open_round()
        report = self.report(shown)
        self.refused(grpc.StatusCode.PERMISSION_DENIED, self.client.submit, shown, self.stranger, report)
        self.refused(grpc.StatusCode.PERMISSION_DENIED, self.client.rounds, self.stranger)
        operator_pb = blink_client.operator_pb
        self.refused(grpc.StatusCode.PERMISSION_DENIED, self.client.operator.ListRounds,
                     operator_pb.ListRoundsRequest(deployment=self.blink.name), window=False)
        self.refused(grpc.StatusCode.PERMISSION_DENIED, self.client.operator.SealRound,
                     operator_pb.SealRoundRequest(deployment=self.blink.name, round_id=shown.round_id), window=False)
        operator = self.connect(self.blink.out / "operator" / "tls")
        self.refused(grpc.StatusCode.PERMISSION_DENIED, operator.submit, shown, 0, report)
        self.refused(grpc.StatusCode.PERMISSION_DENIED, operator.rounds, 0)
        self.assertEqual((self.held(shown), self.blink.state(shown.round_id)), (b"", "open"))

    def test_another_deployment_and_an_unknown_round_are_not_found(self):
        shown = self.open_round()
        report = self.report(shown)
        self.refused(grpc.StatusCode.NOT_FOUND, self.client.submit, shown, 0, report, deployment="elsewhere")
        self.refused(grpc.StatusCode.NOT_FOUND, self.client.submit, shown, 0, report, round_id="0" * 32)
        self.refused(grpc.StatusCode.NOT_FOUND, self.client.rounds, 0, deployment="elsewhere")
        self.refused(grpc.StatusCode.NOT_FOUND, self.client.rounds, 0, "0" * 32)
        self.assertEqual(self.held(shown), b"")

    def test_a_second_report_of_a_node_is_refused_and_the_first_is_kept(self):
        shown = self.open_round()
        first = self.report(shown)
        second = Report(first.parameters, first.coded_bits, first.noisy_degree + 1)
        self.client.submit(shown, 0, first)
        self.refused(grpc.StatusCode.ALREADY_EXISTS, self.client.submit, shown, 0, second)
        self.assertEqual(self.held(shown), first.digest)

    def test_after_the_seal_only_the_receipt_is_left(self):
        shown = self.open_round()
        report = self.report(shown)
        receipt = self.client.submit(shown, 0, report).receipt
        blinktest.must("blink", "round", "cancel", "--config", self.blink.operator, shown.round_id)
        self.assertEqual(self.client.submit(shown, 0, report).receipt, receipt)
        self.refused(grpc.StatusCode.FAILED_PRECONDITION, self.client.submit, shown, 1, self.report(shown, 1))
        other = Report(report.parameters, report.coded_bits, report.noisy_degree + 1)
        details = self.refused(grpc.StatusCode.ALREADY_EXISTS, self.client.submit, shown, 0, other)
        self.assertEqual((self.held(shown), self.held(shown, 1)), (report.digest, b""), details)

    def test_what_fails_in_the_handshake_is_unavailable(self):
        plain = self.connect(None, secure=False)
        self.refused(grpc.StatusCode.UNAVAILABLE, plain.rounds, 0, window=False)
        # whose name the server's certificate lacks
        elsewhere = Client(f"127.0.0.1:{self.blink.port}", "elsewhere", self.tls)
        self.addCleanup(elsewhere.close)
        self.refused(grpc.StatusCode.UNAVAILABLE, elsewhere.rounds, 0, window=False)
        with Deployment(nodes=6, kits=1, name=self.blink.name) as other:
            foreign = other.kit(other.kits()[0]) / "tls"
            self.refused(grpc.StatusCode.UNAVAILABLE, self.connect(foreign).rounds, 0, window=False)
            # trusts this server, which does not trust it
            (foreign / "ca.crt").write_bytes((self.tls / "ca.crt").read_bytes())
            self.refused(grpc.StatusCode.UNAVAILABLE, self.connect(foreign).rounds, 0, window=False)


if __name__ == "__main__":
    blinktest.main()
