// The page: a list of rounds, the one that is looked at, and the aggregator. Server-sent events say what changes.
import {count, h, note, number, setText} from "/dom.js";
import * as view from "/round.js";

import {systemParts} from "/system.js";

const SYSTEM_EVERY_MS = 15_000;
const MISSING_EVERY_MS = 2_000;
const byId = (id) => document.getElementById(id);
const rounds = new Map();  // by id, newest first, as the list shows them
let shown = null;          // {id, state, live, missing}: the round that is looked at

async function ask(path) {
  const answer = await fetch(`/api/${path}`, {cache: "no-store"});
  const body = await answer.json().catch(() => ({error: `the aggregator answers with code ${answer.status}`}));
  if (!answer.ok) throw new Error(body.error || `code ${answer.status}`);
  return body;
}

// ---- the list

function makeEntry(round) {
  const parts = {
    state: h("strong"),
    id: h("span", {class: "id"}, round.id.slice(0, 8)),
    counts: h("span", {class: "muted"}),
    budget: h("span", {class: "muted"}),
    bar: h("progress", {max: "1", "aria-label": "Progress of this step"})
  };
  parts.link =
      h("a", {href: `#/rounds/${round.id}`}, h("span", {class: "line"}, parts.state, parts.id), parts.bar,
        h("span", {class: "line"}, parts.counts, parts.budget));
  parts.element = h("li", {}, parts.link);
  return parts;
}

function updateEntry(entry, round) {
  setText(entry.state, view.stateName(round.state));
  setText(entry.counts, `${count(round.reports)} of ${count(round.nodes)} reports`);
  setText(entry.budget, `epsilon ${number(round.epsilon)}`);
  entry.bar.hidden = round.is_over;
  entry.bar.value = Math.min(1, round.progress);
}

function takeRound(round, first) {
  let known = rounds.get(round.id);
  if (!known) {
    known = {entry: makeEntry(round)};
    rounds.set(round.id, known);
    first ? byId("round-list").prepend(known.entry.element) : byId("round-list").append(known.entry.element);
  } else if (known.round.state !== round.state) {
    byId("announcer").textContent = `Round ${round.id.slice(0, 8)}: ${view.stateName(round.state)}`;
  }
  known.round = round;
  updateEntry(known.entry, round);
  if (shown && shown.id === round.id) known.entry.link.setAttribute("aria-current", "true");
}

async function loadRounds() {
  const list = await ask("rounds");
  setText(byId("deployment"), list.deployment);
  list.rounds.forEach((round) => takeRound(round, false));
  tellOfList(list.total);
  if (!shown && !location.hash && list.rounds.length) showRound(list.rounds[0].id, false);
}

function tellOfList(total) {
  const text = total === 0 ? "There is no round yet. An operator opens one with: blink round create" :
      total > rounds.size  ? `The newest ${rounds.size} of ${count(total)} rounds.` :
                             `${count(total)} in all, the newest first.`;
  setText(byId("rounds-note"), text);
}

// ---- the round that is looked at

// A part that is asked for by itself, so that one that fails leaves the others.
function asked(title, path, make) {
  const part = view.section(title, h("p", {class: "muted"}, "Loading"));
  const load = async () => {
    let content;
    try {
      content = make(await ask(path)).filter(Boolean);
    } catch (error) {
      content = [note(error.message, "warn")];
    }
    part.replaceChildren(part.firstElementChild, ...content);
  };
  load();
  return part;
}

// At most so often, and once more after the last change.
async function refreshMissing() {
  if (!shown || shown.timer) return;
  const now = shown;
  const wait = Math.max(0, now.missingAt + MISSING_EVERY_MS - Date.now());
  now.timer = setTimeout(async () => {
    if (now !== shown) return;
    now.missingAt = Date.now();
    now.timer = null;
    const missing = await ask(`rounds/${now.id}/missing`).catch(() => null);
    if (!missing) return;  // the next change asks again
    const text = view.missingPart(missing)[0].textContent;
    // Somebody reads the table, or is about to.
    const inUse = now.missing.querySelector("details")?.open || now.missing.contains(document.activeElement);
    if (inUse)
      setText(now.missing.querySelector("p"), text);
    else
      now.missing.replaceChildren(now.missing.firstElementChild, ...view.missingPart(missing).filter(Boolean));
  }, wait);
}

async function showRound(id, focus) {
  const place = byId("round");
  let round;
  try {
    round = await ask(`rounds/${id}`);
  } catch (error) {
    shown = null;
    place.hidden = false;
    setText(byId("round-title"), "Round");
    byId("round-body").replaceChildren(note(error.message, "bad"));
    return;
  }
  const live = new view.Live();
  live.update(round);
  const missing = view.section(
      "Who is missing", h("p", {}, `${count(round.missing)} of ${count(round.nodes)} nodes have not reported.`));
  shown = {id, state: round.state, live, missing, missingAt: 0};
  const parts = [live.element, h("p", {class: "id muted"}, `Round ${round.id}`), missing, view.privacyPart(round)];
  if (round.state === "ready") {
    const path = `rounds/${id}`;
    parts.push(view.accuracyPart(round));
    if (round.result && round.result.accuracy) {
      parts.push(
          asked("Learning curves", `${path}/curves`, view.curvesPart),
          asked("Confusion matrix", `${path}/confusion`, view.confusionPart));
    }
    parts.push(
        asked("Degrees", `${path}/degrees`, view.degreesPart),
        asked("Implausible reports", `${path}/plausibility`, view.plausibilityPart));
  } else if (round.state !== "open") {
    parts.push(asked("Degrees", `rounds/${id}/degrees`, view.degreesPart));
  }
  parts.push(view.stagesPart(round));
  setText(byId("round-title"), `Round ${id.slice(0, 8)}`);
  byId("round-body").replaceChildren(...parts);
  place.hidden = false;
  for (const [other, known] of rounds) {
    other === id ? known.entry.link.setAttribute("aria-current", "true") :
                   known.entry.link.removeAttribute("aria-current");
  }
  if (focus) byId("round-title").focus();
  refreshMissing();
}

function followHash(focus) {
  const found = /^#\/rounds\/([0-9a-f]{32})$/.exec(location.hash);
  if (found) showRound(found[1], focus);
}

// ---- the aggregator

async function loadSystem() {
  try {
    byId("system-body").replaceChildren(...systemParts(await ask("system")));
  } catch (error) {
    byId("system-body").replaceChildren(note(error.message, "bad"));
  }
}

// ---- events

function tellConnection(text, kind) {
  setText(byId("connection"), text);
  byId("connection").className = `pill ${kind}`;
}

function follow() {
  const events = new EventSource("/api/events");
  events.addEventListener("hello", async () => {
    tellConnection("Live", "good");
    try {
      await loadRounds();
      if (shown && rounds.get(shown.id) && rounds.get(shown.id).round.state !== shown.state) showRound(shown.id, false);
    } catch (error) {
      setText(byId("rounds-note"), error.message);
    }
  });
  events.addEventListener("rounds", (event) => {
    for (const round of JSON.parse(event.data)) {
      takeRound(round, true);
      if (!shown && !location.hash) showRound(round.id, false);
      if (!shown || shown.id !== round.id) continue;
      shown.live.update(round);
      if (shown.state !== round.state)
        showRound(round.id, false);
      else
        refreshMissing();
    }
    tellOfList(rounds.size);
  });
  events.onerror = () => {
    if (events.readyState !== EventSource.CLOSED) return tellConnection("Connection lost, trying again", "bad");
    tellConnection("Not live: reload this page", "bad");
  };
}

window.addEventListener("hashchange", () => followHash(true));
setInterval(() => {
  if (document.visibilityState === "visible") loadSystem();
}, SYSTEM_EVERY_MS);
loadSystem();
followHash(false);
follow();
