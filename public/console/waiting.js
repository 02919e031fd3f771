// What waits for others: acts that need approvals or signatures, in all channels that one may read.
import { channelLink, channelPath, get } from "./api.js";
import { card, el, fill, named, plural, size, when } from "./dom.js";
import { inWords, part } from "./parts.js";
import { audience } from "./rollout.js";
import { decisions, dueWords, effectOf, item, missing, soFar } from "./approvals.js";

const isMine = (one) => Boolean(one.approvals?.mayApprove);

export async function open({ query, reload }) {
  const asked = query.get("act");
  const list = el("div", { id: "waiting" });
  const lead = el("p", { class: "lead", role: "status" });
  let shown = await get("waiting");

  /** What each would do, in few words, by its number; asked for one after the other. */
  const brief = new Map();
  const due = [];
  let isAsking = false;
  async function tellBriefs() {
    if (isAsking) return;
    isAsking = true;
    for (let next; (next = due.shift());) {
      const { id, path, node } = next;
      try {
        if (!brief.has(id)) {
          const { answer } = await get(`${path}/preview`);
          const update = answer?.update ?? answer?.forecast?.update ?? answer?.cost?.update;
          brief.set(id, answer?.rollout ? `: version ${answer.rollout.version} goes to ${audience(answer.rollout)} instead of ${audience(answer.was)}` : answer?.previous === undefined || answer.changed === false ? "" : [`: ${inWords({ ...answer, changed: typeof answer.changed === "boolean" ? answer.counts?.changed ?? 0 : answer.changed })}`,
            update ? `, ${size(update.total ?? update.bytes)} for each device` : ""].join(""));
        }
        fill(node, brief.get(id));
      } catch { /* Told when it is opened. */ }
    }
    isAsking = false;
  }

  function made(one) {
    const { app, channel, id } = one;
    const effect = el("div", { class: "effect" });
    const told = el("span", { class: "quiet" });
    const path = `${channelPath(app, channel)}/schedules/${id}`;
    // Worked out when somebody wants to see it; a redrawn page asks again.
    const details = el("details", { id: `effect-${id}`, toggle: () => {
      if (!details.open) return;
      if (!effect.hasChildNodes()) fill(effect, el("p", { class: "quiet" }, "Working out what it would do …"));
      part(effect, async () => effectOf(await get(`${path}/preview`)));
    } }, el("summary", {}, "What it would do now", told), effect);
    due.push({ id, path, node: told });
    return item({
      id, place: el("a", { href: channelLink("channel", app, channel) }, `${app} ${channel}`), title: one.summary, isAsked: String(id) === asked,
      about: [`#${id}, requested by `, named(one.author), " ", when(one.at), " · ", dueWords(one)],
      more: [el("div", { class: "waits" }, missing(one)), soFar(one), details],
      buttons: decisions({ one, app, channel, reload }),
    });
  }

  function draw() {
    const mine = shown.acts.filter(isMine);
    const others = shown.acts.filter((one) => !isMine(one));
    const isGone = asked && !shown.acts.some((one) => String(one.id) === asked);
    const group = (title, acts) => (acts.length ? card(title, acts.map(made), el("span", { class: "quiet" }, plural(acts.length, "request")), true) : null);
    lead.textContent = !shown.acts.length || mine.length ? "" : "Nothing waits for you.";
    fill(list, !shown.acts.length && !isGone ? el("section", { class: "card blank" }, el("p", {}, "No release or change waits for an approval or a signature."), el("p", {}, el("a", { href: "#/" }, "To the overview"))) : null,
      isGone ? el("p", { id: "not-waiting" }, `#${asked} doesn't wait any more: it was done, rejected or withdrawn, or you may not read its channel.`) : null,
      group("For you to decide", mine), group("For others", others));
    tellBriefs();
  }

  draw();
  return {
    title: "Waiting for approval",
    node: [el("h1", {}, "Waiting for approval"), lead, list],
    shown: () => { if (asked) document.getElementById(`act-${asked}`)?.focus(); },
    poll: "waiting",
    update(next) {
      if (JSON.stringify(next) === JSON.stringify(shown)) return;
      shown = next;
      draw();
    },
    async refresh() {
      shown = await get("waiting");
      draw();
    },
  };
}
