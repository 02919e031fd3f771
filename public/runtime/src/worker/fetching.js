// What comes over the network: in the script of its own that most of a worker's lives end without (background.js).
import { md5, sha256 } from "../protocol/digests.js";
import { Fault } from "../protocol/fault.js";
import { joined } from "../protocol/reader.js";
import { Turns, after } from "../protocol/turns.js";
import { matchKey } from "../protocol/urls.js";
import { fetchBytes } from "./network.js";
import { asksCacheAlone } from "./settings.js";
import { either } from "./ways.js";

/** @typedef {import("../protocol/entries.js").Entry} Entry */
/** @typedef {import("./network.js").Ask} Ask */

/** Milliseconds for which a file that came is held in memory until it is stored. */
const KEEPING = 20_000;

/**
 * Fetches a file that a page asks for: from where the page would have it, which may be the browser's own cache, and from its download URL;
 * what was set aside the other way round. The second is asked once the first has nothing, or is late, and the first right bytes win.
 * @param {import("./runtime.js").Runtime} runtime
 * @param {Entry} entry
 * @param {string} url by which the site may have it
 * @param {boolean} isAside
 * @returns {Promise<Uint8Array>}
 * @throws Fault
 */
export function fetchNow(runtime, entry, url, isAside) {
  const { files, settings } = runtime;
  const known = files.arriving.get(entry.download);
  if (known) return known;
  /** @type {unknown} */
  let fault;
  const site = () => turned((pause) => fromSite(settings, url, entry, pause, "force-cache"));
  const download = () => turned((pause) => fetchEntry(entry, pause)).catch((error) => void (fault = error));
  const late = () => void (runtime.lateAt = performance.now());
  const coming = isAside ? either(download, site, settings.patience) : either(site, download, runtime.wait(), late);
  const arriving = coming.then((bytes) => {
    if (!bytes) throw fault;
    return bytes;
  });
  files.arriving.set(entry.download, arriving);
  const kept = arriving.then((bytes) => {
    files.remember(entry, bytes);
    // A full quota costs the next request a download, and a store that is stuck no page anything.
    return Promise.race([files.keep(entry, bytes), after(KEEPING)]);
  });
  const over = () => void files.arriving.delete(entry.download);
  kept.then(over, over);
  return arriving;
}

/**
 * @template Value
 * @param {(pause: () => Promise<void>) => Promise<Value>} work
 */
async function turned(work) {
  const turns = new Turns();
  try {
    return await work(turns.pause);
  } finally {
    turns.end();
  }
}

/**
 * A large file's answer, while it comes from its download URL. The end of a whole one is held back until all of it is checked, and it is
 * kept; of a part, only the length can be.
 * @param {import("./runtime.js").Runtime} runtime
 * @param {Entry} entry
 * @param {string} url
 * @param {import("./answers.js").Head} head
 * @returns {Promise<Response>}
 * @throws Fault
 */
export async function streamed(runtime, entry, url, { status, headers, start, end }) {
  const isPart = status === 206;
  const abort = /** @type {any} */ (new AbortController());
  const late = setTimeout(() => abort.abort(), runtime.settings.patience);
  // Parts that were fetched are the browser's to keep.
  const asked = isPart ? { headers: { Range: `bytes=${start}-${end - 1}` } } : { cache: /** @type {RequestCache} */ ("no-store") };
  const response = await fetch(entry.download, { credentials: "omit", ...asked, signal: abort.signal });
  clearTimeout(late);
  const length = response.headers.get("content-length");
  // The length of a coded body is no length of the file.
  const isOther = !response.headers.has("content-encoding") && length !== null && +length !== end - start;
  if (response.status !== status || !response.body || (isPart && isOther)) {
    abort.abort();
    throw new Fault(`${entry.download}: ${response.status}`, "download", response.status < 500 && ![408, 429].includes(response.status));
  }
  const answer = new Response(isPart ? response.body : response.body.pipeThrough(checking(runtime, entry, url)), { status, headers });
  if (!isPart) runtime.streams.add(answer);
  return answer;
}

/**
 * Hands on what comes of an entry's file but for its end, which follows once all of it is right.
 * @param {import("./runtime.js").Runtime} runtime
 * @param {Entry} entry
 * @param {string} url
 * @returns {TransformStream<Uint8Array, Uint8Array>}
 */
function checking(runtime, entry, url) {
  /** @type {Uint8Array[]} */
  const pieces = [];
  let count = 0;
  return new TransformStream({
    transform(piece, controller) {
      const last = pieces.at(-1);
      if (last) controller.enqueue(last);
      pieces.push(piece);
      count += piece.length;
      if (count > entry.size) throw new Fault(`${entry.download}: more than ${entry.size} bytes`, "integrity");
    },
    async flush(controller) {
      const bytes = joined(pieces, count);
      // All of it has come, right or not.
      for (const page of runtime.pages.values()) if (!page.hasFailed) page.lacks?.delete(matchKey(url));
      await turned((pause) => check(entry, bytes, pause)).catch((error) => {
        runtime.report(error.reason, url, runtime.manifest.version);
        throw error;
      });
      const last = pieces.at(-1);
      if (last) controller.enqueue(last);
      void runtime.files.keep(entry, bytes).then(() => runtime.trimSoon(), () => {});
    },
  });
}

/**
 * An entry's file by its own URL; undefined where the site doesn't have it, or has others.
 * @param {import("./settings.js").Settings} settings
 * @param {string} url
 * @param {Entry} entry
 * @param {() => Promise<void>} pause
 * @param {"force-cache" | "no-cache" | "only-if-cached"} cache `only-if-cached`: from the browser's cache alone, without a request (`asksCacheAlone`)
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
 * Whether a page that opened before the worker is of the version that is held, as far as the browser's own cache tells: under the page's
 * own address, which may have a query that isn't listed.
 * @param {import("./runtime.js").Runtime} runtime
 * @param {string} page
 */
export async function isCached(runtime, page) {
  const { cached, settings, manifest } = runtime;
  const listed = runtime.listed(page, true);
  const url = listed ?? runtime.fallback(page);
  const entry = url === undefined ? undefined : manifest.map.get(url);
  if (!url || !entry) return false;
  // What a route got isn't what the page gets by its own address.
  const isCached = listed !== undefined && cached.has(url);
  if (isCached || !asksCacheAlone()) return isCached;
  return !!(await fromSite(settings, page.split("#")[0], entry, async () => {}, "only-if-cached"));
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
  if (!isRight) throw new Fault(`${entry.download}: other bytes than the manifest says`, "integrity", true);
}
