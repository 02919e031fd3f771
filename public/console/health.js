// How a channel's fleet is, out of what its devices polled and reported.
import { count, el, percent, plural, polled, sampled, size, stats, svg } from "./dom.js";

/** Classes of times in milliseconds (docs/protocol.md, "Reports"). */
const bounds = [128, 256, 512, 1024, 2048, 4096, 8192];
/** Pages that have to be counted before two versions are compared. */
const enough = 100;

/** What the devices of one version counted, as figures; those that nothing was counted for are null. */
export function figures(report) {
  const of = (name) => report?.counts[name] ?? 0;
  const classes = (kind) => [...bounds, "more"].map((bound) => of(`${kind}-${bound}`));
  const sum = (all) => all.reduce((a, b) => a + b, 0);
  /** The class that half of the pages are within. */
  const half = (kind) => {
    const all = classes(kind);
    const total = sum(all);
    let seen = 0;
    const place = all.findIndex((one) => (seen += one) >= total / 2);
    return total ? bounds[place] ?? Infinity : null;
  };
  const requests = of("local") + of("passed");
  const openings = sum([...classes("paint-local"), ...classes("paint-network")]) + of("page-failed");
  const failed = of("page-failed") + of("script-failed");
  return {
    requests, openings, failed, local: of("local"), hits: requests ? of("local") / requests : null,
    perThousand: openings ? (failed * 1000) / openings : null,
    paint: [half("paint-local"), half("paint-network")], load: [half("load-local"), half("load-network")],
  };
}

const rate = (number) => (number === null ? "—" : number === 0 ? "0" : number < 0.1 ? "<0.1" : number < 10 ? number.toFixed(1) : count(Math.round(number)));
const within = (bound) => (bound === Infinity ? "> 8,192 ms" : `≤ ${count(bound)} ms`).replaceAll(" ", "\u00a0");

/** A line without numbers; gaps where there are none. `marks`: places from 0 to 1. */
export function spark(values, marks, words) {
  const known = values.filter((one) => one !== null);
  if (known.length < 2) return null;
  const highest = Math.max(...known) || 1;
  const lines = [[]];
  values.forEach((value, index) => {
    if (value === null) { if (lines.at(-1).length) lines.push([]); }
    else lines.at(-1).push(`${(index * 200) / Math.max(1, values.length - 1)},${30 - (value * 28) / highest}`);
  });
  return svg("svg", { class: "spark", viewBox: "0 0 200 32", preserveAspectRatio: "none", role: "img", "aria-label": words },
    marks.map((at) => svg("line", { class: "mark", x1: at * 200, x2: at * 200, y1: 0, y2: 32 })),
    // One point alone is a short line.
    lines.filter((one) => one.length).map((one) => svg("polyline", { points: one.length > 1 ? one.join(" ") : `${one[0]} ${Number(one[0].split(",")[0]) + 2},${one[0].split(",")[1]}` })));
}

/** The share of polls that are on a version, and the failures, at each point of a series. */
export function trends(series, version) {
  const own = series.versions.find((one) => one.version === version)?.polls;
  const sums = Array.from({ length: series.points }, (_, index) => series.versions.reduce((sum, one) => sum + one.polls[index], 0));
  return {
    share: sums.map((sum, index) => (sum ? (own?.[index] ?? 0) / sum : null)),
    failures: sums.map((_, index) => series.failures.reduce((sum, one) => sum + one.failures[index], 0)),
  };
}

/**
 * Six figures: what the newest version is like, beside the version before it.
 * @param line the channel in the overview; `reports`: counts by version; `cost`: of the update; `marks`: places of releases in `series`
 */
export function health({ line, version, before, reports, cost, series, marks, span, isFailing }) {
  const of = (name) => figures(reports.find((one) => one.version === name));
  const [now, old] = [of(version), of(before)];
  const polls = line?.adoption.polls ?? 0;
  const lines = series ? trends(series, version) : null;
  const than = (value) => (value === null ? null : `version ${before}: ${value}`);
  const time = (name, [local, network], previous) => ({
    name, value: local === null ? "—" : within(local), kind: local === null ? "none" : "",
    notes: [local === null ? "not reported yet" : "half of the pages from the device", network === null ? null : `from the network ${within(network)}`, than(previous[0] === null ? null : within(previous[0]))],
  });
  return stats("health", [
    { name: `On version ${version}`, value: polls ? percent(line.adoption.newest, polls) : "—", kind: polls ? "" : "none",
      notes: [polls ? `of ${polled(polls, line.adoption.sample)} in ${line.adoption.minutes} minutes` : "no polls in the last minutes", sampled(line?.adoption.sample)],
      extra: lines && spark(lines.share, marks, `Share of polls on version ${version}, ${span}`) },
    { name: "Hit rate", value: now.hits === null ? "—" : percent(now.local, now.requests), kind: now.hits === null ? "none" : "",
      notes: [now.hits === null ? "not reported yet" : `of ${plural(now.requests, "request")}`, than(old.hits === null ? null : percent(old.local, old.requests))] },
    time("First paint", now.paint, old.paint),
    time("Load", now.load, old.load),
    { name: "Failed pages per 1,000", value: rate(now.perThousand), kind: now.perThousand === null ? "none" : isFailing ? "bad" : "",
      notes: [now.perThousand === null ? "not reported yet" : `of ${plural(now.openings, "opening")}`, than(old.perThousand === null ? null : rate(old.perThousand)),
        line ? `${plural(line.failures.day, "failed download")} in 24 hours` : null],
      extra: lines?.failures.some(Boolean) && spark(lines.failures, marks, `Failures reported, ${span}`) },
    { name: "Update", value: cost ? size(cost.total ?? cost.bytes) : "—", kind: cost ? "" : "none",
      notes: cost ? [`from version ${before}`, `in ${plural(cost.requests ?? cost.files, "request")}`] : ["no version before it"] },
  ]);
}

/** What is different since the release, in words; only what is more than chance. */
export function changed({ version, before, reports }) {
  const [now, old] = [version, before].map((name) => figures(reports.find((one) => one.version === name)));
  if (now.openings < enough || old.openings < enough) return null;
  const found = [];
  if (Math.abs(now.perThousand - old.perThousand) >= Math.max(0.5, old.perThousand * 0.2)) {
    found.push(`${now.perThousand > old.perThousand ? "more" : "fewer"} pages fail: ${rate(now.perThousand)} of 1,000 instead of ${rate(old.perThousand)}`);
  }
  if (Math.abs(now.hits - old.hits) >= 0.01) {
    found.push(`${now.hits > old.hits ? "more" : "fewer"} requests are answered from the device: ${percent(now.local, now.requests)} instead of ${percent(old.local, old.requests)}`);
  }
  for (const [name, is, was] of [["first paint", now.paint[0], old.paint[0]], ["load", now.load[0], old.load[0]]]) {
    if (is !== null && was !== null && is !== was) found.push(`${name} from the device is ${is > was ? "slower" : "faster"}: ${within(is)} instead of ${within(was)}`);
  }
  return el("p", { id: "since", class: "lead" }, `Since version ${before}: `, found.length ? `${found.join("; ")}.` : "failures, speed and requests answered from the device are about the same.");
}
