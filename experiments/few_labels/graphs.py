"""Small graphs whose links mostly join unlike classes, like those of web pages: block models with words. And citation
graphs of which few labels are left.

A node has a class and a set of words. Some words are of its class, all others are common to all. A link joins a node
of class c mostly to one other class, which is drawn for c, and seldom to its own. Needs the standard library alone.
"""
import bisect
import collections
import itertools
import pathlib
import random
import struct
import zipfile

SPLITS = 10
TRAIN, VALIDATION = 0.48, 0.32  # shares of the nodes; the rest is for the test

Recipe = collections.namedtuple("Recipe", "nodes shares words of_page usual topic topical degree within")
# shares: of the classes; of_page: mean words of a page; topic: words of a class, among the `usual` most common ones;
# topical: share of a page that they are; within: share of the links inside a class
RECIPES = {
    "web160": Recipe(160, (0.40, 0.24, 0.18, 0.12, 0.06), 1000, 60, 100, 10, 0.15, 3.0, 0.10),
    "web185": Recipe(185, (0.54, 0.18, 0.14, 0.10, 0.04), 1700, 80, 400, 8, 0.08, 3.2, 0.08),
    "web250": Recipe(250, (0.46, 0.28, 0.13, 0.08, 0.05), 1700, 80, 1700, 85, 0.12, 3.6, 0.15),
    "web400": Recipe(400, (0.30, 0.25, 0.20, 0.15, 0.10), 1200, 50, 200, 10, 0.12, 4.0, 0.20),
    "like200": Recipe(200, (0.30, 0.25, 0.20, 0.15, 0.10), 1000, 50, 500, 20, 0.08, 4.0, 0.80),
    "two200": Recipe(200, (0.60, 0.40), 60, 8, 60, 5, 0.20, 4.0, 0.15),
    "seven300": Recipe(300, (0.22, 0.18, 0.16, 0.14, 0.12, 0.10, 0.08), 1000, 50, 1000, 10, 0.07, 4.0, 0.10),
}

# Of these data sets so many random nodes train and validate, and all others are for the test.
Kept = collections.namedtuple("Kept", "dataset train validation")
KEPT = {"cora160": Kept("cora", 96, 64), "citeseer160": Kept("citeseer", 96, 64)}
NAMES = (*RECIPES, *KEPT)


class NoDataSet(Exception):
    """Names what is missing, and the remedy."""


class Weighted:
    """Draws an index in proportion to its weight."""

    def __init__(self, weights):
        self.sums = list(itertools.accumulate(weights))

    def draw(self, rng):
        return bisect.bisect(self.sums, rng.random() * self.sums[-1])


def labels_of(recipe, rng):
    counts = [round(share * recipe.nodes) for share in recipe.shares]
    counts[0] += recipe.nodes - sum(counts)
    labels = [c for c, count in enumerate(counts) for _ in range(count)]
    rng.shuffle(labels)
    return labels


def words_of(recipe, labels, rng):
    """[nodes] sets of words. Common words follow Zipf; those of a class are drawn for it."""
    common = Weighted(1 / (rank + 10) for rank in range(recipe.words))
    topics = [rng.sample(range(recipe.usual), recipe.topic) for _ in recipe.shares]
    pages = []
    for label in labels:
        count = max(3, round(rng.gauss(recipe.of_page, recipe.of_page / 4)))
        pages.append({rng.choice(topics[label]) if rng.random() < recipe.topical else common.draw(rng)
                      for _ in range(count)})
    return pages


def links_of(recipe, labels, rng):
    classes = range(len(recipe.shares))
    partner = {c: rng.choice([d for d in classes if d != c]) for c in classes}
    activity = [rng.paretovariate(2.5) for _ in labels]
    members = {c: [i for i, label in enumerate(labels) if label == c] for c in classes}
    within = {c: Weighted(activity[i] for i in members[c]) for c in classes}
    everybody = Weighted(activity)
    links = set()
    while len(links) < recipe.nodes * recipe.degree / 2:
        i = everybody.draw(rng)
        kind = rng.random()
        others = [d for d in classes if d != labels[i]]
        if kind < recipe.within:
            c = labels[i]
        else:
            c = partner[labels[i]] if kind < (1 + 2 * recipe.within) / 3 else rng.choice(others)
        j = members[c][within[c].draw(rng)]
        if i != j:
            links.add((min(i, j), max(i, j)))
    return sorted(links)


def npy_head(header):
    header += " " * (-(len(header) + 11) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode()


def npy(form, values, shape):
    """The bytes of a file of numpy.save."""
    header = f"{{'descr': '{form}', 'fortran_order': False, 'shape': {shape}, }}"
    code = {"i4": "i", "f4": "f"}[form[1:]]
    return npy_head(header) + struct.pack(f"<{len(values)}{code}", *values)


def write_words(pages, words, path):
    """As scipy.sparse.save_npz writes a CSR matrix of ones."""
    columns = [word for page in pages for word in sorted(page)]
    starts = [0, *itertools.accumulate(len(page) for page in pages)]
    format_header = "{'descr': '|S3', 'fortran_order': False, 'shape': (), }"
    arrays = {"indices": npy("<i4", columns, f"({len(columns)},)"), "indptr": npy("<i4", starts, f"({len(starts)},)"),
              "shape": npy("<i4", (len(pages), words), "(2,)"),
              "data": npy("<f4", [1.0] * len(columns), f"({len(columns)},)"),
              "format": npy_head(format_header) + b"csr"}
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in arrays.items():
            archive.writestr(zipfile.ZipInfo(f"{name}.npy"), content)


def write_csv(path, header, rows):
    path.write_text("\n".join([header, *(f"{a},{b}" for a, b in rows)]) + "\n")


def write_split(path, name, split, nodes, train, validation):
    order = list(range(nodes))
    random.Random(f"{name} {split}").shuffle(order)
    part = {node: "train" if k < train else "val" if k < train + validation else "test"
            for k, node in enumerate(order)}
    write_csv(path, "node,split", sorted(part.items()))


def make(name, folder, datasets=None):
    """Writes folder/name-split<k> for k = 1 .. SPLITS, and returns these folders. The splits differ, the rest not."""
    places = [pathlib.Path(folder) / f"{name}-split{split}" for split in range(1, SPLITS + 1)]
    fill = keep_labels if name in KEPT else generate
    fill(name, places, datasets)
    return places


def generate(name, places, _):
    recipe, rng = RECIPES[name], random.Random(name)
    labels = labels_of(recipe, rng)
    pages, links = words_of(recipe, labels, rng), links_of(recipe, labels, rng)
    for split, place in enumerate(places, 1):
        place.mkdir(parents=True, exist_ok=True)
        write_csv(place / "edges.csv", "source,target", links)
        write_csv(place / "labels.csv", "node,label", enumerate(labels))
        write_words(pages, recipe.words, place / "features.npz")
        write_split(place / "split.csv", name, split, recipe.nodes, round(TRAIN * recipe.nodes),
                    round(VALIDATION * recipe.nodes))


def keep_labels(name, places, datasets):
    """Links to the files of the data set, beside a split with few labels."""
    kept = KEPT[name]
    if datasets is None:
        raise NoDataSet(f"{name} needs {kept.dataset}: name the folder of the data sets with --datasets or in "
                        "BLINK_DATASETS, or name other graphs with --graph")
    source = pathlib.Path(datasets).resolve() / kept.dataset
    files = [source / file for file in ("edges.csv", "labels.csv", "features.npz")]
    for file in files:
        if not file.exists():
            raise NoDataSet(f"{name} needs {file}, which is not there")
    nodes = len(files[1].read_text().splitlines()) - 1
    for split, place in enumerate(places, 1):
        place.mkdir(parents=True, exist_ok=True)
        for file in files:
            (place / file.name).unlink(missing_ok=True)
            (place / file.name).symlink_to(file)
        write_split(place / "split.csv", name, split, nodes, kept.train, kept.validation)
