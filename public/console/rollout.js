// Whom a rollout goes to, in words, and what devices reported about it.
import { badge, count, el, plural, svg, utcText, when } from "./dom.js";
import { silent } from "./parts.js";

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

/** What devices reported, and what follows: pairs for `facts`; none from an older origin. */
export function evidenceFacts(list) {
  const evidence = list?.evidence;
  if (!evidence) return [];
  const { ramp, waits = [] } = list;
  const { leftOut, networkCap = 500 } = evidence;
  const halted = "halted from 10,000 on, if it has failed in 5 networks or more";
  const next = ramp?.steps.find((one) => one > list.open.share);
  const steps = ramp?.steps.map((one) => (one === list.open.share ? el("b", {}, ofBuckets(one)) : ofBuckets(one))).flatMap((one, index) => (index ? [", ", one] : [one]));
  return [
    ["Failures with it", [failures(evidence.candidate), evidence.networks ? `, in ${plural(evidence.networks, "network")}` : ""]],
    ["Failures of the others", failures(evidence.control)],
    ...(evidence.resumed ? [
      ["Evidence against it", [`e = ${count(evidence.resumed.e)} since it was resumed, of what is opened from ${utcText(new Date(evidence.resumed.at))} on; an alarm doesn't pause it any more`,
        evidence.haltsItself ? `, but it is ${halted}` : ""]],
      ["From the beginning", `e = ${count(evidence.e)}, at most ${count(evidence.highest)} so far`],
    ] : [["Evidence against it", [`e = ${count(evidence.e)}, at most ${count(evidence.highest)} so far; from 100 on it is paused by itself`,
      evidence.haltsItself ? `, and ${halted}` : ""]]]),
    evidence.alarmedAt && ["Alarm", [badge("bad", "fails too often"), " paused ", when(evidence.alarmedAt)]],
    ramp && ["Steps", [...steps, ramp.completes ? ", complete" : "", `; each after ${plural(ramp.each, "device")}${ramp.atLeast ? ` and ${duration(ramp.atLeast)}` : ""}; `,
      next === undefined ? (ramp.completes ? "the next one completes it" : "the last one is reached") : `the next one is ${ofBuckets(next)}`]],
    waits.length > 0 && ["Waits for", waits.map((one) => el("div", {}, one.text))],
    leftOut ? ["Not counted", [badge("warn", `${count(leftOut.opened)} of ${plural(leftOut.of, "opening")}`), ` of the last two days: they came from ${plural(leftOut.networks, "network")}, `,
      `and one counts for ${ofBuckets(networkCap)} at most. If there is a proxy before the origin, serve --trust-proxy tells devices apart; if the devices themselves are in few networks, `,
      el("code", {}, "xcache rollout set --network-cap 100%"), " counts all."]]
      : networkCap !== 500 && ["One network", `counts for ${ofBuckets(networkCap)} at most`],
  ];
}

/** As wide as a narrow screen has room for, so that words keep their size. */
const breadth = () => Math.max(280, Math.min(600, innerWidth - 60));

/** Both rates of failures, each with the interval in which it is; nothing before a device has opened a page. */
export function ratesChart(list) {
  const evidence = list?.evidence;
  const arms = evidence ? [["with it", evidence.candidate], ["the others", evidence.control]] : [];
  if (!arms.some(([, arm]) => arm.rate !== undefined)) return null;
  const [width, left, right, row] = [breadth(), 72, 20, 26];
  const highest = Math.max(...arms.map(([, arm]) => arm.high ?? 0));
  const x = (millionths) => left + (millionths / highest) * (width - left - right);
  const y = (index) => 14 + index * row;
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
    const group = svg("g", { class: index ? "rate" : "rate own" }, svg("title", {}, failures(arm)),
      svg("line", { x1: x(arm.low), x2: x(arm.high), y1: y(index), y2: y(index) }));
    for (const end of [arm.low, arm.high]) group.append(svg("line", { x1: x(end), x2: x(end), y1: y(index) - 5, y2: y(index) + 5 }));
    // Told apart without colours, too.
    group.append(index ? svg("circle", { cx: x(arm.rate), cy: y(index), r: 5 }) : svg("rect", { x: x(arm.rate) - 5, y: y(index) - 5, width: 10, height: 10 }));
    picture.append(group);
  });
  return el("figure", { class: "chart", id: "rates" }, silent(picture), el("p", { class: "quiet small" }, "Devices that failed, of those that opened a page, and between which rates that is with 95 % confidence, however often one looks."));
}

/** The e-value over time, by its powers of ten; nothing before there is anything to draw. */
export function evidenceChart(list) {
  const points = list?.evidence?.points ?? [];
  if (points.length < 2) return null;
  const [width, height, left] = [breadth(), 106, 46];
  const level = ({ e }) => Math.log10(Math.max(1, e));
  const top = Math.max(4, ...points.map(level));
  const y = (power) => 6 + (height - 28) * (1 - power / top);
  const times = points.map(({ at }) => new Date(at).getTime());
  const span = times.at(-1) - times[0];
  const x = (index) => left + (span > 0 ? (times[index] - times[0]) / span : index / (points.length - 1)) * (width - left);
  const picture = svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `e-value from ${utcText(new Date(points[0].at))} to now; the last one is ${points.at(-1).e}` });
  for (const [power, word] of [[0, "1"], [2, "100"], [4, "10,000"]]) {
    picture.append(svg("line", { class: power ? "mark" : "axis", x1: left, x2: width, y1: y(power), y2: y(power) }),
      svg("text", { x: left - 6, y: y(power) + 4, "text-anchor": "end" }, word));
  }
  picture.append(svg("text", { x: left, y: height - 4 }, utcText(new Date(times[0]))),
    svg("text", { x: width, y: height - 4, "text-anchor": "end" }, utcText(new Date(times.at(-1)))));
  picture.append(svg("polyline", { class: "evalue", points: points.map((one, index) => `${x(index)},${y(level(one))}`).join(" ") }));
  return el("figure", { class: "chart", id: "evalue" }, silent(picture), el("p", { class: "quiet small" }, "The e-value over time: from 100 on the candidate fails too often."));
}
