import { act, bundleLimit, channelPath, Ended, get, hindrance, isPerson, long, me, preview } from "./api.js";
import { el, fill, plural, polled, size, tell, when } from "./dom.js";
import { exactly, wholeMinute } from "./parts.js";
import { figures, rate } from "./health.js";
import { alarm, audience, buckets, ofBuckets } from "./rollout.js";
import { isSame, propose, Unchanged, why } from "./dialog.js";
import { changedURLs, changeFacts, gated, protect, waiting } from "./approvals.js";

/** Times from now that are often meant, in hours. */
const spans = [[1, "1 hour"], [4, "4 hours"], [24, "1 day"]];
/** How a release came to be, of somebody who did it. */
const past = { publish: "published", promote: "promoted", rollback: "rolled back", unpublish: "taken back" };
/** Versions that a dialog lists. */
const offered = 50;

/** A span of time until a moment, as the command line writes it. */
function lasting(until) {
  const minutes = Math.max(1, Math.floor((wholeMinute(until) - Date.now()) / 60_000));
  return minutes % 60 ? `${minutes}m` : `${minutes / 60}h`;
}

/** Refuses a time that is over; nothing else. */
function ahead(until) {
  if (until && wholeMinute(until) < new Date()) throw new Error("This time has already passed.");
  return "";
}

/** Tells of a URL whether a pattern of docs/protocol.md has it; null: it is no pattern. */
function matcher(pattern) {
  const found = /^(\*|https?):\/\/(\*|(?:\*\.)?[^*/?#]+)(\/[^#]*)$/.exec(pattern);
  if (!found) return null;
  const escape = (text) => text.replace(/[.+?^${}()|[\]\\]/g, "\\$&");
  const scheme = found[1] === "*" ? "https?" : found[1];
  const host = found[2] === "*" ? "[^/]*" : found[2].startsWith("*.") ? `([^/]*\\.)?${escape(found[2].slice(2))}` : escape(found[2]);
  const rest = found[3].split("*").map(escape).join(".*");
  const whole = new RegExp(`^${scheme}://${host}${rest}$`, "s");
  return (url) => whole.test(found[3].includes("?") ? url : url.split("?")[0]);
}

/** What can be done with a channel. A token that may not is told why. `isFailing`: what its newest version calls for comes first; `to`: the version that a rollback is about. */
export function buttons({ app, channel, status, fleet, reload, isFailing, to }) {
  const path = channelPath(app, channel);
  const polls = fleet?.adoption.polls ? `${polled(fleet.adoption.polls, fleet.adoption.sample)} in the last ${fleet.adoption.minutes} minutes` : `no polls in ${fleet?.adoption.minutes ?? 10} minutes`;
  const killed = Boolean(fleet?.kill);
  const done = reload;
  const where = `${app} ${channel}`;
  // As the command line names the place.
  const place = ["--app", app, "--channel", channel];
  const despite = (values) => (values.breakGlass ? [`--break-glass=${values.breakGlass}`] : []);
  const acts = [
    ["Roll back", "release", () => rollBack(), status.version !== "0"],
    ["Promote here", "publish", () => promote(), true],
    status.freeze ? ["Thaw", "admin", () => thaw(), true] : ["Freeze", "admin", () => freeze(), true],
    killed ? ["Resume", "release", () => resume(), true] : ["Kill switch", "release", () => kill(), true],
    ["Bypass pages", "release", () => bypass(), true],
    ["Prefetch config", "release", () => prefetch(), Boolean(status.prefetch)],
    ["Pins", "publish", () => pins(), status.version !== "0"],
    ["Settings", "publish", () => settings(), true],
    ["Protection", "admin", () => protect({ app, channel, done }), true],
  ].filter(([, , , isShown]) => isShown);
  const notes = new Set();
  const made = acts.map(([words, scope, open]) => {
    const bundles = bundleLimit(scope, app, channel);
    const hindered = hindrance(scope, app, channel) || (bundles && !["Roll back", "Promote here"].includes(words) ? `${isPerson() ? "You have" : "Your token is for"} bundles ${bundles}; this concerns the whole channel.` : "");
    if (hindered) notes.add(hindered);
    return el("button", {
      type: "button", id: `act-${words.toLowerCase().replaceAll(" ", "-")}`, "aria-disabled": hindered ? "true" : null, title: hindered || null,
      "aria-describedby": hindered ? "why-not" : null, class: words === "Roll back" && isFailing ? "primary" : words === "Kill switch" ? "danger" : null,
      click: () => { if (hindered) tell(hindered); else opened(open); },
    }, to && words === "Roll back" ? "Roll back to this version" : words === "Bypass pages" && status.policy?.policy?.bypass?.length ? "Change the bypass" : words);
  });
  // What one needs in a hurry is seen at once, the rest one key away; on a phone, and beside a rollout's own, it is the first alone.
  const few = innerWidth < 640 || status.rollout ? 1 : made.findIndex((one) => one.id === "act-bypass-pages");
  const menu = el("details", { class: "menu", id: "more-acts",
    keydown: (event) => { if (event.key === "Escape" && menu.open) { menu.open = false; menu.firstChild.focus(); } },
    focusout: (event) => { if (event.relatedTarget && !menu.contains(event.relatedTarget) && !event.relatedTarget.closest("dialog")) menu.open = false; } },
  el("summary", { id: "more" }, "More", el("span", { class: "hidden" }, " actions")), el("div", {}, made.slice(few)));
  const row = el("div", { class: "row acts", role: "group", "aria-label": "Actions" }, made.slice(0, few), menu);
  return [row, notes.size ? el("p", { id: "why-not", class: "quiet" }, [...notes].join(" ")) : null];

  async function opened(open) {
    try {
      await open();
    } catch (error) {
      if (!(error instanceof Ended)) fill(document.getElementById("link"), `✖ ${error.message}`);
    }
  }

  async function versions() {
    const { releases } = await get(`${path}/log?limit=${offered}`);
    return releases;
  }

  /** Versions that the list doesn't offer can be named. */
  function another(releases) {
    return releases.length < offered ? []
    : [{ name: "other", value: to && !releases.some((one) => one.version === to) ? to : undefined, words: "Or another version, by its number", inputmode: "numeric", pattern: "[0-9]{1,9}", hint: `The newest ${offered} versions are offered above; there are older ones.` }];
  }

  function frozen(answer, values) {
    if (answer.freeze && !values.breakGlass) throw new Error(`The channel is frozen by ${answer.freeze.author}: ${answer.freeze.reason}`);
  }

  function inSpite() {
    return status.freeze ? [{ name: "breakGlass", words: `Despite the freeze by ${status.freeze.author}, because` }] : [];
  }

  /** Refused when something was released since the preview. */
  function guarded(values, plan) {
    return { ...(values.breakGlass ? { breakGlass: values.breakGlass } : {}), ...(plan && plan.previous !== "0" ? { ifVersion: plan.previous } : {}) };
  }

  async function rollBack() {
    const [releases, { reports = [] }] = await Promise.all([versions(), get(`${path}/adoption`)]);
    const failing = (version) => {
      const report = reports.find((one) => one.version === version);
      return report ? figures(report).perThousand : null;
    };
    /** What speaks for it, or against it: how often pages fail on either version. */
    const compared = (version) => [failing(status.version), failing(version)].includes(null) ? null
      : el("p", {}, "Failed pages per 1,000: ", el("b", {}, rate(failing(status.version))), ` on version ${status.version}, `, el("b", {}, rate(failing(version))), ` on version ${version}.`);
    const all = releases.slice(1).map((one) => [one.version, one.version, [el("span", {}, one.message?.slice(0, 120) || el("span", { class: "quiet" }, "no message")), el("div", { class: "quiet small" }, `${past[one.kind] ?? one.kind} by ${one.author}`)], when(one.at)]);
    if (!all.length) { tell("There is no older version."); return; }
    const bundles = [["", "All bundles"], ...status.bundles.map((one) => [one.name, one.name])];
    const body = ({ to, other, bundle, withPrefetch }) => ({ to: other || to, ...(bundle ? { bundle } : { allBundles: true }), withPrefetch });
    propose({
      title: "Roll back", verb: `Roll back ${where}`, where, done,
      fields: [
        { name: "to", words: "To version", kind: "choice", options: all, value: to },
        ...another(releases),
        { name: "bundle", words: "Bundles", kind: "select", options: bundles },
        { name: "withPrefetch", words: "Also bring back the prefetch config of that time", kind: "check" },
        ...inSpite(),
      ],
      effect: async (values) => {
        const answer = await preview(`${path}/rollback`, { ...body(values), ...guarded(values) });
        frozen(answer, values);
        if (answer.changed === false) return { nodes: el("p", {}, "Nothing: the content is already the same."), plan: answer };
        return { plan: answer, nodes: [el("p", {}, `Version ${answer.version} gets the content of version ${answer.target}; devices that poll (${polls}) take it at their next poll.`), compared(answer.target), changeFacts(answer), changedURLs(answer)] };
      },
      command: (values) => ["rollback", values.other || values.to, ...(values.bundle ? ["--bundle", values.bundle] : ["--all-bundles"]), values.withPrefetch && "--with-prefetch",
        ...place, ...despite(values), "--now", "--yes", `--message=${values.reason}`],
      send: async (values, key, plan) => {
        const answer = await act("POST", `${path}/rollback`, { ...body(values), message: values.reason, now: true, ...guarded(values, plan) }, key);
        return waiting(answer) ?? (answer.changed === false ? "Nothing changed." : `Version ${answer.version} is live with the content of version ${answer.target}. Receipt ${answer.receipt}`);
      },
    });
  }

  async function promote() {
    const { channels } = await get("apps");
    const others = channels.filter((one) => one.app === app && one.channel !== channel && one.version !== "0").map((one) => [one.channel, `${one.channel}, version ${one.version}`]);
    const body = ({ from, withPrefetch }) => ({ from, withPrefetch });
    propose({
      title: "Promote", verb: `Promote to ${where}`, where: `to ${where}`, done,
      fields: [
        { name: "from", words: "From the channel", kind: "select", options: others.length ? others : [["", "no other channel of this app has a release"]] },
        { name: "withPrefetch", words: "With its prefetch config", kind: "check" }, ...inSpite()],
      effect: async (values) => {
        if (!values.from) throw new Error("There is nothing to promote.");
        const answer = await preview(`${path}/promote`, { ...body(values), ...guarded(values) });
        frozen(answer, values);
        if (answer.changed === false) return { nodes: el("p", {}, "Nothing: the content is already the same."), plan: answer };
        return { plan: answer, nodes: [el("p", {}, `${channel} gets what ${answer.from} has in version ${answer.fromVersion}.`), changeFacts(answer),
          answer.left.length ? el("p", {}, `▲ Stays here, although it is gone there: ${answer.left.join(", ")}`) : null, gated(status)] };
      },
      command: (values, plan) => ["promote", "--from", values.from, "--to", channel, "--app", app, "--version", plan.fromVersion, values.withPrefetch && "--with-prefetch",
        ...despite(values), `--message=${values.reason}`],
      send: async (values, key, plan) => {
        // What was previewed, whatever the other channel has released since.
        const answer = await act("POST", `${path}/promote`, { ...body(values), version: plan.fromVersion, message: values.reason, ...guarded(values, plan) }, key);
        return waiting(answer) ?? (answer.changed === false ? "Nothing changed." : `Version ${answer.version} is live. Receipt ${answer.receipt}`);
      },
    });
  }

  function freeze() {
    propose({
      title: "Freeze", verb: `Freeze ${where}`, where, done,
      fields: [{ name: "until", words: "Until", kind: "datetime-local", spans: [...spans, [0, "No end"]] }],
      effect: async ({ until }) => el("ul", {}, el("li", {}, ahead(until), "Releases are refused from now on, with your reason, until ", until ? [exactly(new Date(until)), ", or until somebody thaws the channel before."] : "somebody thaws the channel."),
        el("li", {}, "Devices keep what they have. The kill switch, bypasses and settings still work, and a rollback with a reason of its own.")),
      command: ({ reason, until }) => ["channel", "freeze", ...place, ...(until ? ["--to", `${new Date(until).toISOString().slice(0, 16)}Z`] : []), `--reason=${reason}`],
      send: async ({ reason, until }, key) => {
        await act("POST", `${path}/freeze`, { reason, ...(until ? { to: new Date(until).toISOString() } : {}) }, key);
        return "The channel refuses releases.";
      },
    });
  }

  function thaw() {
    propose({
      title: "Thaw", verb: `Thaw ${where}`, where, done,
      effect: async () => {
        const { freeze } = await get(path);
        if (!freeze) throw new Error("The channel is no longer frozen.");
        return { plan: freeze, nodes: el("p", {}, `Releases are accepted again. Frozen by ${freeze.author} `, when(freeze.at), `: ${freeze.reason}`) };
      },
      guard: async (_, plan) => {
        const { freeze } = await get(path);
        if (isSame(freeze, plan)) return "";
        return freeze ? `${freeze.author} froze the channel: ${freeze.reason}.` : "somebody thawed the channel.";
      },
      command: () => ["channel", "thaw", ...place],
      send: async ({ reason }, key) => { const answer = await act("POST", `${path}/thaw${why(reason)}`, {}, key); return answer.changed ? "The channel accepts releases." : "It was no longer frozen."; },
    });
  }

  async function killNow() {
    const { channels } = await get("overview");
    return channels.find((one) => one.app === app && one.channel === channel)?.kill ?? null;
  }

  function kill() {
    propose({
      title: "Kill switch", verb: "Turn the kill switch on", where, isDangerous: true, done,
      // As the command line: a switch that is forgotten costs every page its speed.
      fields: [{ name: "until", words: "Until", kind: "datetime-local", spans: [...spans, [0, "No end"]], span: 4 }],
      effect: async ({ until }) => el("p", {}, ahead(until), `▲ Apps and browsers use only the network for every page, from their next poll on (${polls}). They keep their files, and come back by themselves `,
        until ? ["when it ends, ", exactly(wholeMinute(until)), "."] : "after somebody resumes."),
      command: ({ reason, until }) => ["policy", "kill", ...place, ...(until ? ["--for", lasting(until)] : ["--until-resumed"]), `--message=${reason}`],
      send: async ({ reason, until }, key) => {
        await act("POST", `${path}/policy`, { act: "kill", message: reason, ...(until ? { until: wholeMinute(until).toISOString() } : {}) }, key);
        return "The kill switch is on.";
      },
    });
  }

  function resume() {
    propose({
      title: "Resume", verb: `Resume ${where}`, where, done,
      effect: async () => {
        const kill = await killNow();
        if (!kill) throw new Error("The kill switch is already off.");
        return { plan: kill, nodes: [el("p", {}, `Devices answer pages from their files again, at their next poll (${polls}). Switched on by ${kill.author} `, when(kill.at), `: ${kill.reason}`), gated(status)] };
      },
      guard: async (_, plan) => {
        const kill = await killNow();
        if (isSame(kill, plan)) return "";
        return kill ? `${kill.author} switched it on: ${kill.reason}.` : "somebody resumed.";
      },
      command: ({ reason }) => ["policy", "resume", ...place, `--message=${reason}`],
      send: async ({ reason }, key) => waiting(await act("POST", `${path}/policy`, { act: "resume", message: reason }, key)) ?? "The kill switch is off.",
    });
  }

  /** The patterns that are bypassed, with the times until when. */
  async function bypassed() {
    const { policy } = await get(path);
    const { bypass = [], bypassUntil, until = null } = policy?.policy ?? {};
    return bypass.map((pattern) => ({ pattern, until: bypassUntil && Object.hasOwn(bypassUntil, pattern) ? bypassUntil[pattern] : until }));
  }

  /** A warning of a pattern that none of the channel's pages has, or how many have it; nothing where the pattern isn't one. */
  async function matching(pattern) {
    const isMeant = matcher(pattern);
    if (!isMeant || status.version === "0") return null;
    const literal = pattern.replace(/^[^:]*:\/\//, "").split("*").reduce((longest, one) => (one.length > longest.length ? one : longest), "");
    const { added, next } = await get(`${path}/diff?from=0&to=${status.version}&limit=1000&filter=${encodeURIComponent(literal)}`);
    const found = added.filter((one) => /^text\/html|^application\/xhtml/.test(one.ctype) && isMeant(one.url));
    if (found.length) return [null, el("p", {}, `${next ? "At least " : ""}${plural(found.length, "page")} of version ${status.version}: ${found.slice(0, 5).map((one) => one.url).join(", ")}${found.length > 5 ? ", …" : ""}`)];
    return next ? null : [`▲ No page of version ${status.version} matches. Is the pattern right?`];
  }

  async function bypass() {
    const known = (await bypassed()).map((one) => one.pattern);
    const isRemoval = (values) => values.act === "bypass-remove";
    propose({
      title: known.length ? "Change the bypass" : "Bypass pages", verb: "Save the bypass", where, done,
      fields: [
        ...(known.length ? [{ name: "act", words: "Change", kind: "select", options: [["bypass-add", "Start a bypass"], ["bypass-remove", "End a bypass"]] }] : []),
        { name: "pattern", words: "Pattern", required: true, placeholder: "https://m.example.com/account/*", offers: known, hint: `URLs of pages, with * for any text. ${known.length ? `Bypassed now: ${known.join(", ")}` : "Nothing is bypassed now."}` },
        { name: "until", words: "Until", kind: "datetime-local", spans: [...spans, [0, "No end"]] }],
      effect: async (values) => {
        if (!isRemoval(values)) {
          const [warning, pages] = await matching(values.pattern) ?? [];
          return { notes: { pattern: [known.includes(values.pattern) ? "▲ Already bypassed: this sets when it ends." : null, warning].filter(Boolean).map((one) => el("span", {}, one)) },
            nodes: [el("p", {}, ahead(values.until), `Pages of ${values.pattern || "the pattern"} come from the network on every device, at its next poll (${polls}).`,
              values.until ? [" It ends ", exactly(wholeMinute(values.until)), "."] : ""), pages] };
        }
        const now = await bypassed();
        if (values.pattern && !now.some((one) => one.pattern === values.pattern)) throw new Error(`${values.pattern} is not bypassed. ${now.length ? `Bypassed are ${now.map((one) => one.pattern).join(", ")}.` : "Nothing is."}`);
        return { plan: now, nodes: [el("p", {}, `Pages of ${values.pattern || "the pattern"} come from the device's files again.`), gated(status)] };
      },
      guard: async (values, plan) => {
        if (!isRemoval(values)) return "";
        const now = await bypassed();
        return isSame(now, plan) ? "" : `bypassed are ${now.map((one) => one.pattern).join(", ") || "no pages"}.`;
      },
      command: (values) => ["policy", "bypass", isRemoval(values) ? "remove" : "add", values.pattern, ...place,
        ...(values.until && !isRemoval(values) ? ["--for", lasting(values.until)] : []), `--message=${values.reason}`],
      send: async (values, key) => {
        const until = values.until && !isRemoval(values) ? { until: wholeMinute(values.until).toISOString() } : {};
        const answer = await act("POST", `${path}/policy`, { act: values.act ?? "bypass-add", pattern: values.pattern, message: values.reason, ...until }, key);
        return waiting(answer) ?? (answer.changed ? `Done: the policy has version ${answer.version}.` : "Nothing changed: the policy already says so.");
      },
    });
  }

  /** The content of a version of the prefetch config; version 0 is the empty one before the first. */
  async function prefetchAt(version) {
    const { config } = version === "0" ? { config: [] } : await get(`${path}/prefetch?version=${version}`);
    return config ?? [];
  }

  async function prefetch() {
    const { versions: all } = await get(`${path}/prefetch/log?limit=${offered}`);
    const newest = async () => (await get(path)).prefetch?.version ?? "0";
    const options = all.filter((one) => one.version !== status.prefetch.version).map((one) => [one.version, one.version,
      [el("span", {}, one.message?.slice(0, 120) || el("span", { class: "quiet" }, "no message")), el("div", { class: "quiet small" }, `${past[one.kind] ?? one.kind} by ${one.author}`)], when(one.at)]);
    propose({
      title: "Roll the prefetch config back", verb: "Roll the config back", where, done,
      fields: [{ name: "to", words: "To version", kind: "choice", options: [...options, ["0", "0", el("span", {}, "no calls are sent ahead"), ""]] }, ...inSpite()],
      effect: async ({ to, breakGlass }) => {
        if (status.freeze && !breakGlass) throw new Error(`The channel is frozen by ${status.freeze.author}: ${status.freeze.reason}`);
        const now = await newest();
        const [is, next] = [await prefetchAt(now), await prefetchAt(to)];
        if (isSame(is, next)) throw new Unchanged("That is what it is now.");
        return { plan: now, nodes: [el("p", {}, `Devices send the calls of ${plural(next.length, "page")} ahead, of ${plural(is.length, "page")} now, from their next poll on (${polls}). Releases stay as they are.`), gated(status)] };
      },
      guard: async (_, plan) => (await newest() === plan ? "" : "there is another prefetch config now."),
      command: (values) => ["prefetch", "rollback", "--to", values.to, ...place, ...despite(values), `--message=${values.reason}`],
      send: async ({ to, reason, breakGlass }, key, plan) => {
        const answer = await act("POST", `${path}/prefetch/rollback`, { to, message: reason, ifVersion: plan, ...(breakGlass ? { breakGlass } : {}) }, key);
        return waiting(answer) ?? (answer.changed ? `Done: the prefetch config has version ${answer.version}.` : "Nothing changed: the content is already the same.");
      },
    });
  }

  async function pins() {
    const [{ pins: all }, releases] = [await get(`${path}/pins`), await versions()];
    propose({
      title: "Pins", verb: "Save the pin", where, done,
      fields: [
        { name: "what", words: "What", kind: "select", options: [["pin", "Keep a version, whatever gc would do"], ...all.map((one) => [one.version, `No longer keep version ${one.version} (${one.author}: ${one.reason})`])] },
        { name: "version", words: "Version to keep", kind: "select", options: releases.map((one) => [one.version, `${one.version}${one.message ? `: ${one.message.slice(0, 80)}` : ""}`]) }, ...another(releases)],
      effect: async ({ what, version, other }) => {
        if (what === "pin") await get(`${path}/releases/${encodeURIComponent(other || version)}`);
        return el("p", {}, what === "pin" ? `Version ${other || version} stays until somebody unpins it, with all of its files.` : `gc may drop version ${what} when nothing else keeps it.`);
      },
      command: ({ what, version, other, reason }) => ["pin", ...(what === "pin" ? [other || version, reason] : ["remove", what]), ...place],
      send: async ({ what, other, reason, ...rest }, key) => {
        const version = other || rest.version;
        if (what === "pin") await act("POST", `${path}/pins`, { version, reason }, key);
        else await act("DELETE", `${path}/pins/${what}${why(reason)}`, undefined, key);
        return what === "pin" ? `Version ${version} is pinned.` : `Version ${what} is no longer pinned.`;
      },
    });
  }

  async function settings() {
    const read = async () => {
      const { interval, hosts, reports, samples } = await get(`${path}/settings`);
      // In the command line's unit.
      return { interval: interval ?? "", hosts: (hosts ?? []).join(" "), reports: typeof reports === "number" ? reports / 100 : "", samples: samples ? "on" : "off" };
    };
    const is = await read();
    // What its reader changed; what somebody else changed meanwhile stays.
    const body = (values) => {
      const change = {};
      if (values.interval !== String(is.interval)) change.interval = values.interval === "" ? null : Number(values.interval);
      if (values.hosts !== is.hosts) change.hosts = values.hosts === "" ? null : values.hosts.split(/[\s,]+/);
      if (values.reports !== String(is.reports)) change.reports = values.reports === "" ? null : Math.round(Number(values.reports) * 100);
      if (values.samples !== is.samples) change.samples = values.samples === "on";
      return change;
    };
    const names = { interval: "Poll interval", hosts: "Hosts", reports: "Usage reports", samples: "Samples of errors" };
    const units = { interval: " s", reports: " %" };
    const words = (name, value) => (typeof value === "boolean" ? (value ? "on" : "off") : value === "" || value === null ? "not set" : `${Array.isArray(value) ? value.join(" ") : value}${units[name] ?? ""}`);
    propose({
      title: "Settings", verb: "Save settings", where, done,
      fields: [
        { name: "interval", words: names.interval, hint: "How long a device waits between two polls: 30 to 3,600.", placeholder: "Default", unit: "seconds", kind: "number", min: 30, max: 3600, value: is.interval },
        { name: "reports", words: names.reports, hint: "Share of usage reports that devices send.", placeholder: "All: 100", unit: "%", kind: "number", min: 0, max: 100, step: 0.01, value: is.reports },
        { name: "samples", words: names.samples, hint: "Devices send the message, stack and page of an error, without query values and ids.", kind: "select", options: [["on", "On"], ["off", "Off"]], value: is.samples },
        { name: "hosts", words: names.hosts, hint: "Hosts whose URLs a release may contain, with spaces between them: m.example.com *.example.org", value: is.hosts, placeholder: "All hosts" }],
      effect: async (values) => {
        const change = Object.entries(body(values));
        if (!change.length) throw new Unchanged("Nothing is changed yet.");
        const now = await read();
        return { plan: now, nodes: [el("ul", {}, change.map(([name, value]) => el("li", {}, `${names[name]}: ${words(name, now[name])} → ${words(name, name === "reports" && value !== null ? value / 100 : value)}`)))].concat(body(values).samples === false ? el("p", { class: "warn" }, "▲ Devices send none from their next poll on, and the origin forgets those that it has of this channel.") : []) };
      },
      guard: async (_, plan) => {
        const now = await read();
        return Object.keys(now).filter((name) => now[name] !== plan[name]).map((name) => `${names[name]}: now ${words(name, now[name])}.`).join(" ");
      },
      command: (values) => {
        const { interval, hosts, reports, samples } = body(values);
        if (interval === undefined && hosts === undefined && reports === undefined && samples === undefined) return null;
        return ["channel", "set", ...place, ...(interval === undefined ? [] : ["--interval", interval ?? "none"]), ...(hosts === undefined ? [] : ["--hosts", hosts?.join(",") ?? "*"]),
          ...(reports === undefined ? [] : ["--reports", reports === null ? "none" : reports / 100]), ...(samples === undefined ? [] : ["--samples", samples ? "on" : "off"])];
      },
      send: async (values, key) => {
        const { forgottenSamples } = await act("POST", `${path}/settings${why(values.reason)}`, body(values), key);
        return `The settings are saved.${forgottenSamples ? ` ${plural(forgottenSamples, "sample")} forgotten.` : ""}`;
      },
    });
  }
}

/** Why a button may not be pressed that stands beside others than on the channel's page; nothing if it may. */
export function whyNot(button) {
  return button.title ? [el("p", { id: "why-not", class: "quiet small" }, `○ ${button.title}`)] : [];
}

const placed = ({ app, channel }) => (channel ? `${app} ${channel}` : "this origin");
const longest = 30 * 86_400_000;

/** Acknowledges a problem: it is quiet until a time, until it ends, or until it gets worse. */
export function acknowledge(problem, done) {
  const { app, channel, code } = problem;
  const at = channel ? ["--app", app, "--channel", channel] : [];
  const same = (one) => one.code === code && one.app === app && one.channel === channel;
  const now = async () => (await get("overview")).problems.find(same);
  propose({
    title: "Acknowledge", where: placed(problem), lead: problem.detail, done, reasonHint: "For your colleagues.", reasonLength: 500,
    fields: [{ name: "until", words: "Hide until", hint: "30 days at most.", kind: "datetime-local", required: true, spans, span: 4 }],
    effect: async ({ until }) => {
      if (!until) throw new Error("Say until when.");
      ahead(until);
      if (wholeMinute(until) > Date.now() + longest) throw new Error("30 days at most.");
      const found = await now();
      if (!found) throw new Error("This problem has ended.");
      return [el("p", {}, "Hidden from the banner until ", exactly(wholeMinute(until)), ", or until it gets worse. The overview still lists it, with your name and reason. Monitoring and webhooks still report it."),
        found.detail === problem.detail ? null : el("p", {}, `Now: ${found.detail}`)];
    },
    guard: async () => (await now() ? "" : "this problem has ended."),
    command: ({ reason, until }) => ["acknowledge", code, ...at, "--until", lasting(until), `--message=${reason}`],
    send: async ({ reason, until }, key) => {
      await act("POST", "problems/acknowledge", { code, ...(channel ? { app, channel } : {}), reason, until: wholeMinute(until).toISOString() }, key);
      return "It is acknowledged.";
    },
  });
}

export function unacknowledge(problem, done) {
  const { app, channel, code } = problem;
  const at = channel ? ["--app", app, "--channel", channel] : [];
  const place = channel ? `&app=${encodeURIComponent(app)}&channel=${encodeURIComponent(channel)}` : "";
  propose({
    title: "Take back", where: `${code}, ${placed(problem)}`, done,
    effect: async () => el("p", {}, `It is in the banner again, for everybody. Acknowledged by ${problem.acknowledged.by} `, when(problem.acknowledged.at), `: ${problem.acknowledged.reason}`),
    command: () => ["acknowledge", code, ...at, "--off"],
    send: async ({ reason }, key) => { await act("DELETE", `problems/acknowledge${why(reason)}&code=${encodeURIComponent(code)}${place}`, undefined, key); return "It is not acknowledged any more."; },
  });
}

/** What can be done with the open rollout. Each act is about the candidate that is shown, and refused if another one is open by then. */
export function rolloutButtons({ app, channel, status, reload, isWorse }) {
  const path = `${channelPath(app, channel)}/rollout`;
  const where = `${app} ${channel}`;
  const named = (plan) => ["--app", app, "--channel", channel, "--candidate", plan.version];
  const { rollout } = status;
  const inSpite = () => (status.freeze ? [{ name: "breakGlass", words: `Despite the freeze by ${status.freeze.author}, because` }] : []);
  const despite = (values) => (values.breakGlass ? { breakGlass: values.breakGlass } : {});
  const despiteWords = (values) => (values.breakGlass ? [`--break-glass=${values.breakGlass}`] : []);
  const hindered = hindrance("release", app, channel);
  const acts = [
    ["Change share", change],
    rollout.paused ? ["Resume", () => step("resume", "Resume", "Devices in the share are let in again, at their next poll.")]
      : ["Pause", () => step("pause", "Pause", "Nobody new is let in. Devices that have the candidate keep it, unless somebody halts the rollout.")],
    ["Complete", () => step("complete", "Complete", `All devices get version ${rollout.version} at their next poll.`)],
    ["Halt", halt],
  ];
  return [el("div", { class: "row", role: "group", "aria-label": "Rollout" }, acts.map(([words, open]) => el("button", {
    type: "button", id: `rollout-${words.toLowerCase().replaceAll(" ", "-")}`, "aria-disabled": hindered ? "true" : null, title: hindered || null,
    class: words === "Halt" ? "danger" : words === "Pause" && isWorse ? "primary" : null, click: () => { if (hindered) tell(hindered); else open(); },
  }, words))), hindered ? el("p", { class: "quiet" }, hindered) : null];

  /** The rollout as it is now, and what it is to be warned of. */
  async function now() {
    const list = await get(path);
    const { open } = list;
    if (!open) throw new Error("No rollout is open any more.");
    if (open.version !== rollout.version) throw new Error(`Version ${open.version} by ${open.author} is the candidate now.`);
    return { open, warning: alarm(list) };
  }

  function warned(warning) { return warning ? el("p", { class: "warn" }, `▲ ${warning}`) : null; }

  /** What somebody else did since the preview. */
  async function guard(_, plan) {
    const { open, rollouts } = await get(path);
    if (isSame(open, plan)) return "";
    const mine = rollouts.find((one) => one.version === plan.version);
    if (open?.version === plan.version) return `${open.changedBy} changed it: ${audience(open)}${open.paused ? ", paused" : ""}.`;
    return mine ? `${mine.changedBy} ended the rollout: ${mine.state}${mine.reason ? `, ${mine.reason}` : ""}.` : "the rollout has ended.";
  }

  function change() {
    propose({
      title: "Change share", verb: "Change the share", where, done: reload,
      fields: [
        { name: "share", words: "Share", unit: "% of the devices", required: true, value: rollout.share / 100, inputmode: "decimal" },
        { name: "groups", words: "Groups", hint: "Groups that are in, whatever the share.", placeholder: "None", value: rollout.groups.join(" ") },
        { name: "range", words: "App versions", hint: "Such as >=4.2 <5.", placeholder: "All", value: rollout.app ?? "" }, ...inSpite()],
      effect: async (values) => {
        const { open, warning } = await now();
        const next = { share: buckets(values.share), groups: groups(values), app: values.range || null };
        if (isSame(next, { share: open.share, groups: open.groups, app: open.app })) throw new Unchanged("That is what it is now.");
        return { plan: open, nodes: [el("p", {}, `Version ${open.version} goes to ${audience(next)}; it was ${audience(open)}.`),
          next.share < open.share ? el("p", {}, "Devices that have it keep it: a smaller share lets fewer in from now on.") : null,
          next.share > open.share ? warned(warning) : null,
          open.paused ? el("p", { class: "warn" }, "▲ It is paused: nobody new is let in until somebody resumes it.") : null,
          next.share < open.share && isSame(next.groups, open.groups) ? null : gated(status, next.share > (status.protection?.share ?? 0))] };
      },
      guard,
      command: (values, plan) => ["rollout", "set", ofBuckets(buckets(values.share)), ...(groups(values).length ? groups(values) : ["none"]).flatMap((one) => ["--group", one]),
        `--app-version=${values.range || "any"}`, ...named(plan), ...despiteWords(values)],
      send: async (values, key, plan) => {
        const answer = await act("POST", `${path}/set${why(values.reason)}`,
          { candidate: plan.version, share: buckets(values.share), groups: groups(values), app: values.range, ...despite(values) }, key);
        return waiting(answer) ?? (answer.changed ? `Version ${answer.rollout.version} goes to ${audience(answer.rollout)}. Receipt ${answer.receipt}` : "Nothing changed.");
      },
    });
  }

  function groups({ groups: text }) { return text.split(/[\s,]+/).filter(Boolean); }

  function step(verb, title, words) {
    propose({
      // A freeze keeps nobody from pausing.
      title, verb: `${title} the rollout`, where, done: reload, fields: verb === "pause" ? [] : inSpite(),
      effect: async () => {
        const { open, warning } = await now();
        return { plan: open, nodes: [el("p", {}, words), verb === "pause" ? null : warned(warning),
          verb === "resume" && warning ? el("p", {}, "Alarms don't pause it any more then. What counts begins anew with the next full hour.") : null, verb === "pause" ? null : gated(status, verb === "complete")] };
      },
      guard,
      command: (values, plan) => ["rollout", verb, ...named(plan), ...despiteWords(values)],
      send: async (values, key, plan) => {
        const answer = await act("POST", `${path}/${verb}${why(values.reason)}`, { candidate: plan.version, ...despite(values) }, key);
        return waiting(answer) ?? (answer.changed ? `Done: the rollout of version ${answer.rollout.version} is ${answer.rollout.state === "open" && answer.rollout.paused ? "paused" : answer.rollout.state}. Receipt ${answer.receipt}` : "Nothing changed.");
      },
    });
  }

  function halt() {
    propose({
      title: "Halt", verb: "Halt the rollout", where, isDangerous: true, done: reload,
      effect: async () => {
        const { open } = await now();
        return { plan: open, nodes: el("p", {}, `▲ Devices that have version ${open.version} go back to what version ${open.full} has, at their next poll. A new version says so; version ${open.version} isn't offered again.`) };
      },
      guard,
      command: ({ reason }, plan) => ["rollout", "halt", ...named(plan), `--message=${reason}`],
      send: async ({ reason }, key, plan) => {
        const answer = await act("POST", `${path}/halt`, { candidate: plan.version, message: reason }, key);
        return `The rollout is halted: version ${answer.version} is live for all devices. Receipt ${answer.receipt}`;
      },
    });
  }
}

/** The server makes the secret and tells it once. */
export function createToken(done) {
  propose({
    title: "Create a token", verb: "Create the token", where: "this origin", done,
    fields: [
      { name: "name", words: "Whose it is", required: true, maxlength: 128 },
      { name: "scope", words: "What it may do", kind: "select", options: [["", "Choose"], ["read", "read"], ["release", "release"], ["publish", "publish"], ["admin", "admin"]] },
      { name: "app", words: "App", placeholder: "None" }, { name: "allApps", words: "Every app, also those made later", kind: "check" },
      { name: "channel", words: "Channel", placeholder: "All channels of the app" }, { name: "bundles", words: "Bundles", hint: "Names, also with * and ?.", placeholder: "All" },
      { name: "days", words: "Ends after", unit: "days", kind: "number", min: 1, max: 3660, value: 90 }, { name: "noExpiry", words: "It never ends", kind: "check" }],
    // As the command line: nothing is granted by leaving it out.
    effect: async ({ name, scope, app, allApps, channel, bundles, days, noExpiry }) => {
      if (channel && !app) throw new Error("A channel belongs to an app: name the app, too.");
      if (!scope) throw new Error("Choose what it may do.");
      if (!app && !allApps) throw new Error("Name its app, or tick every app.");
      if (app && allApps) throw new Error("It is either for one app or for every app.");
      if (!days && !noExpiry) throw new Error("Say when it ends, or tick that it never does.");
      if (noExpiry) days = "";
      return el("p", {}, `${name || "Somebody"} may ${{ read: "look", release: "look, and roll back, halt, use the kill switch and approve", publish: "look, decide over releases and publish", admin: "do everything" }[scope]} in ${app || "every app"}, ${channel || "every channel"}${bundles ? `, bundles ${bundles}` : ""}, ${days ? `for ${plural(Number(days), "day")}` : "for ever"}.`);
    },
    command: (values) => ["token", "create", values.name, "--scope", values.scope, ...(values.app ? ["--app", values.app] : ["--all-apps"]), ...(values.channel ? ["--channel", values.channel] : []),
      ...(values.bundles ? ["--bundle", values.bundles] : []), ...(values.noExpiry ? ["--no-expiry"] : ["--expires", `${values.days}d`])],
    send: async (values, key) => {
      const body = { name: values.name, scope: values.scope };
      for (const member of ["app", "channel", "bundles"]) if (values[member]) body[member] = values[member];
      if (values.days && !values.noExpiry) body.expiresIn = Number(values.days) * 86400;
      const made = await act("POST", `tokens${why(values.reason)}`, body, key);
      return { sentence: "The token is created. Copy it now; it is not shown again.", secret: el("p", {}, el("code", { id: "new-token", tabindex: 0 }, made.token)) };
    },
  });
}

export function revokeToken(token, done) {
  const isMine = [me()?.id, me()?.subject].some((one) => one === token.id || one === `token:${token.id}`);
  const what = { session: "session", job: "job's token" }[token.kind] ?? "token";
  propose({
    title: `Revoke the ${what}`, where: `${token.name}${isMine ? " (yours)" : ""}`, isDangerous: true, done,
    effect: async () => [el("p", {}, `▲ “${token.name}” (${token.scope}) stops working now${what === "token" ? "" : ", and what was scheduled with it isn't done"}. Last used: `, when(token.lastUsedAt)),
      isMine ? el("p", { class: "bad" }, "✖ It is yours: you signed in with it, so this signs you out.") : null],
    // Several sessions have one name.
    command: () => ["token", "revoke", what === "token" ? token.name : token.id],
    send: async ({ reason }, key) => { await act("DELETE", `tokens/${encodeURIComponent(token.id)}${why(reason)}`, undefined, key); return `The ${what} is revoked.`; },
  });
}

export function collectGarbage(done) {
  const body = ({ keepVersions, keepDays }) => ({ keepVersions: Number(keepVersions), keepDays: Number(keepDays) });
  propose({
    title: "Clean up", verb: "Delete old versions", where: "all channels", isDangerous: true, done,
    fields: [
      { name: "keepVersions", words: "Keep the newest", unit: "versions of each channel", hint: "Pinned versions stay in any case.", kind: "number", min: 1, max: 1000000, value: 50, required: true },
      { name: "keepDays", words: "Keep what devices used in the last", unit: "days", kind: "number", min: 0, max: 90, value: 90, required: true }],
    effect: async (values) => {
      const report = await preview("gc", body(values), long);
      const dropped = report.channels.filter((one) => one.dropped.length);
      return [el("p", {}, `${size(report.freedBytes)} in ${plural(report.blobs.files, "file")} would go, and ${plural(dropped.reduce((sum, one) => sum + one.dropped.length, 0), "version")}.`),
        dropped.length ? el("ul", {}, dropped.map((one) => el("li", {}, `${one.app} ${one.channel}: ${one.dropped.slice(0, 40).join(", ")}${one.dropped.length > 40 ? ` and ${one.dropped.length - 40} more` : ""}`))) : null];
    },
    command: (values) => ["gc", "--keep-versions", values.keepVersions, "--keep-days", values.keepDays],
    send: async (values, key) => {
      const report = await act("POST", `gc${why(values.reason)}`, { ...body(values), dryRun: false }, key, long);
      return `${size(report.freedBytes)} freed.${report.stoppedFor.length ? ` Stopped early for ${report.stoppedFor.join(", ")}.` : ""}`;
    },
  });
}

export function forgetMirror(name, done) {
  propose({
    title: "Forget the mirror", where: name, done,
    effect: async () => el("p", {}, `Cleaning up may delete what only ${name} names. Its next run registers it again.`),
    command: () => ["mirror", "forget", name],
    send: async ({ reason }, key) => { await act("DELETE", `mirrors/${encodeURIComponent(name)}${why(reason)}`, undefined, key); return "It is forgotten."; },
  });
}
