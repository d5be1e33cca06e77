"""The tables and the page of a report. The page is one file that needs no network."""
import base64
import csv
import html
import io

POINT_COLUMNS = ("figure", "panel", "curve", "x", "mean", "deviation", "trials")

PAGE_STYLE = """
:root { color-scheme: light; }
body { font: 16px/1.5 system-ui, sans-serif; margin: 0 auto; max-width: 72rem; padding: 1rem; color: #111;
       background: #fff; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.2rem; margin-top: 2.5rem; }
p { max-width: 44rem; }
.panels { display: grid; gap: 1rem; grid-template-columns: repeat(auto-fill, minmax(min(100%, 21rem), 1fr)); }
.panels img { width: 100%; height: auto; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-size: 0.85rem; }
th, td { padding: 0.15rem 0.6rem; text-align: right; border-bottom: 1px solid #ddd; white-space: nowrap; }
th:first-child, td:first-child { text-align: left; position: sticky; left: 0; background: #fff; }
summary { cursor: pointer; padding: 0.5rem 0; }
nav a { display: inline-block; margin-right: 1rem; }
@media print { details, nav { display: none; } .panels { grid-template-columns: 1fr 1fr; } }
"""


def points_csv(figures):
    """Every point of every figure."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(POINT_COLUMNS)
    for figure in figures:
        for panel in figure.panels:
            for curve in panel.curves:
                for point in curve.points:
                    writer.writerow((figure.name, panel.title, curve.label, f"{point.x:.10g}", f"{point.mean:.10g}",
                                     "" if point.deviation is None else f"{point.deviation:.10g}", point.trials))
            for label, point in panel.lines.items():
                writer.writerow((figure.name, panel.title, label, "", f"{point.mean:.10g}",
                                 "" if point.deviation is None else f"{point.deviation:.10g}", point.trials))
    return out.getvalue()


def options_text(trial):
    """The further flags of `blink simulate` that a trial ran with."""
    return " ".join(f"--{name}={value}" if value else f"--{name}" for name, value in sorted(trial["options"].items()))


def trials_csv(lines):
    """Every trial, flat."""
    rows = [{**{name: value for name, value in line["trial"].items() if name != "options"},
             "options": options_text(line["trial"]),
             **line["dataset"], **line["figures"], "seconds": line["seconds"], "finished": line["finished"]}
            for line in lines]
    columns = list(dict.fromkeys(name for row in rows for name in row))
    out = io.StringIO()
    writer = csv.DictWriter(out, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows({name: "" if value is None else value for name, value in row.items()} for row in rows)
    return out.getvalue()


def _number(point, panel):
    scale, digits = (100, ".1f") if panel.percent else (1, ".3g")
    text = f"{scale * point.mean:{digits}}"
    return text if point.deviation is None else f"{text} ± {scale * point.deviation:{digits}}"


def _table(panel):
    """Curves by x."""
    at = sorted({point.x for curve in panel.curves for point in curve.points})
    if len(at) > 12:  # each curve has an x of its own: list them
        head = f"<tr><th>curve</th><th>{html.escape(panel.x_label)}</th><th>{html.escape(panel.y_label)}</th></tr>"
        body = "".join(f"<tr><td>{html.escape(curve.label)}</td><td>{point.x:.4g}</td><td>{_number(point, panel)}</td>"
                       "</tr>" for curve in panel.curves for point in curve.points)
    else:
        head = "<tr><th>" + html.escape(panel.x_label) + "</th>" + "".join(f"<th>{x:.4g}</th>" for x in at) + "</tr>"
        body = ""
        for curve in panel.curves:
            by_x = {point.x: _number(point, panel) for point in curve.points}
            cells = "".join(f"<td>{by_x.get(x, '')}</td>" for x in at)
            body += f"<tr><td>{html.escape(curve.label)}</td>{cells}</tr>"
    for label, point in panel.lines.items():
        body += f"<tr><td>{html.escape(label)}</td><td>{_number(point, panel)}</td></tr>"
    return f"<h3>{html.escape(panel.title)}</h3><div class=scroll><table>{head}{body}</table></div>"


def _image(svg, panel, figure):
    data = base64.b64encode(svg).decode()
    text = html.escape(f"{figure.title}: {panel.title}. {panel.y_label} by {panel.x_label}; the table below has the "
                       "numbers.", quote=True)
    return f'<img src="data:image/svg+xml;base64,{data}" alt="{text}">'


def page(title, notes, figures, pictures):
    """`notes`: sentences about where the figures come from. `pictures`: the SVG of each panel, by figure name."""
    parts = ['<!DOCTYPE html>', '<html lang="en"><head><meta charset="utf-8">',
             '<meta name="viewport" content="width=device-width, initial-scale=1">',
             f"<title>{html.escape(title)}</title><style>{PAGE_STYLE}</style></head><body>",
             f"<h1>{html.escape(title)}</h1>", "<ul>",
             *(f"<li>{html.escape(note)}</li>" for note in notes), "</ul>", "<nav>",
             *(f'<a href="#{figure.name}">{html.escape(figure.title)}</a>' for figure in figures), "</nav>"]
    for figure in figures:
        parts += [f'<section id="{figure.name}"><h2>{html.escape(figure.title)}</h2>',
                  f"<p>{html.escape(figure.about)}</p>", '<div class="panels">',
                  *(_image(svg, panel, figure) for svg, panel in zip(pictures[figure.name], figure.panels)), "</div>",
                  "<details><summary>Numbers</summary>", *(_table(panel) for panel in figure.panels),
                  "</details></section>"]
    return "\n".join(parts + ["</body></html>", ""])
