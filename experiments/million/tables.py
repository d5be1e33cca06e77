"""RESULTS.md, from results.csv."""
import csv
import textwrap

COLUMNS = ("part", "nodes", "epsilon", "measure", "value", "load")
MB, AGGREGATOR_MAX = 1_000_000, 300_000_000


class Figures:
    """The rows of one part."""

    def __init__(self, rows, part):
        self.values = {(int(row["nodes"]), row["epsilon"], row["measure"]): row["value"]
                       for row in rows if row["part"] == part}
        self.loads = [float(row["load"]) for row in rows if row["part"] == part]

    def __bool__(self):
        return bool(self.values)

    def nodes(self):
        return sorted({nodes for nodes, _, _ in self.values})

    def epsilons(self, nodes):
        return sorted({epsilon for n, epsilon, _ in self.values if n == nodes and epsilon}, key=float)

    def text(self, nodes, measure, epsilon=""):
        return self.values.get((nodes, epsilon, measure))

    def number(self, nodes, measure, epsilon=""):
        return float(self.values[nodes, epsilon, measure])

    def load(self):
        return f"{min(self.loads):.1f}–{max(self.loads):.1f}"


def paragraph(text):
    return textwrap.fill(" ".join(text.split()), 100, break_long_words=False, break_on_hyphens=False) + "\n"


def table_rows(figures):
    yield paragraph("""`blink simulate` from drawn reports to a GCN on Hard links, 10 epochs. *Peak* is the memory of
        the process by the kernel's count, *predicted* is what it had announced. *Disk* is what it had written at the
        most: its reports, with `--save-reports`.""")
    yield ("| n | ε | draw, s | checks, s | estimate, s | epoch, s | all, s | peak, MB | predicted, MB | disk, MB | "
           "bytes a report |\n|---|---|---|---|---|---|---|---|---|---|---|")
    refused = []
    for nodes in figures.nodes():
        for epsilon in figures.epsilons(nodes):
            if figures.text(nodes, "refused", epsilon):
                refused.append((nodes, epsilon, figures.text(nodes, "refused", epsilon)))
                yield f"| {nodes:,} | {epsilon} | refused | | | | | | | | |"
                continue

            def number(measure, nodes=nodes, epsilon=epsilon):
                return figures.number(nodes, measure, epsilon)

            yield (f"| {nodes:,} | {epsilon} | {number('draw_seconds'):.2f} | {number('checks_seconds'):.2f} | "
                   f"{number('estimate_seconds'):.2f} | {number('epochs_seconds') / 10:.3f} | "
                   f"{number('all_seconds'):.1f} | {number('peak_bytes') / MB:,.0f} | "
                   f"{number('predicted_bytes') / MB:,.0f} | {number('disk_bytes') / MB:,.0f} | "
                   f"{number('report_bytes'):,.0f} |")
    yield ""
    if refused:
        yield "What is refused, before anything is drawn:\n"
        for nodes, epsilon, words in refused:
            yield textwrap.fill(f"- n = {nodes:,}, ε = {epsilon}: \"{words}\"", 100, subsequent_indent="  ",
                                break_long_words=False, break_on_hyphens=False)
        yield ""


def generator_rows(figures):
    yield "| n | model | seconds | peak, MB |\n|---|---|---|---|"
    for nodes in figures.nodes():
        yield (f"| {nodes:,} | {figures.text(nodes, 'model')} | {figures.number(nodes, 'generate_seconds'):.1f} | "
               f"{figures.number(nodes, 'generate_peak_bytes') / MB:,.0f} |")
    yield ""


def service_rows(figures):
    yield paragraph("""Gateways host all nodes, draw at ε = 8, and send over mTLS into the store. Memory is VmHWM: of
        the aggregator when it had started, when all reports had arrived, and at the end. *First report* is the time
        from the start of the gateways, whose loading and drawing is padded (`node_client/pacing.h`).""")
    yield ("| n | gateways | first report, s | sending, s | all, s | aggregator: start, MB | reports in, MB | end, MB "
           "| ≤ 300 MB | a gateway, MB | store, MB | `reports.blr`, MB | journals, MB |\n"
           "|---|---|---|---|---|---|---|---|---|---|---|---|---|")
    for nodes in figures.nodes():
        def number(measure, nodes=nodes):
            return figures.number(nodes, measure)

        end = number("aggregator_end_peak_bytes")
        yield (f"| {nodes:,} | {number('kits'):.0f} | {number('first_report_seconds'):.0f} | "
               f"{number('sending_seconds'):.0f} | {number('all_seconds'):.0f} | "
               f"{number('aggregator_start_peak_bytes') / MB:.0f} | "
               f"{number('aggregator_received_peak_bytes') / MB:.0f} | {end / MB:.0f} | "
               f"{'reached' if end <= AGGREGATOR_MAX else '**missed**'} | {number('gateway_peak_bytes') / MB:.0f} | "
               f"{number('store_bytes') / MB:,.0f} | {number('round_bytes') / MB:,.0f} | "
               f"{number('journals_bytes') / MB:,.0f} |")
    yield ""


def crash_rows(figures):
    yield paragraph("""Aggregator and gateways are killed with SIGKILL while reports arrive. The journals of the
        gateways have the receipts. The aggregator starts alone, and must hold as many reports. Then the gateways start
        again, and the round is sealed with a report of every node.""")
    yield "| n | receipts at the kill | held afterwards | sealed with |\n|---|---|---|---|"
    for nodes in figures.nodes():
        counts = (figures.number(nodes, measure) for measure in ("killed_at", "held_after", "sealed_with"))
        yield f"| {nodes:,} | " + " | ".join(f"{count:,.0f}" for count in counts) + " |"
    yield ""


SECTIONS = (("table", "The table", table_rows), ("table", "The generator", generator_rows),
            ("service", "The service", service_rows), ("crash", "A crash in the middle", crash_rows))


def write(folder):
    path = folder / "results.csv"
    with open(path, newline="") as file:
        rows = list(csv.DictReader(file))
    page = ["# A million nodes on one machine\n",
            paragraph("""For people who plan for large graphs. Written by `experiments/million/run`; `results.csv` has
            every figure with the load average beside it. Generated graphs of mean degree 10, with 128 binary features
            of which a node has 10, and 7 classes. Two cores that other work shared: compare counts and memory, and
            take seconds for what this machine gave in that hour.""")]
    for part, title, rows_of in SECTIONS:
        figures = Figures(rows, part)
        if figures:
            page += [f"## {title}\n", *rows_of(figures), f"Load: {figures.load()}.\n"]
    (folder / "RESULTS.md").write_text("\n".join(page).rstrip("\n") + "\n")
