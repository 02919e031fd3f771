import { fault } from "./fault.js";

/** @typedef {null | boolean | number | string | any[] | {[key: string]: any}} Value */

const NOT_ASCII = /[^\0-\x7f]/;
// A pair of them is one character where a pattern is of Unicode.
const HALF_CHARACTER = /[\ud800-\udfff]/u;

/**
 * @param {unknown} value
 * @returns {value is {[key: string]: any}}
 */
export const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);

/**
 * The order of UTF-8 bytes, which is that of code points.
 * @param {string} a
 * @param {string} b
 */
function compare(a, b) {
  if (!NOT_ASCII.test(a + b)) return a < b ? -1 : a > b ? 1 : 0;
  const [x, y] = [[...a], [...b]];
  for (let i = 0; i < x.length && i < y.length; i++) {
    const difference = /** @type {number} */ (x[i].codePointAt(0)) - /** @type {number} */ (y[i].codePointAt(0));
    if (difference) return difference;
  }
  return x.length - y.length;
}

/** @param {string} text */
function string(text) {
  if (HALF_CHARACTER.test(text)) fault("half a character");
  return JSON.stringify(text);
}

/**
 * The canonical form (docs/protocol.md §1) of what `JSON.parse` gave. Numbers of manifests are integers, which have one form.
 * @param {Value} value
 * @param {number} [depth]
 * @returns {string}
 */
export function canonical(value, depth = 0) {
  if (typeof value === "string") return string(value);
  if (typeof value !== "object" || value === null) return String(value);
  if (depth >= 64) fault("too deep");
  if (Array.isArray(value)) return `[${value.map((element) => canonical(element, depth + 1)).join()}]`;
  const members = Object.keys(value).sort(compare);
  return `{${members.map((key) => `${string(key)}:${canonical(value[key], depth + 1)}`).join()}}`;
}

/**
 * An RFC 7396 merge patch on a value.
 * @param {Value | undefined} target
 * @param {Value} patch
 * @param {number} [depth]
 * @returns {Value}
 */
export function merge(target, patch, depth = 0) {
  if (!isObject(patch)) return patch;
  if (depth >= 64) fault("too deep");
  const members = new Map(isObject(target) ? Object.entries(target) : []);
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) members.delete(key);
    else members.set(key, merge(members.get(key), value, depth + 1));
  }
  // Defines members, so that one by the name of __proto__ is one like others.
  return Object.fromEntries(members);
}
