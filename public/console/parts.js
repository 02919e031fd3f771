// What the pages behind the overview are built with.
import { count, el, fill, local, utcText } from "./dom.js";

/** How many files a release changes: "2 added, 1 changed". */
export const inWords = (counts) => ["added", "renamed", "changed", "removed"].filter((kind) => counts[kind])
  .map((kind) => `${count(counts[kind])} ${kind === "renamed" ? "renamed and changed" : kind}`).join(", ") || "none changed";

/** A digest, as much of it as there is room for. */
export const hash = (text) => el("code", { class: "hash", title: text }, text);

/** A URL, which may be broken where its parts end. */
export function address(url) {
  return el("span", { class: "url" }, url.split(/(?<=[/?&])/).flatMap((part, index) => (index ? [el("wbr"), part] : [part])));
}

export function facts(pairs, id) {
  return el("dl", { class: "facts", id }, pairs.filter(Boolean).map(([name, value]) => [el("dt", {}, name), el("dd", {}, value)]));
}

/** How many files a release adds, changes and removes: signs for the eye, words for who listens. */
export const signs = ({ added, changed, removed }) => [el("span", { "aria-hidden": "true" }, `+${count(added)} ~${count(changed)} −${count(removed)}`),
  el("span", { class: "hidden" }, ` ${count(added)} added, ${count(changed)} changed, ${count(removed)} removed`)];

/** A time in the reader's zone, to the second in UTC on hover and for who listens: where the moment itself is what matters. */
export function exactly(moment) {
  const date = new Date(moment);
  return el("time", { datetime: date.toISOString(), title: utcText(date) }, local.format(date), el("span", { class: "hidden" }, ` (${utcText(date)})`));
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

/** A part of a page that is asked for by itself; what goes wrong is said in its place. */
export async function part(node, work) {
  try {
    const made = await work();
    fill(node, made);
  } catch (error) {
    fill(node, el("p", { class: "bad", role: "alert" }, `✖ ${error.message}`));
  }
}

/** A picture whose name says what it shows: its words and bars aren't read one by one. */
export function silent(picture) {
  for (const one of picture.children) one.setAttribute("aria-hidden", "true");
  return picture;
}

/** Hides a button that has nothing to do any more; its focus goes on to another node. */
export function retire(button, next) {
  if (button === document.activeElement) (next ?? document.getElementById("view")).focus();
  button.hidden = true;
}

/** What somebody may do, in words: one text for each grant. */
export function rights(grants) {
  return grants.map(({ scope, app, channel, bundles }) => `${scope} in ${app ? `${app}${channel ? ` ${channel}` : ""}` : "every app"}${bundles ? `, bundles ${bundles.replaceAll(",", ", ")}` : ""}`);
}
