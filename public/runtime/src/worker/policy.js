import { versionNumber } from "../protocol/entries.js";
import { isObject } from "../protocol/json.js";
import { matchesPlace, placeOf, readPattern } from "../protocol/patterns.js";

/**
 * What an app switches without a new build (docs/protocol.md §9).
 * @typedef {{number: number, killed: boolean, until: number, bypass: {pattern: import("../protocol/patterns.js").Pattern, until: number}[]}} Policy
 *   `until`: when a `killed` of true lapses, in milliseconds since 1970; Infinity: never
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
