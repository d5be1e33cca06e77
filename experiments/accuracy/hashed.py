"""Facebook's words, hashed to 128 columns: what stands in for the published features, which are no longer to be had.

Column j of the raw words counts into column crc32(j in decimal) mod 128 (the hashing trick of Weinberger et al., ICML
'09, without signs, so that the entries stay non-negative as the published preparation needs them). The standard library
alone; the same bytes everywhere.
"""
import array
import ast
import os
import pathlib
import sys
import zipfile
import zlib

COLUMNS = 128


class NotSparse(Exception):
    """The file is not scipy's CSR .npz of 4-byte numbers; the text says where."""


def _read_member(archive, name):
    """One array of numbers of an .npz, in memory order."""
    try:
        data = archive.read(name)
        if data[:6] != b"\x93NUMPY":
            raise NotSparse(f"{name} is not a NumPy array")
        start = 10 if data[6] == 1 else 12
        end = start + int.from_bytes(data[8:start], "little")
        header = ast.literal_eval(data[start:end].decode("latin-1"))
        values = array.array({"<i4": "i", "<f4": "f", "<i8": "q"}[header["descr"]])
        values.frombytes(data[end:])
    except (KeyError, ValueError, SyntaxError, IndexError, zipfile.BadZipFile) as problem:
        raise NotSparse(f"{name} cannot be read: {problem}") from None
    if sys.byteorder == "big":
        values.byteswap()
    return values


def write_features(raw, target):
    """`raw`: scipy's CSR .npz of shape (nodes, words) -> `target`: .npy, float32, (nodes, COLUMNS)."""
    try:
        with zipfile.ZipFile(raw) as archive:
            starts, words, counts = (_read_member(archive, name + ".npy") for name in ("indptr", "indices", "data"))
    except zipfile.BadZipFile as problem:
        raise NotSparse(str(problem)) from None
    nodes = len(starts) - 1
    if nodes < 1 or starts[0] != 0 or starts[nodes] != len(words) or len(words) != len(counts) \
            or min(words, default=0) < 0 or any(starts[node] > starts[node + 1] for node in range(nodes)):
        raise NotSparse("indptr, indices and data do not fit each other")
    bucket = [zlib.crc32(str(word).encode()) % COLUMNS for word in range(max(words, default=0) + 1)]
    dense = array.array("f", bytes(4 * nodes * COLUMNS))
    for node in range(nodes):
        for entry in range(starts[node], starts[node + 1]):
            dense[node * COLUMNS + bucket[words[entry]]] += counts[entry]
    if sys.byteorder == "big":
        dense.byteswap()
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({nodes}, {COLUMNS}), }}"
    header += " " * (-(10 + len(header) + 1) % 64) + "\n"
    target = pathlib.Path(target)
    unfinished = target.with_name(target.name + ".part")
    with open(unfinished, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode() + dense.tobytes())
        file.flush()
        os.fsync(file.fileno())
    unfinished.replace(target)


def prepare_folder(given, folder, words=False):
    """A data-set folder beside other features: links to `given`, and the hashed features or the words themselves.
    Whatever an interrupted call left is made whole; the features come last. NotSparse or OSError where features_raw.npz
    cannot be read."""
    raw, features = given / "features_raw.npz", folder / ("features.npz" if words else "features.npy")
    names = ("edges.csv", "labels.csv", "split.csv")
    if features.exists() and all((folder / name).exists() for name in names):
        return
    folder.mkdir(parents=True, exist_ok=True)
    links = {name: given / name for name in names} | ({features.name: raw} if words else {})
    for name, source in links.items():
        (folder / name).unlink(missing_ok=True)
        (folder / name).symlink_to(source.resolve())
    if not words and not features.exists():
        write_features(raw, features)
