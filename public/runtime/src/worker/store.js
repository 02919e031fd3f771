import { readKept } from "./kept.js";

// What is kept: files in Cache Storage, by their download URL; the rest in one store of IndexedDB. The names have the scope, so
// that several apps can live under one origin.

/** @typedef {import("../protocol/entries.js").Entry} Entry */
/** @typedef {import("../protocol/entries.js").Resourcemap} Resourcemap */
/** `candidate`: the seed of the rollout by which it was taken.
 * @typedef {{version: string, digest: string, map: Resourcemap, candidate?: string}} Manifest */
/** What left the manifest: the last version that had it, and when that was left; `ended` where pages get it no more.
 * @typedef {{entry: Entry, last: number, at: number, ended?: boolean}} Aside */
/** Why the network gives a page its document; `late`: what is kept couldn't be read in time; `first-visit`, `outside`: there was no worker.
 * @typedef {"killed" | "bypassed" | "unlisted" | "failed" | "stale" | "missing" | "late" | "first-visit" | "outside"} Why */
/**
 * `from`: who gave its document; nothing: it isn't decided yet. `why`: why it was to be the network. `isLocal`: it was the device. `parts`: who
 * gave parts of files, by match key. `began`: when its script began, which will tell whether it came up. `isOver`: it did, or it was left.
 * `isFailed`: it was counted as one that failed. `isTry`: one that failed before is tried from here again. What tells whether its version is
 * any good: `isMarked`: it opened, and hasn't ended in order yet; `isUp`, `hasFailed`: how it came up; `answers`: its script answers
 * questions; `isSilent`: it was open, and answered none; `looks`: how often it was looked at. `failedAt`: when it seemed to have failed, `others`: unlisted scripts
 * of the site that didn't come; `isJudged`: it was certain then, or it was left before that; `isEmpty`: it showed nothing as it was up, `isBare`: it shows nothing yet, or
 * any more. `lacks`: listed files that it waits for, or the network didn't give. `lost`: scripts that it said it lacks. `seed`: of the rollout that it may be evidence of.
 * @typedef {{url: string, version: string, at: number, from?: "device" | "network", why?: Why, parts?: Map<string, "device" | "network">,
 *   isLocal?: boolean, began?: number, isOver?: boolean, isFailed?: boolean, isTry?: boolean, isMarked?: boolean, isUp?: boolean,
 *   hasFailed?: boolean, isSilent?: boolean, answers?: boolean, seed?: string, lacks?: Set<string>, looks?: number,
 *   failedAt?: number, others?: string[], isJudged?: boolean, isEmpty?: boolean, isBare?: boolean, lost?: string[]}} Page
 */
/** How often a page didn't come up in a row, when it was last tried from here, and milliseconds until it is tried again.
 * @typedef {{count: number, at: number, wait: number}} Health */
/**
 * @typedef {{manifest?: Manifest, poll?: import("./polling.js").Saved, policy?: any, prefetch?: any, candidatePrefetch?: any,
 *   aside?: Map<string, Aside[]>,
 *   pages?: Map<string, Page>, backlog?: Set<string>, health?: Map<string, Health>, used?: Map<string, number>, rollback?: number,
 *   begun?: {download: string, count: number}, tally?: import("./tally.js").Batch,
 *   full?: import("./quota.js").Full, site?: import("./site.js").Site, rollout?: import("./rollouts.js").Rollout,
 *   trust?: import("./trusting.js").Trusted, proved?: string, before?: import("./healing.js").Before, heal?: import("./healing.js").Heal,
 *   samples?: import("./samples.js").Samples}} Kept
 */

/**
 * Whether a file that was set aside is for pages of a version.
 * @param {Aside} aside
 * @param {string} version
 */
export const isOf = ({ entry, last, ended }, version) =>
  // The manifest version in a download is the one that brought the file in.
  !ended && last >= +version && +entry.download.split("/").slice(-4)[0] <= +version;

const STORE = "kept";
/** Milliseconds that the removal of a store is waited for. */
export const REMOVAL = 2000;

/**
 * @template Value
 * @param {IDBRequest<Value>} request
 * @returns {Promise<Value>}
 */
const done = (request) =>
  new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });

export class Store {
  /** @param {string} name */
  constructor(name) {
    this.name = name;
    /** @type {Promise<IDBDatabase> | undefined} */
    this.database = undefined;
    /** Whether it was removed: an update that is still on its way makes none again. */
    this.isOver = false;
  }

  async open() {
    if (this.isOver) throw new Error("the store was removed");
    this.database ??= this.made().catch(async (error) => {
      if (!/^(Version|NotFound)Error$/.test(error.name)) throw error;
      // One of another shape isn't ours, and is made anew; one that a page keeps open as long as it does isn't.
      const request = indexedDB.deleteDatabase(this.name);
      await Promise.race([done(request), new Promise((_, reject) => (request.onblocked = reject))]);
      return this.made();
    });
    this.database.catch(() => (this.database = undefined));
    return this.database;
  }

  /** @returns {Promise<IDBDatabase>} */
  async made() {
    const request = indexedDB.open(this.name, 1);
    request.onupgradeneeded = () => request.result.createObjectStore(STORE);
    const database = await done(request);
    const forget = () => {
      database.close();
      this.database = undefined;
    };
    database.onclose = forget;
    // Somebody wants to delete it.
    database.onversionchange = forget;
    // Throws where it isn't there.
    try {
      database.transaction(STORE);
    } catch (error) {
      database.close();
      throw error;
    }
    return database;
  }

  /** @returns {Promise<Kept>} all that is kept but for the files, as far as it is of use */
  async read() {
    const store = (await this.open()).transaction(STORE).objectStore(STORE);
    const [keys, values] = await Promise.all([done(store.getAllKeys()), done(store.getAll())]);
    return readKept(Object.fromEntries(keys.map((key, index) => [key, values[index]])));
  }

  /**
   * Writes members in one transaction, and waits until it is done.
   * @param {Kept} members
   * @returns {Promise<void>}
   */
  async write(members) {
    const transaction = (await this.open()).transaction(STORE, "readwrite");
    const store = transaction.objectStore(STORE);
    try {
      for (const [key, value] of Object.entries(members)) store.put(value, key);
    } catch (error) {
      // What was put before would be kept without the rest.
      transaction.abort();
      throw error;
    }
    return new Promise((resolve, reject) => {
      transaction.oncomplete = () => resolve();
      transaction.onabort = () => reject(transaction.error ?? new Error("the transaction was aborted"));
    });
  }

  /**
   * @param {string} download
   * @returns {Promise<Response | undefined>} what is stored, as it is
   */
  async match(download) {
    if (this.isOver) throw new Error("the store was removed");
    return caches.match(download, { cacheName: this.name });
  }

  async files() {
    if (this.isOver) throw new Error("the store was removed");
    return caches.open(this.name);
  }

  /** Forgets everything. */
  async remove() {
    this.isOver = true;
    const database = await this.database?.catch(() => undefined);
    database?.close();
    await removeStores([this.name]);
  }
}

/** @param {string[]} names */
async function removeStores(names) {
  await Promise.all(names.flatMap((name) => [caches.delete(name), done(indexedDB.deleteDatabase(name))]));
}

/**
 * Removes what workers of a scope have kept: of another channel, say, or of the app by another name.
 * @param {string} scope
 * @param {string} [name] that stays
 */
export function removeOthers(scope, name) {
  // A worker that becomes active keeps its pages waiting, and a database that somebody has open isn't removed before it is closed.
  return Promise.race([removes(scope, name).catch(() => {}), new Promise((resolve) => setTimeout(resolve, REMOVAL))]);
}

/**
 * @param {string} scope
 * @param {string} [name]
 */
async function removes(scope, name) {
  const end = ` ${new URL(scope).pathname}`;
  const all = [...await caches.keys(), ...((await indexedDB.databases?.()) ?? []).map((database) => database.name ?? "")];
  await removeStores([...new Set(all)].filter((other) => other !== name && other.startsWith("xcache ") && other.endsWith(end)));
}
