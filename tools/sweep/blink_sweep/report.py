"""`blink report`: figures, tables and a page from the lines of a sweep."""
import collections
import os
import pathlib

from blink_sweep import ending, lines, page, series
from blink_sweep.arguments import Parser
from blink_sweep.ending import NO_RESOURCES, Refusal
from blink_sweep.progress import minutes

ABOUT = """Draws the figures that the finished trials of `blink sweep` have something for, each as SVG (for print) and
PNG, with points.csv, trials.csv and index.html, one page that opens without a network. The sweep may still run.
"""
MORE = """Examples:
  blink report trials.jsonl --output figures
  blink report cora.jsonl citeseer.jsonl --output figures --title "Two citation graphs"

"""
NEEDS_MATPLOTLIB = ("drawing needs matplotlib: run scripts/install-deps --plots in the source tree, or install it for "
                    "this Python (Debian: python3-matplotlib; elsewhere: pip install matplotlib); --tables-only needs "
                    "none")


def parser_of():
    parser = Parser(prog="blink report", description=ABOUT, epilog=MORE + ending.EXIT_CODES)
    parser.add_argument("files", nargs="+", metavar="FILE", help="lines of finished trials")
    parser.add_argument("--output", required=True, type=pathlib.Path, metavar="FOLDER",
                        help="folder of the figures; files of an earlier report in it are replaced")
    parser.add_argument("--title", default="Link-private graph learning", help="of the page (%(default)s)")
    parser.add_argument("--tables-only", action="store_true", help="points.csv and trials.csv, without matplotlib")
    return parser


def notes_of(rows):
    """Sentences about where the figures come from."""
    facts = {row["trial"]["dataset"]: row["dataset"] for row in rows}
    builds = collections.Counter((row["program"].get("version"), row["program"].get("commit"),
                                  row["program"].get("sha256")) for row in rows)
    notes = [f"{name}: {found['nodes']:,} nodes, {found['links']:,} links, {found['isolated']:,} nodes without a link."
             for name, found in sorted(facts.items())]
    notes.append(f"{len(rows):,} trials, {minutes(sum(row['seconds'] for row in rows))} of work.")
    notes += [f"blink {version or '?'} ({(commit or 'unknown commit')[:12]}) made {count:,} of them."
              for (version, commit, _), count in builds.items()]
    if len(builds) > 1:
        notes.append("Several builds of blink made these trials: compare them with care.")
    options = collections.Counter(page.options_text(row["trial"]) for row in rows)
    notes += [f"{'All' if count == len(rows) else f'{count:,}'} trials ran with {text}."
              for text, count in sorted(options.items()) if text]
    few = min(collections.Counter((row["trial"]["dataset"], str(sorted(
        (name, str(value)) for name, value in row["trial"].items() if name not in ("trial", "seed")))) for row in
        rows).values())
    if few < 3:
        notes.append(f"Some points are means of {few} trial{'s' * (few > 1)}: a standard deviation of so few says "
                     "little.")
    notes.append("Bands are sample standard deviations over trials: noise, initial weights and dropout. All trials of "
                 "a data set share one split.")
    return notes


def write(path, data):
    """The whole file or none."""
    temporary = path.with_name(path.name + ".part")
    try:
        with open(temporary, "wb") as file:
            file.write(data if isinstance(data, bytes) else data.encode())
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError as problem:
        temporary.unlink(missing_ok=True)
        raise Refusal(f"{path} could not be written: {problem.strerror}", NO_RESOURCES) from None


def tell_apart(rows):
    """Data sets of one name and another content get a part of their digest into their name: figures would take them for
    one."""
    digests = collections.defaultdict(set)
    for row in rows:
        digests[row["trial"]["dataset"]].add(row["trial"]["dataset_sha256"])
    for row in rows:
        trial = row["trial"]
        if len(digests[trial["dataset"]]) > 1:
            row["trial"] = {**trial, "dataset": f"{trial['dataset']} {trial['dataset_sha256'][:8]}"}


def import_draw():
    try:
        from blink_sweep import draw
    except ImportError:
        raise Refusal(NEEDS_MATPLOTLIB) from None
    return draw


def main(argv):
    options = parser_of().parse_args(argv)
    rows = list(lines.newest([row for path in options.files for row in lines.read(path)]).values())
    if not rows:
        raise Refusal(f"no finished trials in {', '.join(options.files)}: nothing written")
    tell_apart(rows)
    draw = None if options.tables_only else import_draw()
    figures = series.Figures(rows).all()
    try:
        options.output.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise Refusal(f"cannot make the folder {options.output}: {problem.strerror}") from None
    write(options.output / "points.csv", page.points_csv(figures))
    write(options.output / "trials.csv", page.trials_csv(rows))
    written = ["points.csv", "trials.csv"]
    if draw is not None:
        pictures = {}
        for figure in figures:
            styles = draw.Styles(figure)
            for kind, data in zip(("svg", "png"), draw.draw_figure(figure, styles)):
                write(options.output / f"{figure.name}.{kind}", data)
                written.append(f"{figure.name}.{kind}")
            pictures[figure.name] = [draw.draw_panel(panel, styles) for panel in figure.panels]
        write(options.output / "index.html", page.page(options.title, notes_of(rows), figures, pictures))
        written.append("index.html")
    print(f"{options.output}: {', '.join(written)}")
    return ending.OK
