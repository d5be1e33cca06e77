// Makes elements and texts. Data becomes text nodes and attributes, never markup.

// h("p", {class: "muted"}, "text", otherElement, null)
export function h(name, attributes, ...children) { return fill(document.createElement(name), attributes, children); }

export function svg(name, attributes, ...children) {
  return fill(document.createElementNS("http://www.w3.org/2000/svg", name), attributes, children);
}

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value !== null && value !== undefined && value !== false)
      element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return element;
}

// Changes a text only if it is another one, so that nothing is read out or laid out for nothing.
export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

export const number = (value, digits = 4) => value === null || value === undefined ?
    "not known" :
    Number(value).toLocaleString("en", {maximumSignificantDigits: digits});
export const count = (value) => value === null || value === undefined ?
    "not known" :
    Number(value).toLocaleString("en", {maximumFractionDigits: 0});
export const percent = (value) => value === null || value === undefined ? "not known" : `${(100 * value).toFixed(1)} %`;

export function duration(seconds) {
  if (seconds === null || seconds === undefined) return "not known";
  if (seconds < 0.001) return "under 1 ms";
  if (seconds < 1) return `${(1000 * seconds).toFixed(0)} ms`;
  if (seconds < 90) return `${seconds.toFixed(1)} s`;
  if (seconds < 5400) return `${(seconds / 60).toFixed(1)} minutes`;
  if (seconds < 172800) return `${(seconds / 3600).toFixed(1)} hours`;
  return `${(seconds / 86400).toFixed(0)} days`;
}

export const time = (ms) => new Date(ms).toISOString().slice(0, 16).replace("T", " ");

export function bytes(value) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let unit = 0;
  for (; value >= 1024 && unit < units.length - 1; ++unit) value /= 1024;
  return `${value.toFixed(value < 10 && unit > 0 ? 1 : 0)} ${units[unit]}`;
}

// A list of facts: [["Reports", "5 of 60"], ..]
export function facts(pairs) {
  return h("dl", {class: "facts"}, pairs.map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value))));
}

// Columns whose name is in `numbers` are set flush right. A wide table scrolls by itself, also with the keyboard.
export function table(caption, columns, rows, numbers = columns.slice(1)) {
  const cell = (name, column, value) => h(name, {class: numbers.includes(column) ? "number" : null}, value);
  return h(
      "div", {class: "scroll", tabindex: "0", role: "region", "aria-label": caption},
      h("table", {}, h("caption", {}, caption), h("thead", {}, h("tr", {}, columns.map((column) => {
                                                    const head = cell("th", column, column);
                                                    head.setAttribute("scope", "col");
                                                    return head;
                                                  }))),
        h("tbody", {}, rows.map((row) => h("tr", {}, row.map((value, k) => cell("td", columns[k], String(value))))))));
}

// What is in it is made when somebody opens it.
export function closed(summary, make) {
  const details = h("details", {}, h("summary", {}, summary));
  details.addEventListener("toggle", () => {
    if (details.open && details.children.length === 1) details.append(make());
  });
  return details;
}

export const note = (text, kind = "") => h("p", {class: `note ${kind}`}, text);
