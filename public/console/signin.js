// A command line that wants to be signed in: its person looks at the code that it shows, and decides.
import { act, get, grants, isPerson, me, newKey, Refusal } from "./api.js";
import { card, el, fill, when } from "./dom.js";
import { facts, rights } from "./parts.js";

/** Where the browser goes back to: a command line on this machine, and nothing else. */
function isOwnMachine(address) {
  const { protocol, hostname, port } = new URL(address);
  return protocol === "http:" && hostname === "127.0.0.1" && port !== "";
}

export async function open({ names: [code] }) {
  const box = el("div", { id: "signin" });
  const shown = { title: "Sign in a command line", node: [el("h1", {}, "Sign in a command line"), box] };
  const say = (kind, ...words) => fill(box, card("", el("p", { id: "signin-outcome", class: kind, role: "alert" }, words)));
  if (!isPerson()) {
    say("", "○ You signed in with a token. A command line is signed in by a person: sign out, and sign in with the provider. A command line takes a token by ", el("code", {}, "xcache login"), ".");
    return shown;
  }
  const path = `signins/${encodeURIComponent(code)}`;
  let pending;
  try {
    pending = await get(path);
  } catch (error) {
    if (!(error instanceof Refusal) || error.status === 401) throw error;
    say("bad", `✖ ${error.message}`);
    return shown;
  }
  const key = newKey();
  const outcome = el("p", { role: "alert", id: "signin-outcome" });
  const allow = el("button", { type: "button", id: "signin-allow", class: "primary", click: () => decide(true) }, "Allow");
  const deny = el("button", { type: "button", id: "signin-deny", click: () => decide(false) }, "Deny");
  let isSending = false;
  let decided = null;

  async function decide(isAllowed) {
    // After a lost answer only the same decision can be sent again.
    if (isSending || decided !== null && decided !== isAllowed) return;
    isSending = true;
    decided = isAllowed;
    for (const one of [allow, deny]) one.setAttribute("aria-disabled", "true");
    outcome.className = "quiet";
    outcome.textContent = "Sending …";
    try {
      const { redirect } = await act("POST", path, { allow: isAllowed }, key);
      say(isAllowed ? "good" : "", isAllowed ? "✔ Allowed. Go back to the terminal: it goes on by itself, and you can close this page." : "✔ Denied. Whoever started it gets nothing.");
      if (redirect && isOwnMachine(redirect)) location.replace(redirect);
    } catch (error) {
      isSending = false;
      const isRefused = error instanceof Refusal && error.status < 500;
      if (isRefused) decided = null;
      (isAllowed ? allow : deny).removeAttribute("aria-disabled");
      outcome.className = "bad";
      fill(outcome, isRefused ? `✖ Refused: ${error.message}` : `✖ ${error.message} Press again: it isn't decided twice.`);
    }
  }

  fill(box, card("", [
    el("p", {}, "A command line asks to be signed in as you. Its code:"),
    el("p", { id: "signin-code", class: "code" }, pending.userCode),
    facts([
      ["From", pending.address || "an address that isn't known"],
      ["Asked", when(pending.at)],
      ["It is", pending.kind === "loopback" ? "on the machine of this browser" : "on any machine: the code tells it apart"],
      ["It may", [rights(grants()).map((words) => el("div", {}, words)), el("div", { class: "quiet small" }, "as you, ", el("b", {}, me().name), ", until your session ends, ", when(me().expiresAt))]],
    ], "signin-facts"),
    el("p", { class: "warn", id: "signin-warning" }, "▲ Allow this only if you started it just now, and your terminal shows the same code. Nobody else will ever ask you to open this page."),
    el("div", { class: "row" }, allow, deny), outcome]));
  return shown;
}
