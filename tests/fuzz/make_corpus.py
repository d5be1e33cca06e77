"""Writes the seed inputs of the fuzz targets: make_corpus.py FOLDER makes FOLDER/<target>/<seed>.

Seeds that a generator cannot make, such as inputs that once failed, are committed under tests/fuzz/corpus/<target>/.
"""
import gzip
import hashlib
import io
import pathlib
import pickle
import struct
import sys
import zipfile
import zlib

SOURCE_DIR = pathlib.Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True
sys.path.insert(0, str(SOURCE_DIR / "tests" / "unit" / "wire"))
import golden_report_codec as codec  # noqa: E402


def packed(bits):
    return sum(bit << j for j, bit in enumerate(bits)).to_bytes((len(bits) + 7) // 8, "little")


def report_codec():
    def raw_n(n):  # what NodeCount in the target maps to n
        return n - 1 if n <= 1200 else 1 << 24 | n - 1

    rows = {
        "packed": codec.quadratic_row(300, 2),
        "patterns": codec.quadratic_row(300, 4),
        "gaps-of-ones": codec.quadratic_row(500, 60),
        "gaps-of-zeros": [1 - bit for bit in codec.quadratic_row(500, 60)],
        "long": [int(j == 39999) for j in range(40000)],
        "far-apart": [int(j in range(96)) for j in range(3100)],
        "none": [0] * 300,
        "all": [1] * 300,
        "small": codec.quadratic_row(10, 2),
    }
    for name, bits in rows.items():
        head = struct.pack("<II", raw_n(len(bits)), 5)
        yield f"decode-{name}", b"\0" + head + codec.encode(bits)
        yield f"encode-{name}", b"\1" + head + packed(bits)
        yield f"change-{name}", b"\2" + head + struct.pack("<HB", 9, 77) + packed(bits)
        for share in (0, 100_000):
            report = struct.pack("<IqB", share, -3, share > 0) + codec.encode(bits)
            yield f"report-{name}-{share}", b"\3" + struct.pack("<II", raw_n(len(bits)), 4) + report
        # So many own pairs, of mechanism 2, has node 4 of twice as many nodes and one.
        report = struct.pack("<IqB", 100_000, -3, 1 | 2) + codec.encode(bits)
        yield f"report-{name}-one-end", b"\3" + struct.pack("<II", raw_n(2 * len(bits) + 1), 4) + report
    # Three groups: 2 % 10 + 1.
    head = b"\3" + struct.pack("<II", raw_n(10), 4) + struct.pack("<IqB", 2, 0, 4)
    yield "report-group-degrees", head + codec.group_degrees([4, -1, 300])
    yield "groups", head + b"".join(struct.pack("<H", node % 3) for node in range(10))
    yield "report-degree", b"\3" + struct.pack("<IIIqB", 299, 4, 1_000_000, 12, 1)


def identity():
    for index, uri in enumerate(("node/0", "node/18446744073709551615", "nodes/0-135", "operator/alice", "aggregator",
                                 "node/07", "nodes/5-5", "nodes/6-5", "node/-1")):
        yield f"{index}", f"blink://demo/{uri}".encode()


KIT = b"""{"format":1,"deployment":"demo","nodes":{"first":0,"last":9},"node_count":40,"roster_version":1,
"aggregator":"127.0.0.1:7443","insecure":false}"""
POLICY = b"""{"format":1,"deployments":["demo"],"epsilon_micro_per_round_max":8000000,
"epsilon_micro_lifetime_max":64000000,"epoch_seconds_min":86400,"node_count_min":3,"send_spread_seconds":0}"""


def kit():
    header = b"node,neighbour\n"
    yield "good", KIT + b"\0" + POLICY + b"\0" + header + b"0,1\n0,39\n3,0\n9,8"
    yield "empty-lists", KIT + b"\0" + POLICY + b"\0" + header
    yield "key-twice", b"\0" + POLICY.replace(b'"node_count_min":3',
                                              b'"node_count_min":3,"node_count_min":9') + b"\0" + header
    yield "deep", b"[" * 2000
    for name, lines in {"ascending": b"2,3\n2,39\n9,0\n", "twice": b"2,3\n2,3\n", "self": b"2,2\n", "range": b"2,40\n",
                        "foreign": b"1,3\n", "crlf": b"2,3\r\n", "zeros": b"2,03\n", "zero-byte": b"2,\x003\n"}.items():
        yield name, b"\0\0" + header + lines


def journal():
    def text(value):
        return struct.pack("<I", len(value)) + value

    def parameters(epsilon=2_000_000, share=100_000, n=40):
        return struct.pack("<QIII", epsilon, share, n, 1)

    def draw(node, coded, degree=-2):
        digest = bytes.fromhex(codec.digest(2_000_000, 100_000, 40, degree, coded))
        return b"\3" + struct.pack("<II", 1, node) + parameters() + struct.pack("<Bq", 1, degree) + digest + text(coded)

    round_id = b"0123456789abcdef" * 2
    init = b"\1" + text(b"demo") + struct.pack("<IIIQ", 2, 4, 40, 1) + bytes(range(16)) + b"\0"
    epoch = b"\2" + struct.pack("<Iq", 1, 1_700_000_000_000) + struct.pack("<III", 2, 3, 39) + struct.pack("<II", 1,
                                                                                                           0) + bytes(4)
    draws = [draw(node, coded) for node, coded in ((2, b"abc"), (3, b""), (4, b"defgh"))]
    a_round = b"\4" + text(round_id) + struct.pack("<I", 1) + parameters()
    receipt = b"\5" + text(round_id) + struct.pack("<I", 3) + bytes(32) + struct.pack("<q", 28_000_000)
    clock = b"\6" + struct.pack("<q", 1_700_000_100_000)
    over = b"\7" + text(round_id)
    roster = b"\x08" + struct.pack("<QI", 3, 44)
    anchor = b"blink-anchor 1\njournal %s\nlength 123\nchain %s\n" % (b"0f" * 16, b"a9" * 32)

    def framed(*payloads):
        return b"".join(struct.pack("<H", len(payload)) + payload for payload in payloads)

    whole = framed(init, epoch, *draws, a_round, receipt, clock, over)
    yield "empty", b"\0"
    yield "magic", b"\0BLINKJ1\n"
    yield "new", b"\1" + framed(init)
    yield "epoch", b"\1" + framed(init, epoch)
    yield "draws", b"\1" + framed(init, epoch, *draws, a_round)
    yield "whole", b"\1" + whole
    yield "changed", b"\2" + struct.pack("<HB", 100, 7) + whole
    yield "roster", b"\1" + framed(init, epoch, *draws, roster, clock)
    yield "anchored", b"\1" + framed(init, b"\x09", epoch)
    yield "anchored-init", b"\1" + framed(init[:-1] + b"\1", epoch)
    yield "anchor", b"\3" + anchor + b"checksum %s\n" % hashlib.sha256(anchor).hexdigest().encode()


def report_file():
    bits = [int(j % 3 == 1) for j in range(130)]
    for node in (3, 6):
        assert bits[node] == 0
    coded = codec.encode(bits)

    def report(node, present, degree, coded):
        return struct.pack("<BBq", node, present, degree) + struct.pack("<H", len(coded)) + coded

    both = report(3, 1, -5, coded) + report(6, 1, 40, coded)
    yield "both", b"\1" + bytes([34]) + both
    yield "bits", b"\1\0" + report(3, 0, 0, coded)
    own = [bits[j] for j in codec.own_pairs(3, 130)]
    yield "one-end", b"\1" + bytes([33]) + report(3, 1, -5, codec.encode(own))
    yield "degree", b"\1\xff" + report(3, 1, 7, b"") + report(4, 1, -7, b"")
    yield "changed", b"\2" + struct.pack("<HB", 40, 1) + bytes([34]) + both
    json = (b'{"round_id":"%s","parameters":{"epsilon_micro":"2000000","degree_share_ppm":0,"node_count":10,'
            b'"mechanism":1}}' % (b"a" * 32))
    yield "files", b"\0" + json + b"\0BLINKR01" + b"\xff" * 8 + bytes(8)
    yield "string-numbers", b"\0" + json.replace(b'":10', b'":"10"') + b"\0BLINKR01"


def edge_list():
    lists = {
        "csv": b"source,target\n0,1\n1,2\n2,3\n",
        "both-directions": b"0,1\n1,0\n1,2\n2,1\n3,0\n",
        "snap": b"# Nodes: 4\n0\t1\n1\t2\n2\t3\n",
        "spaces": b"% a comment\n10 20\n20 30\n30 10\n",
        "names": b"a;b\nb;c\n\"d\";a\n",
        "crlf": b"\xef\xbb\xbfid_1,id_2\r\n5,6\r\n6,7\r\n",
        "header-unknown": b"foo,bar\n1,2\n2,3\n3,3\n",
        "negative": b"-5,3\n3,07\n07,7\n",
        "marks": b"#a,#b\n#b,%c\n%c,#a\n",
        "sizes": b"4 3\n0 1\n1 2\n2 3\n",
        "quotes": b"\"a, b\",\"5\"\" pipe\"\n\"5\"\" pipe\",c\n",
        "weighted": b"source,target,weight\n0,1,0.5\n1,2,3\n",
        "labels": b"id,label\n0,red\n1,\n2,blue\n",
        "split": b"node,split\n0,train\n1,valid\n2,test\n",
        "masks": b"node,train_mask,val_mask\n0,True,False\n1,0,1\n",
        "features": b"id\tx\ty\n0\t0.5\t1e3\n1\ttrue\t-2\n",
    }
    for name, text in lists.items():
        yield name, text
        yield f"{name}.gz", gzip.compress(text, mtime=0)


def npy(descr, shape, data, order="False", version=1):
    header = f"{{'descr': '{descr}', 'fortran_order': {order}, 'shape': {shape}, }}".encode()
    length = struct.pack("<H", len(header)) if version == 1 else struct.pack("<I", len(header))
    return b"\x93NUMPY" + bytes([version, 0]) + length + header + data


def numpy_file():
    yield "f4", b"\0" + npy("<f4", "(2, 3)", struct.pack("<6f", *range(6)))
    yield "f8", b"\0" + npy("<f8", "(3, 2)", struct.pack("<6d", *range(6)), version=2)
    yield "u1", b"\0" + npy("|u1", "(2, 2)", b"\0\1\1\0")
    yield "i8", b"\0" + npy("<i8", "(2, 1)", struct.pack("<2q", -1, 1 << 60))
    yield "bool", b"\0" + npy("|b1", "(1, 4)", b"\0\1\1\0")
    yield "vector", b"\0" + npy("<f4", "(2,)", bytes(8))
    yield "half", b"\0" + npy("<f2", "(2, 2)", struct.pack("<4e", 0, 1, -0.5, 65504))
    yield "big-endian", b"\0" + npy(">i2", "(2, 2)", struct.pack(">4h", 0, 1, -2, 3))
    yield "fortran", b"\0" + npy("<f4", "(2, 2)", bytes(16), order="True")
    members = {
        "format.npy": npy("|S3", "()", b"csr"),
        "shape.npy": npy("<i8", "(2,)", struct.pack("<2q", 2, 5)),
        "indptr.npy": npy("<i4", "(3,)", struct.pack("<3i", 0, 2, 3)),
        "indices.npy": npy("<i4", "(3,)", struct.pack("<3i", 3, 1, 4)),
        "data.npy": npy("<f4", "(3,)", struct.pack("<3f", 1, 2, -3)),
    }
    yield "members", b"\2" + b"".join(struct.pack("<H", len(content)) + content for content in members.values())
    coo = {**members, "format.npy": npy("|S3", "()", b"coo"),
           "row.npy": npy("<i4", "(3,)", struct.pack("<3i", 1, 0, 1)),
           "col.npy": npy("<i4", "(3,)", struct.pack("<3i", 4, 0, 4))}
    csc = {**members, "format.npy": npy("|S3", "()", b"csc"),
           "indptr.npy": npy("<i4", "(6,)", struct.pack("<6i", 0, 1, 1, 2, 2, 3)),
           "indices.npy": npy("<i4", "(3,)", struct.pack("<3i", 1, 0, 1))}
    for name, content_of in (("coo", coo), ("csc", csc)):
        archive = io.BytesIO()
        with zipfile.ZipFile(archive, "w") as file:
            for member, content in content_of.items():
                file.writestr(zipfile.ZipInfo(member), content)
        yield name, b"\1" + archive.getvalue()
    for name, method in (("stored", zipfile.ZIP_STORED), ("deflated", zipfile.ZIP_DEFLATED)):
        archive = io.BytesIO()
        with zipfile.ZipFile(archive, "w", method) as file:
            for member, content in members.items():
                file.writestr(zipfile.ZipInfo(member), content, compress_type=method)
        yield name, b"\1" + archive.getvalue()


def graph_import():
    """The first byte is the format, as the target has it."""
    lists = {0: [1, 2], 1: [0], 2: [0, 3], 3: []}
    for protocol in range(6):
        yield f"pickle-{protocol}", b"\0" + pickle.dumps(lists, protocol)
    array = (b"cnumpy.core.multiarray\n_reconstruct\n(cnumpy\nndarray\n(K\0tU\1btR(K\1(K\2K\2t"
             b"cnumpy\ndtype\n(U\2i4K\0K\1tR(K\3U\1<"
             b"NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\0tb\x89U\x10"
             + struct.pack("<4i", 1, 0, 0, 1) + b"tb")
    yield "pickled-array", b"\0\x80\x02" + array + b"."
    yield "pickled-call", b"\0cos\nsystem\n(S'true'\ntR."
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as file:
        for member, content in {"adj_data": npy("<f4", "(2,)", struct.pack("<2f", 1, 1)),
                                "adj_indices": npy("<i4", "(2,)", struct.pack("<2i", 1, 0)),
                                "adj_indptr": npy("<i4", "(4,)", struct.pack("<4i", 0, 1, 2, 2)),
                                "adj_shape": npy("<i8", "(2,)", struct.pack("<2q", 3, 3)),
                                "labels": npy("|i1", "(3,)", b"\0\1\0"),
                                "node_names": npy("<U1", "(3,)", "abc".encode("utf-32-le"))}.items():
            file.writestr(zipfile.ZipInfo(member + ".npy"), content)
    yield "npz", b"\1" + archive.getvalue()
    head = b"%%MatrixMarket matrix coordinate real general\n"
    for kind in (2, 7):
        yield f"matrix-{kind}", bytes([kind]) + head + b"% c\n3 3 2\n1 2 0.5\n3 2 -1\n"
        yield f"array-{kind}", bytes([kind]) + b"%%MatrixMarket matrix array real symmetric\n2 2\n1\n2\n3\n"
    yield "graphml", (b"\3<graphml><key id='a' for='node' attr.name='class'><default>x</default></key><graph>"
                      b"<node id='1'><data key='a'>y</data></node><node id='2'/><edge source='1' target='2'/>"
                      b"</graph></graphml>")
    yield "gml", b'\4graph [ node [ id 1 label "a" value 0 ] node [ id 2 g [ x 1 ] ] edge [ source 1 target 2 ] ]'

    def element(kind, data):
        return struct.pack("<II", kind, len(data)) + data + bytes(-len(data) % 8)

    matrix = element(14, element(6, struct.pack("<II", 5, 0)) + element(5, struct.pack("<2i", 3, 3)) +
                     element(1, b"A") + element(5, struct.pack("<2i", 1, 0)) +
                     element(5, struct.pack("<4i", 0, 1, 2, 2)) + element(9, struct.pack("<2d", 1, 1)))
    header = b"MATLAB 5.0 MAT-file".ljust(124) + b"\0\1IM"
    yield "mat", b"\5" + header + matrix
    packed = zlib.compress(matrix)
    yield "mat-compressed", b"\5" + header + struct.pack("<II", 15, len(packed)) + packed
    yield "json", b'\6{"0": [1, 2], "1": [], "x": [0]}'


def main():
    for seeds in (report_codec, identity, kit, journal, report_file, edge_list, numpy_file, graph_import):
        folder = pathlib.Path(sys.argv[1]) / seeds.__name__
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in seeds():
            (folder / name).write_bytes(content)


if __name__ == "__main__":
    main()
