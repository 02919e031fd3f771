import { canonical } from "../protocol/json.js";
import { matchKey, withoutQuery } from "../protocol/urls.js";
import { after } from "../protocol/turns.js";
import { headOf } from "./answers.js";
import { background } from "./background.js";
import { serverTime } from "./clock.js";
import { Files } from "./files.js";
import { NO_POLICY, isBypassed, isKilled, readPolicy } from "./policy.js";
import { NO_PREFETCH, prefetchRequests, readPrefetch } from "./prefetch.js";
import { followedPrefetch } from "./rollouts.js";
import { ASIDE_TIME, DAY, isWithin } from "./settings.js";
import { REMOVAL } from "./store.js";
import { Tally } from "./tally.js";

/** @typedef {import("../protocol/entries.js").Entry} Entry */
/** @typedef {import("./store.js").Aside} Aside */
/** @typedef {import("./store.js").Kept} Kept */
/** @typedef {import("./store.js").Manifest} Manifest */
/** @typedef {import("./store.js").Page} Page */

/** Milliseconds for which a prefetched answer waits for the page that it is for. */
const PREFETCH_TIME = 60_000;
/** Milliseconds in which a page comes up. */
const PAGE_TIME = 20_000;
/** Failures in a row after which a page is the network's, and pages that are counted. */
const MOST_FAILURES = 2;
const MOST_UNWELL = 256;
/** Failures that are told of at most, by one life of the worker. */
const MOST_REPORTS = 16;
/** @type {Manifest} */
export const NO_MANIFEST = { version: "0", digest: "", map: new Map() };

/** Milliseconds from a file that a page asked for to the look at the disk limit. */
const TRIM_PAUSE = 1000;
const LATE = Symbol("late");
/** How many times as long as a page waits for an answer of ours it is waited for where the network has none. */
const LAST_WAIT = 10;
/** Characters from which V8 keeps what it compiled of a script, and scripts whose stored responses wait for that. */
const LEAST_COMPILED = 1024;
const MOST_COMPILED = 256;

/** Bytes of a document that are looked through for what it names, and names that are looked at. */
const MOST_READ = 1 << 18;
const MOST_READIED = 64;

/** How a request is answered: `make` gives undefined where the network is to answer; `patience`: milliseconds that it may take.
 * @typedef {{make: () => Promise<Response | undefined>, patience: number}} Plan */

/** What is held, and what pages are answered of it. Whatever goes wrong here, a page gets the network. */
export class Runtime {
  /**
   * @param {import("./settings.js").Settings} settings
   * @param {import("./store.js").Store} store
   */
  constructor(settings, store) {
    this.settings = settings;
    this.store = store;
    this.files = new Files(store, settings.patience);
    this.manifest = NO_MANIFEST;
    /** @type {Map<string, string>} the URLs that are listed, by their match keys */
    this.keys = new Map();
    /** @type {import("./polling.js").Saved | undefined} */
    this.poll = undefined;
    this.policy = NO_POLICY;
    this.prefetch = NO_PREFETCH;
    /** The prefetch config that goes along with the candidate of a rollout. */
    this.candidatePrefetch = NO_PREFETCH;
    /** @type {any} the same as it came */
    this.candidateDocument = undefined;
    /** @type {Map<string, Aside[]>} what left the manifest, by match key */
    this.aside = new Map();
    /** The newest version that a rollback made; 0: none. */
    this.rollback = 0;
    /** @type {Map<string, Page>} pages by the ids of their clients */
    this.pages = new Map();
    /** @type {Set<string>} URLs whose files wait for a line that costs nothing */
    this.backlog = new Set();
    /** @type {Set<string>} downloads of files that pages got from the network, once: what doesn't fit would be fetched again and again */
    this.filled = new Set();
    /** @type {Map<string, number>} how often pages, by their addresses without query, didn't come up in a row */
    this.health = new Map();
    /** Whether what is kept was read; until then nothing can be said of a request at once. */
    this.isLoaded = false;
    /** Whether that takes longer than a page may wait: until it ends, pages ask the network at once, too. */
    this.isLate = false;
    /** Whether a look at the disk limit is due. */
    this.isTrimming = false;
    /** Whether this worker removed itself. */
    this.isOver = false;
    /** Whether the browser asks for pages while it starts a stopped worker. */
    this.preloads = false;
    /** @type {{method: string, url: string, body?: string, client: string, at: number, answer: Promise<Response | undefined>,
     * cookies: Promise<string>}[]} */
    this.prefetched = [];
    this.counts = { local: 0, passed: 0, failed: 0, late: 0, bytes: 0, prefetched: 0 };
    this.tally = new Tally();
    /** @type {{download: string, count: number} | undefined} a pack that was begun, how often */
    this.begun = undefined;
    /** @type {import("./quota.js").Full | undefined} a version that there was no room for */
    this.full = undefined;
    /** @type {import("./rollouts.js").Rollout} */
    this.rollout = {};
    /** When a request last came. */
    this.lastRequest = 0;
    /** How many waits in a row ended while pages still asked. */
    this.restless = 0;
    /** @type {Map<string, [string, string]>} scripts whose stored responses have no URL: this and their entity tags, by download */
    this.scripts = new Map();
    /** @type {Set<string>} listed URLs whose files the browser's own cache had */
    this.cached = new Set();
    /** @type {Set<string>} failures that the origin was told */
    this.told = new Set();
    this.files.damaged = () => this.tally.add("damaged");
    this.loading = this.load();
  }

  /**
   * @param {Kept} kept
   * @throws TypeError where it isn't what was kept
   */
  take(kept) {
    this.poll = kept.poll;
    this.policy = readPolicy(kept.policy) ?? NO_POLICY;
    this.prefetch = readPrefetch(kept.prefetch) ?? NO_PREFETCH;
    this.candidatePrefetch = readPrefetch(kept.candidatePrefetch) ?? NO_PREFETCH;
    this.candidateDocument = kept.candidatePrefetch;
    this.hold(kept.manifest ?? NO_MANIFEST);
    this.aside = new Map([...(kept.aside ?? [])].map(([key, list]) => [key, list.filter(({ entry }) => entry.download)]));
    this.rollback = kept.rollback ?? 0;
    this.health = new Map(kept.health);
    this.pages = new Map([...(kept.pages ?? []), ...this.pages]);
    this.backlog = new Set(kept.backlog);
    this.begun = kept.begun;
    this.full = kept.full;
    this.rollout = { ...kept.rollout };
    this.tally = new Tally(kept.tally?.counts && kept.tally);
    for (const [download, at] of [...(kept.used ?? [])].sort(([, a], [, b]) => a - b)) this.files.uses(download, at);
  }

  /** As if nothing were held, but for what the operator switched, where what is kept isn't what was. */
  begin() {
    this.hold(NO_MANIFEST);
    this.aside = new Map();
    this.backlog = new Set();
    this.health = new Map();
    this.tally = new Tally();
  }

  async load() {
    this.isLoaded = this.isLate = false;
    const timer = setTimeout(() => (this.isLate = true), this.settings.patience);
    // A store that can't be read is one that holds nothing.
    const kept = await this.store.read().catch(() => undefined);
    try {
      if (kept) this.take(kept);
    } catch {
      this.begin();
    }
    clearTimeout(timer);
    this.isLoaded = true;
    this.isLate = false;
  }

  /** The time by which what a policy names ends, in milliseconds since 1970. */
  time() {
    return serverTime(this.poll?.clock, Date.now());
  }

  /** @param {Manifest} manifest */
  hold(manifest) {
    this.keys = new Map([...manifest.map].map(([url, { download }]) => [matchKey(url), download && url]));
    this.manifest = manifest;
    // A page that is listed would be asked for in vain. A worker of the site's own decides for itself; of WebKit's preload nothing is known.
    this.preloads = this.settings.isAlone && /Chrome|Firefox/.test(navigator.userAgent) &&
      ![...manifest.map.values()].some(({ ctype }) => /html/.test(ctype));
  }

  /**
   * Where a URL is listed; a page without its query, too.
   * @param {string} url
   * @param {boolean} isPage
   * @returns {string | undefined} the URL as it is listed
   */
  listed(url, isPage) {
    const key = matchKey(url);
    return this.keys.get(key) ?? (isPage ? this.keys.get(withoutQuery(key)) : undefined);
  }

  /**
   * What a page that was opened from an older version may still get.
   * @param {string} url
   * @param {Page | undefined} page
   * @returns {Entry | undefined}
   */
  setAside(url, page) {
    if (!page || page.version === this.manifest.version) return undefined;
    // A rollback since the page was opened: what it took back isn't given any more.
    if (+page.version < this.rollback && this.rollback <= +this.manifest.version) return undefined;
    const now = Date.now();
    // The manifest version in a download is the one that brought the file in.
    const fitting = (this.aside.get(matchKey(url)) ?? [])
      .filter(({ entry, last, at, ended }) =>
        !ended && last >= +page.version && +entry.download.split("/").slice(-4)[0] <= +page.version && isWithin(ASIDE_TIME, at, now))
      .sort((a, b) => a.last - b.last);
    return fitting[0]?.entry;
  }

  // MARK: Requests

  /**
   * The answer to a request; undefined where the browser is to go on as if there were no worker.
   * @param {FetchEvent} event
   * @returns {Promise<Response> | undefined}
   */
  answer(event) {
    const { request } = event;
    this.lastRequest = performance.now();
    this.forgetPrefetched(event);
    if (this.isOver || !this.isOurs(request)) return undefined;
    if (this.isLoaded) {
      this.opened(event);
      const plan = this.plan(event);
      if (plan) return this.guarded(event, plan);
      this.passes();
      // What was asked for and isn't taken would be asked for again.
      return this.preloads && request.mode === "navigate" ? this.network(event) : undefined;
    }
    const make = async () => {
      await this.loading;
      this.opened(event);
      return this.plan(event)?.make();
    };
    return this.guarded(event, { make, patience: this.settings.patience });
  }

  /**
   * Whether a request may be answered here, as far as it says itself.
   * @param {Request} request
   */
  isOurs(request) {
    const { method, mode, credentials, headers, url } = request;
    if (method !== "GET" && method !== "HEAD" && (method !== "POST" || this.prefetched.length === 0)) return false;
    if (!/^https?:/.test(url) || !this.settings.allows(url) || headers.has("authorization")) return false;
    if (request.cache === "only-if-cached" && mode !== "same-origin") return false;
    return !(mode === "cors" && credentials === "include" && new URL(url).origin !== this.settings.origin);
  }

  /**
   * How a request is answered; undefined: by the network.
   * @param {FetchEvent} event
   * @returns {Plan | undefined}
   */
  plan(event) {
    const { request, clientId } = event;
    if (this.isOver || isKilled(this.policy, this.time())) return undefined;
    const isPage = request.mode === "navigate";
    const page = isPage ? undefined : this.pages.get(clientId);
    const pageURL = isPage ? request.url : page?.url;
    if (this.policy.bypass.length + this.health.size > 0 || this.isStale() || isFresh(request)) {
      if (pageURL === undefined) return { make: () => this.answerUnknown(event), patience: this.settings.patience };
      return this.planOf(pageURL, event, clientId, isPage, page);
    }
    return this.planFor(request, clientId, isPage, page);
  }

  /**
   * As `planFor`, for a page that may be left alone: nothing of a bypassed one, and of one that didn't come up what the network hasn't.
   * @param {string} pageURL
   * @param {FetchEvent} event
   * @param {string} client
   * @param {boolean} isPage
   * @param {Page | undefined} page
   * @returns {Plan | undefined}
   */
  planOf(pageURL, event, client, isPage, page) {
    if (isBypassed(this.policy, pageURL, this.time())) return undefined;
    const { request } = event;
    const plan = this.planFor(request, client, isPage, page);
    if (!plan || !(this.isUnwell(pageURL) || this.isStale() || isFresh(request))) return plan;
    return { make: () => this.networkFirst(event, plan), patience: PREFETCH_TIME };
  }

  /**
   * The network's answer, or this worker's where there is none in time.
   * @param {FetchEvent} event
   * @param {Plan} plan
   */
  async networkFirst(event, { make, patience }) {
    const network = this.network(event);
    // Who asks past all caches waits for the server, and for its failure.
    const wait = isFresh(event.request) ? LAST_WAIT * patience : patience;
    const first = await Promise.race([network, after(wait)]).catch(() => undefined);
    if (first) return first;
    const own = make();
    return Promise.race([own.then((response) => response ?? network), network.catch(() => own)]);
  }

  /**
   * Whether polls have failed for so long that the site is asked first. Both times are of polls: a clock that was set makes nothing stale
   * as long as there is an answer.
   */
  isStale() {
    const { good, bad } = this.poll ?? {};
    return !!good && !!bad && this.settings.staleAfter > 0 && !isWithin(this.settings.staleAfter * DAY, good, bad);
  }

  /**
   * Whether a page failed to come up.
   * @param {string} page
   */
  isUnwell(page) {
    return (this.health.get(withoutQuery(page)) ?? 0) >= MOST_FAILURES;
  }

  /**
   * Whether a page and what it asks for are the network's: by the policy, or because it didn't come up.
   * @param {string} page
   */
  isLeftAlone(page) {
    return this.isUnwell(page) || isBypassed(this.policy, page, this.time());
  }

  /**
   * A page that this worker hasn't seen: its address decides whether it is left alone.
   * @param {FetchEvent} event
   */
  async answerUnknown(event) {
    const { request, clientId } = event;
    const client = await clients.get(clientId);
    return this.planOf(client?.url ?? request.url, event, clientId, false, undefined)?.make();
  }

  /**
   * @param {Request} request
   * @param {string} client
   * @param {boolean} isPage
   * @param {Page | undefined} page
   * @returns {Plan | undefined}
   */
  planFor(request, client, isPage, page) {
    const handed = this.handedOver(request, client);
    // It is the page's own request on its way: a second one wouldn't be faster.
    if (handed) return { make: handed, patience: PREFETCH_TIME };
    if (request.method === "POST") return undefined;
    const url = this.listed(request.url, isPage);
    const { patience } = this.settings;
    const now = url === undefined ? undefined : this.answerOf(request, this.manifest.map.get(url), url);
    // "What was listed for an open page, and is still here, answers first."
    const old = this.setAside(request.url, page);
    const before = this.answerOf(request, old, now && null);
    if (before && now) return { make: async () => (await before()) ?? now(), patience };
    const make = before ?? now;
    return make && { make, patience };
  }

  /**
   * @param {Request} request
   * @param {Entry | undefined} entry
   * @param {string | null | undefined} url as it is listed; nothing: it was set aside; null: where it isn't held, it isn't fetched
   */
  answerOf(request, entry, url) {
    // What could never be kept would be fetched for each request.
    const head = entry && entry.size <= this.settings.limit && headOf(request, entry);
    return head ? () => this.local(request, entry, head, url) : undefined;
  }

  /**
   * @param {Request} request
   * @param {Entry} entry
   * @param {import("./answers.js").Head} head
   * @param {string | null | undefined} url as in `answerOf`
   * @returns {Promise<Response | undefined>}
   */
  async local(request, entry, { status, headers, start, end }, url) {
    const isHead = request.method === "HEAD" || status === 304 || status === 416;
    this.files.uses(entry.download);
    const held = isHead ? null : (await this.files.read(entry)) ?? (await this.missing(entry, url, status === 206));
    if (held === undefined) return undefined;
    this.counts.local += 1;
    this.tally.add("local");
    if (!held) return new Response(null, { status, headers });
    this.counts.bytes += end - start;
    const isPart = start > 0 || end < entry.size;
    const own = request.url.split("#")[0];
    if (!isPart && !this.files.owned.has(entry.download)) this.compiles(entry, own);
    if (request.mode === "navigate" && held instanceof Uint8Array) this.readies(held, own);
    if (!(held instanceof Response)) return new Response(isPart ? held.slice(start, end) : held, { status, headers });
    if (isPart) return new Response((await held.blob()).slice(start, end), { status, headers });
    // Just as it is stored, it has what V8 compiled of it. One of an older worker lacks the headers, one of another URL would be that to the page.
    const isReady = held.headers.get("etag") === headers.get("etag") && (!held.url || held.url === own);
    return isReady ? held : new Response(held.body, { status, headers });
  }

  /**
   * Begins to check the scripts and styles that a page's document names, while the browser still reads it.
   * @param {Uint8Array} document
   * @param {string} base
   */
  readies(document, base) {
    const text = new TextDecoder().decode(document.subarray(0, MOST_READ));
    const names = [...text.matchAll(/\s(?:src|href)\s*=\s*["']?([^"'\s>]+)/gi)].slice(0, MOST_READIED);
    for (const [, name] of names) {
      let url;
      try {
        url = this.listed(new URL(name, base).href.split("#")[0], false);
      } catch {}
      const entry = url ? this.manifest.map.get(url) : undefined;
      if (entry && /javascript|css/.test(entry.ctype)) this.files.checks(entry).catch(() => {});
    }
  }

  /**
   * Takes note of a script that would be compiled anew each time: only a page can store it so that it has its URL.
   * @param {Entry} entry
   * @param {string} url
   */
  compiles({ ctype, size, download, md5 }, url) {
    if (size >= LEAST_COMPILED && /javascript/.test(ctype) && this.scripts.size < MOST_COMPILED) this.scripts.set(download, [url, `"${md5}"`]);
  }

  /**
   * Takes note of a script that a page ran before its version was held.
   * @param {string} url
   */
  ran(url) {
    const entry = this.manifest.map.get(this.listed(url, false) ?? "");
    if (entry) this.compiles(entry, url);
  }

  /**
   * Takes note of scripts that a page has stored by their own URLs. They are looked at anew when they are next read.
   * @param {string[]} downloads
   */
  stored(downloads) {
    // They were asked for, once more, by the page that stored them.
    for (const download of downloads) this.scripts.delete(download);
    this.files.forget(downloads);
  }

  /**
   * A file that isn't here: fetched while the page waits, or, if it is large, once there is time; the network answers the page then.
   * @param {Entry} entry
   * @param {string | null | undefined} url as in `answerOf`
   * @param {boolean} isPart
   */
  async missing(entry, url, isPart) {
    if (url === null) return undefined;
    // Nobody else has what was set aside.
    if (url === undefined || this.settings.waitsFor(entry.size, isPart)) return this.fetchNow(entry, url);
    if (!this.filled.has(entry.download)) this.backlog.add(url);
    this.filled.add(entry.download);
    return undefined;
  }

  /**
   * @param {Entry} entry
   * @param {string | undefined} url as it is listed; nothing: it was set aside, and its download is what still has it
   */
  async fetchNow(entry, url) {
    try {
      const bytes = await background().fetchNow(this, entry, url);
      void this.trimSoon();
      return bytes;
    } catch (error) {
      if (url) this.report(/** @type {any} */ (error).reason ?? "download", url, this.manifest.version);
      throw error;
    }
  }

  /** Keeps to the disk limit after files came for pages: once for all that come meanwhile. */
  async trimSoon() {
    if (this.isTrimming) return;
    this.isTrimming = true;
    await after(TRIM_PAUSE);
    this.isTrimming = false;
    await background().trim(this).catch(() => {});
  }

  /**
   * An answer of ours, or the network's: where ours fails, at once; where it is late, whichever comes first.
   * @param {FetchEvent} event
   * @param {Plan} plan
   * @returns {Promise<Response>}
   */
  async guarded(event, { make, patience }) {
    // The kill switch may come while a file is fetched.
    const own = make().then((response) => (isKilled(this.policy, this.time()) ? undefined : response)).catch(() => {
      this.counts.failed += 1;
      return undefined;
    });
    // Where the store is stuck, pages wait for it once.
    const first = await Promise.race([own, after(this.isLate || this.files.isStuck ? 0 : patience, LATE)]);
    if (first instanceof Response) return first;
    if (first === undefined) {
      this.passes();
      return this.network(event);
    }
    this.counts.late += 1;
    const network = this.network(event);
    const either = own.then((response) => response ?? network);
    // Without a network there is nothing but ours, which isn't waited for without end either.
    return Promise.race([network, either]).catch(() => Promise.race([either, after(LAST_WAIT * patience).then(() => network)]));
  }

  passes() {
    this.counts.passed += 1;
    this.tally.add("passed");
  }

  /** @param {{request: Request, preloadResponse?: Promise<Response | undefined>}} event */
  async network({ request, preloadResponse }) {
    try {
      const response = (await preloadResponse) ?? (await fetch(request));
      this.tally.status(response);
      return response;
    } catch (error) {
      this.tally.status();
      throw error;
    }
  }

  // MARK: Pages

  /**
   * Takes note of a page that opens, and sends what it will ask for; of a web worker that begins, too.
   * @param {FetchEvent} event
   */
  opened(event) {
    const { request, clientId, resultingClientId } = event;
    if (!resultingClientId) return;
    if (request.mode !== "navigate") {
      // A web worker is of its page's version.
      const page = this.pages.get(clientId);
      if (page) this.pages.set(resultingClientId, page);
      return;
    }
    const now = Date.now();
    for (const page of this.pages.values()) if (withoutQuery(page.url) === withoutQuery(request.url)) this.late(page);
    const isAlone = isKilled(this.policy, this.time()) || this.isLeftAlone(request.url);
    const isLocal = !isAlone && this.listed(request.url, true) !== undefined;
    this.pages.set(resultingClientId, { url: request.url, version: this.manifest.version, at: now, isLocal });
    event.waitUntil(this.store.write({ pages: this.pages }).catch(() => {}));
    if (isAlone) return;
    for (const ask of prefetchRequests(followedPrefetch(this), request.url)) {
      if (!this.settings.allows(ask.url)) continue;
      const headers = ask.body === undefined ? undefined : { "Content-Type": "application/json" };
      // Cookies go along where the page's own request would send them by itself.
      const cookies = cookiesNow();
      const answer = fetch(ask.url, { method: ask.method, body: ask.body, headers, credentials: "same-origin", mode: "cors" })
        .catch(() => undefined);
      this.prefetched.push({ ...ask, client: resultingClientId, at: now, answer, cookies });
      event.waitUntil(answer);
    }
    this.prefetched = this.prefetched.filter(({ at }) => now - at < PREFETCH_TIME);
  }

  /**
   * Takes note that a page which was opened from here came up, or how it failed; its first word counts. One that fails twice in a row is
   * the network's until the next version.
   * @param {Page | undefined} page
   * @param {"page-failed" | "script-failed" | false} failure
   */
  cameUp(page, failure) {
    if (!page || page.isOver) return;
    page.isOver = true;
    const key = withoutQuery(page.url);
    const isSame = page.version === this.manifest.version;
    // One that came up from the network is tried from here again.
    if (!failure && isSame) this.health.delete(key);
    if (!failure || !page.isLocal) return;
    this.tally.add(failure);
    const count = this.health.get(key) ?? 0;
    if (!isSame || count >= MOST_FAILURES || this.health.size >= MOST_UNWELL) return;
    this.health.set(key, count + 1);
    page.isFailed = true;
  }

  /**
   * Takes a failure back: the page shows what it is for all the same.
   * @param {Page | undefined} page
   */
  rendered(page) {
    if (page?.isFailed && page.version === this.manifest.version) this.health.delete(withoutQuery(page.url));
  }

  /**
   * One that said that it began, and then nothing.
   * @param {Page} page
   */
  late(page) {
    if (page.began && Date.now() - page.began > PAGE_TIME) this.cameUp(page, "page-failed");
  }

  /**
   * One that is left in time says nothing of the version.
   * @param {Page} page
   */
  left(page) {
    this.late(page);
    page.isOver = true;
  }

  /**
   * What may sign somebody in or out ends what was asked for before: cookies that scripts can't see say nothing of a change.
   * @param {FetchEvent} event
   */
  forgetPrefetched({ request: { method, url, mode, headers, credentials }, clientId }) {
    if (this.prefetched.length === 0) return;
    /** @param {typeof this.prefetched[number]} ask */
    const isOwn = (ask) => ask.client === clientId && ask.method === method && ask.url === url.split("#")[0];
    const isSafe = method === "GET" || method === "HEAD";
    if ((!isSafe && !this.prefetched.some(isOwn)) || (mode === "navigate" && this.listed(url, true) === undefined)) this.prefetched = [];
    // Who asks with a token, or without cookies, is somebody else: the answer is nobody's from here on.
    else if (headers.has("authorization") || credentials === "omit") this.prefetched = this.prefetched.filter((ask) => !isOwn(ask));
  }

  /**
   * The answer to a request that was sent when its page opened, once.
   * @param {Request} request
   * @param {string} client
   * @returns {(() => Promise<Response | undefined>) | undefined}
   */
  handedOver(request, client) {
    // A page that wants no cookies wants no answer that was asked for with them.
    if (request.mode === "navigate" || request.credentials === "omit" || this.prefetched.length === 0) return undefined;
    const url = request.url.split("#")[0];
    const fits = (/** @type {typeof this.prefetched[number]} */ ask) =>
      ask.client === client && ask.method === request.method && ask.url === url && Date.now() - ask.at < PREFETCH_TIME;
    const candidates = this.prefetched.filter(fits);
    // A header of the page's own may be part of the question.
    const isPlain = [...request.headers.keys()].every((name) => /^(accept|accept-language|content-type|user-agent|sec-.*|referer)$/.test(name));
    if (!isPlain) this.prefetched = this.prefetched.filter((ask) => !candidates.includes(ask));
    if (candidates.length === 0 || !isPlain) return undefined;
    return async () => {
      const body = request.method === "POST" ? await request.clone().text() : "";
      const ask = candidates.find((ask) => this.prefetched.includes(ask) && isSameBody(ask.body ?? "", body));
      if (!ask) return undefined;
      this.prefetched.splice(this.prefetched.indexOf(ask), 1);
      const isSameUser = async () => (await ask.cookies) === (await cookiesNow());
      // Who asks while it is on its way, too.
      if (!(await isSameUser())) return undefined;
      const response = await ask.answer;
      // One that was led elsewhere is for a page that lets itself be led.
      if (!response?.ok || (response.redirected && request.redirect !== "follow")) return undefined;
      if (!isSameQuestion(request, response) || !(await isSameUser())) return undefined;
      this.counts.prefetched += 1;
      return response;
    };
  }

  // MARK: Reports

  /**
   * Tells the origin of a failure, once: no page and no update waits for it.
   * @param {string} reason
   * @param {string} url
   * @param {string} version
   */
  report(reason, url, version) {
    const key = `${version} ${url}`;
    if (this.isOver || this.told.size >= MOST_REPORTS || this.told.has(key) || version === "0") return;
    this.told.add(key);
    this.post({ reason, url, version });
  }

  /** @param {object} document */
  post(document) {
    const { server, query } = this.settings;
    // A text, which needs no leave of another origin.
    fetch(`${server}/report?${query}`, { method: "POST", body: JSON.stringify(document), credentials: "omit" }).catch(() => {});
  }

  // MARK: The end

  /** Forgets everything: every page goes to the network from here on. */
  remove() {
    this.isOver = true;
    this.take({});
    // A store that is stuck keeps no worker alive.
    return Promise.race([this.store.remove().catch(() => {}), after(REMOVAL)]);
  }
}

/**
 * @param {string} a
 * @param {string} b
 */
function isSameBody(a, b) {
  if (a === b) return true;
  try {
    return canonical(JSON.parse(a)) === canonical(JSON.parse(b));
  } catch {
    return false;
  }
}

/**
 * The cookies that scripts of the site may see; a browser without a way to ask gives none.
 * @returns {Promise<string>}
 */
async function cookiesNow() {
  const all = await /** @type {any} */ (self).cookieStore?.getAll().catch(() => []);
  return (all ?? []).map((/** @type {any} */ { name, value }) => `${name}=${value}`).sort().join(";");
}

/**
 * Whether what a page's request says of itself is no part of what an answer depends on.
 * @param {Request} request
 * @param {Response} response to the same request, without headers of the page's
 */
function isSameQuestion({ headers }, response) {
  const own = [...headers].filter(([name, value]) => /^accept/.test(name) && value !== "*/*").map(([name]) => name);
  // Of another host's answer it can't be seen.
  const vary = response.type === "cors" ? "*" : response.headers.get("vary") ?? "";
  return own.length === 0 || !(vary.includes("*") || own.some((name) => vary.toLowerCase().split(/\s*,\s*/).includes(name)));
}

/**
 * Whether a script asks past all caches, to see whether something is new; what browsers ask so on a reload has a destination.
 * @param {Request} request
 */
const isFresh = ({ cache, destination }) => destination === "" && /^(no-store|no-cache|reload)$/.test(cache);

/** @type {Clients} */
const clients = /** @type {any} */ (self).clients;
