import { channelLink, channelPath, get } from "./api.js";
import { badge, count, el, facts, fill, part, percent, plural, size, table, when } from "./dom.js";
import { stacked } from "./chart.js";
import { states } from "./overview.js";
import { buttons } from "./acts.js";

// What can be looked at: its words, and what it is made of.
const spans = {
  hour: { words: "Hour", step: "minute", points: 60 },
  day: { words: "Day", step: "hour", points: 24 },
  week: { words: "Week", step: "hour", points: 168 },
  quarter: { words: "90 days", step: "day", points: 90 },
};
let chosen = "day";
const page = 20;
/** Lines that the server tells at most, those of the newest versions. */
const mostFailures = 500;

export async function open({ names: [app, channel], overview: fleet, reload }) {
  const path = channelPath(app, channel);
  const head = el("div");
  const charts = el("div");
  const list = el("ol", { class: "timeline", id: "timeline" });
  const more = el("button", { type: "button", id: "older" }, "Older releases");
  const older = el("p", { role: "status", id: "older-note" });
  const moment = el("div", { role: "status" });
  let status = await get(path);
  let releases = (await get(`${path}/log?limit=${page}`)).releases;

  function drawHead() {
    const line = fleet?.channels.find((one) => one.app === app && one.channel === channel);
    const policy = status.policy?.policy;
    fill(head,
      el("h1", {}, `${app} ${channel}: version ${status.version}`),
      el("p", {}, line ? states(line) : null, status.isDefaultApp && channel === "online" ? badge("quiet", "default app") : null),
      facts([
        ["Released", when(status.at, true)],
        line?.kill && ["Kill switch", [`on since `, when(line.kill.at), ` by ${line.kill.author}: ${line.kill.reason}`, line.kill.until ? [", until ", when(line.kill.until)] : ""]],
        status.freeze && ["Frozen", ["since ", when(status.freeze.at), ` by ${status.freeze.author}: ${status.freeze.reason}`]],
        ["Holds", `${plural(status.resources, "resource")}, ${size(status.bytes)}`],
        ["Devices on it", line ? (line.adoption.polls ? `${percent(line.adoption.newest, line.adoption.polls)} of ${plural(line.adoption.polls, "poll")} in ${line.adoption.minutes} minutes` : "no polls") : "—"],
        ["Failures", line ? `${count(line.failures.hour)} in this hour and the last, ${count(line.failures.day)} in 24 hours` : "—"],
        line?.mirror && ["Mirror", [`${line.mirror.name}: version ${line.mirror.version}, `, when(line.mirror.at)]],
        ["Poll interval", status.interval ? `${status.interval} s` : "as devices do unasked"],
        status.hosts && ["Hosts", status.hosts.join(", ")],
        status.reports !== null && ["Reports", percent(status.reports, 10000)],
        policy?.bypass?.length && ["Bypassed", policy.bypass.map((one, index) => {
          const until = policy.bypassUntil && Object.hasOwn(policy.bypassUntil, one) ? policy.bypassUntil[one] : policy.until;
          return [index ? ", " : "", one, until ? [" until ", when(until)] : ""];
        })],
        status.rollback && ["Last rollback", `made version ${status.rollback}`],
        status.deltas && ["Deltas", status.deltas.pending === 0 ? "complete" : status.deltas.pending === null ? "looking for older versions" : `${plural(status.deltas.pending, "older version")} left`],
        ["Public URL", status.publicURL],
        status.damagedURLs.length && ["Damaged", status.damagedURLs.map((one) => el("div", { class: "bad" }, `✖ ${one.url}: publish bundle ${one.bundle} again`))],
      ]),
      buttons({ app, channel, status, fleet: line, reload }));
  }

  const series = () => {
    const { step, points } = spans[chosen];
    return `${path}/adoption/series?step=${step}&points=${points}`;
  };

  let lastSeries = null;
  function drawCharts(document) {
    const { seconds } = document;
    const from = new Date(document.from).getTime();
    const starts = Array.from({ length: document.points }, (_, index) => new Date(from + index * seconds * 1000));
    const marks = releases.map((one) => ({
      at: new Date(one.at).getTime(), short: `▾${one.version}`, label: `Version ${one.version}: ${one.kind} by ${one.author}`,
    }));
    const oldest = releases.at(-1);
    const isCut = oldest && oldest.version !== "1" && !more.hidden && new Date(oldest.at).getTime() > from;
    const versions = document.versions.map((one) => ({
      name: one.version === "none" ? "no version" : one.version === "other" ? "others" : `version ${one.version}`,
      values: one.polls, isRest: one.version === "none" || one.version === "other",
    })).reverse();
    fill(charts,
      el("h2", {}, "What devices run"), stacked("Polls by version", starts, seconds, versions, marks),
      el("h2", {}, "What went wrong on them"),
      chosen === "hour" ? el("p", { class: "quiet" }, "Failures are counted by the hour; choose a longer time.")
        : stacked("Failures by reason", starts, seconds,
          document.failures.map((one) => ({ name: one.reason, values: one.failures })), marks, "failures"),
      isCut ? el("p", { class: "quiet", id: "marks-note" }, `▲ Only the newest ${plural(releases.length, "release")} are marked, since `, when(oldest.at), "; “Older releases” below marks more.") : null);
  }

  const choice = el("div", { class: "row", role: "group", "aria-label": "Time that the charts show" },
    Object.entries(spans).map(([name, span]) => el("button", {
      type: "button", id: `span-${name}`, "aria-pressed": String(name === chosen),
      click: async (event) => {
        chosen = name;
        for (const button of choice.children) button.setAttribute("aria-pressed", String(button === event.target));
        shown.poll = series();
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

  function item(release, before) {
    const cost = el("span", { class: "quiet" }, before ? "…" : "");
    const node = el("li", {},
      el("div", {}, el("a", { id: `release-${release.version}`, href: channelLink("release", app, channel, `/${release.version}`) }, `Version ${release.version}`), " ",
        badge(release.kind === "rollback" ? "warn" : "quiet", release.kind), when(release.at, true)),
      el("div", {}, `by ${release.author}`, release.source ? `, content of ${release.source.channel} ${release.source.version}` : "",
        release.bundles.length ? `; ${release.bundles.map((one) => one.bundle).join(", ")}` : ""),
      release.breakGlass ? el("div", { class: "warn" }, `▲ in spite of a freeze by ${release.breakGlass.frozenBy}: ${release.breakGlass.reason}`) : null,
      release.message ? el("div", { class: "message" }, release.message) : null,
      el("div", { class: "quiet" }, `+${release.added} ~${release.changed} −${release.removed}, ${size(release.newBytes)} new `, cost));
    return { node, cost, release };
  }

  const items = [];
  function addReleases(some) {
    for (const release of some) {
      const made = item(release, true);
      items.push(made);
      list.append(made.node);
    }
    const last = releases.at(-1);
    more.hidden = !last || last.version === "1" || some.length < page;
    costs();
  }
  // What each update costs a device is worked out by the server; one after the other, newest first.
  let isAsking = false;
  async function costs() {
    if (isAsking) return;
    isAsking = true;
    for (const { cost, release } of items) {
      if (cost.textContent !== "…" || !list.isConnected && items[0]?.node.parentNode !== list) continue;
      try {
        const { cost: known } = await get(`${path}/releases/${release.version}`);
        cost.textContent = known ? `; update: ${size(known.total ?? known.bytes)}` : "";
      } catch { cost.textContent = ""; }
    }
    isAsking = false;
  }
  more.addEventListener("click", async () => {
    if (more.getAttribute("aria-disabled")) return;
    more.setAttribute("aria-disabled", "true");
    older.textContent = "";
    try {
      const next = (await get(`${path}/log?limit=${page}&before=${releases.at(-1).version}`)).releases;
      releases = releases.concat(next);
      addReleases(next);
      if (lastSeries) drawCharts(lastSeries);
    } catch (error) {
      older.className = "bad";
      older.textContent = `✖ The older releases can't be read: ${error.message}`;
    }
    more.removeAttribute("aria-disabled");
  });

  const clock = el("input", { type: "datetime-local", id: "moment", required: true, step: 1 });
  const ask = el("form", { id: "ask-moment", submit: (event) => { event.preventDefault(); part(moment, whatWas); } },
    el("label", { for: "moment" }, "What was live at"), clock, el("button", {}, "Look"));
  async function whatWas() {
    // A minute stands for all of it, a second likewise; nothing is known of times to come.
    const end = new Date(clock.value).getTime() + (clock.value.length > 16 ? 999 : 59_999);
    const at = new Date(Math.min(end, Date.now()));
    const found = (await get(`${path}/log?limit=2&at=${encodeURIComponent(at.toISOString())}`)).releases;
    const asked = el("p", { class: "quiet" }, "At ", when(at), ":");
    if (!found.length) return [asked, el("p", {}, "Nothing was released by then.")];
    const [live, before] = found;
    return [
      asked,
      el("p", {}, el("a", { href: channelLink("release", app, channel, `/${live.version}`) }, `Version ${live.version}`),
        " was live: ", live.kind, ` by ${live.author}, released `, when(live.at), live.message ? `: ${live.message}` : "."),
      before ? el("p", {}, el("a", { href: channelLink("compare", app, channel, `?from=${before.version}&to=${live.version}`) }, `Compare it with version ${before.version}`), " which it replaced.") : null];
  }

  drawHead();
  addReleases(releases);
  drawCharts(lastSeries = await get(series()));
  const failures = el("div");
  part(failures, async () => {
    const adoption = await get(`${path}/adoption`);
    const all = [...adoption.failures].sort((a, b) => b.failures - a.failures);
    const rest = all.length - 50;
    return [table("Failures of the last week, the most frequent first", [["Failures", true], ["Reason"], ["Version", true], ["URL"]],
      all.slice(0, 50).map((one) => [count(one.failures), one.reason, one.version, one.url || "not told, or one of many"]), "Devices told of no failures in the last week."),
      rest > 0 ? el("p", {}, `▲ ${count(rest)}${all.length < mostFailures ? "" : " or more"} further lines aren't shown.`) : null];
  });

  const shown = {
    title: `${app} ${channel}`,
    node: [head, choice, charts, el("h2", {}, "Failures of the last week"), failures,
      el("h2", {}, "Releases"), ask, moment,
      el("p", {}, el("a", { href: channelLink("compare", app, channel) }, "Compare two versions or moments")), list, more, older,
      el("h2", {}, "Bundles"),
      table("Bundles", [["Bundle"], ["Changed in", true], ["Resources", true], ["Size", true]],
        status.bundles.map((one) => [one.name, one.version, count(one.resources), size(one.bytes)])),
      el("section", { class: "later", "aria-label": "Not yet available" }, el("h2", {}, "Not yet available"),
        el("p", {}, "Rollouts to a part of the fleet, approvals before a release, and manifests signed by their publishers. This server can't do them yet; when it can, they are here."))],
    poll: series(),
    update: (() => {
      let last = null;
      return (document) => {
        if (document === last) return;
        last = document;
        drawCharts(lastSeries = document);
      };
    })(),
    fleet(next) {
      const mine = (all) => JSON.stringify(all?.channels.find((one) => one.app === app && one.channel === channel));
      if (mine(next) === mine(fleet)) return;
      const line = next.channels.find((one) => one.app === app && one.channel === channel);
      const before = fleet?.channels.find((one) => one.app === app && one.channel === channel);
      fleet = next;
      // A release, a freeze or a policy of somebody else: the whole page is another one.
      if (line && (line.version !== status.version || Boolean(line.freeze) !== Boolean(status.freeze)
        || line.bypasses !== before?.bypasses || Boolean(line.kill) !== Boolean(before?.kill))) reload();
      else drawHead();
    },
  };
  return shown;
}
