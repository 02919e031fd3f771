import { channelLink, get } from "./api.js";
import { age, badge, count, el, fill, percent, size, svg, table, when } from "./dom.js";

/** What a channel is like, the worst first. */
export function states(one) {
  const found = [];
  if (one.kill) found.push(badge("bad", "killed", one.kill.reason));
  if (one.damaged) found.push(badge("bad", `${one.damaged} damaged`));
  if (one.freeze) found.push(badge("warn", "frozen", one.freeze.reason));
  if (one.failures.hour) found.push(badge(one.failures.hour >= 10 ? "bad" : "quiet", `${count(one.failures.hour)} failures`));
  if (one.bypasses) found.push(badge("quiet", `${one.bypasses} bypassed`));
  if (!found.length) found.push(one.version === "0" ? badge("quiet", "empty") : badge("good", "fine"));
  return found;
}

export function share(one) {
  const { polls, newest } = one.adoption;
  if (!polls) return "no polls";
  const bar = svg("svg", { class: "bar", viewBox: "0 0 100 10", preserveAspectRatio: "none", "aria-hidden": "true" },
    svg("rect", { width: 100, height: 10 }), svg("rect", { width: (newest * 100) / polls, height: 10 }));
  return [bar, percent(newest, polls)];
}

const weight = (one, problems) => {
  const mine = problems.filter((item) => item.app === one.app && item.channel === one.channel);
  return mine.some((item) => item.severity === "error") ? 0 : mine.length ? 1 : 2;
};

export async function open({ overview: fleet }) {
  const list = el("div");
  const filter = el("input", { id: "filter", type: "search", autocomplete: "off", spellcheck: "false" });
  const only = el("input", { id: "only", type: "checkbox" });
  const note = el("p", { class: "quiet", role: "status" });
  const disk = el("p", { class: "quiet" });
  let shown = null;

  function draw() {
    const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    const all = shown.channels.map((one) => ({ one, weight: weight(one, shown.problems) }))
      .filter(({ one, weight }) => (!only.checked || weight < 2) && words.every((word) => `${one.app} ${one.channel} ${one.author ?? ""}`.toLowerCase().includes(word)))
      .sort((a, b) => a.weight - b.weight || (b.one.at ?? "").localeCompare(a.one.at ?? ""));
    note.textContent = `${all.length} of ${shown.channels.length} channels`;
    disk.textContent = shown.disk ? `Disk: ${size(shown.disk.available)} of ${size(shown.disk.size)} free; ${size(shown.disk.stored)} stored.` : "";
    fill(list, table("Channels, those with problems first",
      [["Channel"], ["State"], ["Version", true], ["Released"], ["By"], ["On newest", true], ["Failures, 24 h", true], ["Size", true], ["Mirror"]],
      all.map(({ one }) => [
        el("a", { href: channelLink("channel", one.app, one.channel), id: `to-${one.app}-${one.channel}` }, `${one.app} ${one.channel}`),
        states(one), one.version, one.at ? when(one.at) : "—", one.author ?? "—", share(one), count(one.failures.day), size(one.bytes),
        one.mirror ? [`${one.mirror.version === one.version ? "current" : `at ${one.mirror.version}`}, ${age(one.mirror.at)}`] : "none",
      ]), "No channel is there that this token may read."));
  }

  filter.addEventListener("input", draw);
  only.addEventListener("change", draw);
  shown = fleet ?? await get("overview");
  draw();
  return {
    title: "Overview",
    node: [el("h1", {}, "Overview"),
      el("form", { role: "search", submit: (event) => event.preventDefault() }, el("label", { for: "filter" }, "Filter"), filter,
        el("label", { class: "check" }, only, " problems only"), note), list, disk],
    fleet(next) {
      if (next === shown) return;
      shown = next;
      draw();
    },
  };
}
