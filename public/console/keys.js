// The keyboard: nothing of it while somebody writes, or under a dialog.
import { me } from "./api.js";
import { el } from "./dom.js";

const groups = [
  ["Everywhere", [["/", "Search; Enter opens the first result"], ["f", "Filter what the page shows"], ["Esc", "Close a dialog or menu, or leave a file"], ["?", "These keys"]]],
  ["Go to", [["g o", "Overview"], ["g s", "Search"], ["g w", "Waiting"], ["g a", "Audit"], ["g p", "Operations"], ["g y", "Your account"]]],
];
/** `g` and one of these, within so many milliseconds. */
const places = { o: "#/", s: "#/search", w: "#/waiting", a: "#/audit", p: "#/operations", y: "#/you" };
const span = 1500;
let goesUntil = 0;

/** Who speaks to the browser writes keys without meaning to: they can be switched off (WCAG 2.2, 2.1.4). */
const stored = "keys";
function areOn() { try { return localStorage.getItem(stored) !== "off"; } catch { return true; } }
function turn(isOn) { try { if (isOn) localStorage.removeItem(stored); else localStorage.setItem(stored, "off"); } catch { /* On, then. */ } }

const isAsked = () => document.querySelector("dialog[open]") !== null;

/** A dialog that only shows something. */
function sheet(title, content, foot) {
  const dialog = el("dialog", { "aria-labelledby": "sheet-title", close: () => dialog.remove() },
    el("form", { method: "dialog" }, el("h2", { id: "sheet-title" }, title), el("div", { class: "body" }, content),
      el("div", { class: "foot sheet" }, foot, el("button", { autofocus: true }, "Close"))));
  document.body.append(dialog);
  dialog.showModal();
}

export function help() {
  if (isAsked()) return;
  const isOn = el("input", { type: "checkbox", id: "keys-on", change: () => turn(isOn.checked) });
  isOn.checked = areOn();
  sheet("Keyboard shortcuts", [el("div", { class: "groups" }, groups.map(([title, all]) => el("div", {}, el("h3", {}, title),
    el("dl", { class: "facts" }, all.map(([keys, words]) => [el("dt", {}, keys.split(" ").map((key, index) => [index ? el("span", { class: "then" }, " then ") : "", el("kbd", {}, key)])), el("dd", {}, words)])))))],
  el("label", { class: "check" }, isOn, "Single-key shortcuts"));
}

/** The search page, from everywhere; on it, its field. */
function search() {
  if (document.getElementById("search")) focus("#search");
  else location.hash = "#/search";
}

function focus(selector) {
  const field = document.querySelector(selector);
  field?.focus();
  field?.select?.();
}

addEventListener("keydown", (event) => {
  const goes = event.timeStamp < goesUntil;
  goesUntil = 0;
  if (!me() || !areOn() || event.ctrlKey || event.metaKey || event.altKey || event.isComposing || isAsked()
    || event.target.closest("input:not([type=checkbox]), select, textarea")) return;
  if (goes && Object.hasOwn(places, event.key)) location.hash = places[event.key];
  else if (event.key === "g") goesUntil = event.timeStamp + span;
  else if (event.key === "?") help();
  else if (event.key === "/") search();
  else if (event.key === "f") focus("#view form[role=search] input:not([type=checkbox])");
  else return;
  event.preventDefault();
});
document.getElementById("keys").addEventListener("click", help);
