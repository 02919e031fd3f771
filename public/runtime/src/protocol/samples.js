import { utf8 } from "./digests.js";

// What an error sample says, without what may name a person (docs/protocol.md §12; docs/vectors/samples.py has the same rules).

/**
 * Whether a URL without query and fragment is one of the version's own; for the address of the page itself, where another page answers for
 * it, that page's URL.
 * @typedef {(url: string) => boolean | string} Listed
 */

/** Of what is given, only so many characters are looked at. */
const LONGEST = 4096;
/** Bytes of a message, a frame's function, a page's URL, a frame and the engine, and frames of a stack. */
const MOST = { message: 512, function: 64, url: 1024, frame: 300, engine: 64, frames: 10 };
/** White space, and characters that don't show or change the direction of text. */
const HIDDEN = /[\s\0-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]+/g;
const URLS = /([a-z][a-z+-]*:\/\/[^\s"'`]*|\b(?:data|blob):[^\s"'`]+)/i;
const POSITION = /:[0-9]{1,9}:[0-9]{1,9}$/;
/** At least 7 digits in groups, as in the numbers of phones and of accounts; what is between them is what `HIDDEN` has, too. */
const GROUPED = /[0-9](?:[().\/\s\0-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff-]*[0-9]){6,}/g;

/** @param {string} text */
const head = (text) => [...text.slice(0, 2 * LONGEST)].slice(0, LONGEST).join("");

/**
 * One line without hidden characters.
 * @param {string} text
 * @param {number} size bytes at most
 */
function cut(text, size) {
  const bytes = utf8(text.replace(HIDDEN, " ").trim()).subarray(0, Math.max(size, 0));
  // As a stream, the beginning of a character at the end isn't one that is damaged.
  return new TextDecoder().decode(bytes, { stream: true }).trimEnd();
}

/**
 * Whether a part of a URL may name a person or a thing of theirs.
 * @param {string} part
 */
const namesSomething = (part) => /[0-9]{4}|@|%40/.test(part) || (/[0-9]/.test(part) && [...part].length >= 16);

/**
 * Text outside of URLs.
 * @param {string} text
 */
const words = (text) => text
  // URLs without a host have queries, too.
  .replace(/([?&#][^\s?&#="'`]*=)[^\s&"'`]+/g, "$1")
  .replace(/\S+/g, (word) => (/.(?:@|%40).+\./s.test(word) ? "<email>" : word))
  .replace(/[A-Za-z0-9_-]{16,}/g, (word) => (/[0-9]/.test(word) ? "<id>" : word))
  .replace(GROUPED, "<n>")
  .replace(/[0-9]{4,}/g, "<n>");

/**
 * Engines say with which text `JSON.parse` failed, which may be a person's.
 * @param {string} text
 */
const withoutJSON = (text) => (text.includes("JSON") ? text.replace(/".*"/s, '"<text>"') : text);

/**
 * A URL without user, fragment, values of its query and what may be ids in its path; of schemes other than http and https the scheme alone.
 * @param {string} given
 * @param {Listed} isListed
 * @param {number} [size] bytes at most
 */
export function urlOf(given, isListed, size = MOST.url) {
  const text = head(given);
  const scheme = /^([a-z][a-z+-]*):/i.exec(text)?.[1];
  if (!scheme) return "";
  const own = cut(scheme.toLowerCase(), 32);
  const parts = /^https?:\/\/(?:[^/?#]*@)?([^/?#@]+)(\/[^?#]*|(?=[?#]|$))(?:\?([^#]*))?/i.exec(text);
  if (!parts) return `${own}:`;
  const [, host, path, query] = parts;
  const start = `${own}://${host}`;
  const known = isListed(start + path);
  if (typeof known === "string") return cut(known, size);
  const shown = known ? path : path.split("/").map((part) => (namesSomething(part) ? "*" : part)).join("/");
  if (query === undefined) return cut(start + shown, size);
  const fields = query.split("&").map((field) => field.replace(/=.*/s, "="));
  const names = fields.map((field) => field.replace(/=$/, ""));
  const isLong = names.some((name) => [...name].length > 32 || namesSomething(name));
  return cut(`${start}${shown}?${isLong ? "" : fields.join("&")}`, size);
}

/**
 * A message without values of queries, e-mail addresses, ids and long numbers, in one line.
 * @param {string} given
 * @param {Listed} isListed
 * @param {number} [size] bytes at most
 */
export function messageOf(given, isListed, size = MOST.message) {
  const parts = withoutJSON(head(given)).split(URLS);
  return cut(parts.map((part, index) => (index % 2 ? urlOf(part, isListed) : words(part))).join(""), size);
}

/**
 * A frame of a stack.
 * @param {string} given `FUNCTION@URL:LINE:COLUMN`
 * @param {Listed} isListed
 */
export function frameOf(given, isListed) {
  const whole = head(given);
  const position = POSITION.exec(whole)?.[0] ?? "";
  const text = whole.slice(0, whole.length - position.length);
  const first = text.search(/@(?=[a-z][a-z+-]*:)/i);
  const at = first < 0 ? text.lastIndexOf("@") : first;
  const name = messageOf(at < 0 ? text : text.slice(0, at), isListed, MOST.function);
  const place = at < 0 ? "" : text.slice(at + 1);
  return `${name}@${urlOf(place, isListed, MOST.frame - 1 - utf8(name).length - position.length)}${position}`;
}

/**
 * One line of a stack as `FUNCTION@URL:LINE:COLUMN`; undefined for one that has no place in a file.
 * @param {string} line without white space around it
 * @param {boolean} isV8
 */
function placed(line, isV8) {
  let text = line;
  if (isV8) {
    const call = line.replace(/^at (async )?/, "");
    const open = call.indexOf(" (");
    const inner = call.slice(open + 2, -1);
    // What `eval` made is where it was called.
    const place = /^eval at /.test(inner) ? /\(([^\s()]+:\d+:\d+)\)/.exec(inner)?.[1] : inner;
    text = open > 0 ? `${call.slice(0, open)}@${place}` : `@${call}`;
  }
  // Firefox's way to say it.
  text = text.replace(/ line (\d+) > .*$/, ":$1:1");
  if (!/^[^@]*@/.test(text)) text = `@${text}`;
  return POSITION.test(text) && /@[a-z][a-z+-]*:/i.test(text) ? text : undefined;
}

/**
 * The frames of a stack, as V8 writes it (`at f (url:1:2)`), or JavaScriptCore and Firefox (`f@url:1:2`), without those of the engine itself.
 * @param {string} stack
 * @param {Listed} isListed
 */
export function framesOf(stack, isListed) {
  const lines = stack.split("\n").map((line) => line.trim());
  // V8's begins with the message, which may look like anything.
  const isV8 = lines.some((line) => /^at .*:\d+\)?$/.test(line));
  return lines.filter((line) => !isV8 || line.startsWith("at ")).flatMap((line) => placed(line, isV8) ?? [])
    .slice(0, MOST.frames).map((frame) => frameOf(frame, isListed));
}

/**
 * An engine's name and major version; empty if it isn't known.
 * @param {string} agent as in `navigator.userAgent`
 */
export function engineOf(agent) {
  for (const [pattern, name] of /** @type {[RegExp, string][]} */ ([
    [/\b(?:Headless)?Chrom(?:e|ium)\/(\d+)/, "Chromium"], [/\bFirefox\/(\d+)/, "Firefox"], [/\bAppleWebKit\/(\d+(?:\.\d+)?)/, "WebKit"],
  ])) {
    const found = pattern.exec(agent);
    if (found) return `${name} ${found[1]}`.slice(0, MOST.engine);
  }
  return "";
}
