import { isObject } from "../protocol/json.js";
import { versionNumber } from "../protocol/entries.js";

/** @typedef {import("../protocol/entries.js").Entry} Entry */
/** @typedef {import("./store.js").Kept} Kept */

/** Seconds and milliseconds that a poll waits for at most, with what is spread around that. */
const MOST_WAIT = 3_600_000;

/** @param {any} value */
const isText = (value) => typeof value === "string";
/** @param {any} value a time, or a count of something */
const isNumber = (value) => Number.isFinite(value) && value >= 0;
/** @type {(value: any, is: (value: any) => boolean) => boolean} */
const mayBe = (value, is) => value === undefined || is(value);
/** @param {any} value */
const isVersion = (value) => versionNumber(value) >= 0;
/** @param {any} value */
const isAddress = (value) => new URL(value).href !== "";
/** @param {any} value */
const isSource = (value) => value === "origin" || value === "mirror";
/** @type {(value: any, keys: string[], is: (value: any) => boolean) => boolean} */
const all = (value, keys, is) => keys.every((key) => is(value[key]));

/**
 * An entry, as far as what is done with it goes: its hashes say whether its file is right.
 * @param {any} entry
 */
const isEntry = (entry) => isObject(entry) && all(entry, ["ctype", "download", "md5", "sha256"], isText) && isNumber(entry.size);
/** @param {any} value */
const isMissed = (value) => isObject(value) && all(value, ["first", "last", "days"], isNumber);

/**
 * The entries of a map that are what they should be.
 * @param {any} value
 * @param {(value: any) => boolean} is
 */
function mapOf(value, is) {
  return value instanceof Map ? new Map([...value].filter(([key, one]) => isText(key) && passes(one, is))) : undefined;
}

/** @type {(value: any, is: (value: any) => boolean) => boolean} */
function passes(value, is) {
  try {
    return is(value);
  } catch {
    return false;
  }
}

/** @type {{[name: string]: (value: any) => any}} each gives undefined for what isn't of use */
const SHAPES = {
  manifest: (value) => {
    const { version, digest, map, candidate } = value;
    const isRight = versionNumber(version) >= 0 && isText(digest) && map instanceof Map && mayBe(candidate, isText);
    return isRight && [...map].every(([url, entry]) => isText(url) && isEntry(entry)) ? value : undefined;
  },
  poll: (value) => {
    const { server, source, asked, clock, missed } = value;
    const isRight = isText(server) && isSource(source) && mayBe(asked, isSource) && all(value, ["failures", "lastPoll", "originDue"], isNumber) &&
      all(value, ["interval", "originWait"], (wait) => wait > 0 && wait <= MOST_WAIT);
    const isClock = isObject(clock) && isSource(clock.source) && all(clock, ["server", "own", "ahead"], Number.isFinite);
    return isRight ? { ...value, clock: isClock ? clock : undefined, missed: isMissed(missed) ? missed : undefined } : undefined;
  },
  site: (value) => {
    const isRight = all(value, ["looked", "gone", "compared"], (one) => mayBe(one, isNumber)) && mayBe(value.version, isText);
    return isRight && all(value, ["replaced", "ahead"], (one) => mayBe(one, isMissed)) ? value : undefined;
  },
  aside: (value) => mapOf(value, (list) => Array.isArray(list) &&
    list.every((one) => isObject(one) && isEntry(one.entry) && all(one, ["last", "at"], isNumber))),
  pages: (value) => mapOf(value, (page) => isObject(page) && isAddress(page.url) && isVersion(page.version) && isNumber(page.at)),
  backlog: (value) => (value instanceof Set ? new Set([...value].filter(isText)) : undefined),
  health: (value) => mapOf(value, (one) => isNumber(one) || (isObject(one) && isNumber(one.count))),
  used: (value) => mapOf(value, isNumber),
  begun: (value) => (isText(value.download) && isNumber(value.count) ? value : undefined),
  tally: ({ counts, at }) => (isObject(counts) && Object.values(counts).every(isNumber) && isNumber(at) ? { counts: { ...counts }, at } : undefined),
  full: (value) => (isText(value.version) && all(value, ["until", "wait"], isNumber) && mayBe(value.free, isNumber) ? value : undefined),
  rollback: (value) => (isNumber(value) ? value : undefined),
  before: (value) => {
    const isRight = isVersion(value.version) && all(value, ["digest", "over"], isText) && mayBe(value.candidate, isText) && value.map instanceof Map;
    return isRight && [...value.map].every(([url, entry]) => isText(url) && (entry === null || isEntry(entry))) ? value : undefined;
  },
  heal: (value) => (isObject(value) && mayBe(value.skip, isVersion) ? value : undefined),
  rollout: (value) => {
    const { app, install, left, groups, share } = value;
    const isRight = isObject(value) && mayBe(share, isNumber) && all({ app, install, left }, ["app", "install", "left"], (one) => mayBe(one, isText));
    return isRight && mayBe(groups, (list) => Array.isArray(list) && list.every(isText)) ? value : undefined;
  },
};

/**
 * What was kept, as far as it is what it should be: a browser may damage it, and an older worker have kept it in another shape. What isn't
 * counts as nothing, and the next update or page makes it anew. Documents of the operator's are looked at by those who read them.
 * @param {{[name: string]: any}} kept
 * @returns {Kept}
 */
export function readKept(kept) {
  return Object.fromEntries(Object.entries(kept).map(([name, value]) => {
    try {
      return [name, Object.hasOwn(SHAPES, name) ? SHAPES[name](value) : value];
    } catch {
      return [name, undefined];
    }
  }));
}
