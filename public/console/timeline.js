// What happened in a channel, newest first: releases, changes of its policy and prefetch config, rollouts, freezes and settings in one list.
import { channelLink, get } from "./api.js";
import { badge, el, fill, named, size, when } from "./dom.js";
import { exactly, retire, signs } from "./parts.js";
import { shareText } from "./rollout.js";
import { plain } from "./approvals.js";

const page = 20;
/** Entries that are shown until somebody asks for older ones. */
const few = 6;
/** Pages that are asked for at once at most, until some entries of the chosen kinds are found. */
const mostPages = 10;

/** The groups that one chooses from; what an origin doesn't name here, or only a newer one knows, is among the last. */
export const groups = { release: "Releases", policy: "Policy", prefetch: "Prefetch", rollout: "Rollouts", freeze: "Freezes", other: "Other" };
const groupOf = ({ kind }) => (kind === "thaw" ? "freeze" : kind !== "other" && Object.hasOwn(groups, kind) ? kind : "other");
const names = { policy: "Policy", prefetch: "Prefetch", rollout: "Rollout", freeze: "Freeze", thaw: "Thaw", settings: "Settings", protect: "Protection", schedule: "Planned", approval: "Approval", pin: "Pin", channel: "Channel", acknowledge: "Problem" };
/** Entries whose version is that of a document of their own, and those that are about a version of the content. */
const hasNumber = new Set(["policy", "prefetch"]);
const ofVersion = new Set(["rollout", "pin"]);
const keyOf = (one) => [one.kind, one.at, one.version, one.detail].join("\n");

/** A text of the server with its times in the reader's zone. */
const inZone = (text) => plain(text).split(/(\d{4}-\d\d-\d\dT[\d:.]+Z)/).map((part, index) => (index % 2 && !Number.isNaN(Date.parse(part)) ? exactly(part) : part));

/** A release that went to a part of the devices first. */
const ofRollout = ({ rollout: its }) => (!its ? null
  : [" ", badge(its.state === "halted" ? "bad" : "quiet", its.state === "open" ? `candidate, ${shareText(its.share)}` : `candidate, ${its.state}`, its.reason ?? undefined)]);

/**
 * The list with its choice of kinds. `chosen`: names of groups, none for all; `choose(names)`: tells of a choice; `grown(releases)`: of the
 * releases that were read. Gives `{choice, node, begin, entries, live, newer}`; an entry's `cost` is where a release's update is told.
 */
export function timeline({ app, channel, path, chosen, choose, grown }) {
  const list = el("ol", { class: "timeline", id: "timeline" });
  const more = el("button", { type: "button", id: "older", hidden: true }, "Older");
  const note = el("p", { role: "status", id: "older-note" });
  let shownGroups = new Set(chosen.filter((one) => Object.hasOwn(groups, one)));
  let entries = [];
  let next = null;
  let isAsking = false;
  let isWhole = false;

  const read = (before) => get(`${path}/timeline?limit=${page}${before ? `&before=${encodeURIComponent(before)}` : ""}`);

  /** A freeze that began later than it was told of was planned. */
  function detail({ detail: words, at }) {
    const from = /^The channel was frozen from (\S+Z)/.exec(words)?.[1];
    return from && new Date(from) > new Date(at) ? words.replace("The channel was frozen from", "A freeze was planned from") : words;
  }

  function made(one) {
    const cost = el("div");
    const live = el("span", { hidden: true }, badge("good", "live"));
    const { release } = one;
    const version = release ? el("a", { id: `release-${release.version}`, href: channelLink("release", app, channel, `/${release.version}`) }, `Version ${release.version}`) : null;
    const group = groupOf(one);
    const by = el("div", { class: "quiet small" }, when(one.at), " by ", named(one.author),
      release?.source ? `, content of ${release.source.channel} ${release.source.version}` : "", release?.bundles.length ? `; ${release.bundles.map((each) => each.bundle).join(", ")}` : "");
    const message = one.message ? el("div", { class: "message" }, one.message) : null;
    const node = el("li", { class: `of-${group}` }, release ? [
      el("div", { class: "what" }, el("div", {}, version, " ", live), el("div", {}, release.kind === "publish" ? null : badge(release.kind === "rollback" ? "warn" : "quiet", release.kind), ofRollout(release))),
      el("div", {}, message ?? el("div", { class: one.detail ? null : "quiet" }, one.detail || "no message"),
        release.breakGlass ? el("div", { class: "warn" }, `▲ despite a freeze by ${release.breakGlass.frozenBy}: ${release.breakGlass.reason}`) : null, by),
      el("div", { class: "side" }, cost, el("div", { class: "small" }, signs(release), `, ${size(release.newBytes)} new`)),
    ] : [
      el("div", { class: "what" }, el("b", {}, names[one.kind] ?? one.kind, hasNumber.has(one.kind) && one.version ? ` ${one.version}` : ""), ofVersion.has(one.kind) && one.version ? el("div", { class: "quiet small" }, `version ${one.version}`) : null),
      el("div", {}, el("div", {}, inZone(detail(one))), el("div", { class: "quiet small" }, one.message ? `${one.message} · ` : "", when(one.at), " by ", named(one.author))),
    ]);
    return { one, key: keyOf(one), group, node, cost, live };
  }

  const fits = (each) => !shownGroups.size || shownGroups.has(each.group);
  const visible = () => entries.filter(fits).length;
  const isCut = () => !isWhole && visible() > few + 2;

  /** Those of the chosen kinds, the newest of them until older ones are asked for. */
  function reveal() {
    let left = isCut() ? few : Infinity;
    const seen = entries.filter((each) => {
      each.node.hidden = !fits(each) || --left < 0;
      return !each.node.hidden;
    });
    // The line leads from the first point to the last.
    for (const { node } of entries) {
      node.toggleAttribute("data-first", node === seen[0]?.node);
      node.toggleAttribute("data-last", node === seen.at(-1)?.node);
    }
  }

  function told() {
    reveal();
    if (next === null && !isCut()) retire(more, [...list.querySelectorAll("li:not([hidden]) a")].at(-1));
    else more.hidden = false;
    grown(entries.flatMap(({ one }) => one.release ?? []), next !== null);
    if (note.className !== "bad") note.textContent = !entries.length ? "Nothing has happened in this channel yet." : visible() ? "" : next === null ? "Nothing of this kind has happened." : "Nothing of this kind among what is shown; there are older entries.";
  }

  async function older(least) {
    if (isAsking) return;
    isAsking = true;
    more.setAttribute("aria-disabled", "true");
    note.className = "quiet";
    note.textContent = "";
    try {
      for (let pages = 0; pages === 0 || next !== null && visible() < least && pages < mostPages; pages += 1) {
        const answer = await read(next);
        const fresh = answer.items.map(made);
        entries.push(...fresh);
        list.append(...fresh.map((each) => each.node));
        next = answer.next ?? null;
      }
    } catch (error) {
      note.className = "bad";
      fill(note, `✖ Older entries can't be read: ${error.message}`);
    }
    more.removeAttribute("aria-disabled");
    isAsking = false;
    told();
  }
  more.addEventListener("click", () => {
    const wasCut = isCut();
    isWhole = true;
    if (wasCut) told();
    else if (next !== null) older(visible() + 1);
  });

  const choice = el("div", { class: "row chips", role: "group", "aria-label": "Kinds that the list shows" });
  function drawChoice() {
    fill(choice, [["", "All"], ...Object.entries(groups)].map(([name, words]) => el("button", {
      type: "button", id: `kind-${name || "all"}`, "aria-pressed": String(name ? shownGroups.has(name) : !shownGroups.size), click: () => pick(name),
    }, words)));
  }
  function pick(name) {
    if (!name) shownGroups = new Set();
    else if (!shownGroups.delete(name)) shownGroups.add(name);
    reveal();
    drawChoice();
    choose([...shownGroups]);
    if (visible() < 5 && next !== null) older(5);
    else told();
  }

  drawChoice();
  return {
    choice, node: [list, more, note],
    begin: () => older(shownGroups.size ? 5 : 1),
    entries: () => entries,
    /** Tells the version that devices get. */
    live(version) { for (const { one, live } of entries) live.hidden = one.release?.version !== version; },
    /** What is newer than the newest entry; what is shown of older ones stays. */
    async newer() {
      const answer = await read(null);
      const known = new Set(entries.map((each) => each.key));
      const first = answer.items.findIndex((one) => known.has(keyOf(one)));
      if (first === 0) return;
      if (first < 0) {
        entries = [];
        list.replaceChildren();
        next = answer.next ?? null;
      }
      const fresh = (first < 0 ? answer.items : answer.items.slice(0, first)).map(made);
      entries.unshift(...fresh);
      list.prepend(...fresh.map((each) => each.node));
      told();
    },
  };
}
