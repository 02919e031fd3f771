import { channelId, channelLink, get } from "./api.js";
import { badge, card, count, el, fill, local, named, percent, plural, polled, size, stats, svg, table, when } from "./dom.js";

export const ofChannel = (one, problems) => problems.filter((item) => item.app === one.app && item.channel === one.channel);

/** What a channel is like, as the server judges it: its problems, the worst first, then what is none. */
export function states(one, problems) {
  const mine = ofChannel(one, problems);
  const words = { damaged: `${one.damaged} damaged`, failing: plural(one.failures.hour, "failure"), lagging: "old versions", mirror: "mirror behind" };
  const found = mine.map((item) => badge(item.severity === "error" ? "bad" : "warn", words[item.code] ?? item.code, item.detail));
  if (one.failures.hour && !mine.some((item) => item.code === "failing")) found.push(badge("quiet", plural(one.failures.hour, "failure")));
  if (one.bypasses) found.push(badge("quiet", `${one.bypasses} bypassed`));
  if (!found.length) found.push(one.version === "0" ? badge("quiet", "empty") : badge("good", "fine"));
  if (one.rollout) found.push(badge("quiet", `rollout ${one.rollout.share / 100}%${one.rollout.paused ? ", paused" : ""}`, `version ${one.rollout.version}, by ${one.rollout.author}`));
  if (one.planned) found.push(plans(one.planned));
  return found;
}

const plans = ({ acts, next, freezes, failed }) => badge(failed ? "warn" : "quiet",
  [acts && `${acts} scheduled`, freezes && plural(freezes, "planned freeze"), failed && `${failed} not carried out`].filter(Boolean).join(", "),
  next && `next: ${local.format(new Date(next))}`);

export function share(one) {
  const { polls, newest } = one.adoption;
  const bar = svg("svg", { class: "bar", viewBox: "0 0 100 10", preserveAspectRatio: "none", "aria-hidden": "true" },
    svg("rect", { width: 100, height: 10 }), svg("rect", { width: (newest * 100) / polls, height: 10 }));
  return [bar, percent(newest, polls)];
}

/** Problems as items of a list. */
export const items = (problems) => problems.map((one) => el("li", { class: one.severity === "error" ? "error" : "warning" },
  el("strong", {}, one.severity === "error" ? "✖ Error: " : "▲ Warning: "),
  one.channel ? [el("a", { href: channelLink("channel", one.app, one.channel) }, `${one.app} ${one.channel}`), ": "] : "", one.detail));
/** Those that every page has; the overview has all. */
export const fewProblems = 6;

const weight = (one, problems) => {
  const mine = ofChannel(one, problems);
  return mine.some((item) => item.severity === "error") ? 0 : mine.length ? 1 : 2;
};

export async function open({ overview: fleet }) {
  const list = el("div");
  const rest = el("section", { id: "all-problems", "aria-label": "All problems", tabindex: -1 });
  const filter = el("input", { id: "filter", type: "search", autocomplete: "off", spellcheck: "false" });
  const only = el("input", { id: "only", type: "checkbox" });
  const note = el("span", { class: "quiet", role: "status" });
  const figures = el("div");
  let shown = null;
  let first = null;

  function drawFigures() {
    const all = shown.channels;
    const sum = (of) => all.reduce((total, one) => total + of(one), 0);
    const polls = sum((one) => one.adoption.polls);
    const troubled = all.filter((one) => weight(one, shown.problems) < 2).length;
    const isBad = shown.problems.some((one) => one.severity === "error");
    fill(figures, stats("figures", [
      { name: "Problems", value: count(shown.problems.length), kind: isBad ? "bad" : "", notes: [troubled ? `in ${count(troubled)} of ${plural(all.length, "channel")}` : `none in ${plural(all.length, "channel")}`] },
      { name: "On the newest version", value: percent(sum((one) => one.adoption.newest), polls), kind: polls ? "" : "none", notes: [polls ? `of ${polled(polls, all.find((one) => one.adoption.sample))} in ${all[0].adoption.minutes} minutes` : "no polls in the last minutes"] },
      { name: "Failures", value: count(sum((one) => one.failures.day)), notes: ["reported in 24 hours"] },
      shown.disk && { name: "Disk free", value: size(shown.disk.available), notes: [`of ${size(shown.disk.size)}; ${size(shown.disk.stored)} stored`] },
    ]));
  }

  function draw() {
    const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    const all = shown.channels.map((one) => ({ one, weight: weight(one, shown.problems) }))
      .filter(({ one, weight }) => (!only.checked || weight < 2) && words.every((word) => `${one.app} ${one.channel} ${one.author ?? ""}`.toLowerCase().includes(word)))
      .sort((a, b) => a.weight - b.weight || (b.one.at ?? "").localeCompare(a.one.at ?? ""));
    first = all[0]?.one ?? null;
    drawFigures();
    rest.hidden = shown.problems.length <= fewProblems;
    fill(rest, rest.hidden ? null : card(`All ${count(shown.problems.length)} problems`, el("ul", {}, items(shown.problems))));
    note.textContent = `${all.length} of ${shown.channels.length} channels`;
    fill(list, table("Channels, those with problems first",
      [["Channel"], ["State"], ["Released"], ["Version", true], ["On newest", true], ["Failures, 24 h", true], ["Size", true], ["Mirror"]],
      all.map(({ one }) => [
        el("a", { href: channelLink("channel", one.app, one.channel), id: `to-${channelId(one.app, one.channel)}` }, `${one.app} ${one.channel}`),
        states(one, shown.problems), one.at ? [when(one.at), el("span", { class: "quiet" }, " by ", named(one.author ?? "—"))] : "—", one.version,
        one.adoption.polls ? share(one) : el("span", { class: "quiet" }, "no polls"), count(one.failures.day), size(one.bytes),
        one.mirror ? [`${one.mirror.version === one.version ? "current" : `at ${one.mirror.version}`}, `, when(one.mirror.at)] : el("span", { class: "quiet" }, "none"),
      ]), "There is no channel that you may read."));
  }

  filter.addEventListener("input", draw);
  only.addEventListener("change", draw);
  shown = fleet ?? await get("overview");
  draw();
  return {
    title: "Overview",
    node: [el("h1", {}, "Overview"), figures,
      card("Channels", [
        el("form", { role: "search", class: "inline", submit: (event) => { event.preventDefault(); if (first) location.hash = channelLink("channel", first.app, first.channel); } },
          el("label", { for: "filter" }, "Filter"), filter, el("label", { class: "check" }, only, " problems only"), note), list]),
      rest],
    fleet(next) {
      if (next === shown) return;
      shown = next;
      draw();
    },
  };
}
