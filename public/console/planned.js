// What is to happen in a channel by itself: scheduled acts, and freezes by calendar.
import { act, bundleLimit, channelPath, get, hindrance, isPerson, me } from "./api.js";
import { badge, card, el, named, plural, tell, when } from "./dom.js";
import { exactly } from "./parts.js";
import { propose, why } from "./dialog.js";
import { decisions, dueWords, hasTime, item, missing, plain, soFar } from "./approvals.js";

/** The card with what is planned, and with what of the last days wasn't carried out; nothing if there is neither. */
export function planned({ app, channel, status, reload, isWorse }) {
  const path = channelPath(app, channel);
  const where = `${app} ${channel}`;
  const place = ["--app", app, "--channel", channel];
  const all = status.scheduled ?? [];
  const waiting = all.filter((one) => one.state === "waiting");
  const freezes = (status.plannedFreezes ?? []).filter((one) => one.id !== status.freeze?.id);
  if (!all.length && !freezes.length) return null;

  const notes = new Set();
  function button(id, words, of, hindered, open) {
    if (hindered) notes.add(hindered);
    return el("button", {
      type: "button", id, "aria-disabled": hindered ? "true" : null, title: hindered || null, "aria-describedby": hindered ? "why-not-planned" : null,
      click: () => { if (hindered) tell(hindered); else open(); },
    }, words, el("span", { class: "hidden" }, ` ${of}`));
  }
  const items = [
    ...waiting.map((one) => ({ at: one.due, node: item({
      id: one.id, title: one.summary, about: [`#${one.id}, requested by `, named(one.author), " ", when(one.at), " · ", dueWords(one)],
      more: [el("div", { class: "waits" }, missing(one)), soFar(one)],
      buttons: decisions({ one, app, channel, reload, isWorse }, button(`cancel-${one.id}`, "Withdraw", `#${one.id}: ${one.summary}`, mayCancel(one), () => cancel(one))) }) })),
    ...freezes.map((one) => ({ at: one.from ?? one.at, node: item({
      id: `freeze-${one.id}`, title: `Freeze: ${one.reason}`,
      about: ["planned by ", named(one.author), " ", when(one.at), " · no releases from ", exactly(one.from ?? one.at), ", ", when(one.from ?? one.at), one.to ? [", until ", exactly(one.to)] : ", until the channel is thawed"],
      buttons: button(`take-back-${one.id}`, "Take back", `freeze ${one.id}: ${one.reason}`, hindrance("admin", app, channel), () => takeBack(one)) }) })),
  ].sort((a, b) => new Date(a.at) - new Date(b.at));
  const failed = all.filter((one) => one.state !== "waiting");
  return el("div", { id: "planned" }, card("Scheduled", [
    items.map((one) => one.node),
    notes.size ? el("p", { id: "why-not-planned", class: "quiet small act" }, [...notes].join(" ")) : null,
    failed.map((one) => el("p", { class: "act" }, el("span", {}, badge("bad", one.state), ` ${plain(one.summary)} by ${one.author}, which ${hasTime(one) ? "was due" : "waited since"} `, exactly(one.due), `: ${one.reason ?? one.state}`)))],
  null, true));

  /** A token for some bundles takes back what it scheduled itself. */
  function mayCancel(one) {
    const bundles = bundleLimit("release", app, channel);
    return hindrance("release", app, channel) || (bundles && one.author !== me().name ? `${isPerson() ? "You have" : "Your token is for"} bundles ${bundles}; ${one.author} scheduled this.` : "");
  }

  /** The act, as long as it waits. */
  async function now(one) {
    const known = await get(`${path}/schedules/${one.id}`);
    if (known.state !== "waiting") throw new Error(`It doesn't wait any more: it is ${known.state}${known.endedBy ? `, by ${known.endedBy}` : ""}.`);
    return known;
  }

  function cancel(one) {
    propose({
      title: "Withdraw", verb: "Withdraw the request", where: `${plain(one.summary)}, ${where}`, done: reload,
      effect: async () => {
        await now(one);
        const what = `This won't be done: ${plain(one.summary)}, `;
        if (!hasTime(one)) return el("p", {}, `${what}which ${one.author} requested, and which waits for ${one.signatures?.length ? "signatures" : "approvals"}.`);
        return el("p", {}, `${what}scheduled by ${one.author} for `, exactly(one.due), ".");
      },
      guard: async () => {
        try { await now(one); } catch (error) { return error.message; }
        return "";
      },
      command: () => ["schedule", "cancel", one.id, ...place],
      send: async ({ reason }, key) => {
        await act("DELETE", `${path}/schedules/${one.id}${why(reason)}`, undefined, key);
        return `Withdrawn: ${plain(one.summary)}.`;
      },
    });
  }

  function takeBack(one) {
    const still = async () => ((await get(path)).plannedFreezes ?? []).some((other) => other.id === one.id);
    propose({
      title: "Take back", where: `freeze ${one.id}, ${where}`, done: reload,
      effect: async () => {
        if (!await still()) throw new Error("This freeze is over, or somebody took it back.");
        const left = freezes.length - 1 + (status.freeze ? 1 : 0);
        return el("p", {}, `The channel won't be frozen for “${one.reason}”.`, left ? ` ${plural(left, "other freeze")} ${left === 1 ? "stays" : "stay"}.` : "");
      },
      guard: async () => (await still() ? "" : "this freeze is over, or somebody took it back."),
      command: () => ["channel", "thaw", "--planned", one.id, ...place],
      send: async ({ reason }, key) => {
        await act("POST", `${path}/thaw${why(reason)}`, { planned: one.id }, key);
        return "The freeze is taken back.";
      },
    });
  }
}
