import { file, get } from "./api.js";
import { count, el, size } from "./dom.js";
import { address } from "./parts.js";

/** Bytes of a file that is loaded at most. */
const largest = 4e6;
/** Bytes of a text that are shown from its first difference on, those shown around it, and lines that are compared. */
const most = 512 << 10;
const around = 4000;
const maxLines = 4000;

const isText = (type) => /^(text\/|application\/(.*\+)?(json|xml|javascript|ecmascript|manifest)|image\/svg)/.test(type);
const isImage = (type) => /^image\//.test(type);

/** One file before and after: texts line by line, images side by side. */
export async function compareContents(path, change, from, to) {
  const sides = [change.kind === "removed" ? change : change.was, change.kind === "removed" ? null : change];
  const type = (sides[1] ?? sides[0]).ctype;
  const isLarge = sides.some((content) => content?.size > largest);
  const isShown = (isImage(type) || isText(type)) && !isLarge;
  const read = async (version, content) => {
    if (!content) return null;
    if (!isShown) return { content };
    const entry = await get(`${path}/entry?url=${encodeURIComponent(change.url)}&version=${version}`);
    return { content, bytes: await file(entry.download) };
  };
  const [before, after] = await Promise.all([read(from, sides[0]), read(to, sides[1])]);
  const head = [el("h3", {}, address(change.url)), el("p", { class: "quiet small" }, describe(before, "before"), "; ", describe(after, "after"))];
  if (isLarge) return [head, el("p", {}, `Files above ${size(largest)} aren't loaded here; xcache show has them.`)];
  if (isImage(type)) return [head, el("div", { class: "sides" }, picture(before, "Before"), picture(after, "After"))];
  if (!isText(type)) return [head, el("p", {}, "This is neither a text nor an image; only its size and type are shown.")];
  return [head, texts(before, after)];
}

function describe(side, words) {
  return side ? `${words}: ${size(side.content.size)}, ${side.content.ctype}` : `${words}: not there`;
}

function picture(side, words) {
  if (!side) return el("figure", {}, el("figcaption", {}, `${words}: not there`));
  const image = el("img", { alt: `${words}: ${side.content.ctype}, ${size(side.content.size)}` });
  // As an image nothing of it runs, and from memory nothing of it is fetched.
  const url = URL.createObjectURL(new Blob([side.bytes], { type: side.content.ctype.split(";")[0] }));
  image.addEventListener("load", () => URL.revokeObjectURL(url));
  image.src = url;
  return el("figure", {}, el("figcaption", {}, words), image);
}

function texts(before, after) {
  const [old, now] = [before, after].map((side) => new Uint8Array(side?.bytes ?? 0));
  const found = differing(old, now);
  if (!found) return el("p", {}, before && after ? "The text is the same; the type, the headers, the fallback or \"lazy\" changed." : "The text is empty.");
  const parts = [old, now].map((bytes, index) => lines(bytes, found.start, found.ends[index]));
  const isCut = parts.some((part) => part.isCut);
  const note = isCut ? el("p", { class: "warn", id: "cut" }, `▲ Shown are ${size(most)} of each side from the first difference, at byte ${count(found.first)}; `
    + "what follows isn't compared here. xcache show has all of it.") : null;
  const shown = difference(parts[0].lines, parts[1].lines, found.before, isCut ? null : found.after);
  if (isCut) shown.push({ mark: "…", text: `not compared: ${size(parts[0].rest)} before, ${size(parts[1].rest)} after` });
  return [note, el("pre", { tabindex: 0, "aria-label": "Lines that changed; − before, + after" }, shown.map((line) =>
    el("span", { class: { "-": "del", "+": "ins", " ": "", "…": "quiet" }[line.mark] }, `${line.mark === "-" ? "−" : line.mark} ${line.text}`)))];
}

const newline = 10;

/** Where two files differ, with some lines around it; null where they are the same. All of both is looked at. */
function differing(old, now) {
  const least = Math.min(old.length, now.length);
  let first = 0;
  while (first < least && old[first] === now[first]) first += 1;
  if (first === old.length && first === now.length) return null;
  let tail = 0;
  while (tail < least - first && old[old.length - 1 - tail] === now[now.length - 1 - tail]) tail += 1;
  let start = first;
  for (let left = 4; start > 0 && first - start < around; start -= 1) {
    if (old[start - 1] === newline && (left -= 1) === 0) break;
  }
  let kept = tail;
  for (let left = 4; kept > 0 && tail - kept < around; kept -= 1) {
    if (old[old.length - kept - 1] === newline && (left -= 1) === 0) break;
  }
  // No character is cut.
  while (start > 0 && (old[start] & 0xc0) === 0x80) start -= 1;
  while (kept > 0 && (old[old.length - kept] & 0xc0) === 0x80) kept -= 1;
  return { first, start, ends: [old.length - kept, now.length - kept], before: newlines(old, 0, start),
    after: newlines(old, old.length - kept, old.length) + (kept > 0 && old.at(-1) !== newline ? 1 : 0) };
}

function newlines(bytes, from, to) {
  let found = 0;
  for (let at = from; at < to; at += 1) if (bytes[at] === newline) found += 1;
  return found;
}

/** A part of a file as lines, at most so much as is shown. */
function lines(bytes, from, to) {
  let end = Math.min(to, from + most);
  while (end < to && end > from && (bytes[end] & 0xc0) === 0x80) end -= 1;
  const all = new TextDecoder().decode(bytes.subarray(from, end)).split("\n");
  // What ends with a newline has no line behind it.
  if (end === to && all.at(-1) === "") all.pop();
  return { lines: all, isCut: end < to, rest: bytes.length - end };
}

/**
 * Lines that went and came, with three lines around them.
 * @param before lines in front of these that are the same; `after`: behind them; null: not known
 */
export function difference(old, now, before = 0, after = 0) {
  let start = 0;
  while (start < old.length && start < now.length && old[start] === now[start]) start += 1;
  let end = 0;
  while (end < old.length - start && end < now.length - start && old[old.length - 1 - end] === now[now.length - 1 - end]) end += 1;
  const [a, b] = [old.slice(start, old.length - end), now.slice(start, now.length - end)];
  const middle = a.length * b.length > maxLines * maxLines / 4
    ? [...a.map((text) => ({ mark: "-", text })), ...b.map((text) => ({ mark: "+", text }))] : common(a, b);
  const same = (texts) => texts.map((text) => ({ mark: " ", text }));
  return near([...same(old.slice(0, start)), ...middle, ...same(old.slice(old.length - end))], before, after ?? 0);
}

/** By the longest common subsequence. */
function common(a, b) {
  const wide = b.length + 1;
  const lengths = new Uint16Array((a.length + 1) * wide);
  for (let i = a.length - 1; i >= 0; i -= 1) {
    for (let j = b.length - 1; j >= 0; j -= 1) {
      lengths[i * wide + j] = a[i] === b[j] ? lengths[(i + 1) * wide + j + 1] + 1 : Math.max(lengths[(i + 1) * wide + j], lengths[i * wide + j + 1]);
    }
  }
  const lines = [];
  let [i, j] = [0, 0];
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) { lines.push({ mark: " ", text: a[i] }); i += 1; j += 1; }
    else if (j >= b.length || i < a.length && lengths[(i + 1) * wide + j] >= lengths[i * wide + j + 1]) { lines.push({ mark: "-", text: a[i] }); i += 1; }
    else { lines.push({ mark: "+", text: b[j] }); j += 1; }
  }
  return lines;
}

function near(lines, before, after) {
  const near = new Set();
  lines.forEach((line, index) => { if (line.mark !== " ") for (let at = index - 3; at <= index + 3; at += 1) near.add(at); });
  const shown = [];
  let left = before;
  const skip = () => { if (left) shown.push({ mark: "…", text: left === 1 ? "1 line is the same" : `${count(left)} lines are the same` }); };
  lines.forEach((line, index) => {
    if (!near.has(index)) { left += 1; return; }
    skip();
    left = 0;
    shown.push(line);
  });
  left += after;
  skip();
  return shown;
}
