import { sha256 } from "../protocol/digests.js";
import { wholeHeaders } from "./answers.js";

/** @typedef {import("../protocol/entries.js").Entry} Entry */

/** Bytes of files that are kept in memory, and of the largest of them. */
const MEMORY = { all: 10 << 20, one: 2 << 20 };
/** Bytes above which only a file's length is looked at when it is read: its hash was right when it was kept. */
const MOST_HASHED = 32 << 20;

/** The files that are held: in Cache Storage, by their download URL, hashed before they are put there, and once in each life of the worker. */
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
    /** @type {Map<string, Promise<boolean>>} downloads whose files were found to be right, or are looked at */
    this.checked = new Map();
    /** @type {Set<string>} downloads whose stored responses have a URL of their own */
    this.owned = new Set();
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
   * What is held of an entry: bytes from memory, else the response just as it is stored; undefined where nothing is held, or it is damaged.
   * @param {Entry} entry
   * @returns {Promise<Uint8Array | Response | undefined>}
   */
  async read(entry) {
    const known = this.known(entry);
    if (known) return known;
    const timer = setTimeout(() => (this.isStuck = true), this.patience);
    try {
      return await this.readStored(entry);
    } finally {
      clearTimeout(timer);
      this.isStuck = false;
    }
  }

  /** @param {Entry} entry */
  known({ sha256, download }) {
    // V8 keeps what it compiled beside a stored response that has the script's URL, and finds it there alone.
    const known = this.owned.has(download) ? undefined : this.memory.get(sha256);
    if (!known) return undefined;
    this.memory.delete(sha256);
    this.memory.set(sha256, known);
    return known;
  }

  /** @param {Entry} entry */
  async readStored(entry) {
    const { download } = entry;
    const isRight = await this.checks(entry);
    const found = isRight ? this.known(entry) ?? (await this.store.match(download)) : undefined;
    if (!found) this.checked.delete(download);
    return found;
  }

  /**
   * Looks at a file once in a life of the worker, and as often as it isn't there: of a page that names it, before it asks for it.
   * @param {Entry} entry
   * @returns {Promise<boolean>} as `check`
   */
  checks(entry) {
    const { download } = entry;
    const known = this.checked.get(download);
    if (known) return known;
    const checking = this.check(entry);
    this.checked.set(download, checking);
    const forgets = () => void this.checked.delete(download);
    checking.then((isRight) => isRight || forgets(), forgets);
    return checking;
  }

  /**
   * @param {Entry} entry
   * @returns {Promise<boolean>} whether it is held, with the right bytes
   */
  async check(entry) {
    const { download, size } = entry;
    const response = await this.store.match(download);
    if (!response) return false;
    if (response.url) this.owned.add(download);
    if (size > MOST_HASHED) {
      if ((await response.blob()).size === size) return true;
    } else {
      const bytes = new Uint8Array(await response.arrayBuffer());
      if ((await sha256(bytes)) === entry.sha256) {
        if (!response.url) this.remember(entry, bytes);
        return true;
      }
    }
    this.damaged();
    await (await this.store.files()).delete(download);
    this.owned.delete(download);
    return false;
  }

  /**
   * Looks at files anew when they are next read: a page put them there.
   * @param {string[]} downloads
   */
  forget(downloads) {
    for (const download of downloads) this.checked.delete(download);
  }

  /**
   * @param {Entry} entry
   * @returns {Promise<Uint8Array | undefined>} as `read`, in one piece
   */
  async bytes(entry) {
    const body = await this.read(entry);
    return body instanceof Response ? new Uint8Array(await body.arrayBuffer()) : body;
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
   * Keeps bytes that were found to be the entry's, with the headers of an answer: it can be handed on as it is.
   * @param {Entry} entry
   * @param {Uint8Array} bytes
   */
  async keep(entry, bytes) {
    await (await this.store.files()).put(entry.download, new Response(bytes, { headers: wholeHeaders(entry) }));
  }

  /** @param {Iterable<string>} downloads */
  async drop(downloads) {
    const files = await this.store.files();
    for (const download of downloads) {
      await files.delete(download);
      this.used.delete(download);
      this.checked.delete(download);
    }
  }
}
