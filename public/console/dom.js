// What every page is built with. Texts go in as text; nothing here, and nothing elsewhere, makes markup of one.

/** An element with attributes (functions are listeners of events) and children: nodes, texts, or nothing. */
export function el(name, attributes = {}, ...children) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (typeof value === "function") node.addEventListener(key, value);
    else if (key === "href" && !/^#|^\/auth\/login(\?|$)/.test(value)) throw new Error("links lead inside of the console alone, or to where one signs in");
    else node.setAttribute(key, value === true ? "" : value);
  }
  add(node, children);
  return node;
}

/** The same of an SVG picture. */
export function svg(name, attributes = {}, ...children) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  add(node, children);
  return node;
}

function add(node, children) {
  for (let child of children.flat(3)) {
    if (child === undefined || child === null || child === false) continue;
    // A sign is for the eye: a screen reader would say "heavy multiplication x".
    if (/^[✖▲✔○] /.test(child)) {
      const sign = document.createElement("span");
      sign.setAttribute("aria-hidden", "true");
      sign.textContent = child.slice(0, 2);
      node.append(sign);
      child = child.slice(2);
    }
    node.append(child);
  }
}

const reached = (node) => [...node.querySelectorAll("a, button, input, select, summary, [tabindex]")];
const keyOf = (one) => one.id || one.getAttribute("href") || one.textContent;

/** Gives the focus of what is gone to what is the same, by its id, where it leads or its words; else to what is in its place, or to the page. */
export function refocus(gone, node = document, place = -1) {
  const all = reached(node);
  for (const one of [all.find((other) => keyOf(other) === keyOf(gone)), all[Math.min(place, all.length - 1)], document.getElementById("view")]) {
    one?.focus({ preventScroll: true });
    if (document.activeElement === one) break;
  }
}

/** Puts new content in the place of the old; what had the focus has it again. */
export function fill(node, ...children) {
  const focused = document.activeElement;
  const place = reached(node).indexOf(focused);
  const open = new Set([...node.querySelectorAll("details[open][id]")].map((one) => one.id));
  node.replaceChildren();
  add(node, children);
  for (const one of node.querySelectorAll("details[id]")) if (open.has(one.id)) one.open = true;
  if (place >= 0) refocus(focused, node, place);
}

/** A part of a page with a heading of its own, and what belongs beside that. `isFlush`: a table that reaches the edges. */
export function card(title, content, tools, isFlush) {
  return el("section", { class: isFlush ? "card flush" : "card" }, title ? el("div", { class: "card-head" }, el("h2", {}, title), tools) : null, content);
}

/** Figures that matter: `{name, value, notes, kind, extra}`. */
export function stats(id, all) {
  return el("dl", { class: "stats", id }, all.filter(Boolean).map(({ name, value, notes, kind, extra }) => el("div", {},
    el("dt", {}, name), el("dd", { class: `number ${kind ?? ""}` }, value), notes.filter(Boolean).map((note) => el("dd", {}, note)),
    extra ? el("dd", {}, extra) : null)));
}

/** Somebody's name, which stays on one line if that has room for it. */
export const named = (text) => el("span", { class: "name" }, text);

/** A table: columns are `[title, isNumber, isWide]`, rows are arrays of cells. On a narrow screen each row is a list. */
export function table(caption, columns, rows, empty = "None.") {
  if (!rows.length) return el("p", { class: "quiet" }, empty);
  // Few and short ones have room on a narrow screen, too.
  const isStacked = columns.length > 4 || columns.some(([, , isWide]) => isWide);
  return el("div", { class: "scroll" }, el("table", { class: isStacked ? "stack" : null },
    el("caption", { class: "hidden" }, caption),
    el("thead", {}, el("tr", {}, columns.map(([title, isNumber, isWide], index) => el("th", { scope: "col", class: isNumber ? "n" : isWide ? "wide" : null }, title === "Act" && index === columns.length - 1 ? el("span", { class: "hidden" }, title) : title)))),
    el("tbody", {}, rows.map((cells) => el("tr", {}, cells.map((cell, index) =>
      el("td", { role: index ? null : "rowheader", class: columns[index][1] ? "n" : columns[index][2] ? "wide" : null, "data-label": columns[index][0] }, el("span", {}, cell))))))));
}

/** A word, with a symbol unless it is neutral: state is never told by its colour alone. */
export function badge(kind, word, title) {
  const symbol = { bad: "✖", warn: "▲", good: "✔" }[kind];
  return el("span", { class: `badge ${kind}`, title }, symbol ? el("span", { "aria-hidden": "true" }, `${symbol} `) : null, word);
}

export function size(bytes) {
  if (bytes === null || bytes === undefined) return "—";
  const units = ["B", "KB", "MB", "GB", "TB"];
  let unit = 0;
  while (Math.abs(bytes) >= 1000 && unit < units.length - 1) { bytes /= 1000; unit += 1; }
  // A number and its unit stay on one line.
  return `${unit ? bytes.toFixed(1) : bytes}\u00a0${units[unit]}`;
}

export const count = (number) => Number(number).toLocaleString();

export function plural(number, one, many = `${one}s`) { return `${count(number)} ${number === 1 ? one : many}`; }

/** Numbers of polls behind a shared cache: what they were worked out from, and how far their shares may be off. */
export const sampled = (sample) => sample ? `from ${plural(sample.batches, "batch", "batches")}, ±${(sample.margin / 100).toFixed(1)} points` : null;

/** A number of polls, which is about right where it was worked out. */
export const polled = (polls, sample) => `${sample ? "about " : ""}${plural(polls, "poll")}`;

export function percent(part, all) {
  if (!all) return "—";
  const share = (part * 100) / all;
  return `${share > 0 && share < 1 ? "<1" : share < 100 && share > 99 ? ">99" : Math.round(share)}\u00a0%`;
}

const inZone = (timeStyle) => new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle });
export const local = inZone("short");
const exact = inZone("medium");
export const utcText = (date) => `${date.toISOString().slice(0, 19).replace("T", " ")} UTC`;

const exactText = (date) => `${exact.format(date)} (${utcText(date)})`;

/** How long ago a time is, or how far ahead; the time itself, in the reader's zone and in UTC, on hover and for who listens. `isSpan`: "for 2 h" instead of "2 h ago". */
export function when(moment, isSpan) {
  if (!moment) return "—";
  const date = new Date(moment);
  return el("time", { class: `age${isSpan ? " span" : ""}`, datetime: date.toISOString(), title: exactText(date) }, aged(date, isSpan),
    el("span", { class: "hidden" }, `, ${exactText(date)}`));
}

const aged = (date, isSpan) => {
  const words = age(date);
  const length = words.replace(" ago", "");
  return !isSpan || words === "just now" ? words : `${length === words ? "since" : "for"} ${length}`;
};

/** Time passes: what `when` made says so. */
export function keepAges() {
  for (const node of document.querySelectorAll("time.age")) {
    // A dialog's preview would be read again.
    if (node.closest("[aria-live]")) continue;
    const words = aged(node.dateTime, node.classList.contains("span"));
    if (node.firstChild.data !== words) node.firstChild.data = words;
  }
}

const day = new Intl.DateTimeFormat(undefined, { dateStyle: "medium" });

/** A span of time from now; a date where that says more. */
export function age(moment) {
  const date = new Date(moment);
  const seconds = (Date.now() - date) / 1000;
  const span = Math.abs(seconds);
  if (span < 60) return seconds < -10 ? "in a minute" : "just now";
  if (span > 45 * 86400) return day.format(date);
  const words = span < 5400 ? `${Math.round(span / 60)} min` : span < 129600 ? `${Math.round(span / 3600)} h` : `${Math.round(span / 86400)} days`;
  return seconds < 0 ? `in ${words}` : `${words} ago`;
}

/** Says something to who listens. */
export function tell(words) { fill(document.getElementById("told"), words); }
