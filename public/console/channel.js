import { channelLink, channelPath, get } from "./api.js";
import { badge, card, count, el, fill, named, percent, plural, sampled, size, svg, table, when } from "./dom.js";
import { address, exactly, facts, part, wholeMinute } from "./parts.js";
import { begun, per, period, stacked } from "./chart.js";
import { changed, health } from "./health.js";
import { isFailing, ofChannel, states } from "./overview.js";
import { buttons, rolloutButtons } from "./acts.js";
import { arms, audience, evidenceChart, evidenceFacts, ratesChart, stepsBar, verdict } from "./rollout.js";
import { planned } from "./planned.js";
import { protectionWords, unapproved } from "./approvals.js";
import { timeline } from "./timeline.js";
import { signatures } from "./trust.js";

// What can be looked at: its words, and what it is made of.
const spans = {
  hour: { words: "Hour", step: "minute", points: 60 },
  day: { words: "Day", step: "hour", points: 24 },
  week: { words: "Week", step: "hour", points: 168 },
  quarter: { words: "90 days", step: "day", points: 90 },
};
let chosen = "day";
/** Releases that are marked and compared from the beginning. */
const page = 20;
/** Milliseconds after which the channel is read again though nothing told of a change. */
const maxAge = 60_000;
/** Lines that the server tells at most, those of the newest versions. */
const maxFailures = 500;

export async function open({ names: [app, channel], query, overview: fleet, reload }) {
  const path = channelPath(app, channel);
  /** The address names what is looked at, so that it can be sent to a colleague. */
  function keepAddress() {
    const parts = [chosen === "day" ? "" : `span=${chosen}`, kinds.length ? `kinds=${kinds.join()}` : ""].filter(Boolean);
    history.replaceState(null, "", channelLink("channel", app, channel, parts.length ? `?${parts.join("&")}` : ""));
  }
  const head = el("div", { class: "head" });
  const vitals = el("section", { "aria-label": "How the fleet is" });
  const about = el("div");
  const rollout = el("div");
  const plans = el("div");
  const signed = el("div");
  const charts = el("div");
  let kinds = (query.get("kinds") ?? "").split(",").filter(Boolean);
  if (Object.hasOwn(spans, query.get("span") ?? "")) chosen = query.get("span");
  let hasOlder = false;
  const moment = el("div", { role: "status" });
  let status = await get(path);
  let readAt = Date.now();
  let isStale = false;
  let releases = (await get(`${path}/log?limit=${page}`)).releases;

  function drawHead() {
    const line = lineOf(fleet);
    const policy = status.policy?.policy;
    // The overview tells it as it changes, without a request for it.
    const pending = line?.deltasPending ?? status.deltas?.pending ?? null;
    const newest = releases[0];
    const worse = judged();
    fill(head, el("div", {},
      el("h1", {}, `${app} ${channel} `, el("span", { class: "tag" }, `version ${status.version}`)),
      el("p", { class: "lead" }, line ? states(line, fleet.problems).filter((one) => !(worse && one.classList.contains("good"))) : null,
        worse ? badge(worse.isSure ? "bad" : "warn", "candidate failing more") : null, unapproved(status.scheduled ?? []),
        el("span", {}, status.at ? ["Released ", when(status.at), newest?.version === status.version ? [" by ", named(newest.author)] : "", " · ",
          el("a", { href: channelLink("preview", app, channel, `/${status.version}`) }, "Preview")] : "No release yet"))),
    el("div", {}, buttons({ app, channel, status, fleet: line, reload, isFailing: isFailing({ app, channel }, fleet) })));
    drawVitals();
    drawRollout();
    fill(plans, planned({ app, channel, status, reload, isWorse: Boolean(worse) }));
    fill(about,
      facts([
        line?.kill && ["Kill switch", ["on; ", when(line.kill.at), ` by ${line.kill.author}: ${line.kill.reason}`, line.kill.until ? ["; ends ", when(line.kill.until)] : ""]],
        status.freeze && ["Frozen", [when(status.freeze.from ?? status.freeze.at), ` by ${status.freeze.author}: ${status.freeze.reason}`, status.freeze.to ? ["; ends ", when(status.freeze.to)] : ""]],
        status.staged?.length && ["Staged", status.staged.map((one) => el("div", { class: "bad" }, `✖ A release by ${one.author}, `, when(one.at), `, isn't visible: ${one.reason}`))],
        ["Content", `${plural(status.resources, "resource")}, ${size(status.bytes)}`],
        line?.mirror && ["Mirror", [`${line.mirror.name}: version ${line.mirror.version}, `, when(line.mirror.at)]],
        ["Protection", protectionWords(status.protection)],
        ["Poll interval", status.interval ? `${status.interval} s` : "the devices' default"],
        status.isDefaultApp && channel === "online" && ["Default app", "devices that name no app get this one"],
        status.hosts && ["Hosts", status.hosts.join(", ")],
        status.reports !== null && ["Reports", `${status.reports / 100} % of devices`],
        status.samples === false && ["Error samples", "off"],
        policy?.bypass?.length && ["Bypassed", policy.bypass.map((one, index) => {
          const until = policy.bypassUntil && Object.hasOwn(policy.bypassUntil, one) ? policy.bypassUntil[one] : policy.until;
          return [index ? ", " : "", address(one), until ? [", ends ", when(until)] : ""];
        })],
        status.rollback && ["Last rollback", `made version ${status.rollback}`],
        status.deltas && ["Deltas", pending === 0 ? "complete" : pending === null ? "looking for older versions" : `${plural(pending, "older version")} left${status.deltas.failing ? `, ${count(status.deltas.failing)} to be tried again${status.deltas.fault ? `: ${status.deltas.fault}` : ""}` : ""}`],
        ["Public URL", status.publicURL],
        status.damagedURLs.length && ["Damaged", status.damagedURLs.map((one) => el("div", { class: "bad" }, "✖ ", address(one.url), `: publish bundle ${one.bundle} again`))],
      ], "facts"));
  }

  /** What devices report against the open rollout's candidate; null where nothing. */
  const judged = () => (status.rollout && standing?.open?.version === status.rollout.version ? verdict(standing) : null);
  const lineOf = (all) => all?.channels.find((one) => one.app === app && one.channel === channel);
  // What devices counted, and what the newest release's update costs.
  let adoption = null;
  // What devices reported about the open rollout, and what it waits for.
  let standing = null;
  let countedAt = 0;
  /** What each release's update costs a device, by its version. */
  const costs = new Map();
  let lastSeries = null;
  const source = el("p", { class: "quiet" });
  const none = el("p", { class: "quiet" });

  function drawVitals() {
    // A candidate is newer than what all devices get.
    const before = releases[releases.findIndex((one) => one.version === status.version) + 1]?.version ?? "0";
    const reports = adoption?.reports ?? [];
    const series = lastSeries && begun(lastSeries);
    const from = series && new Date(series.from).getTime();
    const length = series && series.points * series.seconds * 1000;
    fill(vitals, status.version === "0" ? null : [
      health({
        costs,
        line: lineOf(fleet), version: status.version, before, reports, series, span: series?.begins ? period(series.points * series.seconds) : spans[chosen].words.toLowerCase(),
        marks: series ? releases.map((one) => (new Date(one.at).getTime() - from) / length).filter((at) => at >= 0 && at <= 1) : [],
        isFailing: isFailing({ app, channel }, fleet),
      }), changed({ version: status.version, before, reports })]);
  }

  /** Whom the open rollout's candidate goes to, and who has it by their polls of this hour and the one before. */
  function drawRollout() {
    const open = status.rollout;
    const hour = adoption?.hour;
    const shown = open && standing?.open?.version === open.version ? standing : null;
    const having = (version) => percent((hour?.versions ?? []).reduce((sum, one) => sum + (one.version === version ? one.polls : 0), 0), hour?.polls ?? 0);
    const worse = judged();
    const link = (version, words) => el("a", { href: channelLink("release", app, channel, `/${version}`) }, `${words} ${version}`);
    fill(rollout, !open ? null : el("section", { class: `card rollout${worse ? " worse" : ""}`, "aria-label": "Rollout" },
      el("div", { class: "card-head" },
        el("div", {}, el("h2", {}, "Rollout of version ", open.version, open.paused ? [" ", badge("warn", "paused")] : "", shown?.evidence?.alarmedAt ? [" ", badge("bad", "fails too often")] : ""),
          worse ? el("p", { class: `verdict ${worse.isSure ? "bad" : "warn"}` }, `${worse.isSure ? "✖" : "▲"} ${worse.words}`) : null,
          el("p", { class: "quiet" }, link(open.version, "Version"), open.prefetch ? ` with prefetch config ${open.prefetch}` : "", ` goes to ${audience(open)}; all others `,
            Number(open.full) ? ["stay at ", link(open.full, "version"), "."] : "have nothing yet.", open.paused ? " Nobody new is let in." : "",
            Number(open.full) ? [" ", el("a", { href: channelLink("compare", app, channel, `?from=${open.full}&to=${open.version}`) }, "Compare")] : "")),
        el("div", {}, rolloutButtons({ app, channel, status, reload, isWorse: Boolean(worse) }))),
      stepsBar(open, shown?.ramp),
      el("div", { class: "sides-of" },
        el("div", {}, arms(open, shown?.evidence, hour?.polls ? [having(open.version), having(open.full)] : ["no polls", "no polls"]),
          el("p", { class: "quiet small" }, "Polls are those of this hour and the last", hour?.sample ? `, ${sampled(hour.sample)}` : "", "."), ratesChart(shown)),
        el("div", {}, facts([...evidenceFacts(shown),
          ["Begun", [when(open.at), " by ", named(open.author), open.changedAt === open.at ? "" : ["; changed ", when(open.changedAt), " by ", named(open.changedBy)]]]], "standing"),
        evidenceChart(shown)))));
  }

  const series = () => {
    const { step, points } = spans[chosen];
    return `${path}/adoption/series?step=${step}&points=${points}`;
  };

  function drawCharts(whole) {
    drawVitals();
    const document = begun(whole);
    const { seconds } = document;
    const from = new Date(document.from).getTime();
    const starts = Array.from({ length: document.points }, (_, index) => new Date(from + index * seconds * 1000));
    const marks = releases.map((one) => ({
      at: new Date(one.at).getTime(), short: `▾${one.version}`, label: `Version ${one.version}: ${one.kind} by ${one.author}`,
    }));
    const oldest = releases.at(-1);
    const isCut = oldest && oldest.version !== "1" && hasOlder && new Date(oldest.at).getTime() > from;
    const versions = document.versions.map((one) => ({
      name: one.version === "none" ? "no version" : one.version === "other" ? "others" : `version ${one.version}`,
      values: one.polls, isRest: one.version === "none" || one.version === "other",
    })).reverse();
    const order = versions.filter((one) => !one.isRest).reverse();
    for (const one of versions) one.tone = one.isRest ? "rest" : `v${Math.min(order.indexOf(one), 4)}`;
    const hasFailed = document.failures.some((one) => one.failures.some(Boolean));
    const isQuiet = !hasFailed && !document.versions.some((one) => one.polls.some(Boolean));
    // There may be less than what was chosen.
    const known = document.begins ? `, ${period((from + document.points * seconds * 1000 - new Date(document.begins)) / 1000)} of data` : "";
    // Nothing to choose from where the channel has never had a poll.
    fleetCard.hidden = choice.hidden = isQuiet && releases.at(-1)?.version === "1" && new Date(releases.at(-1).at).getTime() > from;
    const chart = (title, unit, drawn) => el("div", {}, el("h3", {}, title, " ", el("span", { class: "unit" }, unit)), drawn);
    fill(charts, choice.hidden ? null : isQuiet ? el("p", { class: "quiet" }, `No device of this channel polled or failed in this time (${spans[chosen].words.toLowerCase()}).`) : [
      el("div", { class: hasFailed ? "sides-of" : null },
        chart("What devices run", per("polls", seconds) + known, stacked("Polls by version", starts, seconds, versions, marks, "polls", !hasFailed)),
        hasFailed ? chart("What went wrong on them", per("failures", seconds), stacked("Failures by reason", starts, seconds,
          document.failures.map((one, index) => ({ name: one.reason, values: one.failures, tone: `f${index % 8}` })), marks, "failures")) : null),
      chosen === "hour" ? el("p", { class: "quiet small" }, "Failures are counted by the hour; choose a longer time to see them.") : null],
    isCut ? el("p", { class: "quiet small", id: "marks-note" }, `▲ Only the newest ${plural(releases.length, "release")} are marked, since `, exactly(oldest.at), "; “Older” above marks more.") : null);
  }

  const choice = el("div", { class: "row joined", role: "group", "aria-label": "Time that the charts show" },
    Object.entries(spans).map(([name, span]) => el("button", {
      type: "button", id: `span-${name}`, "aria-pressed": String(name === chosen),
      click: async (event) => {
        chosen = name;
        keepAddress();
        for (const button of choice.children) button.setAttribute("aria-pressed", String(button === event.target));
        // Somebody may have chosen another time meanwhile.
        const asked = series();
        try {
          const document = await get(asked);
          if (asked === series()) drawCharts(lastSeries = document);
        } catch (error) {
          if (asked === series()) fill(charts, el("p", { class: "bad", role: "alert" }, `✖ ${error.message}`));
        }
      },
    }, span.words)));

  const fleetCard = card("Fleet", [charts, none, source], choice);

  const happened = timeline({
    app, channel, path, chosen: kinds,
    choose(names) { kinds = names; keepAddress(); },
    grown(all, isMore) {
      const known = new Set(releases.map((one) => one.version));
      const fresh = all.filter((one) => !known.has(one.version));
      hasOlder = isMore;
      happened.live(status.version);
      if (fresh.length) releases = releases.concat(fresh).sort((a, b) => Number(b.version) - Number(a.version));
      tellCosts();
      if (lastSeries) drawCharts(lastSeries);
    },
  });

  // What each update costs a device is worked out by the server; one after the other, newest first.
  let isAsking = false;
  async function tellCosts() {
    if (isAsking) return;
    isAsking = true;
    const due = () => happened.entries().find(({ one, cost }) => one.release && !cost.hasChildNodes());
    for (let entry; (entry = due());) {
      const { version } = entry.one.release;
      try {
        if (!costs.has(version)) costs.set(version, (await get(`${path}/releases/${version}`)).cost ?? null);
        const known = costs.get(version);
        fill(entry.cost, known ? `update ${size(known.total ?? known.bytes)}` : version === "1" ? "first release" : "\u00a0");
        drawVitals();
      } catch { fill(entry.cost, "\u00a0"); }
    }
    isAsking = false;
  }

  // Asked by minutes; a time to the second is taken, too.
  const clock = el("input", { type: "datetime-local", id: "moment", required: true, step: "any" });
  const ask = el("form", { id: "ask-moment", class: "inline", submit: (event) => { event.preventDefault(); past.open = true; part(moment, whatWas); } },
    el("label", { for: "moment", class: "hidden" }, "What was live at"), clock, el("button", {}, "Show"));
  const past = el("details", { class: "back", id: "past" }, el("summary", { class: "quiet" }, "What was live at a time …"), ask, moment);
  async function whatWas() {
    // A minute stands for all of it, a second likewise; nothing is known of times to come.
    const at = new Date(Math.min(wholeMinute(clock.value), Date.now()));
    const found = (await get(`${path}/log?limit=2&at=${encodeURIComponent(at.toISOString())}`)).releases;
    const asked = el("p", { class: "quiet" }, "At ", exactly(at), ":");
    if (!found.length) return [asked, el("p", {}, "Nothing had been released by then.")];
    const [live, before] = found;
    return [
      asked,
      el("p", {}, el("a", { href: channelLink("release", app, channel, `/${live.version}`) }, `Version ${live.version}`),
        " was live: ", live.kind, ` by ${live.author}, released `, exactly(live.at), live.message ? `: ${live.message}` : "."),
      before ? el("p", {}, el("a", { href: channelLink("compare", app, channel, `?from=${before.version}&to=${live.version}`) }, `Compare it with version ${before.version}`), " which it replaced.") : null];
  }

  const bundles = el("div");
  const drawBundles = () => fill(bundles, table("Bundles", [["Bundle"], ["Changed in", true], ["Resources", true], ["Size", true]],
    status.bundles.map((one) => [one.name, one.version, count(one.resources), size(one.bytes)])));

  /** Releases since the newest that is known, for the marks and figures. */
  async function newer() {
    const found = (await get(`${path}/log?limit=${page}`)).releases;
    const known = new Set(found.map((one) => one.version));
    releases = found.concat(releases.filter((one) => !known.has(one.version)));
    await happened.newer();
  }

  async function refresh(next) {
    fleet = next ?? fleet;
    countedAt = 0;
    // Asked again at the next turn where one of these fails.
    isStale = true;
    take(await get(path));
    await newer();
    isStale = false;
    drawHead();
    drawFailures();
    drawStanding();
    drawSigned();
    if (lastSeries) drawCharts(lastSeries);
  }

  function take(document) {
    status = document;
    readAt = Date.now();
    drawHead();
    drawBundles();
    happened.live(status.version);
  }

  drawHead();
  drawBundles();
  [lastSeries] = await Promise.all([get(series()), happened.begin()]);
  const failures = el("div", { id: "failures" });
  const stacks = () => el("a", { id: "to-failures", href: channelLink("failures", app, channel) }, "Messages and stacks");
  const drawFailures = () => part(failures, async () => failuresIn(await get(`${path}/adoption`)));
  /** The card with what failed. Where nothing did, a line of the fleet's card says so. */
  function failuresIn(document) {
    adoption = document;
    countedAt = Date.now();
    source.textContent = adoption.week.sample ? "A shared cache answers polls, so they are worked out from the batches of counts that devices send. Devices without a version are missing." : "";
    drawVitals();
    drawRollout();
    const all = [...adoption.failures].sort((a, b) => b.failures - a.failures);
    fill(none, all.length ? null : ["Devices reported no failures in the last week. ", stacks()]);
    if (!all.length) return null;
    const rest = all.length - 50;
    const share = (failures) => svg("svg", { class: "bar", viewBox: "0 0 100 4", preserveAspectRatio: "none", "aria-hidden": "true" },
      svg("rect", { width: 100, height: 4 }), svg("rect", { width: (failures * 100) / all[0].failures, height: 4 }));
    return card("Failures of the last week", [table("Failures of the last week, the most frequent first", [["What failed", false, true], ["Version", true], ["Failures", true]],
      all.slice(0, 50).map((one) => [[el("b", {}, one.reason), el("div", { class: "sub" }, one.url ? address(one.url) : "URL not reported, or one of many")], one.version, [share(one.failures), el("span", { class: "figure" }, count(one.failures))]])),
    rest > 0 ? el("p", { class: "quiet" }, `▲ ${count(rest)}${all.length < maxFailures ? "" : " or more"} further lines aren't shown.`) : null], stacks(), true);
  }

  /** What an older origin doesn't know, or what can't be read just now, is left out. */
  async function drawStanding() {
    standing = status.rollout ? await get(`${path}/rollout`).catch(() => null) : null;
    drawHead();
  }

  const drawSigned = () => part(signed, () => signatures(app, channel));
  drawFailures();
  drawStanding();
  drawSigned();
  drawCharts(lastSeries);
  const shown = {
    title: `${app} ${channel}`,
    node: [el("p", { class: "crumbs" }, el("a", { href: "#/" }, "Overview")), head, rollout, plans, vitals,
      el("div", { class: "of-channel" },
        card("What happened", [happened.choice, happened.node, past], el("a", { href: channelLink("compare", app, channel) }, "Compare two versions or moments")),
        fleetCard, failures,
        el("div", { class: "aside" }, card("This channel", about), card("Bundles", bundles), signed))],
    get poll() { return isStale || Date.now() - readAt >= maxAge ? path : Date.now() - countedAt >= maxAge ? `${path}/adoption` : series(); },
    async update(document) {
      // A document of the channel, of its charts, or of what devices counted.
      if ("week" in document) {
        fill(failures, failuresIn(document));
        if (status.rollout) await drawStanding();
      }
      else if (!("points" in document)) {
        if (document === status && !isStale) readAt = Date.now();
        else await refresh();
      } else if (document !== lastSeries) drawCharts(lastSeries = document);
    },
    refresh,
    async fleet(next) {
      const problems = (all) => JSON.stringify(ofChannel({ app, channel }, all?.problems ?? []));
      const [before, now] = [lineOf(fleet), lineOf(next)];
      if (JSON.stringify(before) === JSON.stringify(now) && problems(fleet) === problems(next)) return;
      // What devices do, and how far deltas are, is in the line itself; whatever else changed, somebody did.
      const done = (line) => JSON.stringify({ ...line, adoption: null, failures: null, deltasPending: null, trend: null });
      if (now && done(before) !== done(now)) await refresh(next);
      else {
        fleet = next;
        drawHead();
      }
    },
  };
  return shown;
}
