import { file, get } from "./api.js";
import { el, size } from "./dom.js";

/** Bytes of a text that are shown, and lines that are compared. */
const most = 512 << 10;
const mostLines = 4000;

const isText = (type) => /^(text\/|application\/(.*\+)?(json|xml|javascript|ecmascript|manifest)|image\/svg)/.test(type);
const isImage = (type) => /^image\//.test(type);

/** One file before and after: texts line by line, images side by side. */
export async function compareContents(path, change, from, to) {
  const read = async (version, content) => {
    if (!content) return null;
    const entry = await get(`${path}/entry?url=${encodeURIComponent(change.url)}&version=${version}`);
    return { content, bytes: await file(entry.download) };
  };
  const [before, after] = await Promise.all([
    read(from, change.kind === "removed" ? change : change.was), read(to, change.kind === "removed" ? null : change)]);
  const head = [el("h3", {}, change.url), el("p", { class: "quiet" }, describe(before, "before"), "; ", describe(after, "after"))];
  const type = (after ?? before).content.ctype;
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
  const decode = (side) => (side ? new TextDecoder().decode(side.bytes.slice(0, most)) : "");
  const cut = [before, after].filter((side) => side && side.bytes.byteLength > most);
  const note = cut.length ? el("p", { class: "warn" }, `▲ Only the first ${size(most)} of each side are compared here; xcache show has all of it.`) : null;
  const [old, now] = [decode(before).split("\n"), decode(after).split("\n")];
  const lines = difference(old, now);
  if (!lines.some((line) => line.mark !== " ")) return [note, el("p", {}, "The text is the same; the type or the headers changed.")];
  return [note, el("pre", { tabindex: 0, "aria-label": "Lines that changed; − before, + after" }, lines.map((line) =>
    el("span", { class: { "-": "del", "+": "ins", " ": "", "…": "quiet" }[line.mark] }, `${line.mark === "-" ? "−" : line.mark} ${line.text}`)))];
}

/** Lines that went and came, with three lines around them. */
export function difference(old, now) {
  let start = 0;
  while (start < old.length && start < now.length && old[start] === now[start]) start += 1;
  let end = 0;
  while (end < old.length - start && end < now.length - start && old[old.length - 1 - end] === now[now.length - 1 - end]) end += 1;
  const [a, b] = [old.slice(start, old.length - end), now.slice(start, now.length - end)];
  const middle = a.length * b.length > mostLines * mostLines / 4
    ? [...a.map((text) => ({ mark: "-", text })), ...b.map((text) => ({ mark: "+", text }))] : common(a, b);
  const same = (texts) => texts.map((text) => ({ mark: " ", text }));
  return around([...same(old.slice(0, start)), ...middle, ...same(old.slice(old.length - end))]);
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

function around(lines) {
  const near = new Set();
  lines.forEach((line, index) => { if (line.mark !== " ") for (let at = index - 3; at <= index + 3; at += 1) near.add(at); });
  const shown = [];
  let left = 0;
  lines.forEach((line, index) => {
    if (!near.has(index)) { left += 1; return; }
    if (left) shown.push({ mark: "…", text: `${left} lines are the same` });
    left = 0;
    shown.push(line);
  });
  if (left) shown.push({ mark: "…", text: `${left} lines are the same` });
  return shown;
}
