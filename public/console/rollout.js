// Whom a rollout goes to, in words, and what devices reported about it.
import { badge, count, el, plural, svg, utcText, when } from "./dom.js";

/** A share, in 10,000 buckets, as the command line writes it. */
export const ofBuckets = (share) => `${share / 100}%`;

export function audience({ share, groups, app }) {
  const who = [share ? `${ofBuckets(share)} of the devices` : null, groups.length ? `the ${groups.length === 1 ? "group" : "groups"} ${groups.join(", ")}` : null].filter(Boolean);
  return `${who.join(" and ") || "nobody"}${app ? `, with app ${app}` : ""}`;
}

/** Buckets of a percentage that somebody typed; throws what is wrong with it. */
export function buckets(text) {
  const number = Number(text.replace(/\s*%$/, ""));
  if (!/^\d{1,3}(\.\d{1,2})?\s*%?$/.test(text) || number > 100) throw new Error("Write the share as a percentage from 0 to 100, with two decimals at most.");
  return Math.round(number * 100);
}

/** A part of a million as a percentage. */
const share = (millionths) => `${Math.round(millionths / 100) / 100} %`;

function failures({ opened, failed, rate, low, high }) {
  const range = rate === undefined ? "" : ` (${share(rate)}; with 95 %, ${share(low)} to ${share(high)})`;
  return `${count(failed)} of ${plural(opened, "device")}${range}`;
}

/** What devices reported, and what follows: pairs for `facts`; none from an older origin. */
export function evidenceFacts(list) {
  const evidence = list?.evidence;
  if (!evidence) return [];
  const { ramp, waits = [] } = list;
  const steps = ramp?.steps.map((one) => (one === list.open.share ? el("b", {}, ofBuckets(one)) : ofBuckets(one))).flatMap((one, index) => (index ? [", ", one] : [one]));
  return [
    ["Failed with it", failures(evidence.candidate)],
    ["Failed of others", failures(evidence.control)],
    ["e-value", [`${count(evidence.e)}, at most ${count(evidence.highest)} so far; `,
      evidence.pausesItself ? "from 100 on it is paused by itself" : "alarms don't pause it: it was resumed after one",
      evidence.haltsItself ? ", and from 10,000 on halted" : ""]],
    evidence.alarmedAt && ["Alarm", [badge("bad", "fails too often"), " paused ", when(evidence.alarmedAt)]],
    ramp && ["Steps", [...steps, ramp.completes ? ", complete" : "", `; each after ${plural(ramp.each, "device")} and ${plural(Math.round(ramp.atLeast / 60), "minute")}`]],
    waits.length > 0 && ["Waits for", waits.map((one) => el("div", {}, one.text))],
  ];
}

/** The e-value over time, by its powers of ten; nothing before there is anything to draw. */
export function evidenceChart(list) {
  const points = list?.evidence?.points ?? [];
  if (points.length < 2) return null;
  const [width, height, left] = [600, 90, 46];
  const level = ({ e }) => Math.log10(Math.max(1, e));
  const top = Math.max(4, ...points.map(level));
  const y = (power) => 6 + (height - 12) * (1 - power / top);
  const x = (index) => left + (index / (points.length - 1)) * (width - left);
  const picture = svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `e-value from ${utcText(new Date(points[0].at))} to now; the last one is ${points.at(-1).e}` });
  for (const [power, word] of [[0, "1"], [2, "100"], [4, "10,000"]]) {
    picture.append(svg("line", { class: power ? "mark" : "axis", x1: left, x2: width, y1: y(power), y2: y(power) }),
      svg("text", { x: left - 6, y: y(power) + 4, "text-anchor": "end" }, word));
  }
  picture.append(svg("polyline", { class: "evalue", points: points.map((one, index) => `${x(index)},${y(level(one))}`).join(" ") }));
  return el("figure", { class: "chart", id: "evalue" }, picture, el("p", { class: "quiet small" }, "The e-value over time: from 100 on the candidate fails too often."));
}
