import { md5, sha256 } from "../protocol/digests.js";
import { Fault } from "../protocol/fault.js";
import { Turns } from "../protocol/turns.js";
import { fetchBytes } from "./network.js";

/** @typedef {import("../protocol/entries.js").Entry} Entry */

/** Bytes of files that are kept in memory, and of the largest of them. */
const MEMORY = { all: 10 << 20, one: 2 << 20 };
/** Bytes above which only a file's length is looked at when it is read: its hash was right when it was kept. */
const MOST_HASHED = 32 << 20;

/** The files that are held: in Cache Storage, by their download URL, hashed before they are put there, and when they are read. */
export class Files {
  /**
   * @param {import("./store.js").Store} store
   * @param {number} patience milliseconds that a page waits
   */
  constructor(store, patience) {
    this.store = store;
    this.patience = patience;
    /** @type {Map<string, Uint8Array>} bytes by SHA-256, the least recently used first */
    this.memory = new Map();
    this.remembered = 0;
    /** @type {Map<string, number>} when downloads were last used */
    this.used = new Map();
    this.last = 0;
    /** @type {Map<string, Promise<Uint8Array>>} what is being fetched because a page asks for it */
    this.arriving = new Map();
    /** Whether a read takes longer than a page may wait: until it ends, pages ask the network at once, too. */
    this.isStuck = false;
    /** Called for each file that turned out to be damaged. */
    this.damaged = () => {};
  }

  /**
   * Takes note of a use: later than all others, whatever the clock says.
   * @param {string} download
   * @param {number} [at]
   */
  uses(download, at = Date.now()) {
    this.last = Math.max(this.last + 1, at);
    this.used.set(download, this.last);
  }

  /** @returns {Promise<Set<string>>} the downloads that are held */
  async present() {
    return new Set((await (await this.store.files()).keys()).map(({ url }) => url));
  }

  /**
   * The bytes of an entry; undefined where they aren't held, or are damaged.
   * @param {Entry} entry
   * @returns {Promise<Uint8Array | Blob | undefined>}
   */
  async read(entry) {
    const known = this.memory.get(entry.sha256);
    if (known) {
      this.memory.delete(entry.sha256);
      this.memory.set(entry.sha256, known);
      return known;
    }
    const timer = setTimeout(() => (this.isStuck = true), this.patience);
    try {
      return await this.readStored(entry);
    } finally {
      clearTimeout(timer);
      this.isStuck = false;
    }
  }

  /** @param {Entry} entry */
  async readStored(entry) {
    const files = await this.store.files();
    const response = await files.match(entry.download);
    if (!response) return undefined;
    if (entry.size > MOST_HASHED) {
      const blob = await response.blob();
      if (blob.size === entry.size) return blob;
    } else {
      const bytes = new Uint8Array(await response.arrayBuffer());
      if ((await sha256(bytes)) === entry.sha256) {
        this.remember(entry, bytes);
        return bytes;
      }
    }
    this.damaged();
    await files.delete(entry.download);
    return undefined;
  }

  /**
   * @param {Entry} entry
   * @returns {Promise<Uint8Array | undefined>} as `read`, in one piece
   */
  async bytes(entry) {
    const body = await this.read(entry);
    return body instanceof Blob ? new Uint8Array(await body.arrayBuffer()) : body;
  }

  /**
   * @param {Entry} entry
   * @param {Uint8Array} bytes
   */
  remember({ sha256: digest }, bytes) {
    if (bytes.length > MEMORY.one || this.memory.has(digest)) return;
    this.memory.set(digest, bytes);
    this.remembered += bytes.length;
    for (const [oldest, old] of this.memory) {
      if (this.remembered <= MEMORY.all) break;
      this.memory.delete(oldest);
      this.remembered -= old.length;
    }
  }

  /**
   * Keeps bytes that were found to be the entry's.
   * @param {Entry} entry
   * @param {Uint8Array} bytes
   */
  async keep(entry, bytes) {
    const headers = { "Content-Type": entry.ctype, "Content-Length": String(bytes.length) };
    await (await this.store.files()).put(entry.download, new Response(bytes, { headers }));
  }

  /** @param {Iterable<string>} downloads */
  async drop(downloads) {
    const files = await this.store.files();
    for (const download of downloads) {
      await files.delete(download);
      this.used.delete(download);
    }
  }

  /**
   * Fetches a file that a page asks for.
   * @param {Entry} entry
   * @returns {Promise<Uint8Array>}
   */
  fetchNow(entry) {
    const known = this.arriving.get(entry.download);
    if (known) return known;
    const arriving = (async () => {
      const turns = new Turns();
      try {
        const bytes = await fetchEntry(entry, turns.pause);
        // A full quota costs the next request a download.
        await this.keep(entry, bytes).catch(() => {});
        this.remember(entry, bytes);
        return bytes;
      } finally {
        turns.end();
        this.arriving.delete(entry.download);
      }
    })();
    this.arriving.set(entry.download, arriving);
    return arriving;
  }
}

/**
 * Downloads an entry's file, and checks it.
 * @param {Entry} entry
 * @param {() => Promise<void>} pause
 * @param {{priority?: string, tries?: number}} [how]
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
