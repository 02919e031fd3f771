// Who is signed in: what they may do, and where else they are signed in.
import { act, get, grants, hindrance, isPerson, isSession, me, whyNoSession } from "./api.js";
import { badge, card, el, svg, table, when } from "./dom.js";
import { exactly, facts, hash, part } from "./parts.js";
import { propose } from "./dialog.js";

/** A browser's window, a telephone, or a terminal's prompt. */
const icon = ({ client, browser }) => svg("svg", { class: "icon", viewBox: "0 0 20 20", "aria-hidden": "true" },
  svg("rect", client !== "cli" && /iPhone|Android/.test(browser) ? { x: 5, y: 1.5, width: 10, height: 17, rx: 2 } : { x: 1.5, y: 3, width: 17, height: 14, rx: 2 }),
  svg("path", { d: client === "cli" ? "M5 7.5l3 2.5-3 2.5M10 13h5" : /iPhone|Android/.test(browser) ? "M9 16h2" : "M1.5 7h17M4 5h.01M6.5 5h.01" }));
const clients = { console: "Console", cli: "Command line" };
const hostOf = (issuer) => { try { return new URL(issuer).host; } catch { return issuer; } };
const scopes = {
  read: "look",
  release: "look, roll back, steer and halt rollouts, use the kill switch, approve",
  publish: "all that release may do, and publish",
};

export async function open({ signOut: goOut }) {
  const who = me();
  const sessions = el("div", { id: "sessions" });
  const draw = () => part(sessions, async () => drawSessions((await get("sessions")).sessions));

  /** What tells a session apart: the browser or the command line, and when it began. */
  const named = (one) => one.browser ?? clients[one.client] ?? one.client;
  const kind = (one) => (one.client === "cli" ? "" : one.browser ? "console · " : "unknown browser · ");

  /** Whether two sessions end at about the same time, which is told once. */
  const near = (one, other) => Math.abs(new Date(one.expiresAt) - new Date(other.expiresAt)) < 3_600_000;

  function drawSessions(all) {
    const sorted = [...all].sort((a, b) => b.isCurrent - a.isCurrent || new Date(b.lastUsedAt ?? b.createdAt) - new Date(a.lastUsedAt ?? a.createdAt));
    return el("ul", { class: "sessions" }, sorted.map((one) => el("li", { class: one.isCurrent ? "own" : null },
      icon(one),
      el("div", {}, el("p", {}, el("strong", {}, named(one)), one.isCurrent ? [" ", badge("good", "this browser")] : ""),
        el("p", { class: "quiet small" }, `${kind(one)}signed in `, when(one.createdAt), one.isCurrent || !one.lastUsedAt ? "" : [" · last used ", when(one.lastUsedAt)], near(one, sorted[0]) ? "" : [" · ends ", when(one.expiresAt)])),
      el("button", { type: "button", id: `end-${one.id}`, click: () => { if (one.isCurrent) goOut(); else end(one); } }, "Sign out", el("span", { class: "hidden" }, ` ${named(one)}, ${one.id}`)))));
  }

  function end(one) {
    const words = named(one);
    propose({
      title: "Sign out", where: words, isDangerous: true, needsReason: false, done: draw,
      effect: async () => {
        const known = (await get("sessions")).sessions.find((each) => each.id === one.id);
        if (!known) throw new Error("This session has already ended.");
        return el("p", {}, `▲ ${words}, signed in `, when(known.createdAt), ", is signed out.", known.lastUsedAt ? [" Last used ", when(known.lastUsedAt), "."] : "", " What was scheduled there is still carried out.");
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
    node: [el("div", { class: "head" }, el("div", {}, el("h1", {}, who.name), el("p", { class: "lead" }, signedIn)),
      el("div", { class: "row" }, el("button", { type: "button", id: "shortcuts", click: async () => { (await import("./keys.js")).help(); } }, "Shortcut keys"), isAdmin ? el("a", { class: "button", href: "#/operations" }, "All tokens and sessions") : null)),
    el("div", { class: isSession() ? "columns even" : null },
      isSession() ? el("div", {}, card("Where you are signed in", sessions)) : null,
      el("div", {}, card("Your access", [facts([
        !isPerson() && ["Your token", isSession() ? "kept as a cookie that scripts can't read"
          : ["forgotten when this page is closed or reloaded", whyNoSession() ? el("div", { class: "quiet small" }, `No session was given for it: ${whyNoSession()}`) : ""]],
        isPerson() && who.subject && ["Known there as", hash(who.subject)],
        ["Session ends", who.expiresAt ? exactly(who.expiresAt) : "never"],
        who.hosts && ["Hosts", `files of ${who.hosts.join(", ")} only`],
      ], "you-facts"), el("div", { class: "roles" },
        table("Roles", [["Scope"], ["App"], ["Channel"], ["Bundles"]], grants().map((one) => [el("b", {}, one.scope), one.app ?? "every app", one.channel ?? "every channel", one.bundles?.replaceAll(",", ", ") ?? "all"])),
        [...new Set(grants().map((one) => one.scope))].filter((scope) => scopes[scope]).map((scope) => el("p", { class: "quiet small" }, el("b", {}, scope), `: ${scopes[scope]}`)),
        isPerson() ? el("p", { class: "quiet small" }, "Roles come from the provider's groups when you sign in.") : null)])))],
    async refresh() { if (isSession()) await draw(); },
  };
}
