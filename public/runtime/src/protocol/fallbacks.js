import { fault } from "./fault.js";
import { isObject } from "./json.js";
import { matches, readPattern } from "./patterns.js";
import { matchKey } from "./urls.js";

/**
 * For which navigations that nothing else answers a page's entry answers (docs/protocol.md §3): `prefix` is a path of the page's own
 * origin, `except` has patterns of paths.
 * @typedef {{prefix: string, except?: string[]}} Fallback
 */

/** Stands for the page's host, so that patterns of whole URLs can be used. */
const HOST = "https://host";
/** Prefixes of an entry, and patterns of a prefix. */
const MOST = 4;
const MOST_PATTERNS = 8;

/**
 * @param {string} prefix
 * @param {string} place the page's origin
 */
export const under = (prefix, place) => new URL(place + prefix).href;

/**
 * Refuses what can't be an entry's `fallback`.
 * @param {any} fallback
 */
export function checkFallbacks(fallback) {
  if (fallback === undefined) return;
  if (!Array.isArray(fallback) || !fallback.length || fallback.length > MOST) fault("no list of fallbacks");
  const prefixes = new Set();
  for (const one of fallback) {
    if (!isObject(one)) fault("no fallback");
    const { prefix, except = [] } = one;
    if (typeof prefix !== "string" || !/^\/([^?#\t\n\r]*\/)?$/.test(prefix)) fault("a fallback without a prefix");
    const whole = under(prefix, HOST);
    if (prefixes.has(whole) || !whole.endsWith("/") || whole.length > 4096) fault("a fallback's prefix that can't be");
    prefixes.add(whole);
    if (!Array.isArray(except) || except.length > MOST_PATTERNS) fault("no list of patterns");
    for (const text of except) {
      if (typeof text !== "string" || !/^\/[^\t\n\r]*$/.test(text) || !readPattern(HOST + text)) fault("a fallback's pattern that can't be");
    }
  }
}

/**
 * The page that answers for a URL that isn't listed: the one with the longest prefix that no pattern excepts it from.
 * @param {[url: string, entry: {fallback?: Fallback[]}][]} pages
 * @param {string} url
 * @returns {string | undefined}
 */
export function fallbackOf(pages, url) {
  const key = matchKey(url);
  let length = 0;
  /** @type {string | undefined} */
  let found;
  for (const [page, { fallback = [] }] of pages) {
    const { origin } = new URL(page);
    for (const { prefix, except = [] } of fallback) {
      const begin = matchKey(under(prefix, origin));
      if (!key.startsWith(begin) || begin.length < length || (begin.length === length && found && found < page)) continue;
      if (except.some((text) => matches(/** @type {any} */ (readPattern(HOST + text)), HOST + url.slice(origin.length)))) continue;
      length = begin.length;
      found = page;
    }
  }
  return found;
}
