// Charts as SVG. Each has a title and a description for those who do not see it, and a table with its numbers.
import {closed, h, number, svg, table} from "/dom.js";

let charts = 0;

// Draws anew whenever the width of its place changes, so that its letters keep their size.
function figure(title, description, legend, draw, tableOf) {
  const place = h("div");
  const id = `chart-${++charts}`;
  const result = h("figure", {}, h("figcaption", {}, title), legend, place, closed(`${title}: the numbers`, tableOf));
  let drawn = 0;
  const redraw = () => {
    const width = Math.max(240, Math.min(720, Math.floor(place.clientWidth || 320)));
    if (width === drawn) return;
    drawn = width;
    const height = Math.round(Math.min(260, width * 0.62));
    const picture =
        svg("svg", {
          viewBox: `0 0 ${width} ${height}`,
          width,
          height,
          role: "img",
          "aria-labelledby": `${id}-title ${id}-description`
        },
            svg("title", {id: `${id}-title`}, title), svg("desc", {id: `${id}-description`}, description));
    draw(picture, width, height);
    place.replaceChildren(picture);
  };
  new ResizeObserver(redraw).observe(place);
  return result;
}

function legend(entries) {
  return h(
      "ul", {class: "legend"},
      entries.map(
          ([name, kind, form]) => h(
              "li", {},
              svg("svg", {width: 28, height: 14, "aria-hidden": "true"},
                  form === "line" ? svg("path", {class: `${kind} line`, d: "M1 7H27"}) :
                                    svg("rect", {class: kind, x: 7, y: 2, width: 14, height: 10, "stroke-width": 1.5})),
              name)));
}

// 0, 20, 40, ..: about five steps from `low` to `high`.
function ticks(low, high) {
  const rough = (high - low) / 5 || 1;
  const ten = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((one) => one * ten).find((one) => one >= rough);
  const found = [];
  for (let at = Math.ceil(low / step) * step; at <= high + step / 1e6; at += step)
    found.push(Number(at.toPrecision(12)));
  return found;
}

// Axes with labels; returns how values become places.
function axes(picture, width, height, x, y, xName) {
  const left = 46, right = width - 10, top = 8, bottom = height - 36;
  const xAt = (value) => left + (right - left) * (value - x[0]) / (x[1] - x[0] || 1);
  const yAt = (value) => bottom - (bottom - top) * (value - y[0]) / (y[1] - y[0] || 1);
  for (const tick of ticks(y[0], y[1])) {
    picture.append(
        svg("line", {class: "grid", x1: left, x2: right, y1: yAt(tick), y2: yAt(tick)}),
        svg("text", {x: left - 6, y: yAt(tick) + 4, "text-anchor": "end"}, number(tick, 3)));
  }
  for (const tick of ticks(x[0], x[1])) {
    picture.append(
        svg("line", {class: "axis", x1: xAt(tick), x2: xAt(tick), y1: bottom, y2: bottom + 4}),
        svg("text", {
          x: Math.min(xAt(tick), right + 8),
          y: bottom + 17,
          "text-anchor": xAt(tick) > right - 14 ? "end" : "middle"
        },
            number(tick, 6)));
  }
  picture.append(
      svg("line", {class: "axis", x1: left, x2: right, y1: bottom, y2: bottom}),
      svg("text", {x: (left + right) / 2, y: height - 4, "text-anchor": "middle"}, xName));
  return {xAt, yAt, bottom};
}

const path = (points) => points.map(([x, y], k) => `${k ? "L" : "M"}${x.toFixed(1)} ${y.toFixed(1)}`).join("");

// series: [{name, kind: "first" | "second", points: [[x, y], ..]}]
export function lineChart(title, description, xName, series, rows) {
  const all = series.flatMap((one) => one.points);
  const range = (k) => [Math.min(...all.map((point) => point[k])), Math.max(...all.map((point) => point[k]))];
  const y = range(1);
  return figure(
      title, description, legend(series.map((one) => [one.name, one.kind, "line"])), (picture, width, height) => {
        const {xAt, yAt} = axes(picture, width, height, range(0), [Math.min(0, y[0]), y[1] || 1], xName);
        for (const one of series) {
          picture.append(
              svg("path", {class: `${one.kind} line`, d: path(one.points.map(([a, b]) => [xAt(a), yAt(b)]))}));
        }
      }, () => table(title, [xName, ...series.map((one) => one.name)], rows));
}

// Two histograms with the same ranges: `filled` as bars, `framed` as frames in front of them. Either may be null.
export function histogram(title, description, degrees) {
  const shares = (one) => one && one.total ? one.counts.map((value) => value / one.total) : null;
  const filled = shares(degrees.estimated), framed = shares(degrees.noisy);
  const from = (k) => degrees.from + k * degrees.width;
  const highest = Math.max(0.01, ...(filled || []), ...(framed || []));
  const names = [[filled, "estimated", "first"], [framed, "reported, with noise", "second"]].filter(([one]) => one);
  return figure(
      title, description, legend(names.map(([, name, kind]) => [name, kind, "bar"])),
      (picture, width, height) => {
        const {xAt, yAt, bottom} =
            axes(picture, width, height, [from(0), from(degrees.bins)], [0, 100 * highest], "degree");
        for (const [values, , kind] of names) {
          values.forEach((share, k) => {
            if (share === 0) return;
            const inset = kind === "first" ? 3 : 1;
            picture.append(svg("rect", {
              class: kind,
              x: xAt(from(k)) + inset,
              y: yAt(100 * share),
              width: Math.max(1, xAt(from(k + 1)) - xAt(from(k)) - 2 * inset),
              height: bottom - yAt(100 * share)
            }));
          });
        }
      },
      () => {
        const row =
            (name,
             pick) => [name, ...["noisy", "estimated"].filter((key) => degrees[key]).map((key) => pick(degrees[key]))];
        const columns = [
          "Degree", ...(degrees.noisy ? ["Nodes, with noise"] : []), ...(degrees.estimated ? ["Nodes, estimated"] : [])
        ];
        return table(title, columns, [
          row(`below ${from(0)}`, (one) => one.below),
          ...Array.from(
              {length: degrees.bins}, (_, k) => row(`${from(k)} to below ${from(k + 1)}`, (one) => one.counts[k])),
          row(`${from(degrees.bins)} or more`, (one) => one.above)
        ]);
      });
}

// bars: [{name, value, low, high, kind}], shares from 0 to 1.
export function bars(title, description, entries) {
  return figure(
      title, description, null,
      (picture, width) => {
        const row = 46;
        picture.setAttribute("viewBox", `0 0 ${width} ${row * entries.length}`);
        picture.setAttribute("height", row * entries.length);
        entries.forEach((entry, k) => {
          const y = k * row, right = width - 64, x = (share) => right * share;
          picture.append(
              svg("text", {x: 0, y: y + 14}, entry.name),
              svg("rect", {class: entry.kind, x: 0, y: y + 20, width: Math.max(1, x(entry.value)), height: 16}),
              svg("text", {x: Math.max(x(entry.value), entry.high ? x(entry.high) : 0) + 8, y: y + 33},
                  `${(100 * entry.value).toFixed(1)} %`));
          if (entry.low !== undefined) {
            picture.append(
                svg("rect",
                    {class: "whisker", x: x(entry.low), width: x(entry.high) - x(entry.low), y: y + 25.5, height: 5}));
          }
        });
      },
      () => table(
          title, ["Figure", "Accuracy"], entries.map((entry) => [entry.name, `${(100 * entry.value).toFixed(2)} %`])));
}
