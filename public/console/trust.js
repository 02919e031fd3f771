// Who has signed what devices of a channel take, in an app with a root.
import { get } from "./api.js";
import { badge, card, el, table, when } from "./dom.js";
import { exactly, facts, hash } from "./parts.js";

/** The ids of keys, which are digests. */
const keys = (ids) => (ids.length ? ids.map((id) => el("div", {}, hash(id))) : "nobody");

function rows(bundles) {
  return bundles.map((one) => [one.bundle, keys(one.keys), one.serial === null ? "—" : exactly(new Date(one.serial).toISOString()),
    one.problem ? el("span", { class: "bad" }, `✖ ${one.problem}`) : el("span", { class: "good" }, "✔ taken")]);
}

/** For whom the release of a bundle waits, or why it can't be completed. */
function waits(act, one) {
  if (one.problem) return el("span", { class: "bad" }, `✖ It can't be completed any more (${one.problem}): xcache schedule cancel ${act.id}, and publish again.`);
  if (one.missing) return [`${one.missing} more of`, keys(one.candidates)];
  return act.signatures.some((each) => each.missing) ? "nobody" : `nobody: xcache sign ${act.id} releases it`;
}

/** The releases that wait for signatures, and for whose; nothing if none does. */
function waiting(acts) {
  const unsigned = acts.filter((act) => act.state === "waiting" && act.signatures?.length);
  if (!unsigned.length) return null;
  const rows = unsigned.flatMap((act) => act.signatures.map((one) => [
    [`${act.id}: ${act.summary}, by ${act.author}, `, when(act.at)], one.bundle, keys(one.keys),
    waits(act, one)]));
  return table("Releases that wait for signatures", [["Release"], ["Bundle"], ["Signed by"], ["Waits for"]], rows);
}

/** The card with the signatures of a channel; nothing in an app without a root. */
export async function signatures(app, channel) {
  const path = `apps/${encodeURIComponent(app)}`;
  const { roots, channels } = await get(`${path}/trust`);
  const own = channels.find((one) => one.channel === channel);
  const newest = roots.at(-1);
  if (!newest || !own) return null;
  const { schedules } = await get(`${path}/channels/${encodeURIComponent(channel)}/schedules`);
  const isOld = own.head && new Date(own.head.until) < new Date();
  const columns = [["Bundle"], ["Signed by"], ["When"], ["Devices"]];
  return card("Signatures", [
    facts([
      ["Root", [`number ${newest.number}, since `, when(newest.at), ` by ${newest.author}`]],
      ["Head", own.head
        ? [`version ${own.head.version}, signed `, when(own.head.at), isOld ? [" ", badge("bad", "expired")] : ""]
        : "none: devices check nothing, or get nothing new"],
      own.prefetch && ["Prefetch", [`config ${own.prefetch.version}, signed by `, keys(own.prefetch.keys)]],
    ], "trust"),
    table("Bundles and who signed them", columns, rows(own.bundles), "There is nothing to sign yet."),
    own.candidate.length ? table("What the candidate changes", columns, rows(own.candidate)) : null, waiting(schedules)]);
}
