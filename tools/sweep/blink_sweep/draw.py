"""Draws figures with matplotlib. A figure becomes one picture for print, and one small picture a panel for a page that
must be read on a phone."""
import io

import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot, ticker  # noqa: E402

from blink_sweep import plan, series  # noqa: E402
from blink_sweep.series import BOUND, FEATURES_ONLY, TRUE_LINKS  # noqa: E402

# Okabe and Ito's colours, which people with any colour vision tell apart; the marks say the same without colour.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#7F7F7F")
MARKS = ("o", "s", "^", "D", "v", "P", "X", "*", "<", ">")
LINES = ("-", (0, (5, 1.5)), (0, (1, 1)), (0, (5, 1, 1, 1)))
LINE_STYLES = {FEATURES_ONLY: ("--", "#666666"), TRUE_LINKS: (":", "#000000"), "MLP": ("-.", "#999999")}

PAGE_WIDTH, PANEL = 7.0, (3.5, 2.5)  # inches; a page of A4 between margins, and a panel alone
STYLE = {"font.size": 8, "axes.titlesize": 8, "axes.labelsize": 8, "legend.fontsize": 7, "xtick.labelsize": 7,
         "ytick.labelsize": 7, "axes.spines.top": False, "axes.spines.right": False, "axes.grid": True,
         "grid.color": "#E5E5E5", "grid.linewidth": 0.6, "lines.linewidth": 1.3, "lines.markersize": 4,
         "legend.frameon": False, "svg.hashsalt": "blink", "figure.dpi": 200, "axes.axisbelow": True}


class Styles:
    """How the curves of one figure look. A mechanism has the same colour in every figure where there are several, and
    its variants differ by their lines and marks."""

    def __init__(self, figure):
        labels = sorted({curve.label for panel in figure.panels for curve in panel.curves} - {BOUND},
                        key=series.order_of)
        families = dict.fromkeys(label.split()[0] for label in labels)
        self.order = labels
        self.styles = {BOUND: {"color": "#000000", "linestyle": "--", "marker": ""}}
        of_family = dict.fromkeys(families, 0)
        for index, label in enumerate(labels):
            family = label.split()[0]
            colour, line = index % len(COLOURS), index // len(COLOURS)
            if len(families) > 1 and family in plan.PRIVATE:
                colour, line = plan.PRIVATE.index(family), of_family[family]
            of_family[family] += 1
            self.styles[label] = {"color": COLOURS[colour], "marker": MARKS[(colour + line) % len(MARKS)],
                                  "linestyle": LINES[line % len(LINES)]}

    def of(self, label):
        return self.styles[label]

    def place(self, label):
        """In a legend: the curves, the bound, then lines that have no style."""
        return (2, 0) if label not in self.styles else (1, 0) if label == BOUND else (0, self.order.index(label))


def _draw(axes, panel, styles):
    scale = 100 if panel.percent else 1
    for curve in panel.curves:
        style = styles.of(curve.label)
        x = [point.x for point in curve.points]
        y = [scale * point.mean for point in curve.points]
        axes.plot(x, y, label=curve.label, **style)
        low = [scale * (point.mean - (point.deviation or 0)) for point in curve.points]
        high = [scale * (point.mean + (point.deviation or 0)) for point in curve.points]
        if panel.y_log:
            low = [max(value, least / 10) for value, least in zip(low, y)]
        if any(point.deviation for point in curve.points):
            axes.fill_between(x, low, high, color=style["color"], alpha=0.15, linewidth=0)
    for label, point in panel.lines.items():
        style, colour = LINE_STYLES.get(label, ("--", "#666666"))
        axes.axhline(scale * point.mean, linestyle=style, color=colour, linewidth=1, label=label)
    axes.set_title(panel.title)
    axes.set_xlabel(panel.x_label)
    axes.set_ylabel(panel.y_label)
    if panel.x_log:
        axes.set_xscale("log")
        _set_plain_numbers(axes.xaxis)
    elif all(float(point.x).is_integer() for curve in panel.curves for point in curve.points):
        axes.xaxis.set_major_locator(ticker.MaxNLocator(8, integer=True))
    if panel.y_log and _spans_decades(panel):
        axes.set_yscale("log")
        _set_plain_numbers(axes.yaxis)


def _set_plain_numbers(axis):
    """Numbers as they are written, and not powers of ten, on a logarithmic axis."""
    low, high = axis.get_view_interval()
    axis.set_major_locator(ticker.LogLocator(base=10, subs=(1, 2, 5) if high < 200 * low else (1,)))
    axis.set_major_formatter(ticker.FuncFormatter(
        lambda value, _: f"{value:.6f}".rstrip("0").rstrip(".") if value >= 1e-6 else f"{value:g}"))
    axis.set_minor_formatter(ticker.NullFormatter())


def _spans_decades(panel):
    """Whether a logarithmic axis shows more than a linear one would."""
    values = [point.mean for curve in panel.curves for point in curve.points]
    return min(values) > 0 and max(values) > 5 * min(values)


def _legend_entries(axes_list, styles):
    """Handles and labels of all axes: the curves in the order of their styles, then the lines."""
    found = {}
    for axes in axes_list:
        for handle, label in zip(*axes.get_legend_handles_labels()):
            found.setdefault(label, handle)
    labels = sorted(found, key=styles.place)
    return [found[label] for label in labels], labels


def _columns(labels, width):
    """As many columns as the longest label lets fit into so many inches."""
    return max(1, int(width / (0.45 + 0.056 * max(map(len, labels)))))


def _add_legend(figure, axes_list, styles, width):
    handles, labels = _legend_entries(axes_list, styles)
    figure.legend(handles, labels, loc="outside lower center", ncols=min(len(labels), _columns(labels, width)),
                  handlelength=2.4, columnspacing=1.2)
    return -(-len(labels) // min(len(labels), _columns(labels, width)))


def _saved(figure, kind):
    out = io.BytesIO()
    figure.savefig(out, format=kind, metadata={"Date": None, "Creator": None} if kind == "svg" else {"Software": None})
    return out.getvalue()


def draw_panel(panel, styles):
    """The SVG of a panel alone, with its legend below it. `styles`: of its figure."""
    with pyplot.rc_context(STYLE):
        labels = [curve.label for curve in panel.curves] + list(panel.lines)
        rows = -(-len(labels) // _columns(labels, PANEL[0]))
        figure, axes = pyplot.subplots(figsize=(PANEL[0], PANEL[1] + 0.16 * rows), layout="constrained")
        _draw(axes, panel, styles)
        _add_legend(figure, [axes], styles, PANEL[0])
        try:
            return _saved(figure, "svg")
        finally:
            pyplot.close(figure)


def _grid(panels):
    """The panels row by row, None for an empty place, and the number of columns: a row for each data set, where its
    panels fit into one."""
    of_dataset = {}
    for panel in panels:
        of_dataset.setdefault(panel.title.split(",")[0], []).append(panel)
    widest = max(map(len, of_dataset.values()))
    columns = min(3, len(panels)) if widest == 1 or widest > 3 else widest
    grid = list(panels)
    if 1 < widest <= 3:
        grid = [panel for row in of_dataset.values() for panel in row + [None] * (columns - len(row))]
    return grid + [None] * (-len(grid) % columns), columns


def draw_figure(drawn, styles):
    """(SVG, PNG) of all panels of a figure, as wide as a page."""
    grid, columns = _grid(drawn.panels)
    rows = len(grid) // columns
    width = PAGE_WIDTH if columns > 1 else 4.5
    with pyplot.rc_context(STYLE):
        figure, axes = pyplot.subplots(rows, columns, squeeze=False, layout="constrained",
                                       figsize=(width, 2.1 * rows + 0.6))
        figure.get_layout_engine().set(w_pad=0.08)
        used = []
        for place, panel in zip(axes.flat, grid):
            if panel is None:
                place.set_visible(False)
                continue
            _draw(place, panel, styles)
            used.append(place)
        lines = _add_legend(figure, used, styles, width)
        figure.set_size_inches(width, 2.1 * rows + 0.17 * lines + 0.1)
        try:
            return _saved(figure, "svg"), _saved(figure, "png")
        finally:
            pyplot.close(figure)
