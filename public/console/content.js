import { file, get } from "./api.js";
import { count, el, fill, plural, size, svg } from "./dom.js";
import { address } from "./parts.js";

/** Bytes of a file that is loaded at most. */
const largest = 4e6;
/** Bytes of a text that are shown from its first difference on, those shown around it, and lines that are compared. */
const most = 512 << 10;
const around = 4000;
const maxLines = 4000;
/** Lines that are shown at once, and characters of one. */
const maxShown = 400;
const maxWide = 600;

const isText = (type) => /^(text\/|application\/(.*\+)?(json|xml|javascript|ecmascript|manifest)|image\/svg)/.test(type);
const isImage = (type) => /^image\//.test(type);

/** One file before and after: texts line by line, images side by side. `renames`: what files were called before, by what they are called now. */
export async function compareContents(path, change, from, to, renames = new Map()) {
  const former = change.was ?? change.renamedFrom;
  const sides = [change.kind === "removed" ? change : former, change.kind === "removed" ? null : change];
  const type = (sides[1] ?? sides[0]).ctype;
  const isLarge = sides.some((content) => content?.size > largest);
  const isShown = (isImage(type) || isText(type)) && !isLarge;
  const isSame = sides[0]?.sha256 !== undefined && sides[0]?.sha256 === sides[1]?.sha256;
  const read = async (version, content, url) => {
    if (!content) return null;
    if (!isShown || isSame && !isImage(type)) return { content };
    const entry = await get(`${path}/entry?url=${encodeURIComponent(url)}&version=${version}`);
    return { content, bytes: await file(entry.download) };
  };
  const [before, after] = await Promise.all([read(from, sides[0], change.renamedFrom?.url ?? change.url), read(to, sides[1], change.url)]);
  const counts = el("span", { class: "counts" });
  const shown = (...body) => el("div", { class: "file" }, el("div", { class: "file-head" }, el("h3", {}, address(change.url)), counts, sizes(before, after),
    change.renamedFrom ? el("p", { class: "quiet small" }, "renamed from ", address(change.renamedFrom.url)) : null), body);
  const said = (words) => shown(el("p", {}, words));
  if (isImage(type) && !isLarge) return shown(el("div", { class: "sides" }, picture(before, "Before"), picture(after, "After")));
  if (isSame) return said(change.renamedFrom ? "Only the URL changed: the bytes are the same." : "The bytes are the same; the type, the headers, the fallback or \"lazy\" changed.");
  if (isLarge) return said(`Files above ${size(largest)} aren't loaded here; xcache show has them.`);
  if (!isText(type)) return said("This is neither a text nor an image; only its size and type are shown.");
  return shown(await texts(before, after, type, renames, counts));
}

/** Both sizes, in words and as bars of one scale. */
function sizes(before, after) {
  const largest = Math.max(before?.content.size ?? 0, after?.content.size ?? 0, 1);
  const [old, now] = [before?.content.size, after?.content.size];
  const change = old && now !== undefined && old !== now ? `${now > old ? "+" : "−"}${size(Math.abs(now - old))} (${now > old ? "+" : "−"}${(Math.abs(now - old) * 100 / old).toFixed(1)} %)` : null;
  const bar = (side, kind) => svg("svg", { viewBox: "0 0 100 6", preserveAspectRatio: "none", "aria-hidden": "true" }, svg("rect", { width: 100, height: 6 }),
    svg("rect", { width: side ? Math.max(0.5, side.content.size * 100 / largest) : 0, height: 6, class: kind }));
  const types = [...new Set([before, after].filter(Boolean).map((side) => side.content.ctype))];
  return el("div", { class: "sizes" }, el("span", { class: "bars" }, bar(before, "old"), bar(after, "new")),
    el("span", {}, before ? size(before.content.size) : "new", " → ", after ? size(after.content.size) : "gone"), change ? el("span", {}, change) : null,
    el("span", { class: "type" }, types.join(" → ")));
}

function picture(side, words) {
  if (!side) return el("figure", {}, el("figcaption", {}, `${words}: not there`));
  const image = el("img", { alt: `${words}: ${side.content.ctype}, ${size(side.content.size)}` });
  const caption = el("figcaption", {}, words);
  // As an image nothing of it runs, and from memory nothing of it is fetched.
  const url = URL.createObjectURL(new Blob([side.bytes], { type: side.content.ctype.split(";")[0] }));
  image.addEventListener("load", () => { URL.revokeObjectURL(url); caption.textContent = `${words}, ${image.naturalWidth} × ${image.naturalHeight}`; });
  image.addEventListener("error", () => { URL.revokeObjectURL(url); caption.textContent = `${words}: no picture can be made of it`; });
  image.src = url;
  return el("figure", {}, caption, image);
}

async function texts(before, after, type, renames, counts) {
  const [old, now] = [before, after].map((side) => new Uint8Array(side?.bytes ?? 0));
  const found = differing(old, now);
  if (!found) return el("p", {}, before && after ? "The text is the same; the type, the headers, the fallback or \"lazy\" changed." : "The text is empty.");
  const { formatted } = await import("./pretty.js");
  const decoded = [old, now].map((bytes) => new TextDecoder().decode(bytes));
  // Both or none: two ways of writing have no line in common.
  const pretty = decoded.map((text) => formatted(text, type));
  if (pretty.some(Boolean) && (pretty.every(Boolean) || !before || !after)) {
    const shaped = pretty.map((lines) => lines ?? []);
    const isRenamed = before && after && renames.size > 0;
    const box = el("div");
    const note = el("p", { class: "quiet small" }, "Shown formatted: the file has long lines, and white space is all that differs from it. ");
    const show = (isHidden) => {
      const shown = difference(isHidden ? renamedIn(shaped[0], renames) : shaped[0], shaped[1]);
      fill(box, shown.some((line) => line.mark === "-" || line.mark === "+") ? lined(shown, counts)
        : el("p", { class: "good" }, "✔ Only names of files that were renamed changed in it."));
    };
    if (isRenamed) {
      const check = el("input", { type: "checkbox", id: "hide-renames", checked: true, change: () => show(check.checked) });
      note.append(el("label", { for: "hide-renames" }, check, " Hide new names of renamed files"));
    }
    show(isRenamed);
    return [note, box];
  }
  const parts = [old, now].map((bytes, index) => lines(bytes, found.start, found.ends[index]));
  const isCut = parts.some((part) => part.isCut);
  const note = isCut ? el("p", { class: "warn", id: "cut" }, `▲ Shown are ${size(most)} of each side from the first difference, at byte ${count(found.first)}; `
    + "what follows isn't compared here. xcache show has all of it.") : null;
  const shown = difference(parts[0].lines, parts[1].lines, found.before, isCut ? null : found.after);
  if (isCut) shown.push({ mark: "…", text: `not compared: ${size(parts[0].rest)} before, ${size(parts[1].rest)} after` });
  return [note, lined(shown, counts)];
}

/** Lines in which files have the names that they were given. */
function renamedIn(lines, renames) {
  return lines.map((line) => line.replace(/[\w~-]+(?:\.[\w~-]+)*/g, (word) => renames.get(word) ?? word));
}

/** Lines with their numbers; of many, the first ones, and a button for more. `counts`: where it is said how many went and came. */
function lined(lines, counts) {
  const pre = el("pre", { class: "diff", role: "group", tabindex: 0, "aria-label": "Lines that changed; − before, + after" });
  const more = el("button", { type: "button", click: () => add() });
  let next = 0;
  function add() {
    const end = Math.min(lines.length, next + maxShown);
    pre.append(...lines.slice(next, end).map((line, index) => drawn(line, lines, next + index)));
    next = end;
    more.hidden = next >= lines.length;
    more.textContent = `Show ${count(Math.min(maxShown, lines.length - next))} more of ${count(lines.length - next)} lines`;
  }
  add();
  const [gone, come] = ["-", "+"].map((mark) => lines.filter((line) => line.mark === mark).length);
  fill(counts, el("span", { "aria-hidden": "true" }, el("span", { class: "good" }, `+${count(come)}`), " ", el("span", { class: "bad" }, `−${count(gone)}`), come + gone === 1 ? " line" : " lines"),
    el("span", { class: "hidden" }, `${plural(come, "line")} added, ${count(gone)} removed`));
  return [pre, more];
}

const kinds = { "-": "del", "+": "ins", " ": null, "…": "gap" };

const isLetter = (one) => one !== undefined && /[\p{L}\p{N}_]/u.test(one);

function drawn(line, lines, index) {
  const mark = line.mark === "-" ? "−" : line.mark;
  const node = el("span", { class: kinds[line.mark], "data-old": line.old ?? "", "data-new": line.new ?? "" }, `${mark} `);
  const other = line.mark === "-" || line.mark === "+" ? partner(lines, index) : null;
  const text = line.text;
  let [start, end] = [0, 0];
  if (other !== null) {
    while (start < text.length && start < other.length && text[start] === other[start]) start += 1;
    while (end < text.length - start && end < other.length - start && text[text.length - 1 - end] === other[other.length - 1 - end]) end += 1;
    // Whole words, not the letters that two words don't share.
    while (start > 0 && isLetter(text[start - 1]) && (isLetter(text[start]) || isLetter(other[start]))) start -= 1;
    while (end > 0 && isLetter(text[text.length - end]) && (isLetter(text[text.length - end - 1]) || isLetter(other[other.length - end - 1]))) end -= 1;
  }
  // Of a long line, the part around its difference.
  const from = text.length > maxWide && start > maxWide / 2 ? start - 80 : 0;
  const to = Math.min(text.length, from + maxWide);
  if (from) node.append(el("span", { class: "cut" }, `${count(from)} characters … `));
  if (other !== null && start + end > 0 && start < text.length - end) {
    const [first, last] = [Math.min(to, start), Math.min(to, text.length - end)];
    node.append(text.slice(from, first), el("b", {}, text.slice(first, last)), text.slice(last, to));
  } else {
    node.append(text.slice(from, to));
  }
  if (to < text.length) node.append(el("span", { class: "cut" }, ` … ${count(text.length - to)} characters`));
  return node;
}

/** The line that one came for, or that came for it, where as many came as went. */
function partner(lines, index) {
  const mark = lines[index].mark;
  let first = index;
  while (first > 0 && lines[first - 1].mark === mark && index - first < 50) first -= 1;
  let last = index;
  while (last < lines.length - 1 && lines[last + 1].mark === mark && last - index < 50) last += 1;
  const many = last - first + 1;
  const opposite = mark === "-" ? "+" : "-";
  const begin = mark === "-" ? last + 1 : first - many;
  if (begin < 0 || lines[begin]?.mark !== opposite || lines[begin + many - 1]?.mark !== opposite) return null;
  if ((mark === "-" ? lines[begin + many] : lines[begin - 1])?.mark === opposite) return null;
  return lines[begin + index - first].text;
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
 * Lines that went and came, with three lines around them, and their numbers.
 * @param before lines in front of these that are the same; `after`: behind them; null: not known
 */
export function difference(old, now, before = 0, after = 0) {
  const [a, b] = numbered(old, now);
  const pairs = [];
  match(a, 0, a.length, b, 0, b.length, pairs, 0);
  const all = [];
  let [i, j] = [0, 0];
  const upTo = (endA, endB) => {
    for (; i < endA; i += 1) all.push({ mark: "-", text: old[i], old: before + i + 1 });
    for (; j < endB; j += 1) all.push({ mark: "+", text: now[j], new: before + j + 1 });
  };
  for (const [atA, atB, many] of pairs) {
    upTo(atA, atB);
    for (let k = 0; k < many; k += 1, i += 1, j += 1) all.push({ mark: " ", text: old[i], old: before + i + 1, new: before + j + 1 });
  }
  upTo(a.length, b.length);
  return near(all, before, after ?? 0);
}

/** Lines as numbers: the same for the same text. */
function numbered(old, now) {
  const known = new Map();
  const number = (text) => { const have = known.get(text); if (have !== undefined) return have; known.set(text, known.size); return known.size - 1; };
  return [Int32Array.from(old, number), Int32Array.from(now, number)];
}

/** Runs of lines that are the same on both sides, as `[in a, in b, how many]`, in their order. */
function match(a, startA, endA, b, startB, endB, pairs, depth) {
  let head = 0;
  while (startA + head < endA && startB + head < endB && a[startA + head] === b[startB + head]) head += 1;
  let tail = 0;
  while (endA - tail > startA + head && endB - tail > startB + head && a[endA - 1 - tail] === b[endB - 1 - tail]) tail += 1;
  if (head) pairs.push([startA, startB, head]);
  const [fromA, toA, fromB, toB] = [startA + head, endA - tail, startB + head, endB - tail];
  if (toA > fromA && toB > fromB) {
    if ((toA - fromA) * (toB - fromB) <= maxLines * maxLines / 4) common(a, fromA, toA, b, fromB, toB, pairs);
    else if (depth < 12) {
      // Lines that both sides have once hold the rest together; where there are none, all of it counts as changed.
      let [atA, atB] = [fromA, fromB];
      const anchors = onlyOnce(a, fromA, toA, b, fromB, toB);
      for (const [inA, inB] of anchors) {
        match(a, atA, inA, b, atB, inB, pairs, depth + 1);
        pairs.push([inA, inB, 1]);
        [atA, atB] = [inA + 1, inB + 1];
      }
      if (anchors.length) match(a, atA, toA, b, atB, toB, pairs, depth + 1);
    }
  }
  if (tail) pairs.push([toA, toB, tail]);
}

/** Lines that each side has once, in an order that both have: the longest such row. */
function onlyOnce(a, fromA, toA, b, fromB, toB) {
  const seen = new Map();
  for (let at = fromA; at < toA; at += 1) { const one = seen.get(a[at]); if (one) one.a = -1; else seen.set(a[at], { a: at, b: -1 }); }
  for (let at = fromB; at < toB; at += 1) { const one = seen.get(b[at]); if (one) { if (one.b >= 0) one.a = -1; else one.b = at; } }
  const both = [...seen.values()].filter((one) => one.a >= 0 && one.b >= 0);
  const ends = [];
  const previous = new Int32Array(both.length).fill(-1);
  both.forEach((one, index) => {
    let [low, high] = [0, ends.length];
    while (low < high) { const middle = (low + high) >> 1; if (both[ends[middle]].b < one.b) low = middle + 1; else high = middle; }
    if (low) previous[index] = ends[low - 1];
    ends[low] = index;
  });
  const row = [];
  for (let at = ends.length ? ends.at(-1) : -1; at >= 0; at = previous[at]) row.push([both[at].a, both[at].b]);
  return row.reverse();
}

/** By the longest common subsequence. */
function common(a, fromA, toA, b, fromB, toB, pairs) {
  const [n, m] = [toA - fromA, toB - fromB];
  const wide = m + 1;
  const lengths = new Uint32Array((n + 1) * wide);
  for (let i = n - 1; i >= 0; i -= 1) {
    for (let j = m - 1; j >= 0; j -= 1) {
      lengths[i * wide + j] = a[fromA + i] === b[fromB + j] ? lengths[(i + 1) * wide + j + 1] + 1 : Math.max(lengths[(i + 1) * wide + j], lengths[i * wide + j + 1]);
    }
  }
  for (let i = 0, j = 0; i < n && j < m;) {
    if (a[fromA + i] === b[fromB + j]) { pairs.push([fromA + i, fromB + j, 1]); i += 1; j += 1; }
    else if (lengths[(i + 1) * wide + j] >= lengths[i * wide + j + 1]) i += 1;
    else j += 1;
  }
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
