// Acts that others have to approve: what such an act still waits for, how one approves or rejects it, and which channels ask for that.
import { act, channelPath, get, hindrance, me } from "./api.js";
import { badge, count, el, named, plural, size, table, when } from "./dom.js";
import { address, exactly, facts, hash, inWords } from "./parts.js";
import { audience, buckets, ofBuckets, shareText } from "./rollout.js";
import { isSame, propose, why } from "./dialog.js";

/** Whether an act has a time of its own. One without is done as soon as it has its signatures and approvals. */
export const hasTime = (one) => new Date(one.due) > new Date(one.at);
/** Until when an act waits for signatures or approvals: 30 days after its time. */
const end = (one) => new Date(new Date(one.due).getTime() + 30 * 86_400_000).toISOString();

const isUnsigned = (one) => Boolean(one.signatures?.some((each) => each.missing || each.problem));
const isUnapproved = (one) => one.approvals?.missing > 0;
/** Whether others have to do something before its time counts. */
export const isHeld = (one) => isUnapproved(one) || Boolean(one.signatures?.length);

/** What others have to do, as a word: `approved`, `signed` or both. */
export const heldWords = (one) => (one.signatures?.length ? isUnapproved(one) ? "signed and approved" : "signed" : "approved");

/** The server's summary of an act as one says it. */
export const plain = (summary) => summary.replace(/\brollout set of version (\S+) to/i, (found, version) => `${found[0] === "R" ? "R" : "r"}oll out version ${version} to`);

/** One act of a list: what it is, when and by whom, what it waits for (`more`), and what one can do about it. */
export function item({ id, place, title, about, more, buttons, isAsked }) {
  return el("section", { class: isAsked ? "act asked" : "act", id: `act-${id}`, tabindex: -1, "aria-labelledby": `act-name-${id}` },
    el("div", {}, el("h3", { id: `act-name-${id}` }, place ? [place, ": "] : null, plain(title.charAt(0).toUpperCase() + title.slice(1)), el("span", { class: "hidden" }, `, ${/^\d/.test(id) ? "number " : ""}${String(id).replace("-", " ")}`)), el("p", { class: "quiet small" }, about), more),
    el("div", { class: "decide" }, buttons));
}

/** When an act is to be done. */
export const dueWords = (one) => (isHeld(one) && !hasTime(one) ? `as soon as it is ${heldWords(one)}` : ["on ", exactly(one.due), ", ", when(one.due)]);

/** Why an act that was due still waits. */
export const soFar = (one) => (one.reason ? el("p", { class: "warn" }, `▲ It couldn't be carried out yet: ${one.reason}`) : null);

/** What of the acts that wait in a channel waits for approvals, as a badge. */
export const unapproved = (acts) => {
  const waiting = acts.filter((one) => one.state === "waiting" && isUnapproved(one)).length;
  return waiting ? badge("quiet", `${plural(waiting, "request")} to approve`) : null;
};

/** What a release does to a channel, in figures. */
export function changeFacts(answer) {
  const update = answer.update ?? answer.forecast?.update ?? answer.cost?.update;
  return facts([
    ["Version", `${answer.previous} → ${answer.version}`],
    ["Files", inWords({ ...answer, changed: typeof answer.changed === "boolean" ? answer.counts?.changed ?? 0 : answer.changed })],
    ["Update", update ? `${size(update.total ?? update.bytes)} for each device` : "not known yet"],
    ["Bundles", (answer.bundles ?? []).map((one) => one.bundle).join(", ") || "none"],
  ]);
}

/** URLs of a list that are shown at most. */
const most = 500;

/** The URLs that a release changes, as far as its answer names them. */
export function changedURLs(answer) {
  const all = answer.forecast?.files.map((one) => [one.change, one.url, one.was && one.was !== one.size ? `${size(one.was)} → ${size(one.size)}` : size(one.size)])
    ?? Object.entries(answer.changes ?? {}).map(([url, what]) => [what, url, ""]);
  if (!all.length) return null;
  return el("details", { id: "changed-urls" }, el("summary", {}, plural(all.length, "URL")),
    table("URLs", [["What"], ["URL", false, true], ["Size", true]], all.slice(0, most).map(([what, url, bytes]) => [what, address(url), bytes])),
    all.length > most ? el("p", {}, `${count(all.length - most)} more; compare the versions for all of them.`) : null);
}

/** A document's lines before and after. */
async function documentLines(before, after) {
  const { difference } = await import("./content.js");
  const lines = (value) => (value === undefined || value === null ? [] : JSON.stringify(value, null, 2).split("\n"));
  return el("pre", { role: "group", tabindex: 0, "aria-label": "Lines that change; − before, + after" }, difference(lines(before), lines(after)).map((line) =>
    el("span", { class: { "-": "del", "+": "ins", " ": "", "…": "quiet" }[line.mark] }, `${line.mark === "-" ? "−" : line.mark} ${line.text}`)));
}

/** What an act would do now, as nodes. `preview`: of `GET …/schedules/{id}/preview`. */
export async function effectOf({ schedule, answer: told, current, document }) {
  // Nothing where the act would change nothing.
  const answer = told ?? {};
  const freeze = answer.freeze ? el("p", { class: "warn" }, `▲ The channel is frozen by ${answer.freeze.author}: ${answer.freeze.reason}`) : null;
  if (document !== undefined) return [el("p", {}, "It changes this:"), await documentLines(current, document)];
  if (schedule.act.startsWith("rollout") && answer.rollout) {
    return [el("p", {}, `Version ${answer.rollout.version} goes to ${audience(answer.rollout)}; it is at ${audience(answer.was)}.`),
      answer.rollout.state === "completed" ? el("p", {}, `All devices get version ${answer.rollout.version}.`) : null];
  }
  if (answer.previous === undefined) return el("p", {}, answer.changed === false ? "Nothing would change." : schedule.summary);
  if (answer.changed === false) return [el("p", {}, "Nothing: the content is already the same."), freeze];
  return [changeFacts(answer), changedURLs(answer), freeze,
    answer.missing?.length ? el("p", { class: "warn" }, `▲ ${plural(answer.missing.length, "file")} of it ${answer.missing.length === 1 ? "is" : "are"} gone from the origin.`) : null];
}

/** What of a preview has to stay the same until somebody confirms it. Costs are worked out later. */
const essence = ({ answer: told, document }) => {
  const { previous, version, changed, counts, forecast, changes, rollout, freeze } = told ?? {};
  return [previous, version, changed, counts, forecast?.files, changes, rollout, freeze, document];
};

/** What an act waits for, one line each. */
export function missing(one) {
  const lines = [];
  if (one.approvals) {
    const { required, given, missing: left, by } = one.approvals;
    lines.push(el("div", {}, left ? badge("quiet", `${given.length} of ${required} approved`) : badge("good", "approved"), left && by ? ` of ${by}` : "",
      given.length ? [" by ", given.map((each, index) => [index ? ", " : "", named(each.name), " ", when(each.at)])] : ""));
  }
  const unsigned = one.signatures ?? [];
  const problem = unsigned.find((each) => each.problem)?.problem;
  if (problem) lines.push(el("div", { class: "warn" }, `▲ It can't be completed any more (${problem}): withdraw it, and publish again.`));
  else if (unsigned.length && unsigned.every((each) => !each.missing)) lines.push(el("div", { class: "warn" }, `▲ It has all signatures that the root asks for: xcache sign ${one.id} releases it.`));
  else {
    for (const each of unsigned.filter((some) => some.missing)) {
      lines.push(el("details", { id: `keys-${one.id}-${each.bundle}` }, el("summary", {}, badge("quiet", "signatures"), `${each.bundle}: ${each.missing} more`),
        el("p", { class: "small" }, "Of the keys"), each.candidates.map((key) => el("div", {}, hash(key)))));
    }
  }
  if (!problem && (isUnapproved(one) || unsigned.length)) {
    lines.push(el("div", { class: "quiet small" }, "expires ", exactly(end(one))));
  }
  return lines;
}

/** That an act was only taken on, with a link to it; null where it was done. */
export function waiting(answer) {
  const one = answer.scheduled;
  if (!one) return null;
  const for_ = [isUnapproved(one) && plural(one.approvals.missing, "approval"), isUnsigned(one) && "signatures", hasTime(one) && "its time"].filter(Boolean).join(", then ");
  return ["It waits", for_ ? ` for ${for_}` : "", ": ", el("a", { href: `#/waiting?act=${one.id}`, id: "to-waiting" }, `#${one.id}`), ". Nothing has changed yet."];
}

/** What a dialog says of an act that a channel lets others approve; null where it doesn't. */
export function gated({ protection }, isSure = true) {
  if (!protection?.approvals) return null;
  return el("p", { class: "quiet" }, `This channel is protected: it ${isSure ? "waits" : "may wait"} for ${plural(protection.approvals, "approval")}${protection.by ? ` by ${protection.by}` : ""}, not your own.`);
}

export const protectionWords = (one) => (one?.approvals
  ? `${plural(one.approvals, "approval")} of others${one.by ? `, by ${one.by}` : ""}; ${one.share ? `steps of a rollout up to ${shareText(one.share)} wait for none` : "every step of a rollout waits, too"}`
  : "none: nobody else has to approve");

const button = (id, words, kind, open) => el("button", { type: "button", id, class: kind, click: open }, words, el("span", { class: "hidden" }, ` number ${id.split("-")[1]}`));

/** Approve and reject, and why one may not; beside them `more`. `isWorse`: what it is about fails, so that neither is proposed. Nothing else for an act that takes no approval. */
export function decisions({ one, app, channel, reload, isWorse }, more = null) {
  if (!one.approvals || one.state !== "waiting") return more;
  const path = `${channelPath(app, channel)}/schedules/${one.id}`;
  const where = `${one.id}, ${app} ${channel}`;
  const role = hindrance("release", app, channel);
  const given = one.approvals.missing ? "" : "It has its approvals.";
  const hindered = given || (one.approvals.mayApprove ? "" : one.approvals.why ?? (role || "You may not approve this."));
  const isDone = Boolean(given);
  // Who may approve may reject, also after having approved.
  const mayReject = one.approvals.mayApprove || isDone || one.approvals.given.some((each) => each.name === me().name);
  // What can't be pressed isn't there: a sentence says why.
  return [el("div", { class: "row", role: "group", "aria-label": `Decide #${one.id}` }, more,
    role || !mayReject ? null : button(`reject-${one.id}`, "Reject", null, reject), hindered ? null : button(`approve-${one.id}`, "Approve", isWorse ? null : "primary", approve)),
  !isDone && hindered ? el("p", { class: "quiet small", id: `why-not-${one.id}` }, `You can't approve${mayReject ? "" : " or reject"} this: ${hindered}`) : null];

  /** The act with what it would do now, as long as it waits. */
  async function now() {
    const preview = await get(`${path}/preview`);
    stillWaits(preview.schedule);
    return preview;
  }

  function stillWaits(known) {
    if (known.state !== "waiting") throw new Error(`It doesn't wait any more: it is ${known.state}${known.endedBy ? `, by ${known.endedBy}` : ""}.`);
  }

  function next(known) {
    const left = known.approvals.missing - 1;
    if (left > 0) return ["It then still waits for ", plural(left, "more approval"), "."];
    if (isUnsigned(known)) return "It then still waits for signatures.";
    return new Date(known.due) > new Date() ? ["It is then done at its time, ", exactly(known.due), "."] : "It is then done at once, with its author's rights.";
  }

  function approve() {
    propose({
      title: "Approve", where, done: reload, isReasonOptional: true, reasonWords: "Remark", reasonHint: "For the audit trail and your colleagues; may be empty.",
      effect: async () => {
        const preview = await now();
        const { schedule } = preview;
        return { plan: preview, nodes: [el("p", {}, el("b", {}, plain(schedule.summary)), ", requested by ", named(schedule.author), " ", when(schedule.at), "."),
          await effectOf(preview), el("p", {}, next(schedule))] };
      },
      guard: async (_, plan) => {
        try {
          const preview = await now();
          return isSame(essence(preview), essence(plan)) ? "" : "it would do something else now.";
        } catch (error) { return error.message; }
      },
      command: ({ reason }) => ["approve", one.id, "--yes", reason ? `--message=${reason}` : false],
      send: async ({ reason }, key) => {
        const answer = await act("POST", `${path}/approve`, reason ? { message: reason } : {}, key);
        const left = answer.approvals?.missing ?? 0;
        return left ? `Approved; it waits for ${plural(left, "more approval")}.`
          : answer.state === "done" ? `Approved and done${answer.version ? `: version ${answer.version}` : ""}.` : answer.state === "failed" ? `Approved, but it failed: ${answer.reason ?? answer.code}` : "Approved; it has all approvals.";
      },
    });
  }

  function reject() {
    propose({
      title: "Reject", where, isDangerous: true, done: reload,
      effect: async () => {
        const known = await get(path);
        stillWaits(known);
        return el("p", {}, `This won't be done: ${plain(known.summary)}, requested by `, named(known.author), ". Your reason is shown to them.");
      },
      guard: async () => {
        try { stillWaits(await get(path)); } catch (error) { return error.message; }
        return "";
      },
      command: ({ reason }) => ["reject", one.id, `--message=${reason}`],
      send: async ({ reason }, key) => {
        await act("POST", `${path}/reject`, { message: reason }, key);
        return `Rejected: ${plain(one.summary)}.`;
      },
    });
  }
}

/** How many others have to approve what is done to a channel. */
export async function protect({ app, channel, done }) {
  const path = channelPath(app, channel);
  const read = async () => (await get(path)).protection ?? { approvals: 0, by: null, share: 0 };
  // Who may not see all tokens writes the name.
  const [is, names] = await Promise.all([read(), get("tokens").then(({ tokens }) => [...new Set(tokens.filter((one) => !one.revokedAt).map((one) => one.name))].sort(), () => [])]);
  const body = ({ approvals, by, share }) => {
    if (!/^\d$/.test(approvals)) throw new Error("Write the number of approvals, from 0 to 9.");
    return Number(approvals) ? { approvals: Number(approvals), by: by || null, share: share === "" ? 0 : buckets(share) } : { approvals: 0, by: null, share: 0 };
  };
  propose({
    title: "Protection", verb: "Save protection", where: `${app} ${channel}`, done,
    fields: [
      { name: "approvals", words: "Approvals needed", unit: "people", hint: "How many others have to approve a change. 0: nobody.", kind: "number", min: 0, max: 9, value: String(is.approvals), required: true },
      { name: "by", words: "By whom", hint: "A name, or a pattern of names with * and ?. Empty: everybody with the scope release here.", offers: names, value: is.by ?? "" },
      { name: "share", words: "Rollout steps up to", unit: "of devices need no approval", hint: "0%: every step needs it.", value: is.share ? ofBuckets(is.share) : "0%", inputmode: "decimal" }],
    effect: async (values) => {
      const [next, now] = [body(values), await read()];
      if (isSame(next, now)) return { plan: now, nodes: el("p", {}, "Nothing: that is what it is now.") };
      return { plan: now, nodes: [facts([["Now", protectionWords(now)], ["Then", protectionWords(next)]], "now-then"),
        next.approvals ? facts([["Need approval", "releases, promotions, prefetch configs, policy changes, rollout steps"], ["Need none", "rolling back, halting, pausing, the kill switch"], ["Your own requests", "need somebody else"]], "what-waits")
          : el("p", { class: "warn" }, "▲ One person alone can release then. What waits for approvals now still does.")] };
    },
    guard: async (_, plan) => {
      const now = await read();
      return isSame(now, plan) ? "" : `it is ${protectionWords(now)}.`;
    },
    command: (values) => {
      const { approvals, by, share } = body(values);
      return ["channel", "protect", "--app", app, "--channel", channel, ...(approvals ? ["--approvals", approvals, ...(by ? ["--by", by] : []), ...(share ? ["--above", ofBuckets(share)] : [])] : ["--off"])];
    },
    send: async (values, key) => {
      const made = await act("POST", `${path}/protect${why(values.reason)}`, body(values), key);
      return `The channel's protection: ${protectionWords(made)}.`;
    },
  });
}
