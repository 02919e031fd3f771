import { sentHeaders } from "../protocol/entries.js";

/** @typedef {import("../protocol/entries.js").Entry} Entry */
/** @typedef {{status: number, headers: Headers, start: number, end: number}} Head */

/**
 * The page's own headers of an entry, never those of its download.
 * @param {Entry} entry
 */
export const headersOf = (entry) =>
  new Headers([["ETag", `"${entry.md5}"`], ["X-Content-Type-Options", "nosniff"], ...sentHeaders(entry.headers)]);

/**
 * Those of the whole file.
 * @param {Entry} entry
 */
export function wholeHeaders(entry) {
  const headers = headersOf(entry);
  headers.set("Content-Type", entry.ctype);
  headers.set("Accept-Ranges", "bytes");
  headers.set("Content-Length", String(entry.size));
  return headers;
}

/**
 * The head of an answer from a held file, and the bytes that its body has; nothing where only the server can answer.
 * @param {Request} request
 * @param {Entry} entry
 * @returns {Head | undefined}
 */
export function headOf(request, entry) {
  const asked = request.headers;
  // What a condition asks of a server's state is the server's to say.
  if (asked.has("if-match") || asked.has("if-unmodified-since")) return undefined;
  const tag = `"${entry.md5}"`;
  const tags = (asked.get("if-none-match") ?? "").split(",").map((text) => text.trim().replace(/^W\//, ""));
  if (tags.includes("*") || tags.includes(tag)) return { status: 304, headers: headersOf(entry), start: 0, end: 0 };
  const headers = wholeHeaders(entry);
  // "GET is the only method for which range handling is defined" (RFC 9110 §14.2).
  const mayCut = request.method === "GET" && (asked.get("if-range") ?? tag) === tag;
  const range = mayCut ? rangeOf(asked.get("range"), entry.size) : undefined;
  if (range === null) {
    headers.set("Content-Range", `bytes */${entry.size}`);
    headers.delete("Content-Length");
    return { status: 416, headers, start: 0, end: 0 };
  }
  const [start, end] = range ?? [0, entry.size];
  if (range) headers.set("Content-Range", `bytes ${start}-${end - 1}/${entry.size}`);
  headers.set("Content-Length", String(end - start));
  return { status: range ? 206 : 200, headers, start, end };
}

/**
 * What a `Range` header asks of a file: from where to where; null: nothing that is there; undefined: all of it, also where it may be
 * passed over (RFC 9110 §14.2). `ByteRanges` in `Sources/Common/HTTP` has the same rules, with a limit of one range.
 * @param {string | null} text
 * @param {number} size
 * @returns {[number, number] | null | undefined}
 */
export function rangeOf(text, size) {
  // A list may have empty members, with blanks around them; a range has none inside (RFC 9110 §5.6.1, §14.1.1).
  const found = /^bytes=[ \t,]*(\d*)-(\d*)[ \t,]*$/i.exec(text ?? "");
  if (!found || (!found[1] && !found[2])) return undefined;
  // "If the selected representation is shorter than the specified suffix-length, the entire representation is used" (§14.1.2), which
  // Content-Range can't say of an empty one.
  if (!found[1]) return +found[2] === 0 ? null : size > 0 ? [Math.max(0, size - +found[2]), size] : undefined;
  const [first, last] = [+found[1], found[2] ? +found[2] : Infinity];
  if (last < first) return undefined;
  return first < size ? [first, Math.min(last, size - 1) + 1] : null;
}
