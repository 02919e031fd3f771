import { count, el, percent, svg, table, utcText } from "./dom.js";
import { silent } from "./parts.js";

const left = 46;
const bottom = 22;
const top = 16;
/** What a name on the axis takes. */
const wide = 56;
/** What a bar takes at most. */
const widest = 28;

/** What a line is drawn as; its maker may say so. */
const tone = (index, line) => line.tone ?? (line.isRest ? "rest" : `s${index % 12}`);

/** A round number at or above a value, half of which is a whole one. */
function ceiling(value) {
  const power = 10 ** Math.floor(Math.log10(Math.max(1, value)));
  return (power > 1 ? [1, 2, 3, 4, 5, 6, 8, 10] : [2, 4, 6, 8, 10]).map((step) => step * power).find((step) => step >= value);
}

/** Points that a series has at least, however young its channel is. */
const fewest = 24;

/** A series without its beginning, where nothing was counted yet, if that is much of it; `begins` is the first time of what was. */
export function begun(series) {
  const all = [...series.versions.map((one) => one.polls), ...series.failures.map((one) => one.failures)];
  const found = Array.from({ length: series.points }, (_, index) => index).find((index) => all.some((values) => values[index])) ?? 0;
  const first = Math.min(found, series.points - fewest);
  if (first < series.points / 6) return series;
  const at = (index) => new Date(new Date(series.from).getTime() + index * series.seconds * 1000).toISOString();
  const cut = (name) => (one) => ({ ...one, [name]: one[name].slice(first) });
  return { ...series, begins: at(found), points: series.points - first, from: at(first),
    versions: series.versions.map(cut("polls")), failures: series.failures.map(cut("failures")) };
}

/**
 * Bars that are stacked, one for each point of time.
 * @param lines `{name, values, isRest, tone}`, the lowest first
 * @param marks `{at, label}`: moments that matter; `isWide`: it is as wide as the page
 */
export function stacked(title, starts, seconds, lines, marks = [], unit = "polls", isWide = false) {
  const sums = starts.map((_, index) => lines.reduce((sum, line) => sum + line.values[index], 0));
  const total = sums.reduce((a, b) => a + b, 0);
  if (!total) return el("p", { class: "quiet" }, `${title}: none.`);
  // As wide as the column, so that its words have the size of the others.
  const room = Math.min(innerWidth, 1440) - (innerWidth < 640 ? 58 : 82);
  const width = Math.max(300, innerWidth < 1000 || isWide ? room : (room - 24) / 2);
  const height = 200;
  const highest = ceiling(Math.max(...sums));
  const step = (width - left) / starts.length;
  const bar = Math.min(widest, step * 0.8);
  const y = (value) => top + (height - top - bottom) * (1 - value / highest);
  const first = new Date(starts[0]).getTime();
  const span = starts.length * seconds * 1000;
  const picture = svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `${title}; the table below has the numbers` });
  for (const part of [0, 0.5, 1]) {
    picture.append(svg("line", { class: "axis", x1: left, x2: width, y1: y(highest * part), y2: y(highest * part) }),
      svg("text", { x: left - 6, y: y(highest * part) + 4, "text-anchor": "end" }, count(highest * part)));
  }
  starts.forEach((start, index) => {
    let base = 0;
    const group = svg("g", {}, svg("title", {}, [label(start, seconds), utcText(new Date(start)), ...lines.filter((line) => line.values[index])
      .map((line) => `${line.name}: ${count(line.values[index])}`)].join("\n")));
    lines.forEach((line, place) => {
      const value = line.values[index];
      if (!value) return;
      const [from, to] = [y(base), y(base + value)];
      base += value;
      // A gap between neighbours, so that they differ without colours, too.
      const gap = base > value && from - to > 2 ? 1 : 0;
      group.append(svg("rect", { x: left + (index + 0.5) * step - bar / 2, width: bar, y: to, height: Math.max(0.5, from - to - gap), class: tone(place, line) }));
    });
    picture.append(group);
  });
  for (const index of ticks(starts, seconds, (width - left) / (width < 600 ? 72 : 96), (width - left - wide) / step)) {
    const isWide = step >= wide;
    picture.append(svg("text", { x: left + (isWide ? index + 0.5 : index) * step, y: height - 6, "text-anchor": isWide ? "middle" : "start" }, tickLabel(starts[index], seconds, starts.length)));
  }
  // The newest are named first; where there is no room, the line alone is drawn.
  let free = Infinity;
  for (const mark of marks.filter((one) => one.at >= first && one.at < first + span).sort((a, b) => b.at - a.at)) {
    const x = left + ((mark.at - first) / span) * (width - left);
    picture.append(svg("line", { class: "mark", x1: x, x2: x, y1: top, y2: height - bottom }, svg("title", {}, mark.label)));
    if (free - x < 40) continue;
    free = x;
    picture.append(svg("text", { class: "mark-label", x: Math.min(x, width - 24), y: 11, "text-anchor": "middle" }, mark.short));
  }
  const last = starts.length - 1;
  return el("figure", { class: "chart" },
    silent(picture),
    el("table", { class: "legend" }, el("caption", { class: "hidden" }, `Key of ${title}`),
      el("thead", {}, el("tr", {}, [el("span", { class: "hidden" }, "What is counted"), newest(seconds), period(starts.length * seconds)].map((words, index) => el("th", { class: index ? "n" : null, scope: "col" }, words)))),
      el("tbody", {}, lines.map((line, place) => ({ line, place })).reverse().map(({ line, place }) => el("tr", {}, el("th", { scope: "row" },
        svg("svg", { viewBox: "0 0 14 14", "aria-hidden": "true" }, svg("rect", { width: 14, height: 14, rx: 3, class: tone(place, line) })), line.name),
      el("td", { class: "n" }, count(line.values[last])), el("td", { class: "n" }, percent(line.values.reduce((a, b) => a + b, 0), total)))))),
    seconds < 86400 ? null : el("p", { class: "quiet small" }, "Days are UTC days."),
    el("details", { id: `numbers-${title.replace(/\W+/g, "-")}` }, el("summary", { class: "quiet small" }, `${title} as numbers`),
      table(title, [[seconds < 86400 ? "From" : "Day (UTC)"], ...lines.map((line) => [line.name, true])],
        starts.map((start, index) => [el("span", { title: utcText(new Date(start)) }, label(start, seconds)), ...lines.map((line) => count(line.values[index]))]).filter((_, index) => sums[index]).reverse(), `No ${unit}.`)));
}

/** Bars that are named: where an hour or a day of the reader begins, as many as there is room for, up to the bar `last`. */
function ticks(starts, seconds, room, last) {
  const all = starts.map((start, index) => ({ index, minutes: start.getHours() * 60 + start.getMinutes() })).filter((one) => one.index <= last);
  const isDaily = seconds * starts.length > 2 * 86400;
  const begins = isDaily && seconds < 86400 ? all.filter((one) => one.minutes * 60 < seconds) : all;
  // Several days are counted back from the newest; minutes and hours are round ones.
  const steps = isDaily ? [1, 2, 3, 7, 14, 30] : seconds < 3600 ? [5, 10, 15, 20, 30, 60] : [60, 120, 180, 240, 360, 720];
  const chosen = (step) => begins.filter((one, place) => (isDaily ? (begins.length - 1 - place) % step === 0 : one.minutes % step < seconds / 60));
  return (steps.map(chosen).find((some) => some.length <= room) ?? chosen(steps.at(-1))).map((one) => one.index);
}

const time = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit" });
const day = new Intl.DateTimeFormat(undefined, { month: "short", day: "numeric" });

/** The server counts days as those of UTC: in another zone they are no days of its own. */
const utcDay = new Intl.DateTimeFormat(undefined, { month: "short", day: "numeric", timeZone: "UTC" });

/** Where the hours of two days are named, the first one of a day is that day. */
const tickLabel = (start, seconds, points) => (seconds >= 86400 ? utcDay
  : seconds * points <= 86400 || seconds * points <= 2 * 86400 && start.getHours() ? time : day).format(start);

/** How long all bars together are. */
export const period = (seconds) => (seconds < 3600 ? `${Math.round(seconds / 60)} min` : seconds < 172_800 ? `${Math.round(seconds / 3600)} h` : `${Math.round(seconds / 86400)} days`);

/** What a bar counts. */
export const per = (unit, seconds) => `${unit} per ${seconds >= 86400 ? "day" : seconds >= 3600 ? "hour" : "minute"}`;

/** The last bar isn't full yet. */
const newest = (seconds) => (seconds >= 86400 ? "today (UTC)" : seconds >= 3600 ? "this hour" : "this minute");

const label = (start, seconds) => (seconds < 86400 ? `${day.format(new Date(start))} ${time.format(new Date(start))}` : utcDay.format(new Date(start)));
