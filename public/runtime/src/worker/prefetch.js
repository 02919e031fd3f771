import { canonical, isObject } from "../protocol/json.js";
import { versionNumber } from "../protocol/entries.js";
import { matchKey, withoutQuery } from "../protocol/urls.js";

/** @typedef {{api: string, method: string, urlParam: boolean, bodyParam: boolean, body: any, numbers: Set<string>}} Call */
/** @typedef {{number: number, pages: {url: string, calls: Call[]}[]}} PrefetchConfig */

/** A body that is sent is at most this long: what a config asks for is small. */
const MOST_CALLS = 64;

/** @type {PrefetchConfig} */
export const NO_PREFETCH = { number: 0, pages: [] };

/**
 * Whether a page is the one that an entry of the config names (docs/protocol.md §4).
 * @param {string} page
 * @param {string} entry
 */
export function isPage(page, entry) {
  const own = page.split("#")[0];
  return matchKey(entry.includes("?") ? own : withoutQuery(own)) === matchKey(entry);
}

/**
 * Reads `prefetchConfig.json`: what can't be used in it is passed over.
 * @param {any} document
 * @returns {PrefetchConfig | undefined} nothing where it is no such document
 */
export function readPrefetch(document) {
  const data = document?.data;
  const number = versionNumber(data?.version);
  if (document?.code !== 200 || !Array.isArray(data?.config) || Number.isNaN(number)) return undefined;
  const pages = data.config.flatMap((/** @type {any} */ page) =>
    typeof page?.url === "string" && Array.isArray(page.interfaces)
      ? [{ url: page.url, calls: page.interfaces.slice(0, MOST_CALLS).flatMap(readCall) }]
      : []);
  return { number, pages };
}

/**
 * @param {any} call
 * @returns {Call[]}
 */
function readCall(call) {
  const method = typeof call?.method === "string" ? call.method.toUpperCase() : "";
  // A page that opens changes nothing at a server: PUT and DELETE are the page's to send.
  if (typeof call?.api !== "string" || !/^https?:\/\//.test(call.api) || !["GET", "POST"].includes(method)) return [];
  const types = isObject(call.paramTypes) ? call.paramTypes : {};
  return [{
    api: call.api, method, urlParam: call.urlParam === true, bodyParam: call.bodyParam === true,
    body: isObject(call.body) ? call.body : undefined,
    numbers: new Set(Object.keys(types).filter((key) => types[key] === "number")),
  }];
}

/**
 * The requests to send when a page opens.
 * @param {PrefetchConfig} config
 * @param {string} page
 * @returns {{url: string, method: string, body?: string}[]}
 */
export function prefetchRequests(config, page) {
  const own = page.split("#")[0];
  const fitting = config.pages.filter(({ url }) => isPage(own, url));
  const entry = fitting.find(({ url }) => url.includes("?")) ?? fitting[0];
  if (!entry) return [];
  const query = own.includes("?") ? own.slice(own.indexOf("?") + 1) : "";
  return entry.calls.map((call) => ({
    url: call.urlParam ? appended(call.api, query) : call.api,
    method: call.method,
    ...(call.method === "POST" && (call.body || call.bodyParam) ? { body: canonical(bodyOf(call, query)) } : {}),
  }));
}

/**
 * @param {string} api
 * @param {string} query
 */
function appended(api, query) {
  if (!query) return api;
  if (!api.includes("?")) return `${api}?${query}`;
  return /[?&]$/.test(api) ? api + query : `${api}&${query}`;
}

/**
 * @param {Call} call
 * @param {string} query
 */
function bodyOf(call, query) {
  const members = new Map(Object.entries(call.body ?? {}));
  if (!call.bodyParam) return Object.fromEntries(members);
  const seen = new Set();
  for (const [name, value] of new URLSearchParams(query)) {
    if (!name || seen.has(name)) continue;
    seen.add(name);
    const isNumber = call.numbers.has(name) && /^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/.test(value);
    members.set(name, isNumber ? Number(value) : value);
  }
  return Object.fromEntries(members);
}
