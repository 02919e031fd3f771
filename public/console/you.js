// Who is signed in: what they may do, and where else they are signed in.
import { act, get, grants, hindrance, isPerson, isSession, me, whyNoSession } from "./api.js";
import { badge, card, el, table, when } from "./dom.js";
import { exactly, facts, hash, part } from "./parts.js";
import { propose } from "./dialog.js";

const clients = { console: "console", cli: "command line" };
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

  function drawSessions(all) {
    return table("Where you are signed in", [["Where"], ["Since"], ["Last used"], ["Ends"], ["Act"]], all.map((one) => [
      [clients[one.client] ?? one.client, one.isCurrent ? [" ", badge("good", "this one")] : ""], when(one.createdAt), when(one.lastUsedAt), when(one.expiresAt),
      el("button", { type: "button", id: `end-${one.id}`, click: () => { if (one.isCurrent) goOut(); else end(one); } }, one.isCurrent ? "Sign out" : "End", el("span", { class: "hidden" }, ` ${clients[one.client] ?? one.client}, ${one.id}`))]));
  }

  function end(one) {
    const words = clients[one.client] ?? one.client;
    propose({
      title: "End the session", where: `${words}, ${one.id}`, isDangerous: true, needsReason: false, done: draw,
      effect: async () => {
        const known = (await get("sessions")).sessions.find((each) => each.id === one.id);
        if (!known) throw new Error("This session has ended.");
        return el("p", {}, `▲ The ${words} that you signed in `, when(known.createdAt), " can do nothing any more; last used: ", when(known.lastUsedAt), ". What was scheduled with it is still done.");
      },
      command: () => null,
      send: async (_, key) => {
        await act("DELETE", `sessions/${encodeURIComponent(one.id)}`, undefined, key);
        return "The session has ended.";
      },
    });
  }

  if (isSession()) draw();
  const isAdmin = !hindrance("admin", "", "", true);
  return {
    title: "You",
    node: [el("h1", {}, "You"), el("div", { class: "columns even" },
      el("div", {}, card("Who you are", [facts([
        ["Name", who.name],
        ["Signed in with", isPerson() ? hostOf(who.issuer ?? "the provider") : isSession() ? "a token, which this page has forgotten; a cookie that no script can read has its place"
          : ["a token, which this page forgets when it is closed or reloaded", whyNoSession() ? el("div", { class: "quiet small" }, `No session was given for it: ${whyNoSession()}`) : ""]],
        isPerson() && who.subject && ["Known there as", hash(who.subject)],
        ["Ends", who.expiresAt ? [exactly(who.expiresAt), ", ", when(who.expiresAt)] : "never"],
      ], "you-facts"), isAdmin ? el("p", {}, el("a", { href: "#/operations" }, "All tokens and sessions")) : null,
      el("p", {}, el("button", { type: "button", id: "shortcuts", click: async () => { (await import("./keys.js")).help(); } }, "Shortcut keys"))])),
      el("div", {}, card("What you may do", [
        table("Roles", [["Scope"], ["App"], ["Channel"], ["Bundles"]], grants().map((one) => [one.scope, one.app ?? "every app", one.channel ?? "every channel", one.bundles?.replaceAll(",", ", ") ?? "all"])),
        who.hosts ? el("p", {}, `Files of the hosts ${who.hosts.join(", ")} only.`) : null,
        el("p", { class: "quiet small" }, [...new Set(grants().map((one) => one.scope))].map((scope, index) => [index ? "; " : "", el("b", {}, scope), `: ${scopes[scope] ?? "known to newer servers"}`]), "."),
        isPerson() ? el("p", { class: "quiet small" }, "Roles come from the provider's groups when you sign in.") : null]))),
    isSession() ? card("Where you are signed in", sessions, null, true) : null],
    async refresh() { if (isSession()) await draw(); },
  };
}
