// What fails on the devices of a version, by page, and what its scripts said.
import { channelLink, channelPath, get } from "./api.js";
import { card, count, el, fill, percent, plural, stats, svg, when } from "./dom.js";
import { figures, rate, trends } from "./health.js";
import { isFailing, spark } from "./overview.js";
import { address, facts, part } from "./parts.js";

const kinds = { script: "uncaught error", rejection: "unhandled rejection", page: "did not come up", process: "its process ended" };
/** What is said where an error has no message. */
const unsaid = { page: "The page didn't come up in time", process: "The page's process ended" };
/** Failures by reason as `xcache status` has them: "12 × integrity, 3 × timeout"; one alone needs no number. */
const byReason = (sums) => [...sums].sort(([, a], [, b]) => b - a).slice(0, 3).map(([reason, number]) => `${sums.size > 1 ? `${count(number)} × ` : ""}${reason}`).join(", ");

/** Whether the page is shown for a version that was chosen on it. */
let chosen = false;

/** `#/failures/APP/CHANNEL?version=N&page=URL` */
export async function open({ names: [app, channel], query, overview: fleet, reload }) {
  const path = channelPath(app, channel);
  const seriesPath = `${path}/adoption/series?step=hour&points=24`;
  let [status, adoption, series] = await Promise.all([get(path), get(`${path}/adoption`), get(seriesPath).catch(() => null)]);
  const version = query.get("version") || status.version;
  const page = query.get("page") || "";
  const line = fleet?.channels.find((one) => one.app === app && one.channel === channel);
  const listed = el("div", { id: "failing-pages" });
  const told = el("div", { id: "samples" });
  const sum = el("span", { class: "quiet small" });
  const figured = el("div", { id: "failing-figures" });
  let reported = [];
  let downloads = 0;
  let own = figures(null);
  const here = (rest) => channelLink("failures", app, channel, `?version=${encodeURIComponent(version)}${rest}`);

  /** Samples of all pages, and of the one that is looked at. What didn't change is the same document. */
  const askSamples = () => {
    const ask = (of) => get(`${path}/samples?version=${encodeURIComponent(version)}${of ? `&page=${encodeURIComponent(of)}` : ""}`);
    return Promise.all([ask(""), page ? ask(page) : null]);
  };
  let known = null;
  const drawSamples = () => part(told, async () => {
    const [all, ofPage] = known = await askSamples();
    fill(listed, pages(all.samples));
    const shown = ofPage ?? all;
    fill(sum);
    if (!shown.samples.length) {
      return el("p", { class: "quiet" }, shown.isOn === false ? ["Devices send no samples of errors: they are off. ", el("code", {}, "xcache channel set --samples on"), " turns them on."]
        : page ? "Devices sent no sample of this page or file." : `Devices of version ${version} told of no error.`);
    }
    const sent = shown.samples.reduce((all, one) => all + one.count, 0);
    fill(sum, `${plural(sent, "sample")}${page ? " of this page" : ""}`);
    return [shown.samples.map((one, index) => sample(one, index, sent)),
      shown.others ? el("p", { class: "quiet" }, `${plural(shown.others, "further error")} of other kinds ${shown.others === 1 ? "isn't" : "aren't"} kept: 20 of a page are.`) : null];
  });

  /** Pages by how often they were told of, and files by how often they couldn't be had. */
  function pages(samples) {
    const sums = new Map();
    const of = (url) => sums.get(url) ?? sums.set(url, { failures: 0, told: 0, reasons: new Map() }).get(url);
    for (const one of reported) {
      of(one.url).failures += one.failures;
      of(one.url).reasons.set(one.reason, (of(one.url).reasons.get(one.reason) ?? 0) + one.failures);
    }
    for (const one of samples) of(one.page).told += one.count;
    /** Of all, the most frequent first. */
    const rows = (of) => [...sums].map(([url, one]) => ({ url, ...one, number: one[of] })).filter((one) => one.number).sort((a, b) => b.number - a.number).slice(0, 100);
    if (!sums.size) return el("p", { class: "quiet" }, own.failed ? `Which pages isn't known: ${plural(own.failed, "failure")} of pages were counted, and no samples were sent.` : "Nothing failed in the last week.");
    const group = (title, of, unit, note) => {
      const all = rows(of);
      return all.length ? card(title, list(all, note), el("span", { class: "quiet small" }, unit)) : null;
    };
    return [page ? el("p", {}, el("a", { href: here("") }, "All pages and files")) : null,
      group("Pages", "told", "samples"), group("Files", "failures", "failed downloads", (one) => byReason(one.reasons))];
  }

  function list(rows, note) {
    const most = rows[0].number;
    return el("ul", { class: "failing" }, rows.map((one) => el("li", {},
      el("a", { href: one.url ? here(`&page=${encodeURIComponent(one.url)}`) : here(""), "aria-current": one.url === page && page ? "true" : null },
        el("span", {}, one.url ? address(one.url) : el("span", { class: "quiet" }, "the manifest itself"), note ? el("span", { class: "quiet small" }, ` ${note(one)}`) : null), el("span", { class: "number" }, count(one.number)),
        svg("svg", { class: "share", viewBox: "0 0 100 3", preserveAspectRatio: "none", "aria-hidden": "true" }, svg("rect", { width: 100, height: 3 }), svg("rect", { width: (one.number * 100) / most, height: 3 }))))));
  }

  function sample(one, index, sent) {
    const isMild = one.kind === "rejection";
    return el("article", { class: "sample", "aria-labelledby": `sample-${index}` },
      el("div", { class: "sample-head" }, el("h3", { id: `sample-${index}`, class: one.message ? null : "unsaid" }, one.message || unsaid[one.kind] || "no message"),
        el("p", { class: "times" }, el("strong", {}, count(one.count)), one.count === 1 ? " time" : " times", one.count < sent ? `, ${percent(one.count, sent)}` : null)),
      el("div", { class: "of-sample" }, one.stack.length ? el("div", {}, el("ol", { class: "stack-of", "aria-label": "Where it happened, innermost first" }, one.stack.map((frame, place) => el("li", {}, framed(frame, one.page, place === 0)))),
        el("details", { class: "command", id: `sent-${index}` }, el("summary", {}, "As devices sent it"), el("pre", { tabindex: 0, "aria-label": "Stack" }, one.stack.map((frame) => el("span", {}, frame.text)))))
        : el("p", { class: "quiet small" }, one.kind === "page" || one.kind === "process" ? "This kind has no stack." : "No stack was sent."),
        el("div", {}, facts([
        ["Kind", el("span", { class: isMild ? "warn" : "bad" }, isMild ? "▲ " : "✖ ", kinds[one.kind] ?? one.kind)],
        ["Page", one.page === page ? address(one.page) : el("a", { href: here(`&page=${encodeURIComponent(one.page)}`) }, address(one.page))],
        ["Engines", (one.engines?.length ? one.engines : [one.engine]).join(", ")],
        ["First seen", when(one.firstAt)], ["Last seen", when(one.lastAt)],
      ]), el("a", { class: "button", href: channelLink("preview", app, channel, `/${encodeURIComponent(one.version)}?page=${encodeURIComponent(one.page)}`) }, "Preview the page", el("span", { class: "hidden" }, ` ${one.page}`)))));
  }

  /** A line of a stack: in the sources where the publisher stored a map, else as the device had it. */
  function framed(frame, page, isFirst) {
    const { source } = frame;
    if (!source && !frame.url) return el("code", { class: "raw" }, frame.text);
    const name = source?.function || frame.function;
    const place = source ? `${source.file}:${source.line}:${source.column}` : [address(near(frame.url, page)), `:${frame.line}:${frame.column}`];
    return [el("code", {}, name ? el("strong", {}, name) : el("span", { class: "quiet" }, "(anonymous)"), " ", el("span", { class: "of", title: frame.url || null }, place)),
      isFirst && source?.excerpt?.length ? el("pre", { class: "excerpt", tabindex: 0, "aria-label": `Around line ${source.line} of ${source.file}` }, source.excerpt.map((text, index) => {
        const number = (source.excerptLine ?? 1) + index;
        return el("span", { class: number === source.line ? "hit" : null, "data-line": number }, text || " ");
      })) : null];
  }

  const report = (which) => figures(adoption.reports?.find((one) => one.version === which));
  const versions = [...new Set([status.version, version, ...(adoption.reports ?? []).map((one) => one.version), ...adoption.failures.map((one) => one.version)])].filter((one) => /^\d+$/.test(one)).sort((a, b) => b - a).slice(0, 30);
  const previous = versions.find((one) => Number(one) < Number(version));

  /** What devices polled and counted, as figures. */
  function drawFigures() {
    reported = adoption.failures.filter((one) => one.version === version);
    downloads = reported.reduce((sum, one) => sum + one.failures, 0);
    own = report(version);
    const older = previous ? report(previous).perThousand : null;
    const polls = adoption.hour.versions.find((one) => one.version === version)?.polls ?? 0;
    const sums = new Map();
    for (const one of reported) sums.set(one.reason, (sums.get(one.reason) ?? 0) + one.failures);
    const lately = series ? trends(series, version).failures : [];
    const isAlarm = version === status.version && isFailing({ app, channel }, fleet);
    fill(figured, stats("failure-figures", [
      { name: "Failed pages per 1,000", value: rate(own.perThousand), kind: own.perThousand === null ? "none" : isAlarm ? "bad" : "",
        notes: [older !== null ? `${rate(older)} on version ${previous}` : null, own.openings ? `${count(own.failed)} of ${plural(own.openings, "opening")}` : "nothing was counted"] },
      { name: "Devices on it", value: percent(polls, adoption.hour.polls), kind: adoption.hour.polls ? "" : "none", notes: [adoption.hour.polls ? "of the polls of this hour and the last" : "no polls yet"] },
      { name: "Failed downloads", value: count(downloads), notes: [byReason(sums) || "none reported"],
        extra: lately.some(Boolean) && [spark(lately, [], "Failed downloads of all versions by hour, last 24 hours"),
          el("span", { class: "under" }, el("span", {}, "24 h ago"), el("span", {}, `all versions: ${count(lately.reduce((sum, one) => sum + one, 0))}`), el("span", {}, "now"))] },
    ]));
  }
  drawFigures();
  drawSamples();
  const acts = el("div", { class: "row" });
  // The dialogs are loaded meanwhile.
  import("./acts.js").then(({ buttons, whyNot }) => {
    const back = buttons({ app, channel, status, fleet: line, reload, isFailing: isFailing({ app, channel }, fleet) })[0].querySelector("#act-roll-back");
    if (back) acts.append(back, ...whyNot(back));
  }).catch(() => {});
  const chooser = el("select", { id: "of-version", change: () => { chosen = true; location.hash = channelLink("failures", app, channel, `?version=${chooser.value}${page ? `&page=${encodeURIComponent(page)}` : ""}`); } },
    versions.map((one) => el("option", { value: one, selected: one === version }, `${one}${one === status.version ? " (newest)" : ""}`)));
  acts.append(el("label", { for: "of-version" }, "Version"), chooser, el("a", { class: "button", href: channelLink("release", app, channel, `/${encodeURIComponent(version)}`) }, "What changed"));
  // Who chooses by arrow keys goes on there.
  const isChosen = chosen;
  chosen = false;
  return {
    title: `Failures of ${app} ${channel}`,
    shown: () => { if (isChosen) chooser.focus(); },
    node: [
      el("p", { class: "crumbs" }, el("a", { href: "#/" }, "Overview"), " / ", el("a", { href: channelLink("channel", app, channel) }, `${app} ${channel}`)),
      el("div", { class: "head" }, el("div", {}, el("h1", {}, "Failures ", el("span", { class: "tag" }, `version ${version}`)), el("p", { class: "lead" }, "What devices reported in the last week.")), acts),
      figured,
      card("Errors", told, sum), listed,
    ],
    poll: `${path}/adoption`,
    async update(document) {
      const [counts, sums] = await Promise.all([get(seriesPath).catch(() => series), askSamples()]);
      if (document !== adoption || counts !== series) {
        [adoption, series] = [document, counts];
        drawFigures();
      } else if (known && sums.every((one, index) => one === known[index])) return;
      // Nobody is thrown off what they are reading: what is shown stays until something else is known.
      await drawSamples();
    },
  };
}

/** A file's URL as its page would write it: without the host that both have. */
function near(url, page) {
  try {
    const [one, other] = [new URL(url), new URL(page)];
    return one.origin === other.origin ? one.pathname + one.search : url;
  } catch { return url; }
}
