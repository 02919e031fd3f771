import { channelId, channelLink, get, hindrance } from "./api.js";
import { badge, card, count, el, fill, local, named, percent, plural, polled, size, stats, svg, table, when } from "./dom.js";

/** Whether devices report failures of a channel, by the server's judgement. */
export const isFailing = (one, fleet) => ofChannel(one, fleet?.problems ?? []).some((item) => item.code === "failing");
export const ofChannel = (one, problems) => problems.filter((item) => item.app === one.app && item.channel === one.channel);

/** The problems that nobody has acknowledged, those of one channel first. */
export const pressing = (problems, [app, channel] = []) => problems.filter((one) => !one.acknowledged)
  .sort((a, b) => (b.app === app && b.channel === channel) - (a.app === app && a.channel === channel));

const isUnpolled = ({ adoption, trend }) => !adoption.polls && !trend?.polls.some(Boolean);

/** What a channel is like, as the server judges it: its problems, the worst first, then what is none. */
export function states(one, problems) {
  const mine = ofChannel(one, problems);
  const words = { damaged: `${one.damaged} damaged`, failing: plural(one.failures.hour, "failure"), lagging: "old versions", mirror: "mirror behind" };
  const kind = (item) => (item.acknowledged ? "quiet" : item.severity === "error" ? "bad" : "warn");
  const found = [...pressing(mine), ...mine.filter((item) => item.acknowledged)].map((item) => badge(kind(item), `${words[item.code] ?? item.code}${item.acknowledged ? ", acknowledged" : ""}`, item.detail));
  if (one.failures.hour && !mine.some((item) => item.code === "failing")) found.push(badge("quiet", plural(one.failures.hour, "failure")));
  if (one.bypasses) found.push(badge("quiet", `${one.bypasses} bypassed`));
  if (!found.length) found.push(one.version === "0" ? badge("quiet", "empty") : isUnpolled(one) ? badge("quiet", one.version === "1" && Date.now() - new Date(one.at) < 86_400_000 ? "no devices yet" : "no polls in 24 h") : badge("good", "fine"));
  if (one.rollout) found.push(badge("quiet", `rollout ${one.rollout.share / 100}\u00a0%${one.rollout.paused ? ", paused" : ""}`, `version ${one.rollout.version}, by ${one.rollout.author}`));
  if (one.planned) found.push(...plans(one.planned));
  return found;
}

const plans = ({ acts, next, freezes, failed }) => [failed && badge("warn", `${failed} not carried out`),
  acts && badge("quiet", `${acts} scheduled`, next && `next: ${local.format(new Date(next))}`), freezes && badge("quiet", plural(freezes, "planned freeze"))].filter(Boolean);

/** What a small picture shows, in words. */
export function ranged(words, values, tell = count) {
  const known = values.filter((one) => one !== null);
  return known.length ? `${words}: from ${tell(Math.min(...known))} to ${tell(Math.max(...known))}, ${tell(known.at(-1))} at last` : words;
}

/** A line without numbers; gaps where there are none. `marks`: places from 0 to 1; `most`: what the top stands for. */
export function spark(values, marks, words, most = 0) {
  const known = values.filter((one) => one !== null);
  if (known.length < 2) return null;
  const highest = most || Math.max(...known) || 1;
  const lines = [[]];
  values.forEach((value, index) => {
    if (value === null) { if (lines.at(-1).length) lines.push([]); }
    else lines.at(-1).push(`${(index * 200) / Math.max(1, values.length - 1)},${30 - (value * 28) / highest}`);
  });
  return svg("svg", { class: "spark", viewBox: "0 0 200 32", preserveAspectRatio: "none", role: "img", "aria-label": words },
    svg("line", { class: "axis", x1: 0, x2: 200, y1: 31.5, y2: 31.5 }), marks.map((at) => svg("line", { class: "mark", x1: at * 200, x2: at * 200, y1: 0, y2: 32 })),
    // Where nothing is known a faint line leads from the one to the next.
    lines.length > 1 ? svg("polyline", { class: "gap", points: lines.flat().join(" ") }) : [],
    // One point alone is a short line.
    lines.filter((one) => one.length).map((one) => svg("polyline", { points: one.length > 1 ? one.join(" ") : `${one[0]} ${Number(one[0].split(",")[0]) + 2},${one[0].split(",")[1]}` })));
}

/** Columns for numbers that are mostly none. `kind`: how the last one is told apart from the others. */
export function columns(values, words, kind = "") {
  const highest = Math.max(...values) || 1;
  const step = 200 / values.length;
  const wide = kind === "own" ? Math.min(32, step * 0.7) : step - 2;
  return svg("svg", { class: `spark ${kind}`, viewBox: "0 0 200 32", preserveAspectRatio: "none", role: "img", "aria-label": words },
    svg("line", { class: "axis", x1: 0, x2: 200, y1: 31.5, y2: 31.5 }),
    values.map((value, index) => (value === null ? null : svg("rect", { x: (index + 0.5) * step - wide / 2, width: wide, y: 31 - (value * 29) / highest, height: (value * 29) / highest }))).filter(Boolean));
}

/** A number beside a line: as wide as the others below each other. */
const figure = (text) => el("span", { class: "figure" }, text);

/** What the hour that is running has had so far: `hour` is about it and the one before. */
const running = ({ failures, trend }) => Math.max(0, failures.hour - (trend?.failures.at(-1) ?? 0));

/** Channels by how they are, as parts of a bar: with errors, with warnings, without either. */
function graded(grades) {
  const all = grades.reduce((a, b) => a + b, 0) || 1;
  let x = 0;
  return svg("svg", { class: "meter grades", viewBox: "0 0 100 4", preserveAspectRatio: "none", "aria-hidden": "true" }, grades.map((number, grade) => {
    const made = svg("rect", { class: ["bad", "warn", "fine"][grade], x, width: (number * 100) / all, height: 4 });
    x += (number * 100) / all;
    return made;
  }));
}

/** The share of polls on the newest version in each of 24 hours, and now. */
const shares = ({ polls, newest }, now) => [...polls.map((all, index) => (all ? newest[index] / all : null)), now.polls ? now.newest / now.polls : null];

const shareLine = (trend, now, words) => spark(shares(trend, now), [], ranged(words, shares(trend, now), (one) => percent(one, 1)), 1);
const hourly = (values, kind) => columns(values, ranged("Failures by the hour, the running one last", values), kind);

const where = (one) => (one.channel ? [el("a", { href: channelLink("channel", one.app, one.channel) }, `${one.app} ${one.channel}`), ": "] : "");
const mayAcknowledge = (one) => !(one.channel ? hindrance("release", one.app, one.channel) : hindrance("admin", "", "", true));
/** Loaded when it is pressed. */
const act = (name, one, done) => async () => { (await import("./acts.js"))[name](one, done); };
const button = (words, one, open) => (mayAcknowledge(one) ? el("button", { type: "button", "data-acknowledge": one.code, click: open }, words,
  el("span", { class: "hidden" }, ` ${one.code}${one.channel ? ` of ${one.app} ${one.channel}` : ""}`)) : null);

/** Problems as items of a list: what is wrong, since when, and that somebody knows it. */
export const items = (problems, done) => problems.map((one) => el("li", { class: one.severity === "error" ? "error" : "warning" },
  el("p", {}, el("strong", {}, el("span", { "aria-hidden": "true" }, one.severity === "error" ? "✖" : "▲"), el("span", { class: "hidden" }, one.severity === "error" ? " Error: " : " Warning: ")), " ", where(one), one.detail,
    one.code === "failing" && one.channel ? [" ", el("a", { class: "more-of", href: channelLink("failures", one.app, one.channel) }, "See failures", el("span", { class: "hidden" }, ` of ${one.app} ${one.channel}`))] : null),
  one.since ? el("span", { class: "since" }, when(one.since, true)) : el("span"), button("Acknowledge", one, act("acknowledge", one, done))));

/** The same as one line, where they are not what the page is about. */
export function inShort(all) {
  const isError = all.some((one) => one.severity === "error");
  return el("li", { class: `more ${isError ? "error" : "warning"}` }, el("p", {}, el("strong", { "aria-hidden": "true" }, isError ? "✖" : "▲"), el("a", { href: "#/?all", id: "more-problems" }, plural(all.length, "open problem"))));
}

const known = (one, done) => el("li", {}, el("p", {}, where(one), one.detail.split(/(?<=\.) /)[0],
  el("span", { class: "of-it" }, one.acknowledged.reason, " · ", named(one.acknowledged.by), ", ", when(one.acknowledged.at))),
el("span", { class: "since" }, "ends ", when(one.acknowledged.until)), button("Take back", one, act("unacknowledge", one, done)));

const weight = (one, problems) => {
  const mine = pressing(ofChannel(one, problems));
  return mine.some((item) => item.severity === "error") ? 0 : mine.length ? 1 : 2;
};

export async function open({ overview: fleet, reload }) {
  const list = el("div", { id: "channels" });
  const rest = el("section", { id: "all-problems", "aria-label": "Acknowledged problems" });
  const filter = el("input", { id: "filter", type: "search", autocomplete: "off", spellcheck: "false", "aria-label": "Filter channels", placeholder: "Filter by app, channel or author" });
  const only = el("input", { id: "only", type: "checkbox" });
  const note = el("span", { class: "quiet", role: "status" });
  const figures = el("div");
  let shown = null;
  let first = null;

  function drawFigures() {
    const all = shown.channels;
    const sum = (of) => all.reduce((total, one) => total + of(one), 0);
    const hours = (name) => all.reduce((total, one) => (one.trend ? total.map((value, index) => value + one.trend[name][index]) : total), Array(24).fill(0));
    const hasTrend = all.some((one) => one.trend);
    const polls = sum((one) => one.adoption.polls);
    const grades = [0, 1, 2].map((grade) => all.filter((one) => weight(one, shown.problems) === grade).length);
    const acknowledged = shown.problems.filter((one) => one.acknowledged).length;
    const found = [grades[0] ? `${count(grades[0])} with errors` : null, grades[1] ? `${count(grades[1])} with warnings` : null].filter(Boolean);
    const extra = (made, words) => (hasTrend ? [made(), el("span", { class: "under" }, words)] : null);
    fill(figures, stats("figures", [
      { name: "Healthy channels", value: all.length ? `${count(grades[2])} of ${count(all.length)}` : "—", notes: [found.join(", ") || "no errors, no warnings", acknowledged ? plural(acknowledged, "acknowledged problem") : null], extra: graded(grades) },
      { name: "On the newest version", value: percent(sum((one) => one.adoption.newest), polls), kind: polls ? "" : "none", notes: [polls ? `of ${polled(polls, all.find((one) => one.adoption.sample))} in ${all.find((one) => one.adoption.polls).adoption.minutes} minutes` : `no polls in ${all[0]?.adoption.minutes ?? 10} minutes`],
        extra: extra(() => shareLine({ polls: hours("polls"), newest: hours("newest") }, { polls, newest: sum((one) => one.adoption.newest) }, "Share of polls on the newest versions, 24 hours and now"), ["24 h ago", "now"].map((word) => el("span", {}, word))) },
      { name: "Failed downloads", value: count(sum((one) => one.failures.day)), notes: ["reported in 24 hours"],
        extra: extra(() => hourly([...hours("failures"), all.reduce((total, one) => total + running(one), 0)], grades[0] ? "fails" : "counts"), ["24 h ago", "this hour"].map((word) => el("span", {}, word))) },
      shown.disk && { name: "Disk used", value: percent(shown.disk.size - shown.disk.available, shown.disk.size), notes: [`${size(shown.disk.available)} of ${size(shown.disk.size)} free`, `${size(shown.disk.stored)} stored by releases`],
        extra: svg("svg", { class: "meter", viewBox: "0 0 100 4", preserveAspectRatio: "none", "aria-hidden": "true" }, svg("rect", { width: 100, height: 4 }), svg("rect", { width: 100 - (shown.disk.available * 100) / Math.max(1, shown.disk.size), height: 4 })) },
    ]));
  }

  function draw() {
    const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    const all = shown.channels.map((one) => ({ one, weight: weight(one, shown.problems) }))
      .filter(({ one, weight }) => (!only.checked || weight < 2) && words.every((word) => `${one.app} ${one.channel} ${one.author ?? ""}`.toLowerCase().includes(word)))
      .sort((a, b) => a.weight - b.weight || (b.one.at ?? "").localeCompare(a.one.at ?? ""));
    first = all[0]?.one ?? null;
    drawFigures();
    const acknowledged = shown.problems.filter((one) => one.acknowledged);
    rest.hidden = !acknowledged.length;
    fill(rest, card("Acknowledged problems", el("ul", { class: "problems known" }, acknowledged.map((one) => known(one, reload)))));
    const found = all.length === shown.channels.length ? plural(all.length, "channel") : `${all.length} of ${shown.channels.length} channels`;
    if (note.textContent !== found) note.textContent = found;
    const none = (words = "—") => el("span", { class: "quiet none" }, words);
    fill(list, table("Channels, those with problems first",
      [["Channel"], ["State"], ["Released"], ["Polls, 24 h", true], ["On newest", true], ["Failures, 24 h", true]],
      all.map(({ one }) => [
        [el("a", { href: channelLink("channel", one.app, one.channel), id: `to-${channelId(one.app, one.channel)}` }, `${one.app} ${one.channel}`),
          el("div", { class: "sub" }, one.version === "0" ? "no release yet" : `version ${one.version}, ${size(one.bytes)}`)],
        states(one, shown.problems), one.at ? [when(one.at), el("div", { class: "sub" }, "by ", named(one.author ?? "—"))] : none(),
        one.trend?.polls.some(Boolean) ? [spark(one.trend.polls, [], ranged("Polls, 24 full hours", one.trend.polls)), figure(count(one.trend.polls.reduce((a, b) => a + b, 0)))] : one.adoption.polls ? figure(count(one.adoption.polls)) : none("0"),
        one.adoption.polls ? [one.trend ? shareLine(one.trend, one.adoption, "Share on the newest version, 24 hours and now") : null, figure(percent(one.adoption.newest, one.adoption.polls))] : none("no polls"),
        one.failures.day ? [one.trend ? hourly([...one.trend.failures, running(one)], isFailing(one, shown) ? "fails" : "counts") : null, figure(count(one.failures.day))] : none("0"),
      ]), shown.channels.length ? "No channel matches." : "There is no channel that you may read yet. The first release makes one: xcache publish --create DIR --app NAME --base-url URL."));
  }

  filter.addEventListener("input", draw);
  only.addEventListener("change", draw);
  shown = fleet ?? await get("overview");
  draw();
  return {
    title: "Overview",
    node: [el("h1", {}, "Overview"), figures,
      card("Channels", list, el("form", { role: "search", class: "inline", submit: (event) => { event.preventDefault(); if (first) location.hash = channelLink("channel", first.app, first.channel); } },
        note, el("label", { class: "check" }, only, " problems only"), filter), true),
      rest],
    fleet(next) {
      if (next === shown) return;
      shown = next;
      draw();
    },
    async refresh(next) { this.fleet(next ?? await get("overview")); },
  };
}

/** What is shown where there is no page, and where to go on. `text`: a title, "; ", and more, with `code`. */
export function blank(text, kind, { name, names: [app, channel] }) {
  const isOf = kind && channel && name !== "channel";
  const [title, words = ""] = text.replace(/^no (version \d+)/, "$1 doesn't exist").split(/; (.*)/s).map((one) => one.charAt(0).toUpperCase() + one.slice(1));
  // Where the channel's page lists its versions, nobody needs a command for it.
  const isVersion = isOf && /^Version \d+ doesn't exist$/.test(title);
  const said = isVersion ? words.replace(/,? and `xcache log` .*$/s, ".") : words;
  return el("section", { class: "blank" }, el("h1", {}, title), el("p", { class: kind ?? "quiet", role: "alert" }, said.split("`").map((one, index) => (index % 2 ? el("code", {}, one) : one))),
    el("p", { class: "row" }, el("a", { class: "button primary", href: isOf ? channelLink("channel", app, channel) : "#/" }, isVersion ? `Versions of ${app} ${channel}` : `Go to ${isOf ? `${app} ${channel}` : "the overview"}`), el("a", { class: "button", href: "#/search" }, "Search")));
}
