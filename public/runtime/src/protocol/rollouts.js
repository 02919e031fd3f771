// Which of the channel's two versions a device follows while a rollout is open (docs/protocol.md §13). No I/O and no state: update.js keeps
// what has to outlive the worker. `Manifests/Rollouts` has the same in Swift.
import { sha256, utf8 } from "./digests.js";
import { versionNumber } from "./entries.js";
import { fault } from "./fault.js";
import { isObject } from "./json.js";

/** @typedef {{numbers: number[], words: string[]}} AppVersion what versions are ordered by; `words`: the pre-release */
/** @typedef {[comparison: string, version: AppVersion][][]} AppRange alternatives, each of comparators that all hold */
/** @typedef {{version: string, seed: string, share: number, groups: string[], app?: AppRange, prefetch?: string}} Rule */
/** @typedef {{install: string, app?: string, groups?: string[], held?: string}} Standing what a device has: its install id in hexadecimal,
 * the app's version, groups that the app gave it, and the seed under which it took the candidate that it holds */

const APP_VERSION = /^(\d{1,9}(?:\.\d{1,9}){0,3})(?:-([\dA-Za-z-]+(?:\.[\dA-Za-z-]+)*))?(?:\+[\dA-Za-z-]+(?:\.[\dA-Za-z-]+)*)?$/;
/** Characters of a version, bytes of a range. */
const MOST_TEXT = 256;
const MOST_COMPARATORS = 16;
const MOST_GROUPS = 20;
const BUCKETS = 10_000;

/**
 * @param {any} text
 * @returns {AppVersion | undefined} undefined where it is none
 */
export function appVersion(text) {
  const [, numbers, words] = (typeof text === "string" && text.length <= MOST_TEXT && APP_VERSION.exec(text)) || [];
  const list = words ? words.split(".") : [];
  if (!numbers || list.some((word) => /^0\d+$/.test(word))) return undefined;
  return { numbers: numbers.split(".").map(Number), words: list };
}

/**
 * Semantic Versioning 2.0.0, §11.
 * @param {AppVersion} a
 * @param {AppVersion} b
 * @returns {number} below, at or above 0
 */
export function compareVersions(a, b) {
  for (let at = 0; at < 4; at++) {
    const order = (a.numbers[at] ?? 0) - (b.numbers[at] ?? 0);
    if (order !== 0) return order;
  }
  // "A pre-release version has lower precedence than the associated normal version."
  if (a.words.length === 0 || b.words.length === 0) return b.words.length - a.words.length;
  for (const [at, word] of a.words.entries()) {
    const order = at < b.words.length ? compareWords(word, b.words[at]) : 1;
    if (order !== 0) return order;
  }
  return a.words.length - b.words.length;
}

/**
 * @param {string} a
 * @param {string} b
 */
function compareWords(a, b) {
  const [isNumber, isOther] = [a, b].map((word) => /^\d+$/.test(word));
  if (isNumber !== isOther) return isNumber ? -1 : 1;
  // They may have more digits than a number of JavaScript's.
  if (isNumber && a.length !== b.length) return a.length - b.length;
  return a < b ? -1 : a > b ? 1 : 0;
}

/**
 * @param {any} text
 * @returns {AppRange}
 */
export function appRange(text) {
  if (typeof text !== "string" || utf8(text).length > MOST_TEXT) fault("no range of app versions");
  const range = text.split("||").map((alternative) =>
    alternative.split(" ").filter(Boolean).map((comparator) => {
      const [, comparison, name] = /^([<>]=?|=)(.*)$/.exec(comparator) ?? [];
      const version = appVersion(name);
      return version ? /** @type {[string, AppVersion]} */ ([comparison, version]) : fault(`no comparator: ${comparator}`);
    }));
  if (range.some(({ length }) => length === 0) || range.flat().length > MOST_COMPARATORS) fault("no range of app versions");
  return range;
}

/**
 * @param {string | undefined} app
 * @param {AppRange | undefined} range
 */
export function liesIn(app, range) {
  if (!range) return true;
  const version = appVersion(app);
  return version !== undefined && range.some((comparators) => comparators.every(([comparison, other]) => {
    const order = compareVersions(version, other);
    return order === 0 ? comparison.includes("=") : comparison.startsWith(order < 0 ? "<" : ">");
  }));
}

/**
 * Checks the member `rollout` of an answer.
 * @param {any} rule
 * @returns {Rule}
 */
export function readRule(rule) {
  if (!isObject(rule)) fault("no rollout");
  const { version, seed, share, groups, app, prefetch } = /** @type {any} */ (rule);
  if (!(versionNumber(version) > 0) || typeof seed !== "string" || !/^[\w-]{1,64}$/.test(seed)) fault("a rollout without a candidate");
  if (!Number.isInteger(share) || share < 0 || share > BUCKETS) fault("a rollout without a share");
  if (groups !== undefined) {
    const isList = Array.isArray(groups) && groups.length > 0 && groups.length <= MOST_GROUPS;
    if (!isList || !groups.every((group, at) => typeof group === "string" && /^[a-z][a-z0-9-]{0,31}$/.test(group) && !(group <= groups[at - 1]))) {
      fault("a rollout for no groups");
    }
  }
  if (prefetch !== undefined && !(versionNumber(prefetch) > 0)) fault("a rollout with another prefetch config");
  return { version, seed, share, groups: groups ?? [], prefetch, ...(app === undefined ? {} : { app: appRange(app) }) };
}

/**
 * The bucket of an installation.
 * @param {string} install 32 digits
 * @param {string} seed
 */
export async function bucketOf(install, seed) {
  const id = Uint8Array.from(install.match(/../g) ?? [], (digits) => parseInt(digits, 16));
  const digest = await sha256(Uint8Array.of(...id, ...utf8(seed)));
  let bucket = 0;
  for (const digit of digest.slice(0, 16)) bucket = (bucket * 16 + parseInt(digit, 16)) % BUCKETS;
  return bucket;
}

/**
 * The arm of a bucket (docs/evidence.md).
 * @param {number} bucket
 * @param {number} share
 */
export const armOf = (bucket, share) =>
  bucket < share ? "candidate" : bucket >= BUCKETS - Math.min(share, BUCKETS - share) ? "control" : undefined;

/**
 * Whether a device is in.
 * @param {Rule} rule
 * @param {Standing} standing
 */
export async function isIn(rule, { install, app, groups = [], held }) {
  if (!liesIn(app, rule.app)) return false;
  if (held === rule.seed || groups.some((group) => rule.groups.includes(group))) return true;
  return (await bucketOf(install, rule.seed)) < rule.share;
}
