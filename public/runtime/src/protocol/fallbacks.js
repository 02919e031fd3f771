import { fault } from "./fault.js";
import { isObject } from "./json.js";
import { matches, readPattern } from "./patterns.js";
import { matchKey } from "./urls.js";

/**
 * For which navigations that nothing else answers a page's entry answers (docs/protocol.md §3): `prefix` is a path of the page's own
 * origin, `except` has patterns of paths.
 * @typedef {{prefix: string, except?: string[]}} Fallback
 */
/** What URLs that a page answers begin with, in the form in which URLs are compared.
 * @typedef {{page: string, begin: string, except: string[]}} Route */

/** Stands for the page's host, so that patterns of whole URLs can be used. */
const HOST = "https://host";
/** Media types of pages. */
const HTML = /^ *(text\/html|application\/xhtml\+xml) *(;|$)/i;
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
 * The prefixes of a manifest's pages, in the order in which they count: the longest first, and of one prefix the page first whose URL is.
 * @param {import("./entries.js").Resourcemap} map
 * @returns {Route[]}
 */
export const routesOf = (map) =>
  [...map].flatMap(([page, { ctype, fallback }]) =>
    fallback && HTML.test(ctype)
      ? fallback.map(({ prefix, except = [] }) => ({ page, begin: matchKey(under(prefix, new URL(page).origin)), except }))
      : [])
    .sort((a, b) => b.begin.length - a.begin.length || (a.page < b.page ? -1 : 1));

/**
 * The page that answers for a URL that isn't listed.
 * @param {Route[]} routes
 * @param {string} url
 */
export function fallbackOf(routes, url) {
  const key = matchKey(url);
  const own = HOST + url.slice(url.indexOf("/", 8));
  /** @param {string} text */
  const matchesOwn = (text) => matches(/** @type {any} */ (readPattern(HOST + text)), own);
  return routes.find(({ begin, except }) => key.startsWith(begin) && !except.some(matchesOwn))?.page;
}
