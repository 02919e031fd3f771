// What comes over the network: in the script of its own that most of a worker's lives end without (background.js).
import { md5, sha256 } from "../protocol/digests.js";
import { Fault } from "../protocol/fault.js";
import { Turns } from "../protocol/turns.js";
import { fetchBytes } from "./network.js";

/** @typedef {import("../protocol/entries.js").Entry} Entry */
/** @typedef {import("./network.js").Ask} Ask */

/**
 * Fetches a file that a page asks for: a listed one from where the page would have it, which may be the browser's own cache.
 * @param {import("./runtime.js").Runtime} runtime
 * @param {Entry} entry
 * @param {string | undefined} url as it is listed
 * @returns {Promise<Uint8Array>}
 */
export function fetchNow({ files, settings }, entry, url) {
  const known = files.arriving.get(entry.download);
  if (known) return known;
  const arriving = (async () => {
    const turns = new Turns();
    try {
      const own = url === undefined ? undefined : await fromSite(settings, url, entry, turns.pause, "force-cache");
      const bytes = own ?? (await fetchEntry(entry, turns.pause));
      // A full quota costs the next request a download.
      await files.keep(entry, bytes).catch(() => {});
      files.remember(entry, bytes);
      return bytes;
    } finally {
      turns.end();
      files.arriving.delete(entry.download);
    }
  })();
  files.arriving.set(entry.download, arriving);
  return arriving;
}

/**
 * An entry's file by its own URL; undefined where the site doesn't have it, or has others.
 * @param {import("./settings.js").Settings} settings
 * @param {string} url
 * @param {Entry} entry
 * @param {() => Promise<void>} pause
 * @param {"force-cache" | "only-if-cached"} cache `only-if-cached`: from the browser's cache alone, without a request (`asksCacheAlone`)
 * @returns {Promise<Uint8Array | undefined>}
 */
export async function fromSite({ origin }, url, entry, pause, cache) {
  // "only-if-cached" is for a worker's own origin.
  if (new URL(url).origin !== origin) return undefined;
  try {
    const bytes = await fetchBytes(url, { limit: entry.size, cache, mode: "same-origin", credentials: "same-origin" });
    await check(entry, bytes, pause);
    return bytes;
  } catch {
    return undefined;
  }
}

/**
 * Downloads an entry's file, and checks it.
 * @param {Entry} entry
 * @param {() => Promise<void>} pause
 * @param {Omit<Ask, "limit">} [how]
 * @returns {Promise<Uint8Array>}
 * @throws Fault
 */
export async function fetchEntry(entry, pause, how) {
  const bytes = await fetchBytes(entry.download, { limit: entry.size, ...how });
  await check(entry, bytes, pause);
  return bytes;
}

/**
 * @param {Entry} entry
 * @param {Uint8Array} bytes
 * @param {() => Promise<void>} pause
 */
export async function check(entry, bytes, pause) {
  const isRight = bytes.length === entry.size && (await sha256(bytes)) === entry.sha256 && (await md5(bytes, pause)) === entry.md5;
  if (!isRight) throw new Fault(`${entry.download}: other bytes than the manifest says`, "integrity");
}
