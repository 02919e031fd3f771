import { checkFallbacks } from "./fallbacks.js";
import { fault } from "./fault.js";
import { canonical, isObject, merge } from "./json.js";
import { checkURL } from "./urls.js";
import { sha256, utf8 } from "./digests.js";

/**
 * An entry of a resourcemap (docs/protocol.md §3); members that aren't known stay, since they count in the digest.
 * @typedef {{ctype: string, download: string, md5: string, sha256: string, size: number, version: string,
 *   headers?: {[name: string]: string}, fallback?: import("./fallbacks.js").Fallback[], lazy?: true}} Entry
 * @typedef {Map<string, Entry>} Resourcemap
 */

const HEADERS = new Set([
  "content-security-policy", "content-security-policy-report-only", "referrer-policy", "permissions-policy",
  "cross-origin-opener-policy", "cross-origin-embedder-policy", "cross-origin-resource-policy", "x-frame-options",
  "service-worker-allowed",
]);

/**
 * The headers of an entry that may be sent; refuses what can't be one.
 * @param {any} headers
 * @returns {[string, string][]}
 */
export function sentHeaders(headers) {
  if (headers === undefined) return [];
  if (!isObject(headers)) fault("no headers");
  const sent = Object.entries(headers).filter(([name]) => HEADERS.has(name.toLowerCase()));
  if (new Set(sent.map(([name]) => name.toLowerCase())).size < sent.length) fault("a header twice");
  for (const [, value] of sent) {
    if (typeof value !== "string" || value.length > 8192 || !/^[!-~]([ -~]*[!-~])?$/.test(value)) fault("a header that can't be sent");
  }
  return sent;
}

/**
 * @param {any} text
 * @returns a version's number; NaN where it is none
 */
export function versionNumber(text) {
  return typeof text === "string" && /^(0|[1-9]\d{0,15})$/.test(text) && Number.isSafeInteger(+text) ? +text : NaN;
}

/**
 * @param {any} entry
 * @returns {entry is Entry}
 */
function isEntry(entry) {
  return isObject(entry) && typeof entry.ctype === "string" && /^[ -~]*$/.test(entry.ctype) &&
    typeof entry.download === "string" &&
    /^[0-9a-f]{32}$/.test(entry.md5) && /^[0-9a-f]{64}$/.test(entry.sha256) &&
    Number.isSafeInteger(entry.size) && entry.size >= 0 && versionNumber(entry.version) > 0;
}

/**
 * Reads a resourcemap as JSON has it.
 * @param {any} object
 * @param {() => Promise<void>} pause
 * @returns {Promise<Resourcemap>}
 */
export async function readMap(object, pause) {
  if (!isObject(object)) fault("no resourcemap");
  const map = new Map();
  for (const [url, entry] of Object.entries(object)) {
    checkEntry(url, entry);
    map.set(url, entry);
    if ((map.size & 63) === 0) await pause();
  }
  return map;
}

/**
 * @param {string} url
 * @param {any} entry
 */
function checkEntry(url, entry) {
  checkURL(url);
  if (!isEntry(entry)) fault(`no entry: ${url}`);
  checkURL(entry.download);
  sentHeaders(entry.headers);
  checkFallbacks(entry.fallback);
  checkLazy(entry.lazy);
}

/**
 * Refuses what an entry can't say of whether its file waits until it is asked for.
 * @param {unknown} lazy
 */
export function checkLazy(lazy) {
  if (lazy !== undefined && lazy !== true) fault("an entry that is neither lazy nor not");
}

/**
 * Applies a patch (§6).
 * @param {Resourcemap} base
 * @param {any} patch
 * @param {() => Promise<void>} pause
 * @returns {Promise<Resourcemap>}
 */
export async function applyPatch(base, patch, pause) {
  if (!isObject(patch)) fault("no patch");
  const map = new Map(base);
  let count = 0;
  for (const [url, change] of Object.entries(patch)) {
    if ((++count & 63) === 0) await pause();
    if (change === null) {
      map.delete(url);
      continue;
    }
    const entry = /** @type {any} */ (merge(base.get(url), change));
    checkEntry(url, entry);
    map.set(url, entry);
  }
  return map;
}

/**
 * A resourcemap's digest (§1). URLs are ASCII, so their order is that of their bytes.
 * @param {Resourcemap} map
 * @param {() => Promise<void>} pause
 */
export async function digestOf(map, pause) {
  const members = [];
  for (const url of [...map.keys()].sort()) {
    members.push(`${JSON.stringify(url)}:${canonical(map.get(url) ?? null, 1)}`);
    if ((members.length & 63) === 0) await pause();
  }
  return sha256(utf8(`{${members.join()}}`));
}
