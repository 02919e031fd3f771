import { channelLink, get, hindrance, me } from "./api.js";
import { badge, card, count, el, fill, percent, plural, size, svg, table, tell, when } from "./dom.js";
import { facts, part, rights } from "./parts.js";
import { collectGarbage, createToken, forgetMirror, revokeToken } from "./acts.js";

export async function open({ reload }) {
  const hindered = hindrance("admin", "", "", true);
  const notYours = "Your token may not forget this mirror: the token that it runs with may, or an unrestricted admin's.";
  const kinds = { session: "session", job: "CI job" };
  const only = (node) => (hindered ? el("p", { class: "quiet" }, `○ ${hindered}`) : node);
  const disk = el("div");
  const tokens = el("div");
  const mirrors = el("div");
  if (!hindered) {
    part(disk, drawDisk);
    part(tokens, async () => drawTokens((await get("tokens")).tokens));
  }
  const drawMirrors = (all) => table("Mirrors", [["Where", false, true], ["Last run"], ["Channels"], ["Act"]], all.map((one) => {
    const channels = new Map(one.versions.map((item) => [`${item.app} ${item.channel}`, item]));
    return [[one.name, el("div", {}, one.keeps === false ? badge("warn", "no longer kept by gc") : badge("good", "gc keeps its versions"))], when(one.at),
      el("details", { id: `mirror-${one.name}` }, el("summary", {}, count(channels.size), el("span", { class: "hidden" }, channels.size === 1 ? " channel" : " channels")), el("ul", {}, [...channels].map(([words, item]) => el("li", {}, el("a", { href: channelLink("channel", item.app, item.channel) }, words), ` to ${item.version}`)))),
      el("button", {
        type: "button", "aria-disabled": one.mayForget ? null : "true", title: one.mayForget ? null : notYours, "aria-describedby": one.mayForget ? null : "not-yours",
        click: () => { if (one.mayForget) forgetMirror(one.name, reload); else tell(notYours); },
      }, "Forget", el("span", { class: "hidden" }, ` ${one.name}`))];
  }), "No mirror is registered; xcache mirror registers one.");
  let last = await get("mirrors");
  const showMirrors = ({ mirrors: all }) => fill(mirrors, drawMirrors(all), all.some((one) => !one.mayForget)
    ? el("p", { class: "quiet", id: "not-yours" }, "○ A mirror is forgotten by the token that it runs with, or by an unrestricted admin's.") : null);
  showMirrors(last);

  function drawTokens(all) {
    const now = Date.now();
    const state = (one) => (one.revokedAt ? badge("quiet", "revoked") : one.expiresAt && new Date(one.expiresAt) < now ? badge("quiet", "expired") : badge("good", "valid"));
    const isValid = (one) => !one.revokedAt && !(one.expiresAt && new Date(one.expiresAt) < now);
    return table("Tokens", [["Name"], ["State"], ["Rights"], ["Made"], ["Ends"], ["Last used"], ["Act"]],
      [...all].sort((a, b) => isValid(b) - isValid(a)).map((one) => [[one.name, kinds[one.kind] ? [" ", badge("quiet", kinds[one.kind])] : "", [me()?.id, me()?.subject].some((mine) => mine === one.id || mine === `token:${one.id}`) ? [" ", badge("quiet", "yours")] : ""], state(one),
        [rights(one.grants ?? [one]).map((words) => el("div", {}, words)), one.hosts ? el("div", {}, `hosts ${one.hosts.join(" ")}`) : ""], when(one.createdAt), one.expiresAt ? when(one.expiresAt) : "never", one.lastUsedAt ? when(one.lastUsedAt) : "never",
        isValid(one) ? el("button", { type: "button", click: () => revokeToken(one, reload) }, "Revoke", el("span", { class: "hidden" }, ` ${one.name}${kinds[one.kind] ? `, ${kinds[one.kind]} ${one.id}` : ""}`)) : "—"]));
  }

  return {
    title: "Operations",
    node: [el("h1", {}, "Operations"),
      el("div", { class: "columns even" },
        el("div", {}, card("Disk", only(disk))),
        el("div", {},
          card("Mirrors", mirrors, null, true),
          card("Garbage collection", only(el("div", {}, el("p", {}, "Drops versions that nobody needs, and their files. The daily round of the server is set by ", el("code", {}, "serve --gc"), "."),
            el("button", { type: "button", id: "gc", click: () => collectGarbage(reload) }, "Collect garbage …")))))),
      card("Tokens and sessions", only(tokens), hindered ? null : el("button", { type: "button", id: "make-token", click: () => createToken(reload) }, "Create a token …"), !hindered)],
    async refresh() {
      if (!hindered) await Promise.all([part(disk, drawDisk), part(tokens, async () => drawTokens((await get("tokens")).tokens))]);
      this.update(await get("mirrors"));
    },
    poll: "mirrors",
    update(document) {
      if (document === last) return;
      last = document;
      showMirrors(document);
    },
  };
}

async function drawDisk() {
  const { now, hours } = await get("disk?hours=2160");
  const line = hours.map((one, index) => `${(index * 700) / Math.max(1, hours.length - 1)},${(one.available * 100) / Math.max(1, one.size)}`).join(" ");
  return [facts([["Used", `${percent(now.size - now.available, now.size)} of ${size(now.size)}`], ["Free", size(now.available)], ["Stored by releases", size(now.stored)], ["As of", when(now.at)]]),
    hours.length < 2 ? el("p", { class: "quiet small" }, "A chart follows when the server has run for some hours.")
      : el("figure", { class: "of-disk" }, el("span", { "aria-hidden": "true" }, size(now.size)), el("span", { "aria-hidden": "true" }, "0"), svg("svg", { viewBox: "0 0 700 100", preserveAspectRatio: "none", role: "img", "aria-label": `Used disk over ${plural(hours.length, "hour")}: from ${size(hours[0].size - hours[0].available)} to ${size(now.size - now.available)}` },
        svg("rect", { width: 700, height: 100, class: "disk" }), svg("polygon", { points: `0,100 ${line} 700,100`, class: "disk-used" }), svg("polyline", { points: line, class: "disk-line" })),
      el("figcaption", { class: "quiet small" }, el("span", {}, when(hours[0].at)), el("span", {}, `${percent(now.size - now.available, now.size)} used`), el("span", {}, "now")))];
}
