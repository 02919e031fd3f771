// What every page is built with. Texts go in as text; nothing here, and nothing elsewhere, makes markup of one.

/** An element with attributes (functions are listeners of events) and children: nodes, texts, or nothing. */
export function el(name, attributes = {}, ...children) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (typeof value === "function") node.addEventListener(key, value);
    else if (key === "href" && !String(value).startsWith("#")) throw new Error("links lead inside of the console alone");
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
  for (const child of children.flat(3)) {
    if (child !== undefined && child !== null && child !== false) node.append(child);
  }
}

/** Puts new content in the place of the old; what had the focus has it again, by its id. */
export function fill(node, ...children) {
  const focused = node.contains(document.activeElement) ? document.activeElement.id : "";
  const open = new Set([...node.querySelectorAll("details[open][id]")].map((one) => one.id));
  node.replaceChildren();
  add(node, children);
  for (const one of node.querySelectorAll("details[id]")) if (open.has(one.id)) one.open = true;
  if (focused) document.getElementById(focused)?.focus({ preventScroll: true });
}

/** A table: columns are `[title, isNumber]`, rows are arrays of cells. On a narrow screen each row is a list. */
export function table(caption, columns, rows, empty = "None.") {
  if (!rows.length) return el("p", { class: "quiet" }, empty);
  return el("div", { class: "scroll" }, el("table", { class: "stack" },
    el("caption", { class: "hidden" }, caption),
    el("thead", {}, el("tr", {}, columns.map(([title, isNumber]) => el("th", { scope: "col", class: isNumber ? "n" : null }, title)))),
    el("tbody", {}, rows.map((cells) => el("tr", {}, cells.map((cell, index) =>
      el("td", { class: columns[index][1] ? "n" : null, "data-label": columns[index][0] }, el("span", {}, cell))))))));
}

export function facts(pairs) {
  return el("dl", {}, pairs.filter(Boolean).map(([name, value]) => [el("dt", {}, name), el("dd", {}, value)]));
}

/** A word with a symbol: state is never told by its colour alone. */
export function badge(kind, word, title) {
  const symbol = { bad: "✖", warn: "▲", good: "✔", quiet: "○" }[kind];
  return el("span", { class: `badge ${kind}`, title }, el("span", { "aria-hidden": "true" }, `${symbol} `), word);
}

export function size(bytes) {
  if (bytes === null || bytes === undefined) return "—";
  const units = ["B", "KB", "MB", "GB", "TB"];
  let unit = 0;
  while (Math.abs(bytes) >= 1000 && unit < units.length - 1) { bytes /= 1000; unit += 1; }
  return `${unit ? bytes.toFixed(1) : bytes} ${units[unit]}`;
}

export const count = (number) => Number(number).toLocaleString();

export function plural(number, one, many = `${one}s`) { return `${count(number)} ${number === 1 ? one : many}`; }

export function percent(part, all) {
  if (!all) return "—";
  const share = (part * 100) / all;
  return `${share > 0 && share < 1 ? "<1" : share < 100 && share > 99 ? ">99" : Math.round(share)} %`;
}

const local = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });
export const utcText = (date) => `${date.toISOString().slice(0, 19).replace("T", " ")} UTC`;

/** A time in the reader's zone; UTC on hover and for who listens. */
export function when(moment, withAge = false) {
  if (!moment) return "—";
  const date = new Date(moment);
  const words = withAge ? `${local.format(date)} (${age(moment)})` : local.format(date);
  return el("time", { datetime: date.toISOString(), title: utcText(date) }, words,
    el("span", { class: "hidden" }, ` (${utcText(date)})`));
}

/** The last millisecond of a minute, or of a second where seconds are told: a time stands for all of it. */
export function wholeMinute(text) {
  return new Date(new Date(text).getTime() + (/:\d\d:\d\d/.test(text) ? 999 : 59_999));
}

/** A time as the field of a minute has it: in the time zone of this machine. */
export function localMinute(time) {
  const moment = new Date(time);
  return new Date(moment.getTime() - moment.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}

export function age(moment) {
  const seconds = Math.max(0, (Date.now() - new Date(moment)) / 1000);
  if (seconds < 90) return "just now";
  if (seconds < 5400) return `${Math.round(seconds / 60)} min ago`;
  if (seconds < 129600) return `${Math.round(seconds / 3600)} h ago`;
  return `${Math.round(seconds / 86400)} days ago`;
}

/** Says something to who listens. */
export function tell(words) { document.getElementById("told").textContent = words; }

/** A part of a page that is asked for by itself; what goes wrong is said in its place. */
export async function part(node, work) {
  try {
    const made = await work();
    fill(node, made);
  } catch (error) {
    fill(node, el("p", { class: "bad", role: "alert" }, `✖ ${error.message}`));
  }
}
