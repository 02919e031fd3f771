// How a channel's fleet is, out of what its devices polled and reported.
import { count, el, percent, plural, polled, sampled, size, stats, svg } from "./dom.js";
import { columns, ranged, spark } from "./overview.js";
import { toCopy } from "./command.js";

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

/** A rate per 1,000. */
export const rate = (number) => (number === null ? "—" : number === 0 ? "0" : number < 0.1 ? "<0.1" : number < 10 ? number.toFixed(1) : count(Math.round(number)));
const within = (bound) => (bound === Infinity ? "> 8,192 ms" : `≤ ${count(bound)} ms`).replaceAll(" ", "\u00a0");

/** The share of polls that are on a version, and the failures, at each point of a series. */
export function trends(series, version) {
  const own = series.versions.find((one) => one.version === version)?.polls;
  const sums = Array.from({ length: series.points }, (_, index) => series.versions.reduce((sum, one) => sum + one.polls[index], 0));
  return {
    share: sums.map((sum, index) => (sum ? (own?.[index] ?? 0) / sum : null)),
    failures: sums.map((_, index) => series.failures.reduce((sum, one) => sum + one.failures[index], 0)),
  };
}

/** What is below a small picture. */
const under = (words) => el("span", { class: "under" }, words.map((one) => el("span", {}, one)));

/** Versions whose figures are drawn beside each other. */
const mostVersions = 12;

/** Columns of the newest versions, the newest last and told apart; nothing for one alone. `all`: `[version, value]`. */
function byVersion(name, all, words, isLine = false) {
  const known = all.filter(([, value]) => value !== null && value !== undefined)
    .sort(([one], [other]) => Number(one) - Number(other)).slice(-mostVersions);
  if (known.length < 2) return null;
  const values = known.map(([, value]) => value);
  const text = `${name} by version: ${known.map(([version, value]) => `${version}: ${words(value)}`).join("; ")}`;
  // Shares that differ little are seen in a line that begins near the least of them; each version is marked.
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const base = Math.max(0, low - (high - low || 0.1));
  const drawn = isLine ? spark(values.map((one) => one - base), values.map((_, index) => index / (values.length - 1)), text, high - base || 1) : columns(values, text, "own");
  drawn.prepend(svg("title", {}, text));
  const [first, last] = [known[0][0], known.at(-1)[0]];
  return [drawn, isLine || known.length > 6 ? under([`version ${first}`, `version ${last}`]) : el("span", { class: "under each" }, known.map(([version]) => el("span", {}, `v${version}`)))];
}

/**
 * Six figures: what the newest version is like, beside the version before it.
 * @param line the channel in the overview; `reports`: counts by version; `costs`: of updates, by version; `marks`: places of releases in `series`
 */
export function health({ line, version, before, reports, costs, series, marks, span, isFailing }) {
  const all = reports.filter((one) => Number(one.version) <= Number(version)).map((one) => [one.version, figures(one)]);
  const of = (name) => figures(reports.find((one) => one.version === name));
  const [now, old] = [of(version), of(before)];
  const polls = line?.adoption.polls ?? 0;
  const lines = series ? trends(series, version) : null;
  const cost = costs.get(version) ?? null;
  const bytes = (one) => (one ? one.total ?? one.bytes : null);
  const than = (value) => (value === null ? null : `version ${before}: ${value}`);
  // A class without an end is as high as twice the last.
  const height = (bound) => (bound === null ? null : Math.min(bound, 16384));
  const time = (name, key) => {
    const [local, network] = now[key];
    const was = old[key][0];
    return {
      name: `${name} (median)`, value: local === null ? "—" : within(local), kind: local === null ? "none" : "",
      notes: [local === null ? "not reported yet" : network === null ? "from the device" : `network: ${within(network)}`, than(was === null ? null : within(was))],
      extra: byVersion(name, all.map(([one, its]) => [one, height(its[key][0])]), (value) => within(value > 8192 ? Infinity : value)),
    };
  };
  const since = `last ${span}`;
  const over = (drawn) => drawn && [drawn, under([since, "now"])];
  // Nothing to tell yet: one line says what would be told.
  const isCounted = all.some(([, its]) => its.requests || its.openings);
  const counted = (made) => (isCounted ? made : null);
  if (line && !isCounted && !polls && !line.failures.day && !line.trend?.polls.some(Boolean) && !lines?.share.some((one) => one !== null)) {
    return el("section", { class: "card unpolled", "aria-labelledby": "unpolled" }, el("h2", { id: "unpolled" }, "No device has polled this channel yet"),
      el("p", { class: "quiet" }, `Build the app with the channel ${line.channel}, or point a device at it: its first poll shows here within a minute.`,
        cost ? ` A new device downloads ${size(bytes(cost))} in ${plural(cost.requests ?? cost.files, "request")}.` : ""));
  }
  return [stats("health", [
    { name: `On version ${version}`, value: polls ? percent(line.adoption.newest, polls) : "—", kind: polls ? "" : "none",
      notes: [polls ? `of ${polled(polls, line.adoption.sample)}` : "no polls", `in ${line?.adoption.minutes ?? 10} minutes`, sampled(line?.adoption.sample)],
      extra: isCounted && lines && over(spark(lines.share, marks, ranged(`Share of polls on version ${version}, ${since}`, lines.share, (one) => percent(one, 1)), 1)) },
    counted({ name: "Hit rate", value: now.hits === null ? "—" : percent(now.local, now.requests), kind: now.hits === null ? "none" : "",
      notes: [now.hits === null ? "not reported yet" : `of ${plural(now.requests, "request")}`, than(old.hits === null ? null : percent(old.local, old.requests))],
      extra: byVersion("Hit rate", all.map(([one, { hits }]) => [one, hits]), (value) => percent(value, 1), true) }),
    counted(time("First paint", "paint")),
    counted(time("Load", "load")),
    { name: isCounted ? "Failed pages per 1,000" : "Failed downloads", value: isCounted ? rate(now.perThousand) : line ? count(line.failures.day) : "—", kind: isCounted && now.perThousand === null ? "none" : isFailing ? "bad" : "",
      notes: !isCounted ? ["reported", "in 24 hours"] : [now.perThousand === null ? "not reported yet" : `of ${plural(now.openings, "opening")}`, than(old.perThousand === null ? null : rate(old.perThousand))],
      extra: isCounted && lines?.failures.some(Boolean) && over(spark(lines.failures, marks, ranged(`Failures reported, ${since}`, lines.failures))) },
    { name: "Update", value: cost ? size(bytes(cost)) : "—", kind: cost ? "" : "none",
      notes: cost ? [before === "0" ? "for a new device" : `from version ${before}`, `in ${plural(cost.requests ?? cost.files, "request")}`] : ["no version before it"],
      extra: isCounted && byVersion("Update", [...costs].map(([one, its]) => [one, bytes(its)]), size) },
  ]), isCounted ? null : el("div", { class: "foot-of quiet small" }, "Hit rate, paint and load times and failed pages follow once devices report them:", toCopy("xcache channel set --reports 100"))];
}

/** What is different since the release, in words; only what is more than chance. */
export function changed({ version, before, reports }) {
  const [now, old] = [version, before].map((name) => figures(reports.find((one) => one.version === name)));
  if (now.openings < enough || old.openings < enough) return null;
  const found = [];
  const add = (isWorse, isMore, words, kind = "warn") => found.push(el("li", { class: isWorse && kind === "bad" ? "bad" : null }, el("span", { class: isWorse ? kind : "good", "aria-hidden": "true" }, isWorse ? isMore ? "▲ " : "▼ " : "✔ "), words));
  if (Math.abs(now.perThousand - old.perThousand) >= Math.max(0.5, old.perThousand * 0.2)) {
    const isWorse = now.perThousand > old.perThousand;
    add(isWorse, isWorse, `${isWorse ? "more" : "fewer"} pages fail: ${rate(now.perThousand)} of 1,000 instead of ${rate(old.perThousand)}`, now.perThousand >= old.perThousand * 2 ? "bad" : "warn");
  }
  if (Math.abs(now.hits - old.hits) >= 0.01) {
    add(now.hits < old.hits, now.hits > old.hits, `${now.hits > old.hits ? "more" : "fewer"} requests are answered from the device: ${percent(now.local, now.requests)} instead of ${percent(old.local, old.requests)}`);
  }
  for (const [name, is, was] of [["first paint", now.paint[0], old.paint[0]], ["load", now.load[0], old.load[0]]]) {
    if (is !== null && was !== null && is !== was) add(is > was, is > was, `${name} from the device is ${is > was ? "slower" : "faster"}: ${within(is)} instead of ${within(was)}`);
  }
  return el("section", { id: "since", class: "foot-of", "aria-label": `Since version ${before}` }, el("h2", {}, `Since version ${before}`),
    found.length ? el("ul", {}, found) : el("p", {}, "Failures, speed and requests answered from the device are about the same."));
}
