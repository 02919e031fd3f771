// What waits for others: acts that need approvals or signatures, in all channels that one may read.
import { channelLink, channelPath, get } from "./api.js";
import { badge, el, fill, named, plural, when } from "./dom.js";
import { exactly, facts, part } from "./parts.js";
import { decisions, effectOf, hasTime, heldWords, missing } from "./approvals.js";

const isMine = (one) => Boolean(one.approvals?.mayApprove);

export async function open({ query, reload }) {
  const asked = query.get("act");
  const list = el("div", { id: "waiting" });
  const lead = el("p", { class: "lead", role: "status" });
  let shown = await get("waiting");

  function item(one) {
    const { app, channel, id } = one;
    const effect = el("div", { class: "effect" });
    const path = `${channelPath(app, channel)}/schedules/${id}`;
    // Worked out when somebody wants to see it; a redrawn page asks again.
    const details = el("details", { id: `effect-${id}`, toggle: () => {
      if (!details.open) return;
      if (!effect.hasChildNodes()) fill(effect, el("p", { class: "quiet" }, "Working out what it would do …"));
      part(effect, async () => effectOf(await get(`${path}/preview`)));
    } }, el("summary", {}, "What it would do now"), effect);
    return el("section", { class: String(id) === asked ? "card act asked" : "card act", id: `act-${id}`, tabindex: -1, "aria-labelledby": `act-name-${id}` },
      el("div", { class: "card-head" },
        el("h2", { id: `act-name-${id}` }, el("span", { class: "quiet" }, `${id} `), one.summary),
        isMine(one) ? badge("warn", "waits for you") : null),
      facts([
        ["Channel", el("a", { href: channelLink("channel", app, channel) }, `${app} ${channel}`)],
        ["Asked for by", [named(one.author), ", ", when(one.at)]],
        ["To be done", hasTime(one) ? [exactly(one.due), ", ", when(one.due)] : `as soon as it is ${heldWords(one)}`],
        ["Waits for", missing(one)],
        one.reason && ["So far", el("span", { class: "warn" }, `▲ It couldn't be carried out yet: ${one.reason}`)],
      ]),
      details, decisions({ one, app, channel, reload }));
  }

  function draw() {
    const mine = shown.acts.filter(isMine);
    const others = shown.acts.filter((one) => !isMine(one));
    lead.textContent = !shown.acts.length ? ""
      : mine.length ? `${plural(mine.length, "act")} ${mine.length === 1 ? "waits" : "wait"} for you${others.length ? `, ${others.length} for others` : ""}.` : `Nothing waits for you; ${plural(others.length, "act")} for others.`;
    const isGone = asked && !shown.acts.some((one) => String(one.id) === asked);
    fill(list, !shown.acts.length && !isGone ? el("section", { class: "card blank" }, el("p", {}, "No release or change waits for an approval or a signature."), el("p", {}, el("a", { href: "#/" }, "To the overview"))) : null, isGone ? el("p", { id: "not-waiting" }, `○ Number ${asked} doesn't wait any more: it was done, rejected or cancelled, or you may not read its channel.`) : null,
      [...mine, ...others].map(item));
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
