import { FirstPack } from "../protocol/first.js";
import { isObject } from "../protocol/json.js";
import { checkURL, matchKey, withoutQuery } from "../protocol/urls.js";
import { check } from "./fetching.js";
import { fetchBytes } from "./network.js";

// What a first version may come by besides one file after another: a pack of its files (docs/protocol.md §8).

/** @typedef {import("../protocol/entries.js").Entry} Entry */
/** @typedef {{download: string, size: number}} Offer */

/** Files that have to be missing, for a pack to be worth its request. */
const LEAST_FILES = 4;
/** Bytes that the files of a pack may have, whatever is wanted of them. */
const MOST_BYTES = 512 << 20;
const NAME = /\/pack\/0-[1-9]\d*-[0-9a-f]{16}\.xpk$/;

/** What a pack brought is not what it should be. */
export class Damage extends Error {}

/**
 * The pack that an answer names; a member of another form is none.
 * @param {any} first
 * @returns {Offer | undefined}
 */
export function offerOf(first) {
  try {
    const { download, size } = first;
    checkURL(download);
    return isObject(first) && NAME.test(download) && Number.isSafeInteger(size) && size > 0 ? { download, size } : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Whether a pack costs less than the files that are missing, one by one.
 * @param {Offer} offer
 * @param {[string, Entry][]} wanted
 */
export function isWorth({ size }, wanted) {
  const files = new Map(wanted.map(([, entry]) => [entry.sha256, entry.size]));
  return files.size >= LEAST_FILES && [...files.values()].reduce((bytes, one) => bytes + one, 0) > size;
}

/**
 * Takes what is wanted of a pack while it comes: each file is kept before the next one is decoded.
 * @param {Offer} offer
 * @param {[string, Entry][]} wanted
 * @param {{how: Omit<import("./network.js").Ask, "limit">, pause: () => Promise<void>, came: (count: number) => void,
 *   keep: (entry: Entry, bytes: Uint8Array) => Promise<void>}} holder `how`: it is asked for; `came`: told how many bytes came
 * @throws Damage where it can never be used; Fault
 */
export async function takeFirst({ download, size }, wanted, { how, pause, came, keep }) {
  /** @type {Map<string, Entry[]>} */
  const entries = new Map();
  for (const [, entry] of wanted) {
    const id = entry.sha256.slice(0, 32);
    entries.set(id, [...(entries.get(id) ?? []), entry]);
  }
  const sizes = new Map([...entries].map(([id, [entry]]) => [id, entry.size]));
  /** What isn't the pack's fault. */
  let failure;
  const pack = new FirstPack(sizes, async (id, bytes) => {
    for (const entry of entries.get(id) ?? []) {
      await check(entry, bytes, pause);
      try {
        await keep(entry, bytes);
      } catch (error) {
        failure = error;
        throw error;
      }
    }
  }, { pause, limit: MOST_BYTES });
  try {
    await fetchBytes(download, {
      ...how, limit: size,
      take: async (bytes) => {
        came(bytes.length);
        await pack.take(bytes);
        return pack.isDone;
      },
    });
    if (!pack.isDone) await pack.take(new Uint8Array(0), true);
  } catch (error) {
    const { reason, message } = /** @type {any} */ (error);
    if (failure || /^(download|not-found|timeout)$/.test(reason)) throw error;
    throw new Damage(message);
  }
}

/**
 * The pages that are open, as their addresses may be listed.
 * @returns {Promise<Set<string>>}
 */
export async function openPages() {
  const all = await /** @type {any} */ (self).clients.matchAll({ type: "window", includeUncontrolled: true });
  return new Set(all.flatMap((/** @type {Client} */ { url }) => [matchKey(url), withoutQuery(matchKey(url))]));
}
