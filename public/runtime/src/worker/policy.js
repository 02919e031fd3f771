import { versionNumber } from "../protocol/entries.js";
import { isObject } from "../protocol/json.js";
import { matchKey, withoutQuery } from "../protocol/urls.js";

/**
 * What an app switches without a new build (docs/protocol.md §9).
 * @typedef {{number: number, killed: boolean, until: number, bypass: {pattern: Pattern, until: number}[]}} Policy
 *   `until`: when a `killed` of true lapses, in milliseconds since 1970; Infinity: never
 * @typedef {{scheme: string, host: string, port: string, parts: string[], hasQuery: boolean}} Pattern
 */

/** @type {Policy} */
export const NO_POLICY = { number: 0, killed: false, until: Infinity, bypass: [] };

/**
 * @param {any} text
 * @param {number} otherwise
 */
const time = (text, otherwise) => (typeof text === "string" && Number.isFinite(Date.parse(text)) ? Date.parse(text) : otherwise);

/**
 * Reads `policy.json`: what can't be used in it is passed over.
 * @param {any} document
 * @returns {Policy | undefined} nothing where it is no such document
 */
export function readPolicy(document) {
  const data = document?.data;
  const number = versionNumber(data?.version);
  if (document?.code !== 200 || typeof data?.intercept !== "boolean" || Number.isNaN(number)) return undefined;
  const until = time(data.until, Infinity);
  const own = isObject(data.bypassUntil) ? data.bypassUntil : {};
  const bypass = (Array.isArray(data.bypass) ? data.bypass : []).flatMap((/** @type {any} */ text) => {
    const pattern = readPattern(text);
    return pattern ? [{ pattern, until: Object.hasOwn(own, text) ? time(own[text], Infinity) : until }] : [];
  });
  return { number, killed: !data.intercept, until, bypass };
}

/**
 * Whether interception is off for every page.
 * @param {Policy} policy
 * @param {number} now
 */
export const isKilled = (policy, now) => policy.killed && now < policy.until;

/**
 * Whether a page is left alone.
 * @param {Policy} policy
 * @param {string} page
 * @param {number} now
 */
export function isBypassed({ bypass }, page, now) {
  if (bypass.length === 0) return false;
  // Once for all patterns: a policy may have many.
  const place = placeOf(page);
  return bypass.some(({ pattern, until }) => now < until && matchesPlace(pattern, place));
}

/**
 * @param {any} text
 * @returns {Pattern | undefined}
 */
export function readPattern(text) {
  const found = typeof text === "string" && text.length <= 1024 && !text.includes("#")
    ? /^(\*|https?):\/\/(\*|(?:\*\.)?[^*/:?\s]+|(?:\*\.)?\[[0-9a-f:.]+\])(?::(\d+))?(\/.*)$/i.exec(text)
    : null;
  if (!found) return undefined;
  const [, scheme, host, port, target] = found;
  // The parser writes the rest in its one form; wildcards are no part of an escape.
  let url;
  try {
    url = new URL(`${scheme === "*" ? "https" : scheme.toLowerCase()}://any${port ? `:${port}` : ""}${target}`);
  } catch {
    return undefined;
  }
  return {
    scheme: scheme.toLowerCase(), host: host.toLowerCase(), port: url.port,
    parts: matchKey(url.pathname + url.search).split("*"), hasQuery: target.includes("?"),
  };
}

/** @param {string} page */
function placeOf(page) {
  const { protocol, port, hostname, pathname, search } = new URL(page);
  const target = matchKey(pathname + search);
  return { protocol, port, hostname, target, path: withoutQuery(target) };
}

/**
 * @param {Pattern} pattern
 * @param {ReturnType<typeof placeOf>} place
 */
function matchesPlace({ scheme, port, host, parts, hasQuery }, place) {
  if (scheme !== "*" && `${scheme}:` !== place.protocol) return false;
  return port === place.port && matchesHost(host, place.hostname) && matchesParts(parts, hasQuery ? place.target : place.path);
}

/**
 * @param {Pattern} pattern
 * @param {string} page
 */
export const matches = (pattern, page) => matchesPlace(pattern, placeOf(page));

/**
 * Whether a host is one of a name, `*.name` (the domain and all below it) or `*`.
 * @param {string} pattern
 * @param {string} host
 */
export function matchesHost(pattern, host) {
  if (pattern === "*" || pattern === host) return true;
  return pattern.startsWith("*.") && (host === pattern.slice(2) || host.endsWith(pattern.slice(1)));
}

/**
 * The first part is where the text begins, the last where it ends, those between come in order; taking each at its first place
 * is enough.
 * @param {string[]} parts
 * @param {string} text
 */
function matchesParts(parts, text) {
  const [first, ...others] = parts;
  if (!text.startsWith(first)) return false;
  const last = others.pop();
  if (last === undefined) return text === first;
  let at = first.length;
  for (const part of others) {
    const found = text.indexOf(part, at);
    if (found < 0) return false;
    at = found + part.length;
  }
  return text.length - at >= last.length && text.endsWith(last);
}
