// Whom a rollout goes to, in words, and what devices reported about it.
import { badge, count, el, plural, svg, table, utcText, when } from "./dom.js";
import { silent } from "./parts.js";

/** A share, in 10,000 buckets, as the command line writes it. */
export const ofBuckets = (share) => `${share / 100}%`;

/** A share, in 10,000 buckets, for who reads it. */
export const shareText = (share) => `${share / 100}\u00a0%`;

export function audience({ share, groups, app }) {
  const who = [share ? `${shareText(share)} of the devices` : null, groups.length ? `the ${groups.length === 1 ? "group" : "groups"} ${groups.join(", ")}` : null].filter(Boolean);
  return `${who.join(" and ") || "nobody"}${app ? `, with app ${app}` : ""}`;
}

/** Buckets of a percentage that somebody typed; throws what is wrong with it. */
export function buckets(text) {
  const number = Number(text.replace(/\s*%$/, ""));
  if (!/^\d{1,3}(\.\d{1,2})?\s*%?$/.test(text) || number > 100) throw new Error("Write the share as a percentage from 0 to 100, with two decimals at most.");
  return Math.round(number * 100);
}

/** A part of a million as a percentage. */
const share = (millionths) => `${Math.round(millionths / 100) / 100}\u00a0%`;

function failures({ opened, failed, rate, low, high }) {
  const range = rate === undefined ? "" : ` (${share(rate)}; 95\u00a0% confidence: ${share(low)} to ${share(high)})`;
  return `${count(failed)} of ${plural(opened, "device")}${range}`;
}

/** A time as the command line writes it. */
function duration(seconds) {
  const [length, unit] = [[86400, "d"], [3600, "h"], [60, "min"], [1, "s"]].find(([one]) => seconds % one === 0);
  return `${seconds / length} ${unit}`;
}

/** That the candidate fails too often, with numbers; empty if it doesn't, and from an older origin. */
export function alarm(list) {
  const { open, evidence } = list ?? {};
  if (!open || !evidence) return "";
  const e = evidence.resumed?.e ?? evidence.e;
  if (!(open.paused && evidence.pausesItself && evidence.alarmedAt) && e < 100) return "";
  return `Version ${open.version} fails too often: ${failures(evidence.candidate)} with it failed, of the others ${failures(evidence.control)}; evidence against it: e = ${count(e)}.`;
}

/** What devices report of a candidate, in words, where it fails more often than what all others have; null where it doesn't. */
export function verdict(list) {
  const { open, evidence } = list ?? {};
  if (!open || !evidence) return null;
  const { candidate, control } = evidence;
  const e = evidence.resumed?.e ?? evidence.e;
  const isMore = candidate.failed > 2 && candidate.rate > 2 * (control.rate ?? Infinity);
  if (!evidence.alarmedAt && e < 100 && !isMore) return null;
  const than = Number(open.full) ? `version ${open.full}` : "the others";
  const times = control.rate ? candidate.rate / control.rate : 0;
  const much = times >= 1.5 ? `Fails ${times < 10 ? times.toFixed(1).replace(".0", "") : Math.round(times)} times as often as ${than}` : `Fails more often than ${than}`;
  return { isSure: Boolean(evidence.alarmedAt) || e >= 100, words: evidence.alarmedAt || e >= 100 ? `${much}.` : `${much}. Not certain yet: it pauses by itself if the evidence grows.` };
}

/** The steps of an open rollout as a bar: those that are done, where it is, and what follows. `ramp`: null where a person takes each step. */
export function stepsBar({ share }, ramp) {
  const shares = [...new Set([...ramp?.steps ?? [10_000], share])].sort((one, other) => one - other);
  const item = (step) => {
    const state = step === share ? "now" : step < share ? "done" : "next";
    return el("li", { class: state, "aria-current": state === "now" ? "step" : null }, el("b", {}, shareText(step)), state === "next" ? step === shares.at(-1) && ramp?.completes ? ", then complete" : "" : ` ${state}`);
  };
  return el("ol", { class: "steps", "aria-label": "Steps of the rollout" }, shares.map(item));
}

/** What each arm polled and reported, beside each other. `polls`: shares of the candidate and of the full version, as texts. */
export function arms({ version, full }, evidence, polls) {
  const [one, other] = [evidence?.candidate, evidence?.control];
  const row = (words, of) => [words, one ? of(one) : "—", other ? of(other) : "—"];
  return table("The candidate beside all others", [["Devices"], [`Version ${version}, candidate`, true], [Number(full) ? `Version ${full}, all others` : "All others", true]], [
    ["Polls", ...polls],
    row("Opened a page", ({ opened }) => plural(opened, "device")),
    row("Failed", ({ failed, rate }) => (rate === undefined ? count(failed) : `${count(failed)} (${share(rate)})`)),
    row("95\u00a0% range", ({ rate, low, high }) => (rate === undefined ? "—" : `${share(low)} to ${share(high)}`)),
  ]);
}

/** What follows from what devices reported: pairs for `facts`; none from an older origin. */
export function evidenceFacts(list) {
  const evidence = list?.evidence;
  if (!evidence) return [];
  const { ramp, waits = [] } = list;
  const { leftOut, networkCap = 500 } = evidence;
  const halted = "from 10,000 on, with failures in 5 networks or more, it is halted";
  const next = ramp?.steps.find((one) => one > list.open.share);
  return [
    evidence.alarmedAt && ["Alarm", ["it fails too often; paused ", when(evidence.alarmedAt)]],
    ...(evidence.resumed ? [
      ["Evidence against it", [`e = ${count(evidence.resumed.e)} since it was resumed, of what is opened from ${utcText(new Date(evidence.resumed.at))} on; an alarm doesn't pause it any more`,
        evidence.haltsItself ? `, but ${halted}` : ""]],
      ["From the beginning", `e = ${count(evidence.e)}, at most ${count(evidence.highest)} so far`],
    ] : [["Evidence against it", [el("b", {}, `e = ${count(evidence.e)}`), ` of 100${evidence.highest > evidence.e ? `; the highest so far was ${count(evidence.highest)}` : ""}`,
      svg("svg", { class: "meter", viewBox: "0 0 100 4", preserveAspectRatio: "none", "aria-hidden": "true" }, svg("rect", { width: 100, height: 4 }),
        svg("rect", { class: evidence.e >= 100 ? "bad" : "own", width: Math.min(100, evidence.e), height: 4 })),
      el("div", { class: "quiet small" }, `From 100 on it is paused by itself${evidence.haltsItself ? `; ${halted}` : ""}.`)]]]),
    ramp && ["Next step", [next === undefined ? (ramp.completes ? "complete" : "none: the last one is reached") : shareText(next),
      `, after ${plural(ramp.each, "device")}${ramp.atLeast ? ` and ${duration(ramp.atLeast)}` : ""} in this one`]],
    waits.length > 0 && ["Waits for", waits.map((one) => el("div", {}, one.text.charAt(0).toUpperCase() + one.text.slice(1)))],
    leftOut ? ["Not counted", el("details", { id: "left-out" }, el("summary", {}, badge("warn", `${count(leftOut.opened)} of ${plural(leftOut.of, "opening")}`), ` of two days, from ${plural(leftOut.networks, "network")}`),
      el("p", { class: "small" }, `One network counts for ${shareText(networkCap)} at most. If there is a proxy before the origin, serve --trust-proxy tells devices apart; if the devices themselves are in few networks, `,
        el("code", {}, "xcache rollout set --network-cap 100%"), " counts all."))]
      : networkCap !== 500 && ["One network", `counts for ${shareText(networkCap)} at most`],
  ];
}

/** As wide as its column, or as a narrow screen has room for, so that words keep their size. */
const breadth = () => Math.max(280, innerWidth < 1000 ? Math.min(640, innerWidth - 60) : (Math.min(innerWidth, 1440) - 106) / 2);

/** Both rates of failures, each with the interval in which it is; nothing before a device has opened a page. */
export function ratesChart(list) {
  const evidence = list?.evidence;
  const arms = evidence ? [[`version ${list.open.version}`, evidence.candidate], ["all others", evidence.control]] : [];
  if (!arms.some(([, arm]) => arm.rate !== undefined)) return null;
  const [width, left, right, row] = [breadth(), 72, 20, 40];
  const highest = Math.max(...arms.map(([, arm]) => arm.high ?? 0));
  const x = (millionths) => left + (millionths / highest) * (width - left - right);
  const y = (index) => 18 + index * row;
  const height = y(1) + 34;
  const words = arms.map(([name, arm]) => `failures, ${name}: ${failures(arm)}`).join("; ");
  const picture = svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": words });
  for (const part of [0, 0.5, 1]) {
    const at = x(highest * part);
    picture.append(svg("line", { class: "axis", x1: at, x2: at, y1: 0, y2: height - 16 }),
      svg("text", { x: at, y: height - 3, "text-anchor": ["start", "middle", "end"][part * 2] }, share(highest * part)));
  }
  arms.forEach(([name, arm], index) => {
    picture.append(svg("text", { x: left - 12, y: y(index) + 4, "text-anchor": "end" }, name));
    if (arm.rate === undefined) return;
    const group = svg("g", { class: index ? "rate" : `rate own${verdict(list) ? " more" : ""}` }, svg("title", {}, failures(arm)),
      svg("line", { x1: x(arm.low), x2: x(arm.high), y1: y(index), y2: y(index) }));
    for (const end of [arm.low, arm.high]) group.append(svg("line", { x1: x(end), x2: x(end), y1: y(index) - 5, y2: y(index) + 5 }));
    // Told apart without colours, too.
    group.append(index ? svg("circle", { cx: x(arm.rate), cy: y(index), r: 5 }) : svg("rect", { x: x(arm.rate) - 5, y: y(index) - 5, width: 10, height: 10 }));
    picture.append(group);
  });
  return el("figure", { class: "chart", id: "rates" }, el("figcaption", {}, "Rate of devices that failed, with its range of 95\u00a0% confidence"), silent(picture));
}

const moment = new Intl.DateTimeFormat(undefined, { month: "short", day: "numeric", hour: "2-digit", minute: "2-digit" });

/** The e-value over time, by its powers of ten; nothing before there is anything to draw. */
export function evidenceChart(list) {
  const points = list?.evidence?.points ?? [];
  if (points.length < 2) return null;
  const [width, height, left] = [breadth(), 140, 46];
  const level = ({ e }) => Math.log10(Math.max(1, e));
  const top = Math.max(4, ...points.map(level));
  const y = (power) => 6 + (height - 28) * (1 - power / top);
  const times = points.map(({ at }) => new Date(at).getTime());
  const span = times.at(-1) - times[0];
  const x = (index) => left + (span > 0 ? (times[index] - times[0]) / span : index / (points.length - 1)) * (width - left);
  const picture = svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `e-value from ${utcText(new Date(points[0].at))} to now; the last one is ${points.at(-1).e}` });
  for (const [power, word, follows] of [[0, "1", ""], [2, "100", "paused"], [4, "10,000", list.evidence.haltsItself ? "halted" : ""]]) {
    picture.append(svg("line", { class: follows ? "mark" : "axis", x1: left, x2: width, y1: y(power), y2: y(power) }),
      svg("text", { x: left - 6, y: y(power) + 4, "text-anchor": "end" }, word),
      svg("text", { x: left + 6, y: y(power) + 13 }, follows));
  }
  picture.append(svg("text", { x: left, y: height - 4 }, moment.format(times[0])),
    svg("text", { x: width, y: height - 4, "text-anchor": "end" }, moment.format(times.at(-1))));
  picture.append(svg("polyline", { class: "evalue", points: points.map((one, index) => `${x(index)},${y(level(one))}`).join(" ") }));
  return el("figure", { class: "chart", id: "evalue" }, el("figcaption", {}, "Evidence against the candidate (e); from 100 on it fails too often"), silent(picture));
}
