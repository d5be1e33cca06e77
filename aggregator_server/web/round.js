// One round: its live progress, what it costs, and what it came to.
import {bars, histogram, lineChart} from "/charts.js";
import {closed, count, duration, facts, h, note, number, percent, setText, table, time} from "/dom.js";

const STEPS = [
  ["open", "Collecting reports"], ["sealed", "Sealed"], ["estimating", "Estimating links"], ["training", "Training"],
  ["ready", "Ready"]
];

export const stateName = (state) =>
    ({failed: "Failed", cancelled: "Cancelled"}[state] || (STEPS.find(([name]) => name === state) || ["", state])[1]);

// What changes while one looks. Elements stay, texts change.
export class Live {
  constructor() {
    this.steps =
        h("ol", {class: "steps", "aria-label": "Steps of a round"}, STEPS.map(([, text]) => h("li", {}, text)));
    this.bar = h("progress", {max: "1", "aria-label": "Progress of this step"});
    this.text = h("p", {});
    this.end = h("div");
    this.values = {};
    const fact = (key, name) => h("div", {}, h("dt", {}, name), (this.values[key] = h("dd", {}, "")));
    this.element =
        h("div", {}, this.steps, this.bar, this.text, this.end,
          h("dl", {class: "facts"}, fact("reports", "Reports"), fact("missing", "Missing nodes"),
            fact("quorum", "Needed at the seal"), fact("flagged", "Implausible by themselves"),
            fact("deadline", "Sealed at the latest"), fact("attempts", "Starts of the worker")));
  }

  update(round) {
    const at = STEPS.findIndex(([name]) => name === round.state);
    [...this.steps.children].forEach((step, k) => {
      step.className = k < at ? "done" : "";
      k === at ? step.setAttribute("aria-current", "step") : step.removeAttribute("aria-current");
    });
    this.bar.hidden = round.is_over;
    this.bar.value = Math.min(1, round.progress);
    setText(
        this.text,
        round.is_over ? `This round is over: ${stateName(round.state).toLowerCase()}.` : round.progress_text);
    if (round.state === "failed" && !this.end.firstChild) {
      this.end.append(note(
          `It failed: ${round.failure_reason}. What it has of reports can be analysed again: blink round retry.`,
          "bad"));
    } else if (round.state !== "failed") {
      this.end.replaceChildren();
    }
    const values = this.values;
    setText(values.reports, `${count(round.reports)} of ${count(round.nodes)}`);
    setText(values.missing, count(round.missing));
    setText(values.quorum, count(round.quorum));
    setText(values.flagged, count(round.flagged));
    setText(values.deadline, time(round.deadline_ms));
    setText(values.attempts, count(round.attempts));
  }
}

const section = (title, ...content) => h("div", {class: "part"}, h("h3", {}, title), ...content);

export function missingPart(missing) {
  const ranges =
      missing.ranges.map(([first, last]) => [first === last ? first : `${first} to ${last}`, last - first + 1]);
  return [
    h("p", {},
      missing.missing === 0 ? "Every node that takes part has reported." :
                              `${count(missing.missing)} of ${count(missing.nodes)} nodes have not reported.`),
    ranges.length ?
        closed(
            "Which nodes are missing",
            () =>
                h("div", {}, missing.complete ? null : note("There are more: blink round missing lists all.", "warn"),
                  table("Nodes without a report", ["Nodes", "How many"], ranges))) :
        null
  ];
}

export function privacyPart(round) {
  const words = round.privacy;
  if (!words)
    return section("What this round costs", note("The parameters of this round are not known to this version.", "bad"));
  return section(
      "What this round costs in privacy",
      h("p", {},
        `The budget of one report is epsilon = ${number(words.epsilon)}, by the mechanism ${words.mechanism}. ` +
            "It limits what a report tells about one entry of one list, whatever the aggregator does with it. " +
            "Smaller is more private."),
      h("div", {class: "costs"},
        words.costs.map(
            (cost) =>
                h("div", {class: "cost"}, h("h4", {}, cost.what),
                  h("strong", {}, cost.epsilon === null ? "no fixed cost" : `epsilon ${number(cost.epsilon)}`),
                  h("p", {}, cost.words)))),
      h("ul", {}, words.noise.map((line) => h("li", {}, line))), h("p", {}, words.result),
      h("h4", {}, "What is not protected"), h("ul", {}, words.not_protected.map((line) => h("li", {}, line))));
}

export function accuracyPart(round) {
  const title = "Accuracy beside the features alone";
  const accuracy = round.result && round.result.accuracy;
  if (!accuracy) return section(title, h("p", {}, "This round trained no model, so there is no accuracy."));
  const model = accuracy.chosen || [accuracy.model, accuracy.prior, accuracy.variant].filter(Boolean).join(" ");
  const entries = [{name: "This model, validation nodes", value: accuracy.validation, kind: "first"}];
  if (accuracy.features_only) {
    entries.push({
      name: "Features alone, validation nodes",
      value: accuracy.features_only.validation,
      kind: "other"
    });
  }
  const [low, high] = Array.isArray(accuracy.test_95) ? accuracy.test_95 : [];
  entries.push({
    name: "This model, test nodes",
    value: accuracy.test,
    kind: "first",
    ...(typeof low === "number" ? {low, high} : {})
  });
  const known = entries.filter((entry) => typeof entry.value === "number");
  const spoken = known.map((entry) => `${entry.name}: ${percent(entry.value)}`).join(". ");
  const alone = accuracy.features_only ? ` The best of the features alone: ${accuracy.features_only.name}.` : "";
  return section(
      title, h("p", {}, `This model: ${model}.${alone}`),
      known.length ? bars("Share of nodes whose class is predicted rightly", `${spoken}.`, known) :
                     note("No split has a labelled node."),
      typeof low === "number" ?
          h("p", {class: "muted"},
            `The frame on the bar of the test nodes is the 95 % interval, ${percent(low)} to ${percent(high)}.`) :
          null,
      note(accuracy.advice || ""),
      round.result.candidates.length ?
          closed(
              "What the search tried",
              () => table(
                  "Candidates of the search", ["Candidate", "Validation accuracy", "Validation loss"],
                  round.result.candidates.map(
                      (one) =>
                          [one.name, one.skipped ? `skipped: ${one.skipped}` : percent(one.validation_accuracy),
                           number(one.validation_loss)]))) :
                                                   null,
      (round.result.warnings || []).map((text) => note(text, "warn")));
}

export function curvesPart(curves) {
  if (!curves.points.length) return [h("p", {}, "This model has no epochs.")];
  const points = (k) => curves.points.filter((point) => point[k] !== null).map((point) => [point[0], point[k]]);
  const last = curves.points[curves.points.length - 1];
  const some =
      curves.points.filter((_, k) => k % Math.ceil(curves.points.length / 50) === 0 || k === curves.points.length - 1);
  return [
    lineChart(
        "Loss by epoch",
        `After ${last[0]} epochs the training loss is ${number(last[1])}, the validation loss ${number(last[2])}.`,
        "epoch",
        [{name: "training", kind: "first", points: points(1)}, {name: "validation", kind: "second", points: points(2)}],
        some.map((point) => [point[0], number(point[1]), number(point[2])])),
    lineChart(
        "Validation accuracy by epoch", `After ${last[0]} epochs it is ${percent(last[3])}.`, "epoch",
        [{name: "validation, %", kind: "second", points: points(3).map(([x, y]) => [x, 100 * y])}],
        some.map((point) => [point[0], percent(point[3])]))
  ];
}

export function confusionPart({confusion, classes}) {
  const name = (k) => classes[k] && classes[k].name !== null ? String(classes[k].name) : `class ${k}`;
  const heat = (value, row) => {
    const share = value / Math.max(1, row.reduce((sum, one) => sum + one, 0));
    return share === 0 ? "" : `heat-${Math.min(4, Math.floor(share * 4) + 1)}`;
  };
  const matrix = h(
      "table", {class: "matrix"},
      h("caption", {}, "Rows: the label. Columns: the prediction. Framed: predicted rightly."),
      h("thead", {},
        h("tr", {}, h("th", {scope: "col"}, "label"), confusion.map((_, k) => h("th", {scope: "col"}, name(k))))),
      h("tbody", {},
        confusion.map(
            (row, k) => h(
                "tr", {}, h("th", {scope: "row"}, name(k)),
                row.map(
                    (value, j) => h("td", {class: `${heat(value, row)} ${j === k ? "right" : ""}`}, count(value)))))));
  return [
    h("div", {class: "scroll", tabindex: "0", role: "region", "aria-label": "Confusion matrix of the test nodes"},
      matrix),
    closed(
        "Figures of each class",
        () => table(
            "Test nodes by class", ["Class", "Nodes", "Predicted", "Accuracy", "Precision", "F1"],
            classes.map(
                (one, k) =>
                    [name(k), count(one.nodes), count(one.predicted), percent(one.accuracy), percent(one.precision),
                     percent(one.f1)])))
  ];
}

export function degreesPart(degrees) {
  const of = (one, what) => one ?
      `${count(one.total)} ${what}; ${count(one.below)} lie below and ${count(one.above)} above what is drawn.` :
      "";
  return [
    histogram(
        "Share of nodes by degree, in %",
        [of(degrees.noisy, "reported degrees"), of(degrees.estimated, "estimated degrees")].join(" "), degrees),
    h("p", {class: "muted"},
      [of(degrees.noisy, "reported degrees"), of(degrees.estimated, "estimated degrees")].join(" ")),
    degrees.doubled ?
        note("In a round by one end a node counts only the links that it reports. They are shown doubled.") :
        null,
    degrees.noisy ? null : note("No degree is reported in this round: its degree share is 0."),
    degrees.estimated ? null : note("The estimate is there when the round is ready.")
  ];
}

export function plausibilityPart(checks) {
  const z = (value) => number(value, 3);
  return [
    facts([
      ["Tested reports", count(checks.tested)], ["Flagged", count(checks.flagged)], ["Dropped", count(checks.dropped)],
      ["False alarm in a round", checks.false_alarm === null ? "not known" : `at most ${percent(checks.false_alarm)}`]
    ]),
    h("p", {},
      checks.flagged > 0 ?
          "A flagged report is one that an honest node can hardly have sent. It may be a lie, a fault, or chance." :
          "No report is implausible."),
    h("p", {},
      `The policy of this round is ${checks.policy}. ` +
          (checks.lie_seen_95 ?
               "A single node that claims or hides " +
                   `${
                       count(
                           checks.lie_seen_95)} links is flagged in 95 of 100 cases; smaller lies are often not seen.` :
               "")),
    checks.note ? note(checks.note, "warn") : null,
    checks.flags && checks.flags.length ?
        closed(
            "The worst flags",
            () => table(
                "Flagged reports", ["Node", "Test", "Score"],
                checks.flags.map((flag) => [flag.node, flag.test, z(flag.z)]), ["Score"])) :
        null
  ];
}

export const stagesPart = (round) => section(
    "Stage times",
    round.stages.length ? table(
                              "Stage times of this round", ["Stage", "Time", "From"],
                              round.stages.map((one) => [one.name, duration(one.seconds), one.source]), ["Time"]) :
                          h("p", {}, "No stage has ended yet."));

export {section};
