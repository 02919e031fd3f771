import { matchesHost } from "../protocol/patterns.js";

/**
 * What `xcache web init` writes in front of the worker.
 * @typedef {{app: string, channel?: string, server?: string, fallback?: string, hosts?: string[], limit?: number, meteredLimit?: number,
 *   patience?: number, staleAfter?: number, goesBack?: boolean, root?: any}} Written
 *   `server`, `fallback`: base URLs, relative ones to the worker's own; `limit`: bytes of files; `meteredLimit`: bytes of a pack that
 *   is taken while bytes cost money (docs/protocol.md §11); `patience`: milliseconds that a page waits for this worker's answer;
 *   `staleAfter`: days without an answer to a poll after which the network is asked first; 0: never; `goesBack`: whether a version whose pages
 *   fail is left; `root`: the envelope of the root that the site was built with (docs/protocol.md §14)
 */

/** What `hosts` may have: a name, or all below one. */
const HOST = /^(\*\.)?([^*/:\s]+|\[[\da-f:.]+\])$/i;

/** Hosts whose leave is remembered. */
const MOST_KNOWN = 64;
/** A page doesn't wait for larger files that are missing: from the network, the first bytes come before the last ones. */
const LARGEST = 1 << 20;
/** Bytes of a file that is fetched whole for a part of it, and that cost a metered network little. */
const SMALL = 128 << 10;
/** Bytes of an answer of the origin, or of another document. */
export const DOCUMENT_LIMIT = 64 << 20;
/** Milliseconds for which what left the manifest is kept, and longer where entries wait that could use it as their base. */
export const DAY = 24 * 3600e3;
export const ASIDE_TIME = DAY;
export const BACKLOG_TIME = 7 * ASIDE_TIME;

/**
 * Whether a worker is ours alone: another one of the site's imports this one, and decides for itself when it takes over and goes.
 * @param {string} script the worker's own URL
 */
export const isAlone = (script) => new URL(script).pathname.endsWith("/xcache-sw.js");

/**
 * Whether two times are close: a clock that was set back in between keeps nothing for ever.
 * @param {number} age milliseconds
 * @param {number} at
 * @param {number} now
 */
export const isWithin = (age, at, now) => Math.abs(now - at) < age;

/** Whether `only-if-cached` is kept to: WebKit asks the network for what its cache hasn't (2.50). */
export const asksCacheAlone = () => /Chrome|Firefox/.test(navigator.userAgent);

/** Whether bytes cost the user money, as far as the browser says. */
export function isMetered() {
  const { connection } = /** @type {any} */ (navigator);
  return connection?.saveData === true || connection?.type === "cellular";
}

export class Settings {
  /**
   * @param {Written} written
   * @param {string} script the worker's own URL
   * @param {string} scope
   */
  constructor(written, script, scope) {
    /** @param {string} url */
    const base = (url) => new URL(url, script).href.replace(/\/+$/, "");
    this.app = written.app;
    this.channel = written.channel ?? "online";
    this.server = base(written.server ?? "/");
    this.fallback = written.fallback ? base(written.fallback) : undefined;
    this.script = script;
    this.origin = new URL(script).origin;
    /** What pages of a version on trial run besides, which the worker has. */
    this.trial = new URL("xcache-trial.js", script).href;
    this.isAlone = isAlone(script);
    this.scope = scope;
    /** @type {Map<string, boolean>} whether hosts are allowed, by how they stand in URLs */
    this.known = new Map();
    this.hosts = [new URL(script).hostname, ...(written.hosts ?? [])].map((host) => host.toLowerCase());
    // Settings that nobody but `web init` should write: a worker with wrong ones isn't installed.
    for (const host of this.hosts) if (!HOST.test(host)) throw new Error(`xcache: no host: ${host}`);
    this.limit = written.limit ?? 100e6;
    this.meteredLimit = written.meteredLimit ?? 256 << 10;
    this.patience = written.patience ?? 3000;
    this.staleAfter = written.staleAfter ?? 30;
    this.goesBack = written.goesBack === true;
    this.root = written.root;
    this.storeName = `xcache ${this.app} ${this.channel} ${new URL(scope).pathname}`;
  }

  get query() {
    return `app=${this.app}&channel=${this.channel}`;
  }

  /**
   * Where the copy has one of the channel's documents, or another server by the same path.
   * @param {string} document
   * @param {string} [server]
   */
  mirror(document, server = this.fallback) {
    const space = this.channel === "online" ? "xcache" : `xcache_${this.channel}`;
    return `${server}/${space}/${this.app}/${document}`;
  }

  /**
   * Whether a page waits until a listed file that is missing is here.
   * @param {number} size
   * @param {boolean} isPart whether it asks for a part
   */
  waitsFor(size, isPart) {
    const largest = isMetered() ? Math.min(LARGEST, Math.max(SMALL, this.meteredLimit)) : LARGEST;
    return size <= (isPart ? Math.min(SMALL, largest) : largest);
  }

  /**
   * Whether the worker may touch a URL.
   * @param {string} url
   */
  allows(url) {
    // A manifest has thousands of URLs of few hosts.
    const place = url.split("/", 3).join("/");
    let isAllowed = this.known.get(place);
    if (isAllowed === undefined) {
      const { hostname } = new URL(url);
      isAllowed = this.hosts.some((pattern) => matchesHost(pattern, hostname));
      if (this.known.size < MOST_KNOWN) this.known.set(place, isAllowed);
    }
    return isAllowed;
  }
}
