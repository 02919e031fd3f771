import { fallbackOf, routesOf } from "../protocol/fallbacks.js";
import { canonical } from "../protocol/json.js";
import { matchKey, withoutQuery } from "../protocol/urls.js";
import { after } from "../protocol/turns.js";
import { headOf } from "./answers.js";
import { background } from "./background.js";
import { serverTime } from "./clock.js";
import { Files } from "./files.js";
import { isTested, isUp } from "./healing.js";
import { NO_POLICY, isBypassed, isKilled, readPolicy } from "./policy.js";
import { NO_PREFETCH, prefetchRequests, readPrefetch } from "./prefetch.js";
import { followedPrefetch } from "./rollouts.js";
import { isOverdue } from "./missed.js";
import { DAY, isWithin } from "./settings.js";
import { REMOVAL, isOf } from "./store.js";
import { Tally } from "./tally.js";
import { either } from "./ways.js";

/** @typedef {import("../protocol/entries.js").Entry} Entry */
/** @typedef {import("./store.js").Aside} Aside */
/** @typedef {import("./store.js").Kept} Kept */
/** @typedef {import("./store.js").Manifest} Manifest */
/** @typedef {import("./store.js").Page} Page */
/** @typedef {import("./store.js").Why} Why */

/** Milliseconds for which a prefetched answer waits for the page that it is for. */
const PREFETCH_TIME = 60_000;
/** Milliseconds in which a page comes up, and looks at one of a version on trial. */
const PAGE_TIME = 20_000;
const LATE_LOOKS = 9;
/** Failures in a row after which a page is the network's, and pages that are counted. */
const MOST_FAILURES = 2;
const MOST_UNWELL = 256;
/** Milliseconds before such a page is tried from here again, the first time and at most; each further time waits twice as long. */
const RETRIES = [3600e3, DAY];
/** Milliseconds for which files don't wait for a network that was late. */
const LATE_TIME = 60_000;
/** Failures that are told of at most, by one life of the worker. */
const MOST_REPORTS = 16;
/** A header `Accept` that takes pages. */
const WANTS_HTML = /(^|,)[ \t]*(text\/(html|\*)|application\/xhtml\+xml|\*\/\*)[ \t]*(,|;|$)/i;
/** @type {Manifest} */
export const NO_MANIFEST = { version: "0", digest: "", map: new Map() };

/** Milliseconds from a file that a page asked for to the look at the disk limit. */
const TRIM_PAUSE = 1000;
/** How many times as long as a page waits for the store it is waited for where there is nothing else. */
const LAST_WAIT = 10;
/** Characters from which V8 keeps what it compiled of a script, and scripts whose stored responses wait for that. */
const LEAST_COMPILED = 1024;
const MOST_COMPILED = 256;

/** Bytes of a document that are looked through for what it names, and names that are looked at. */
const MOST_READ = 1 << 18;
const MOST_READIED = 64;

/** Ranges of files of one page whose source is remembered. */
const MOST_PARTS = 64;

/** @typedef {() => Promise<Response>} Plan how a request is answered */

/**
 * What is held, and what pages are answered of it.
 *
 * Who answers is decided once for a page, when its document is, and remembered with it (`Page.from`):
 *
 * - A page of the device gets the bytes of the version that it was opened at, for each listed file: held or set aside, else by the page's
 *   URL or the download URL, whichever first gives the right ones. The network's answer is passed on once all of these have failed.
 * - A page of the network gets its files from there. The device stands in only where the network fails, and only for a file whose name
 *   has a hash, which is the same in every version: a page of two versions is worse than one that lacks a file.
 *
 * Whatever goes wrong here, a page gets the network.
 */
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
    /** @type {import("../protocol/fallbacks.js").Route[] | undefined} what pages answer that isn't listed, once it is asked for */
    this.routes = undefined;
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
    /** @type {Map<string, import("./store.js").Health>} pages, by their addresses without query, that didn't come up */
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
    /** @type {import("./site.js").Site} */
    this.site = {};
    /** @type {import("./rollouts.js").Rollout} */
    this.rollout = {};
    /** @type {import("./trusting.js").Trusted | undefined} what is kept of who signs what, where there is a root */
    this.trust = undefined;
    /** @type {string | undefined} the digest of a manifest of which a page came up */
    this.proved = undefined;
    /** @type {import("./healing.js").Before | undefined} the version before, as long as the one held hasn't proved itself */
    this.before = undefined;
    /** @type {import("./healing.js").Heal} */
    this.heal = {};
    /** @type {import("./samples.js").Samples} */
    this.samples = {};
    /** @type {{page: Page, heal: import("./healing.js").Heal} | undefined} the page that came up last, and what was known before that */
    this.undone = undefined;
    /** The same as it was kept last. */
    this.healKept = "{}";
    /** @type {WeakSet<Page>} those of which nothing was heard since they were last asked */
    this.quiet = new WeakSet();
    /** @type {(() => import("./update.js").Updater) | undefined} */
    this.updater = undefined;
    /** When a request last came. */
    this.lastRequest = 0;
    /** When the network last was late for a file. */
    this.lateAt = -Infinity;
    /** When a poll was last tried though the browser says that there is no network. */
    this.cut = 0;
    /** How many waits in a row ended while pages still asked. */
    this.restless = 0;
    /** @type {Map<string, [string, string]>} scripts whose stored responses have no URL: this and their entity tags, by download */
    this.scripts = new Map();
    /** @type {Set<string>} listed URLs whose files the browser's own cache had */
    this.cached = new Set();
    /** @type {Set<string>} files, by match key, that whoever was asked for them doesn't have */
    this.refused = new Set();
    /** @type {WeakSet<Response>} answers that are still on their way */
    this.streams = new WeakSet();
    /** @type {Set<string>} failures that the origin was told */
    this.told = new Set();
    this.files.damaged = () => notes(() => this.tally.add("damaged"));
    /** @type {WeakMap<FetchEvent, Promise<Response>>} the network's answers: each request is sent once */
    this.sent = new WeakMap();
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
    // An older worker kept numbers alone.
    this.health = new Map([...(kept.health ?? [])].filter(([, health]) => health?.count > 0));
    const pages = [...(kept.pages ?? [])].filter(([id, page]) => typeof id === "string" && typeof page?.url === "string" && page.version);
    this.pages = new Map([...pages, ...this.pages]);
    this.backlog = new Set(kept.backlog);
    this.begun = kept.begun;
    this.full = kept.full;
    this.site = kept.site ?? {};
    this.rollout = { ...kept.rollout };
    this.trust = kept.trust;
    this.proved = kept.proved;
    this.before = kept.before?.over === this.manifest.digest ? kept.before : undefined;
    this.heal = kept.heal ?? {};
    this.samples = { ...kept.samples };
    this.healKept = JSON.stringify(this.heal);
    this.tally = new Tally(kept.tally);
    for (const [download, at] of [...(kept.used ?? [])].sort(([, a], [, b]) => a - b)) this.files.uses(download, at);
  }

  /** As if nothing were held, but for what the operator switched, where what is kept isn't what was. */
  begin() {
    this.hold(NO_MANIFEST);
    this.aside = new Map();
    this.backlog = new Set();
    this.health = new Map();
    this.tally = new Tally();
    this.before = undefined;
    this.heal = {};
  }

  async load() {
    this.isLoaded = this.isLate = false;
    this.tooLate = after(LAST_WAIT * this.settings.patience);
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
    this.routes = undefined;
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
   * The page that answers for a page that isn't listed.
   * @param {string} url
   * @returns {string | undefined} its URL as it is listed
   */
  fallback(url) {
    return notes(() => fallbackOf((this.routes ??= routesOf(this.manifest.map)), url));
  }

  /**
   * Where the page that answers a navigation is listed.
   * @param {Request} request
   */
  documentOf({ url, method, headers, destination }) {
    const isRoute = method === "GET" && /^(document|i?frame)$/.test(destination) && WANTS_HTML.test(headers.get("accept") ?? "*/*");
    return this.listed(url, true) ?? (isRoute ? this.fallback(url) : undefined);
  }

  /**
   * By what the failures of a page count, and are told: all routes that one page answers are this page.
   * @param {string} url
   */
  nameOf(url) {
    return withoutQuery(this.listed(url, true) === undefined ? (this.fallback(url) ?? url) : url);
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
    // Who asks is open, however long ago the switch was.
    const fitting = (this.aside.get(matchKey(url)) ?? []).filter((aside) => isOf(aside, page.version)).sort((a, b) => a.last - b.last);
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
    if (!this.isLoaded) return this.unloaded(event);
    if (request.url === this.settings.trial && isTested(this)) return background().trial();
    if (this.isJudge(request)) return this.judged(event);
    const plan = this.decided(event);
    if (plan) return plan();
    this.passes();
    // What was asked for and isn't taken would be asked for again.
    return this.preloads && request.mode === "navigate" ? this.network(event) : undefined;
  }

  /**
   * Where what is kept isn't read yet. If that takes long, the network may answer, which makes a page one of the network; an answer that
   * isn't good waits for what is kept.
   * @param {FetchEvent} event
   */
  async unloaded(event) {
    const { patience } = this.settings;
    /** @returns {Promise<true | Response | undefined>} */
    const loaded = async () => {
      // Once for all: a store that is stuck delays nothing for ever.
      await Promise.race([this.loading, this.tooLate]);
      return this.isLoaded || undefined;
    };
    const found = await either(loaded, () => this.given(event, isGood), this.isLate ? 0 : patience);
    if (found instanceof Response) {
      notes(() => this.opened(event));
      this.settles(event, "network", "late");
      return found;
    }
    return this.judged(event);
  }

  /**
   * Whether it has to be known first what became of the pages before, which may have ended a version.
   * @param {Request} request
   */
  isJudge({ mode }) {
    return mode === "navigate" && isTested(this) && [...this.pages.values()].some(({ isMarked }) => isMarked);
  }

  /**
   * The answer once it is known what became of the pages before.
   * @param {FetchEvent} event
   */
  async judged(event) {
    const { request } = event;
    const judges = async () => background().judges(this, { request });
    if (this.isJudge(request)) await Promise.race([judges().catch(() => {}), after(this.settings.patience)]);
    return this.settled(event, this.decided(event));
  }

  /**
   * @param {FetchEvent} event
   * @param {Plan | undefined} plan
   */
  settled(event, plan) {
    if (plan) return plan();
    this.passes();
    return this.network(event);
  }

  /**
   * Takes note of a page that opens, and how a request is answered; undefined: by the network.
   * @param {FetchEvent} event
   */
  decided(event) {
    const why = notes(() => this.opened(event));
    const plan = this.plan(event, why);
    if (!plan) this.settles(event, "network", why ?? "missing");
    return plan;
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
   * @param {FetchEvent} event
   * @param {Why | undefined} why as in `opened`
   * @returns {Plan | undefined} undefined: the network answers
   */
  plan(event, why) {
    const { request, clientId } = event;
    if (this.isOver || isKilled(this.policy, this.time())) return undefined;
    if (request.mode === "navigate") return this.planOfPage(event, why);
    const page = this.pages.get(clientId);
    // Of a page that this worker hasn't seen, the address decides.
    if (page || (this.policy.bypass.length + this.health.size === 0 && !this.isStale())) return this.planOf(event, page, page?.url);
    return async () => {
      const client = await clients.get(clientId);
      return this.settled(event, this.planOf(event, undefined, client?.url ?? request.url));
    };
  }

  /**
   * @param {FetchEvent} event
   * @param {Why | undefined} why the network is asked first
   * @returns {Plan | undefined}
   */
  planOfPage(event, why) {
    if (why === "bypassed" || why === "unlisted") return undefined;
    const { request } = event;
    const url = this.documentOf(request) ?? "";
    const own = this.answerOf(request, this.manifest.map.get(url), url, false);
    return own && (() => this.document(event, own, why));
  }

  /**
   * A page's document, and with it who answers what the page asks for.
   * @param {FetchEvent} event
   * @param {() => Promise<Response | undefined>} own
   * @param {Why | undefined} why the network is asked first
   */
  async document(event, own, why) {
    /** @type {(response: Response | undefined, from: "device" | "network") => {response: Response, from: typeof from} | undefined} */
    const by = (response, from) => response && { response, from };
    let isOver = false;
    const device = () => own().then((response) => by(response, "device")).finally(() => (isOver = true));
    const network = async () => by(await this.given(event, why ? isAnswer : isGood), "network");
    const { patience } = this.settings;
    const wait = !why && this.files.isStuck ? 0 : patience;
    const first = await (why ? either(network, device, wait) : either(device, network, wait));
    if (first?.from === "device") {
      this.settles(event, "device", why);
      if (isTested(this)) await this.marks(event);
      return first.response;
    }
    this.settles(event, "network", why ?? (isOver ? "missing" : "late"));
    this.passes();
    return first?.response ?? this.network(event);
  }

  /**
   * Notes that a page opens, before it can do anything: one that crashes or hangs says nothing itself.
   * @param {FetchEvent} event
   */
  async marks(event) {
    const page = this.pages.get(event.resultingClientId);
    if (!page || page.version !== this.manifest.version) return;
    page.isMarked = true;
    notes(() => event.waitUntil(background().watches(this, page, event.resultingClientId)));
    await Promise.race([this.store.write({ pages: this.pages }).catch(() => {}), after(this.settings.patience)]);
  }

  /**
   * How a page is answered what it asks for.
   * @param {FetchEvent} event
   * @param {Page | undefined} page
   * @param {string | undefined} pageURL where it may decide
   * @returns {Plan | undefined}
   */
  planOf(event, page, pageURL) {
    const { request, clientId } = event;
    if (pageURL !== undefined && isBypassed(this.policy, pageURL, this.time())) return undefined;
    const isAsked = isFresh(request);
    const handed = isAsked ? undefined : this.handedOver(request, clientId);
    // It is the page's own request on its way: a second one wouldn't be faster.
    if (handed) return async () => (await either(handed, () => this.given(event, isGood), PREFETCH_TIME)) ?? this.network(event);
    if (request.method === "POST") return undefined;
    const old = this.setAside(request.url, page);
    const url = this.listed(request.url, false);
    const entry = old ?? this.manifest.map.get(url ?? "");
    const own = this.answerOf(request, entry, old ? request.url.split("#")[0] : url, old !== undefined);
    if (!own) return undefined;
    if (page ? isOfNetwork(page) : pageURL !== undefined && (this.isUnwell(pageURL) || this.isStale())) {
      return isNamedByHash(request.url) ? () => this.networkFirst(event, own) : undefined;
    }
    // What is listed no more is none of what a page looks for anew.
    if (isAsked && url !== undefined) return () => this.networkFirst(event, own);
    const key = matchKey(request.url);
    const part = page && request.headers.has("range") ? page : undefined;
    return part?.parts?.get(key) === "network" ? undefined : () => this.deviceOnly(event, own, page, part, key);
  }

  /**
   * The network's answer, or the device's where there is none in time.
   * @param {FetchEvent} event
   * @param {() => Promise<Response | undefined>} own
   */
  async networkFirst(event, own) {
    const wait = isFresh(event.request) ? this.settings.patience : this.wait();
    const late = () => void (this.lateAt = performance.now());
    return (await either(() => this.given(event, isAnswer), own, wait, late)) ?? this.network(event);
  }

  /**
   * The device's answer, and the network's once nobody has the bytes of the page's version.
   * @param {FetchEvent} event
   * @param {() => Promise<Response | undefined>} own
   * @param {Page | undefined} page
   * @param {Page | undefined} part the same where it asks for a part: all parts of a file are of one source
   * @param {string} key
   */
  async deviceOnly(event, own, page, part, key) {
    // What was so as it failed counts.
    const lacks = page && !page.hasFailed ? (page.lacks ??= new Set()) : undefined;
    lacks?.add(key);
    const response = await own();
    // What has come wrong, or isn't there, is the version's fault.
    const isSettled = response ? !this.streams.has(response) : this.refused.has(key);
    if (isSettled && !page?.hasFailed) lacks?.delete(key);
    if (!isSettled && lacks) this.keepPages();
    if (!response && part?.parts?.get(key) === "device") return Response.error();
    this.tookPart(part, key, response ? "device" : "network");
    if (response) return response;
    this.passes();
    return this.network(event);
  }

  /** Milliseconds after which a network counts as late for a file: waits of files that name each other don't add up. */
  wait() {
    return performance.now() - this.lateAt < LATE_TIME ? 0 : this.settings.patience;
  }

  /**
   * @param {Page | undefined} page
   * @param {string} key
   * @param {"device" | "network"} from
   */
  tookPart(page, key, from) {
    const parts = page && (page.parts ??= new Map());
    if (!parts || parts.has(key) || parts.size >= MOST_PARTS) return;
    parts.set(key, from);
    this.keepPages();
  }

  /**
   * The network's answer, if it is one that counts.
   * @param {FetchEvent} event
   * @param {(response: Response) => boolean} counts
   */
  async given(event, counts) {
    const response = await this.network(event).catch(() => undefined);
    return response && counts(response) ? response : undefined;
  }

  /** Whether the site is asked first: polls have failed for so long, or the site has been ahead of the release that is held. */
  isStale() {
    const { staleAfter } = this.settings;
    const ahead = this.site.version === this.manifest.version ? this.site.ahead : undefined;
    return isOverdue(this.poll?.missed, staleAfter) || isOverdue(ahead, staleAfter);
  }

  /**
   * Whether a page failed to come up.
   * @param {string} page
   */
  isUnwell(page) {
    return (this.health.get(this.nameOf(page))?.count ?? 0) >= MOST_FAILURES;
  }

  /**
   * Whether a page that failed to come up is tried from here now; nothing else tries it until the next time.
   * @param {string} page
   */
  triesAgain(page) {
    const health = this.health.get(this.nameOf(page));
    const now = Date.now();
    if (!health || !this.isUnwell(page) || isWithin(health.wait, health.at, now)) return false;
    Object.assign(health, { at: now, wait: Math.min(health.wait * 2, RETRIES[1]) });
    return true;
  }

  /**
   * Why the network is asked first for a page that opens; undefined where the device is.
   * @param {Request} request
   * @param {boolean} isTry
   * @returns {Why | undefined}
   */
  whyNetwork(request, isTry) {
    const page = request.url;
    const now = this.time();
    if (isKilled(this.policy, now)) return "killed";
    if (isBypassed(this.policy, page, now)) return "bypassed";
    if (this.isUnwell(page) && !isTry) return "failed";
    if (this.isStale()) return "stale";
    return this.documentOf(request) === undefined ? "unlisted" : undefined;
  }

  /**
   * @param {Request} request
   * @param {Entry | undefined} entry
   * @param {string | undefined} url by which the site may have it
   * @param {boolean} isAside whether it left the manifest
   * @returns {(() => Promise<Response | undefined>) | undefined} the device's answer, which never rejects
   */
  answerOf(request, entry, url, isAside) {
    // What could never be kept would be fetched for each request.
    const head = entry && url !== undefined && entry.size <= this.settings.limit ? headOf(request, entry) : undefined;
    if (!entry || !head || url === undefined) return undefined;
    return async () => {
      try {
        const response = await this.local(request, entry, head, url, isAside);
        // The kill switch may come while a file is fetched.
        return isKilled(this.policy, this.time()) ? undefined : response;
      } catch {
        this.counts.failed += 1;
        return undefined;
      }
    };
  }

  /**
   * @param {Request} request
   * @param {Entry} entry
   * @param {import("./answers.js").Head} head
   * @param {string} url as in `answerOf`
   * @param {boolean} isAside
   * @returns {Promise<Response | undefined>}
   */
  async local(request, entry, head, url, isAside) {
    const { status, headers, start, end } = head;
    const isHead = request.method === "HEAD" || status === 304 || status === 416;
    notes(() => this.files.uses(entry.download));
    const held = isHead ? null : await this.found(entry, request.mode === "navigate", () => this.missing(entry, url, head, isAside));
    if (held === undefined) return undefined;
    this.counts.local += 1;
    notes(() => this.tally.add("local"));
    if (!held) return new Response(null, { status, headers });
    this.counts.bytes += end - start;
    if ("streamed" in held) return held.streamed;
    // All of a file as a part of it has a head of its own, too.
    const isPart = status === 206;
    const own = request.url.split("#")[0];
    if (!isPart && !this.files.owned.has(entry.download)) this.compiles(entry, own);
    if (request.mode === "navigate" && held instanceof Uint8Array) notes(() => this.readies(held, own));
    if (!(held instanceof Response)) return new Response(isPart ? held.slice(start, end) : held, { status, headers });
    if (isPart) return new Response((await held.blob()).slice(start, end), { status, headers });
    // Just as it is stored, it has what V8 compiled of it. One of an older worker lacks the headers, one of another URL would be that to the page.
    const isReady = held.headers.get("etag") === headers.get("etag") && (!held.url || held.url === own);
    return isReady ? held : new Response(held.body, { status, headers });
  }

  /**
   * What is held of an entry, or is fetched: where it isn't held, or the store is late; which is waited for once, and not without end.
   * @template Value
   * @param {Entry} entry
   * @param {boolean} isPage for which the network is asked anyway where the store is late or broken: all of the page will be the network's
   * @param {() => Promise<Value | undefined>} fetched
   */
  async found(entry, isPage, fetched) {
    const { patience } = this.settings;
    const read = () => Promise.race([this.files.read(entry), after(LAST_WAIT * patience)]);
    if (isPage) return (await read()) ?? fetched();
    return either(() => read().catch(() => undefined), fetched, this.files.isStuck ? 0 : patience);
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
   * A file that isn't here: fetched while the page waits, and checked. A large one comes from its download URL, whose bytes never change, as
   * they come: all of it with its end held back until it is checked, or the part that is asked for, and then all of it once there is time.
   * @param {Entry} entry
   * @param {string} url as in `answerOf`
   * @param {import("./answers.js").Head} head
   * @param {boolean} isAside
   */
  async missing(entry, url, head, isAside) {
    const isPart = head.status === 206;
    try {
      if (this.settings.waitsFor(entry.size, isPart)) {
        const bytes = await background().fetchNow(this, entry, url, isAside);
        void this.trimSoon();
        return bytes;
      }
      if (isPart && !isAside && !this.filled.has(entry.download)) this.backlog.add(url);
      this.filled.add(entry.download);
      const streamed = await background().streamed(this, entry, url, head);
      return { streamed };
    } catch (error) {
      const { reason, isFinal } = /** @type {any} */ (error);
      if (isFinal) this.refused.add(matchKey(url));
      if (!isAside) this.report(reason ?? "download", url, this.manifest.version);
      return undefined;
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

  passes() {
    this.counts.passed += 1;
    notes(() => this.tally.add("passed"));
  }

  /**
   * The network's answer to a request, which is sent once.
   * @param {FetchEvent} event
   */
  network(event) {
    const sent = this.sent.get(event) ?? this.send(event);
    this.sent.set(event, sent);
    return sent;
  }

  /** @param {{request: Request, preloadResponse?: Promise<Response | undefined>}} event */
  async send({ request, preloadResponse }) {
    try {
      const response = (await preloadResponse) ?? (await fetch(request));
      notes(() => this.tally.status(response));
      return response;
    } catch (error) {
      notes(() => this.tally.status());
      throw error;
    }
  }

  // MARK: Pages

  /**
   * Takes note of a page that opens, and sends what it will ask for; of a web worker that begins, too.
   * @param {FetchEvent} event
   * @returns {Why | undefined} why the network is asked for a page first
   */
  opened(event) {
    const { request, clientId, resultingClientId } = event;
    if (request.mode !== "navigate") {
      // A web worker is of its page's version.
      const page = this.pages.get(clientId);
      if (page && resultingClientId) this.pages.set(resultingClientId, page);
      return undefined;
    }
    if (!resultingClientId) return this.whyNetwork(request, false);
    const now = Date.now();
    const own = this.nameOf(request.url);
    for (const page of this.pages.values()) if (this.nameOf(page.url) === own) this.late(page);
    const isTry = this.triesAgain(request.url);
    const why = this.whyNetwork(request, isTry);
    this.pages.set(resultingClientId, { url: request.url, version: this.manifest.version, at: now, isTry, seed: this.rollout.arm?.seed });
    if (isTry) void this.store.write({ health: this.health }).catch(() => {});
    if (why && /killed|bypassed|failed/.test(why)) return why;
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
    return why;
  }

  /**
   * Takes note of who gave a page its document. A worker that ends and comes back knows it, too.
   * @param {FetchEvent} event
   * @param {"device" | "network"} from
   * @param {Why} [why]
   */
  settles({ request, resultingClientId }, from, why) {
    const page = request.mode === "navigate" ? this.pages.get(resultingClientId) : undefined;
    if (!page) return;
    Object.assign(page, { from, why, isLocal: from === "device" });
    this.keepPages();
  }

  keepPages() {
    // What isn't read yet would be lost.
    void this.loading.then(() => this.store.write({ pages: this.pages })).catch(() => {});
  }

  /**
   * Takes note that a page which was opened from here came up, or how it failed; its first word counts. One that fails twice in a row is
   * the network's until the next version, or until it is tried again and comes up: that it does so from the network says nothing of this.
   * @param {Page | undefined} page
   * @param {"page-failed" | "script-failed" | false} failure
   */
  cameUp(page, failure) {
    if (!page || page.isOver) return;
    page.isOver = true;
    const key = this.nameOf(page.url);
    const isSame = page.version === this.manifest.version;
    if (!page.isLocal) return;
    if (!failure && isSame) {
      this.health.delete(key);
      if (!page.hasFailed && !page.isBare) isUp(this, page);
    }
    if (!failure) return;
    // Looks rather than times where there are any: a computer that slept was no page that was late.
    page.hasFailed = failure !== "page-failed" || !page.isMarked || (page.looks ?? 0) >= LATE_LOOKS;
    this.tally.add(failure);
    this.updater?.().fails(page, failure);
    const { count, wait } = this.health.get(key) ?? { count: 0, wait: RETRIES[0] };
    if (!isSame || (count >= MOST_FAILURES && !page.isTry) || (!count && this.health.size >= MOST_UNWELL)) return;
    this.health.set(key, { count: count + 1, at: Date.now(), wait });
    page.isFailed = true;
  }

  /**
   * Takes a failure back: the page shows what it is for all the same.
   * @param {Page | undefined} page
   */
  rendered(page) {
    if (!page?.hasFailed || page.version !== this.manifest.version) return;
    if (page.isFailed) this.health.delete(this.nameOf(page.url));
    page.hasFailed = false;
    isUp(this, page);
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
  forgetPrefetched({ request, clientId }) {
    const { method, url, mode, headers, credentials } = request;
    if (this.prefetched.length === 0) return;
    /** @param {typeof this.prefetched[number]} ask */
    const isOwn = (ask) => ask.client === clientId && ask.method === method && ask.url === url.split("#")[0];
    const isSafe = method === "GET" || method === "HEAD";
    if ((!isSafe && !this.prefetched.some(isOwn)) || (mode === "navigate" && this.documentOf(request) === undefined)) this.prefetched = [];
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
 * What is noted beside a request; a failure of that is none of the request.
 * @template T
 * @param {() => T} act
 * @returns {T | undefined}
 */
function notes(act) {
  try {
    return act();
  } catch {
    return undefined;
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

/**
 * Whether what a page asks for is the network's. A page that no manifest lists is no sign of a version: what it asks for is the device's;
 * and so is that of a first visit, whose document was seen to be of the version that is held.
 * @param {Page} page
 */
export const isOfNetwork = ({ from, why }) => from === "network" && why !== "unlisted" && why !== "first-visit";

/**
 * Whether a file's name has a hash of its content, as bundlers write it.
 * @param {string} url
 */
const isNamedByHash = (url) => /[-._](?=[\w-]*\d)[\w-]{8,}\.\w+$/.test(withoutQuery(url));

/**
 * Whether a server answered at all.
 * @param {Response} response
 */
const isAnswer = ({ status }) => status < 500;

/**
 * Whether it has what was asked for.
 * @param {Response} response
 */
const isGood = ({ ok, status, type }) => ok || status === 304 || type.startsWith("opaque");

/** @type {Clients} */
const clients = /** @type {any} */ (self).clients;
