// Who is signed in: what they may do, and where else they are signed in.
import { act, get, grants, hindrance, isPerson, isSession, me, whyNoSession } from "./api.js";
import { badge, card, el, svg, table, when } from "./dom.js";
import { exactly, facts, hash, part } from "./parts.js";
import { propose } from "./dialog.js";

/** A browser's window, or a terminal's prompt. */
const icon = (client) => svg("svg", { class: "icon", viewBox: "0 0 20 20", "aria-hidden": "true" }, svg("rect", { x: 1.5, y: 3, width: 17, height: 14, rx: 2 }),
  svg("path", { d: client === "cli" ? "M5 7.5l3 2.5-3 2.5M10 13h5" : "M1.5 7h17M4 5h.01M6.5 5h.01" }));
const clients = { console: "Console", cli: "Command line" };
const hostOf = (issuer) => { try { return new URL(issuer).host; } catch { return issuer; } };
const scopes = {
  read: "look at everything there",
  release: "look, roll back, halt and steer rollouts, use the kill switch, approve",
  publish: "all that release may do, and publish",
  admin: "everything there",
};

export async function open({ signOut: goOut }) {
  const who = me();
  const sessions = el("div", { id: "sessions" });
  const draw = () => part(sessions, async () => drawSessions((await get("sessions")).sessions));

  /** What tells a session apart: the browser or the command line, and when it began. */
  const named = (one) => one.browser ?? clients[one.client] ?? one.client;
  const kind = (one) => (one.client === "cli" ? "" : one.browser ? "console · " : "a browser that isn't known · ");

  function drawSessions(all) {
    const sorted = [...all].sort((a, b) => b.isCurrent - a.isCurrent || new Date(b.lastUsedAt ?? b.createdAt) - new Date(a.lastUsedAt ?? a.createdAt));
    return el("ul", { class: "sessions" }, sorted.map((one) => el("li", { class: one.isCurrent ? "own" : null },
      icon(one.client),
      el("div", {}, el("p", {}, el("strong", {}, named(one)), one.isCurrent ? [" ", badge("good", "this browser")] : ""),
        el("p", { class: "quiet small" }, `${kind(one)}signed in `, when(one.createdAt), one.isCurrent ? "" : [" · last used ", one.lastUsedAt ? when(one.lastUsedAt) : "never"], " · ends ", when(one.expiresAt))),
      el("button", { type: "button", id: `end-${one.id}`, click: () => { if (one.isCurrent) goOut(); else end(one); } }, one.isCurrent ? "Sign out" : "End", el("span", { class: "hidden" }, ` ${named(one)}, ${one.id}`)))));
  }

  function end(one) {
    const words = named(one);
    propose({
      title: "End the session", where: words, isDangerous: true, needsReason: false, done: draw,
      effect: async () => {
        const known = (await get("sessions")).sessions.find((each) => each.id === one.id);
        if (!known) throw new Error("This session has ended.");
        return el("p", {}, `▲ ${words}, signed in `, when(known.createdAt), ", can do nothing any more; last used: ", when(known.lastUsedAt), ". What was scheduled with it is still done.");
      },
      command: () => null,
      send: async (_, key) => {
        await act("DELETE", `sessions/${encodeURIComponent(one.id)}`, undefined, key);
        return "The session has ended.";
      },
    });
  }

  if (isSession()) draw();
  const signedIn = isPerson() ? `Signed in with ${hostOf(who.issuer ?? "the provider")}` : "Signed in with a token";
  const isAdmin = !hindrance("admin", "", "", true);
  return {
    title: "You",
    node: [el("div", { class: "head" }, el("div", {}, el("h1", {}, who.name), el("p", { class: "lead" }, signedIn, " · ends ", who.expiresAt ? when(who.expiresAt) : "never")),
      el("div", { class: "row" }, el("button", { type: "button", id: "shortcuts", click: async () => { (await import("./keys.js")).help(); } }, "Shortcut keys"), isAdmin ? el("a", { class: "button", href: "#/operations" }, "All tokens and sessions") : null)),
    el("div", { class: "columns" },
      el("div", {}, isSession() ? card("Where you are signed in", sessions) : null,
        card("What you may do", [
          table("Roles", [["Scope"], ["App"], ["Channel"], ["Bundles"]], grants().map((one) => [el("b", {}, one.scope), one.app ?? "every app", one.channel ?? "every channel", one.bundles?.replaceAll(",", ", ") ?? "all"])),
          who.hosts ? el("p", {}, `Files of the hosts ${who.hosts.join(", ")} only.`) : null,
          el("p", { class: "quiet small" }, [...new Set(grants().map((one) => one.scope))].map((scope, index) => [index ? "; " : "", el("b", {}, scope), `: ${scopes[scope] ?? "known to newer servers"}`]), "."),
          isPerson() ? el("p", { class: "quiet small" }, "Roles come from the provider's groups when you sign in.") : null])),
      el("div", {}, card("Who you are", facts([
        ["Signed in with", isPerson() ? hostOf(who.issuer ?? "the provider") : isSession() ? "a token, which this page has forgotten; a cookie that no script can read has its place"
          : ["a token, which this page forgets when it is closed or reloaded", whyNoSession() ? el("div", { class: "quiet small" }, `No session was given for it: ${whyNoSession()}`) : ""]],
        isPerson() && who.subject && ["Known there as", hash(who.subject)],
        ["Ends", who.expiresAt ? exactly(who.expiresAt) : "never"],
      ], "you-facts"))))],
    async refresh() { if (isSession()) await draw(); },
  };
}
