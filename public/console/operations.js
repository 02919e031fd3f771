import { channelLink, get, hindrance, me } from "./api.js";
import { badge, card, count, el, fill, named, percent, plural, size, svg, table, tell, when } from "./dom.js";
import { part, rights } from "./parts.js";
import { collectGarbage, createToken, forgetMirror, revokeToken } from "./acts.js";

/** Which of the tokens are shown: of one kind, or those that have ended. */
let chosen = "token";
const kinds = [["token", "Tokens"], ["session", "Sessions"], ["job", "CI jobs"], ["ended", "Ended"]];

export async function open({ reload }) {
  const hindered = hindrance("admin", "", "", true);
  const notYours = "Your token may not forget this mirror: the token that it runs with may, or an unrestricted admin's.";
  const only = (node) => (hindered ? el("p", { class: "quiet" }, `○ ${hindered}`) : node);
  const disk = el("div");
  const tokens = el("div", { id: "tokens" });
  const mirrors = el("div");
  if (!hindered) {
    part(disk, drawDisk);
    part(tokens, async () => drawTokens((await get("tokens")).tokens));
  }
  const drawMirrors = (all) => table("Mirrors", [["Where", false, true], ["Last run"], ["Channels"], ["Act"]], all.map((one) => {
    const channels = new Map(one.versions.map((item) => [`${item.app} ${item.channel}`, item]));
    return [[one.name, el("div", {}, one.keeps === false ? badge("warn", "its versions may be deleted here") : badge("good", "its versions are kept here"))], when(one.at),
      el("details", { id: `mirror-${one.name}` }, el("summary", {}, count(channels.size), el("span", { class: "hidden" }, channels.size === 1 ? " channel" : " channels")), el("ul", {}, [...channels].map(([words, item]) => el("li", {}, el("a", { href: channelLink("channel", item.app, item.channel) }, words), ` to ${item.version}`)))),
      el("button", {
        type: "button", class: "plain", "aria-disabled": one.mayForget ? null : "true", title: one.mayForget ? null : notYours, "aria-describedby": one.mayForget ? null : "not-yours",
        click: () => { if (one.mayForget) forgetMirror(one.name, reload); else tell(notYours); },
      }, "Forget", el("span", { class: "hidden" }, ` ${one.name}`))];
  }), "No mirror is registered; xcache mirror registers one.");
  let last = await get("mirrors");
  const showMirrors = ({ mirrors: all }) => fill(mirrors, drawMirrors(all), all.some((one) => !one.mayForget)
    ? el("p", { class: "quiet", id: "not-yours" }, "○ A mirror is forgotten by the token that it runs with, or by an unrestricted admin's.") : null);
  showMirrors(last);

  function drawTokens(all) {
    const now = Date.now();
    const hasEnded = (one) => Boolean(one.revokedAt || one.expiresAt && new Date(one.expiresAt) < now);
    const of = (kind) => all.filter((one) => (kind === "ended" ? hasEnded(one) : !hasEnded(one) && (one.kind ?? "token") === kind));
    const isYours = (one) => [me()?.id, me()?.subject].some((mine) => mine === one.id || mine === `token:${one.id}`);
    const box = el("div");
    const chips = el("div", { class: "row chips", role: "group", "aria-label": "Which" }, kinds.filter(([kind]) => kind === "token" || of(kind).length).map(([kind, words]) => el("button", {
      type: "button", "aria-pressed": String(kind === chosen), click: (event) => {
        chosen = kind;
        for (const one of chips.children) one.setAttribute("aria-pressed", String(one === event.currentTarget));
        draw();
      } }, `${words} `, el("span", { class: "quiet" }, count(of(kind).length)))));
    if (![...chips.children].some((one) => one.getAttribute("aria-pressed") === "true")) {
      chosen = "token";
      chips.firstChild.setAttribute("aria-pressed", "true");
    }
    const lastUsed = (one) => (one.lastUsedAt ? when(one.lastUsedAt) : el("span", { class: "quiet" }, "never"));
    const end = (one) => (one.revokedAt ? ["revoked ", when(one.revokedAt)] : !one.expiresAt ? el("span", { class: "quiet" }, "never") : when(one.expiresAt));
    function draw() {
      const isOver = chosen === "ended";
      fill(box, table(kinds.find(([kind]) => kind === chosen)[1], [["Name"], ["Id"], ["Rights"], ["Made"], ["Last used"], [isOver ? "Ended" : "Ends"], ...(isOver ? [] : [["Act"]])],
        of(chosen).sort((a, b) => isYours(b) - isYours(a) || new Date(b.lastUsedAt ?? 0) - new Date(a.lastUsedAt ?? 0)).map((one) => [
          [named(one.name), isYours(one) ? [" ", badge("quiet", "yours")] : "", chosen === "token" ? "" : el("div", { class: "sub" }, [isOver && one.kind !== "token" && (one.kind === "job" ? "CI job" : one.kind), one.detail].filter(Boolean).join(", "))],
          el("code", { class: "id" }, one.id), [rights(one.grants ?? [one]).map((words) => el("div", {}, words)), one.hosts ? el("div", { class: "sub" }, `hosts ${one.hosts.join(" ")}`) : ""], when(one.createdAt), lastUsed(one), end(one),
          ...(isOver ? [] : [el("button", { type: "button", class: "plain", click: () => revokeToken(one, reload) }, isYours(one) ? "Revoke yours" : "Revoke", el("span", { class: "hidden" }, ` ${one.name}${one.kind && one.kind !== "token" ? `, ${one.kind} ${one.id}` : ""}`))])])));
    }
    draw();
    return [el("div", { class: "chosen" }, chips), box];
  }

  return {
    title: "Operations",
    node: [el("div", { class: "head" }, el("div", {}, el("h1", {}, "Operations"), el("p", { class: "lead" }, `The origin ${location.host}`))), hindered ? null : disk,
      card("Tokens and sessions", only(tokens), hindered ? null : el("button", { type: "button", id: "make-token", class: "primary", click: () => createToken(reload) }, "Create a token…"), !hindered),
      el("div", { class: "columns even" },
        el("div", {}, card("Mirrors", mirrors, null, true)),
        el("div", {}, card("Old versions", only(el("div", {}, el("p", {}, "Delete versions that nobody needs, and their files. The server does it every day if it was started with ", el("code", { class: "name" }, "serve --gc"), "."),
          el("button", { type: "button", id: "gc", click: () => collectGarbage(reload) }, "Clean up…"))))))],
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
  const used = (one) => one.size - one.available;
  const share = now.size ? used(now) / now.size : 0;
  const first = hours.length > 1 ? hours[0] : now;
  const grown = used(now) - used(first);
  const days = Math.round((new Date(now.at) - new Date(first.at)) / 86_400_000);
  const since = days && Math.abs(grown) >= 1e6 ? `, ${grown < 0 ? "−" : "+"}${size(Math.abs(grown))} in ${plural(days, "day")}` : "";
  const [unit, rest] = [size(now.size).split("\u00a0")[1], size(used(now)).split("\u00a0")];
  return card("Disk", [el("p", { id: "disk", class: share >= 0.95 ? "bad" : null }, el("span", {}, el("b", {}, `${rest[1] === unit ? rest[0] : rest.join("\u00a0")} of ${size(now.size)} used`), since),
    el("span", { class: "quiet" }, `${size(now.stored)} stored by releases, each file once`), el("span", { class: "quiet" }, "Updated ", when(now.at))),
  svg("svg", { class: "meter", viewBox: "0 0 100 4", preserveAspectRatio: "none", "aria-hidden": "true" }, svg("rect", { width: 100, height: 4 }), svg("rect", { width: share * 100, height: 4 }))]);
}
