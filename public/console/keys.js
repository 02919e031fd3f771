// The keyboard: nothing of it while somebody writes, or under a dialog.
import { me } from "./api.js";
import { el } from "./dom.js";

const groups = [
  ["Everywhere", [["/", "Search; Enter opens the first result"], ["f", "Filter what the page shows"], ["Tab", "To the next link, field or button"], ["Esc", "Close a dialog"], ["?", "These keys"]]],
  ["Go to", [["g o", "Overview"], ["g s", "Search"], ["g w", "What waits"], ["g a", "Audit"], ["g p", "Operations"], ["g y", "You"]]],
];
/** `g` and one of these, within so many milliseconds. */
const places = { o: "#/", s: "#/search", w: "#/waiting", a: "#/audit", p: "#/operations", y: "#/you" };
const span = 1500;
let goesUntil = 0;

const isAsked = () => document.querySelector("dialog[open]") !== null;

/** A dialog that only shows something. */
function sheet(title, content) {
  const dialog = el("dialog", { "aria-labelledby": "sheet-title", close: () => dialog.remove() },
    el("h2", { id: "sheet-title" }, title), content, el("div", { class: "row end" }, el("button", { type: "button", click: () => dialog.close() }, "Close")));
  document.body.append(dialog);
  dialog.showModal();
}

function help() {
  if (isAsked()) return;
  sheet("Keyboard", el("div", { class: "groups" }, groups.map(([title, all]) => el("section", { "aria-label": title }, el("h3", {}, title),
    el("dl", { class: "facts" }, all.map(([keys, words]) => [el("dt", {}, keys.split(" ").map((key) => [el("kbd", {}, key), " "])), el("dd", {}, words)]))))));
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
  if (!me() || event.ctrlKey || event.metaKey || event.altKey || event.isComposing || isAsked()
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
