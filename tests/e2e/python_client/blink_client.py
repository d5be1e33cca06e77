"""A second, small client of the protocol, written from docs/PROTOCOL.md and generated from the protos: what a third
party would write. Slow and short on purpose. Not for production: it keeps no journal, so nothing stops it from drawing
twice.

    client = Client("127.0.0.1:7443", "demo", kit / "tls")
    for shown in client.rounds(node=3).rounds:
        report = draw(Parameters.of(shown.parameters), node=3, neighbours=[1, 7])
        receipt = client.submit(shown, 3, report).receipt

Needs grpcio and grpcio-tools (scripts/install-deps --python-client).
"""
import dataclasses
import importlib
import pathlib
import secrets
import shutil
import struct
import sys
import tempfile

SOURCE_DIR = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(SOURCE_DIR / "tests" / "unit" / "wire"))
import golden_report_codec as codec  # noqa: E402

CHUNK_BYTES = 65_536
MESSAGE_BYTES = 2 << 20


def generate_stubs():
    """Compiles the protos; returns the modules of common, node and operator messages and of the two services."""
    from grpc_tools import protoc

    folder = tempfile.mkdtemp(prefix="blink-stubs-")
    names = ("common", "node", "operator")
    arguments = ["protoc", f"-I{SOURCE_DIR / 'proto'}", f"--python_out={folder}", f"--grpc_python_out={folder}"]
    if protoc.main(arguments + [f"blink/v1/{name}.proto" for name in names]) != 0:
        raise RuntimeError("protoc refused the protos")
    sys.path.insert(0, folder)
    try:
        messages = [importlib.import_module(f"blink.v1.{name}_pb2") for name in names]
        services = [importlib.import_module(f"blink.v1.{name}_pb2_grpc") for name in names[1:]]
    finally:
        sys.path.remove(folder)
        shutil.rmtree(folder, ignore_errors=True)
    return messages + services


import grpc  # noqa: E402

common_pb, node_pb, operator_pb, node_grpc, operator_grpc = generate_stubs()


# ---- Parameters of a round

@dataclasses.dataclass(frozen=True)
class Parameters:
    epsilon_micro: int
    degree_share_ppm: int
    node_count: int
    mechanism: int = 1
    group_count: int = 0
    groups_sha256: bytes = b""

    @staticmethod
    def of(message):
        return Parameters(message.epsilon_micro, message.degree_share_ppm, message.node_count, message.mechanism,
                          message.group_count, message.groups_sha256)

    def message(self):
        return common_pb.PrivacyParameters(**dataclasses.asdict(self))

    @property
    def flip_numerator(self):
        """2^64 p': the smallest integer that is not below 2^64 / (1 + e^x), x = E_a / 10^12."""
        return flip_numerator(self.epsilon_micro * (1_000_000 - self.degree_share_ppm))


def flip_numerator(list_epsilon):
    bits = 400  # e^x in fixed point; x <= 50, so that the rounding of some 300 terms stays far below 2^-300
    one = 1 << bits
    term, power, k = one, 0, 0
    while term:
        power += term
        k += 1
        term = term * list_epsilon // (10**12 * k)
    return -(-(one << 64) // (one + power))


# ---- A report

@dataclasses.dataclass
class Report:
    parameters: Parameters
    coded_bits: bytes = b""
    noisy_degree: int | None = None

    @property
    def digest(self):
        if self.parameters.mechanism == 3:
            return bytes.fromhex(codec.digest_of_answer(self.parameters.epsilon_micro, self.parameters.node_count,
                                                        self.parameters.group_count, self.parameters.groups_sha256,
                                                        self.coded_bits))
        return bytes.fromhex(codec.digest(self.parameters.epsilon_micro, self.parameters.degree_share_ppm,
                                          self.parameters.node_count, self.noisy_degree, self.coded_bits,
                                          self.parameters.mechanism))


def exp_minus(numerator, denominator):
    """True with probability e^(-numerator/denominator), exactly (von Neumann's alternating series)."""
    while numerator > denominator:
        if not exp_minus(1, 1):
            return False
        numerator -= denominator
    k = 1
    while secrets.randbelow(denominator * k) < numerator:
        k += 1
    return k % 2 == 1


def discrete_laplace(numerator, denominator):
    """Y with Pr[Y = y] proportional to e^(-|y| numerator/denominator), exactly."""
    while True:
        magnitude = 0
        while exp_minus(numerator, denominator):
            magnitude += 1
        negative = secrets.randbelow(2)
        if magnitude or not negative:
            return -magnitude if negative else magnitude


def as_int64(value):
    return (value + 2**63) % 2**64 - 2**63


def draw(parameters, node, neighbours):
    """LinkLDP: all noise first, then the list."""
    n, p = parameters.node_count, parameters.flip_numerator
    if parameters.mechanism == 1:
        others = list(range(n))  # of bit 0, 1, ...
    elif parameters.mechanism == 2:
        others = codec.own_pairs(node, n)
    else:
        raise ValueError(f"mechanism {parameters.mechanism} is not known")
    noise = 0
    bits = []
    if parameters.degree_share_ppm > 0:
        noise = discrete_laplace(parameters.epsilon_micro * parameters.degree_share_ppm, 10**12)
    if parameters.degree_share_ppm < 1_000_000:
        bits = [int(j != node and secrets.randbits(64) < p) for j in others]
    report = Report(parameters)
    neighbours = [j for j in neighbours if j in others]
    if bits:
        for j in neighbours:
            bits[others.index(j)] ^= 1
        report.coded_bits = codec.encode(bits)
    if parameters.degree_share_ppm > 0:
        report.noisy_degree = as_int64(len(neighbours) + noise)
    return report


def answer(parameters, groups, neighbours):
    """Of mechanism 3: noise for each group first, then the list. `groups` are those of Client.groups."""
    n, k = parameters.node_count, parameters.group_count
    if len(groups) != n or max(groups) >= k or codec.groups_digest(n, k, groups) != parameters.groups_sha256:
        raise ValueError("the groups are not those of the round")
    numbers = [discrete_laplace(parameters.epsilon_micro, 10**6) for _ in range(k)]
    for j in neighbours:
        numbers[groups[j]] += 1
    return Report(parameters, codec.group_degrees(as_int64(number) for number in numbers))


# ---- Calls

class Client:
    """One connection with one certificate."""

    def __init__(self, address, deployment, tls, secure=True, name=None):
        self.deployment = deployment
        # gRPC in Python checks a DNS name and no URI.
        options = [("grpc.ssl_target_name_override", name or f"{deployment}.blink.internal"),
                   ("grpc.max_send_message_length", MESSAGE_BYTES), ("grpc.enable_http_proxy", 0)]
        if secure:
            tls = pathlib.Path(tls)
            credentials = grpc.ssl_channel_credentials(*((tls / name).read_bytes() for name in
                                                         ("ca.crt", "client.key", "client.crt")))
            self.channel = grpc.secure_channel(address, credentials, options)
        else:
            self.channel = grpc.insecure_channel(address, options[1:])
        self.node = node_grpc.NodeServiceStub(self.channel)
        self.operator = operator_grpc.OperatorServiceStub(self.channel)

    def close(self):
        self.channel.close()

    def rounds(self, node, round_id="", deployment=None):
        return self.node.GetRounds(node_pb.GetRoundsRequest(deployment=deployment or self.deployment, node_id=node,
                                                            round_id=round_id), timeout=60)

    def groups(self, shown, node):
        """[n] the group of each node, of a round of mechanism 3."""
        coded = b""
        while len(coded) < 2 * shown.parameters.node_count:
            request = node_pb.GetGroupsRequest(deployment=self.deployment, node_id=node, round_id=shown.round_id,
                                               part=len(coded) // CHUNK_BYTES)
            coded += self.node.GetGroups(request, timeout=60).groups
        return list(struct.unpack(f"<{len(coded) // 2}H", coded))

    def header(self, shown, node, report, **changes):
        """The header of a report to a round; changes to its fields make it a wrong one."""
        header = node_pb.ReportHeader(deployment=self.deployment, round_id=shown.round_id, node_id=node,
                                      parameters=report.parameters.message(), roster_version=shown.roster_version,
                                      coded_bytes=len(report.coded_bits), digest=report.digest)
        if report.noisy_degree is not None:
            header.noisy_degree = report.noisy_degree
        for name, value in changes.items():
            if value is None:
                header.ClearField(name)
            else:
                setattr(header, name, value)
        return header

    def send(self, *parts):
        """SubmitReport with any parts: headers, and chunks as bytes."""
        def requests():
            for part in parts:
                if isinstance(part, bytes):
                    yield node_pb.SubmitReportRequest(chunk=part)
                else:
                    yield node_pb.SubmitReportRequest(header=part)

        return self.node.SubmitReport(requests(), timeout=60)

    def submit(self, shown, node, report, chunk_bytes=CHUNK_BYTES, **changes):
        coded = report.coded_bits
        chunks = [coded[i:i + chunk_bytes] for i in range(0, len(coded), chunk_bytes)]
        return self.send(self.header(shown, node, report, **changes), *chunks)

    def submit_many(self, requests):
        """SubmitReports: (header, coded bits) pairs; the replies by node."""
        messages = (node_pb.SubmitReportsRequest(header=header, coded_bits=coded) for header, coded in requests)
        return {reply.node_id: reply for reply in self.node.SubmitReports(messages, timeout=60)}

    def digests(self, shown, first, last):
        request = node_pb.ListDigestsRequest(deployment=self.deployment, round_id=shown.round_id, first_node=first,
                                             last_node=last)
        return {reply.node_id: reply.digest for reply in self.node.ListDigests(request, timeout=60)}
