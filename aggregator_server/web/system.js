// The state of the aggregator: disk, worker, and what expires.
import {bytes, count, duration, facts, h, note, number, percent, table, time} from "/dom.js";

const DAY_MS = 86_400_000;

function expiry(system) {
  if (!system.expiry.length) return [note("There is no TLS here (--insecure), so nothing expires.")];
  return system.expiry.map((one) => {
    const days = Math.floor((one.until_ms - system.now_ms) / DAY_MS);
    const [kind, word] = days < 0 ? ["bad", "Expired"] : days < 30 ? ["warn", "Soon"] : ["good", "Good"];
    return h(
        "div", {class: `note ${kind}`}, h("h4", {}, one.what),
        h("p", {},
          `${word}: until ${time(one.until_ms)}, ` + (days < 0 ? `${- days} days ago.` : `${days} days from now.`)),
        days < 30 ? h("p", {}, one.remedy) : null);
  });
}

export function systemParts(system) {
  const {disk, worker} = system;
  const parts = [];
  if (!system.ready.ok) parts.push(note(`It does not serve: ${system.ready.why_not}.`, "bad"));
  if (!system.store.writable) parts.push(note(`No report can be stored now: ${system.store.why_not}.`, "bad"));
  parts.push(facts([
    ["Store", system.store.writable ? "takes reports" : "takes none"],
    ["Nodes", `${count(system.active_nodes)} active of ${count(system.nodes)}`],
    ["Roster", `version ${system.roster_version}`], ["Version", system.program.version],
    ["Signed in as", system.operator || "nobody: no TLS"]
  ]));
  if (disk) {
    const free = disk.free_bytes / disk.size_bytes;
    const tight = disk.free_bytes < 4 * disk.needed_bytes || free < 0.05;
    parts.push(
        h("h3", {}, "Disk"), h("progress", {max: "1", value: String(1 - free), "aria-label": "Used part of the disk"}),
        h("p", {}, `${bytes(disk.free_bytes)} of ${bytes(disk.size_bytes)} are free (${percent(free)}).`),
        tight ? note(`Make room: below ${bytes(disk.needed_bytes)} no report is stored.`, "warn") : "");
  }
  parts.push(
      h("h3", {}, "Worker"),
      h("p", {},
        worker.running ? `It is ${worker.stage} round ${worker.round.slice(0, 8)}: ${
                             percent(worker.progress)} of the stage, attempt ${worker.attempt}.` :
                         "It rests."),
      h("p", {}, worker.queued ? `${number(worker.queued)} rounds wait for it.` : "No round waits for it."));
  const seen = system.stages.filter((one) => one.rounds > 0);
  if (seen.length) {
    parts.push(table(
        "Stages since the start", ["Stage", "Rounds", "Mean time"],
        seen.map((one) => [one.name, count(one.rounds), duration(one.mean_seconds)])));
  }
  return [...parts, h("h3", {}, "Certificates"), ...expiry(system)];
}
