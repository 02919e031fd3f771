import { showOverlay } from "./overlay.js";

/**
 * What `xcache web init` writes in front of this script: the worker's address, from the script's own, and its scope.
 * @typedef {{worker?: string, scope?: string}} PageSettings
 */
/** What an update came to; `kind` is `early`, `nothing`, `patch`, `pack`, `whole`, `removed` (by the kill switch), `returned` (the
 * version before is back, as this one failed) or `failed`.
 * @typedef {{kind: string, source?: "origin" | "mirror", from: string, to: string, fetched: number, copied: number, deltas: number,
 *   bytes: number, why?: string}} UpdateReport */
/** What the worker holds, and how often it answered; `page`: the version that this page was opened from; `from`: who gave its document, and
 * `why` that was, or had to be, the network: the kill switch (`killed`), the policy (`bypassed`), it isn't in the manifest (`unlisted`), it
 * didn't come up twice in a row (`failed`), polls have failed for long (`stale`), its file isn't held (`missing`), the worker took too long
 * (`late`), it opened before the worker (`first-visit`), it is outside of the worker's scope (`outside`); `candidate`: whether a rollout
 * is open, and the version is the one that goes to a part of the users first; `previous`: the version before, as long as there is a way back to it;
 * `skipped`: a version that failed here, and isn't taken again; `lazy`: files that come when something asks for them, and haven't come.
 * @typedef {{version: string, digest: string, page?: string, from: "device" | "network",
 *   why?: "killed" | "bypassed" | "unlisted" | "failed" | "stale" | "missing" | "late" | "first-visit" | "outside",
 *   candidate: boolean, previous?: string, skipped?: string, source: "origin" | "mirror", failures: number, listed: number,
 *   held: number, lazy: number, backlog: number, aside: number, policy: number, prefetch: number,
 *   counts: {local: number, passed: number, failed: number, late: number, bytes: number, prefetched: number}}} State */
/** `updated`: a new version is ready for pages that open from now on; `worker`: a new worker waits; `removed`: the worker is gone.
 * @typedef {"updated" | "worker" | "removed"} EventName */

/** Milliseconds that a page which is to open anew waits for its workers: one that doesn't answer is a reason more to do so. */
const RELOAD_WAIT = 2000;
/** Milliseconds for which a page doesn't register anew where the worker was removed. */
const REMOVED_TIME = 600_000;
/** Milliseconds that a worker is waited for, which may be stopped in the middle, and longer where it downloads. */
const ANSWER_WAIT = 10_000;
const UPDATE_WAIT = 300_000;
/** Milliseconds after which a page that isn't up says what it waits for: before the worker counts it as one that failed. */
const HANGING = 15_000;
/** Milliseconds for which a page that came up has to live. */
const PROOF = 10_000;
/** Milliseconds after its load in which a page may still render what an error seemed to have kept from it. */
const RENDERS = [300, 1000, 3000];
/** What a page shows; what says that it isn't there yet; and what shows something without text. */
const SHOWN = ":not(script,style,link,noscript,template,title,meta)";
const WAITING = `:not(html,body):is([aria-busy=true],[role=progressbar],progress,${["loading", "loader", "spinner", "splash", "skeleton"]
  .map((word) => `[class*=${word} i],[id*=${word} i]`)})`;
const PAINTED = /^(img|svg|canvas|video)$/;
/** Characters, and the share of the window, from which a page whose HTML has them is complete without its scripts. */
const COMPLETE = { text: 100, area: 0.25 };
/** Milliseconds from the load to the look at scripts that are to be stored by their URLs, and between two of them. */
const STORES = { after: 5000, between: 50 };
/**
 * Milliseconds without a request after which a page that no worker sees has all, and those after which it doesn't wait for what doesn't come;
 * the longest wait for that, and between two looks.
 */
const QUIET = { wanted: 1000, stuck: 5000, most: 20_000, every: 200 };
/** Milliseconds between two polls of a page that stays open. */
const POLLS = 300_000;

const script = /** @type {HTMLScriptElement | null} */ (document.currentScript)?.src ?? location.href;
const settings = /** @type {PageSettings} */ (/** @type {any} */ (window).xcacheSettings ?? {});
const container = workers();
const workerURL = new URL(settings.worker ?? "xcache-sw.js", script).href;
const scope = settings.scope ? new URL(settings.scope, document.baseURI).href : new URL(".", workerURL).href;
/** Of this worker alone: several apps may live under one origin. */
const removedKey = `xcache removed ${workerURL}`;
/** @type {Map<EventName, Set<(detail: any) => void>>} */
const listeners = new Map();
let wantsReload = false;
let isRefused = false;
/** @type {any} what a script threw */
let isFailed = false;
/** @type {unknown[]} why promises were rejected that nobody took care of: only where a page stays blank it is told that by it */
const reasons = [];
let removedAt = -Infinity;
/** @type {Promise<void>} what is stored, one after another */
let storing = Promise.resolve();
/** @type {string[]} scripts that didn't come */
const lost = [];
/** @type {Set<string>} what has come: an app may clear the browser's list, which also ends when it is full */
const come = new Set();
/** Called when something has come. */
let hasCome = () => {};
const comes = new PerformanceObserver((list) => {
  for (const { name } of list.getEntries()) come.add(name);
  hasCome();
});
try {
  comes.observe({ type: "resource", buffered: true });
} catch {}

// A usual answer to this event is to reload for the sake of a new worker. That the first visit's page gets one is no reason.
if (container && !container.controller) {
  container.addEventListener("controllerchange", (event) => {
    if (own(container.controller)) event.stopImmediatePropagation();
  }, { capture: true, once: true });
}

/** The page's side of xcache's service worker, as `window.xcache`. */
export const xcache = {
  /** The worker's registration; undefined where there is none: an old browser, http, or after the kill switch. */
  ready: register(),

  /**
   * Calls `listener` on each event of a name.
   * @param {EventName} name
   * @param {(detail: any) => void} listener
   * @returns {() => void} ends it
   */
  on(name, listener) {
    const set = listeners.get(name) ?? new Set();
    listeners.set(name, set.add(listener));
    return () => void set.delete(listener);
  },

  /**
   * What the worker holds; undefined without one.
   * @returns {Promise<State | undefined>}
   */
  state: () => ask({ ask: "state" }),

  /**
   * Asks for a newer version; at most every 30 seconds, unless `force` is true. Undefined where there is no worker, or it was stopped
   * in the middle: the next one goes on.
   * @param {{force?: boolean, metered?: boolean}} [wish] `metered`: bytes cost money, whatever the browser says
   * @returns {Promise<UpdateReport | undefined>}
   */
  update: (wish) => ask({ ...wish, ask: "update" }),

  /**
   * Says what rollouts are decided by, besides their share: the version of the app around these pages, and groups that this user is in, such
   * as "qa". The worker keeps both, sends them to nobody, and decides anew at its next poll; what is left out stays as it was.
   * @param {{appVersion?: string | null, groups?: string[]}} user
   * @returns {Promise<boolean>} false where there is no worker
   */
  describe: async (user) => (await ask({ ...user, ask: "describe" })) === true,

  /**
   * Leaves the candidate of the open rollout with the next update, for the version of all others; not even `describe` brings it back.
   * @returns {Promise<boolean>} false where there is no worker
   */
  leaveCandidate: async () => (await ask({ ask: "leave" })) === true,

  /**
   * Says that this version works here, so that the one before isn't kept any longer. Without it, a page that came up 10 seconds ago says so.
   * @returns {Promise<boolean>}
   */
  confirm: async () => (await ask({ ask: "confirm" })) === true,

  /**
   * Goes back to the version before at once, for pages that open from now on; this one's is skipped until there is a newer one. The reason is
   * for your own logs.
   * @param {string} [reason]
   * @returns {Promise<boolean>} false where there is no way back
   */
  reject: async (reason) => (await ask({ ask: "reject", reason })) === true,

  /**
   * Opens every tab of this app anew: each at once, or when nobody looks at it. A waiting worker takes over before.
   * @param {"hidden" | "now"} [when]
   */
  async reload(when = "hidden") {
    if (when === "now") wantsReload = true;
    await Promise.race([tellOthers(), wait(RELOAD_WAIT)]);
    if (when === "now") location.reload();
  },

  /**
   * Asks the browser not to empty the store when it lacks room.
   * @returns {Promise<boolean>}
   */
  persist: async () => (await navigator.storage?.persist?.()) ?? false,

  /**
   * Bytes that this site uses, and those that it may.
   * @returns {Promise<StorageEstimate>}
   */
  estimate: async () => (await navigator.storage?.estimate?.()) ?? {},

  /**
   * Empties the store and unregisters the worker.
   * @returns {Promise<void>}
   */
  async remove() {
    // A worker that is stopped, or answers nothing, goes all the same. One of the site's own stays.
    const registration = await registered();
    stayAway();
    await ask({ ask: "remove" });
    const isOurs = own(registration?.active ?? registration?.waiting ?? registration?.installing);
    if (isOurs && new URL(workerURL).pathname.endsWith("/xcache-sw.js")) await registration?.unregister();
    removed();
  },
};

/** @returns {Promise<ServiceWorkerRegistration | undefined>} */
async function register() {
  if (!container || !isSecureContext || wasRemoved()) return undefined;
  // The page's own requests go first.
  if (document.readyState !== "complete") await new Promise((resolve) => addEventListener("load", resolve, { once: true }));
  try {
    const registration = await container.register(trusted(workerURL), {
      updateViaCache: "none", ...(settings.scope ? { scope: settings.scope } : {}),
    });
    watch(registration);
    await active(registration);
    if (!registration.active) throw new Error(await uninstalled());
    // Numbers alone: how long this page took, and whether a script failed before it was there.
    const paint = performance.getEntriesByName("first-contentful-paint")[0]?.startTime;
    const load = performance.timing.loadEventEnd - performance.timing.navigationStart;
    void ask({ ask: "opened", paint, load });
    const ends = own(container.controller) ? undefined : await quiet(registration.active);
    void ask({ ask: "update" }).then(ends);
    setTimeout(stores, STORES.after);
    return registration;
  } catch (error) {
    // A page without its worker is a page.
    isRefused = true;
    console.warn("xcache: the worker isn't registered:", error);
    return undefined;
  } finally {
    if (own(container?.controller)) comes.disconnect();
  }
}

/** What has the workers; a sandboxed frame may not even ask for it. */
function workers() {
  try {
    return navigator.serviceWorker;
  } catch {
    return undefined;
  }
}

/** Why a worker wasn't installed: the browser doesn't say, and one of its two scripts may be missing. */
async function uninstalled() {
  const urls = [workerURL, new URL("xcache-sw-packs.js", workerURL).href];
  for (const url of urls) {
    const answer = await fetch(url, { method: "HEAD", cache: "no-store" }).catch(() => undefined);
    const kind = answer?.headers.get("content-type") ?? "";
    if (answer && (!answer.ok || !/javascript|ecmascript/.test(kind))) return `it can't be installed: ${url} is ${answer.status} ${kind}`;
  }
  return `it can't be installed: see what the browser says of ${urls.join(" and ")}`;
}

/**
 * A script's URL as a Content-Security-Policy with `require-trusted-types-for` wants it.
 * @param {string} url
 */
function trusted(url) {
  try {
    return /** @type {any} */ (window).trustedTypes.createPolicy("xcache", { createScriptURL: () => url }).createScriptURL(url);
  } catch {
    // A browser that knows none, or a policy that takes none of ours.
    return url;
  }
}

/**
 * Resolves when a worker of the registration is active, or none will be.
 * @param {ServiceWorkerRegistration} registration
 */
async function active(registration) {
  const worker = registration.installing ?? registration.waiting;
  if (registration.active || !worker) return;
  await new Promise((/** @type {(value?: undefined) => void} */ resolve) => {
    worker.addEventListener("statechange", () => {
      if (worker.state === "activated" || worker.state === "redundant") resolve();
    });
  });
}

/** @param {ServiceWorkerRegistration} registration */
function watch(registration) {
  const tell = () => {
    if (registration.waiting && registration.active) emit("worker", registration.waiting);
  };
  tell();
  registration.addEventListener("updatefound", () => registration.installing?.addEventListener("statechange", tell));
}

const wait = (/** @type {number} */ milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

/**
 * Resolves when a page that the worker doesn't see has what it asked for; the worker hears of what it asks meanwhile, and until what this
 * gives is called.
 * @param {ServiceWorker} worker
 */
async function quiet(worker) {
  const begun = performance.now();
  let last = begun;
  const since = (/** @type {number} */ time) => performance.now() - time;
  const tells = () => worker.postMessage({ xcache: { ask: "busy" } });
  // What doesn't come isn't waited for: a browser has its reasons.
  const isBusy = () => since(last) < QUIET.stuck && pending().length > 0;
  hasCome = () => {
    last = performance.now();
    tells();
  };
  const timer = setInterval(() => isBusy() && tells(), QUIET.every);
  while ((since(last) < QUIET.wanted || isBusy()) && since(begun) < QUIET.most) await wait(QUIET.every);
  return () => {
    clearInterval(timer);
    comes.disconnect();
  };
}

/** @param {string[]} [ran] scripts of this page */
function stores(ran) {
  const next = () => store(ran);
  storing = storing.then(next, next);
}

/**
 * Stores scripts that the worker made of packs again, as this page gets them: only so they have their URL, beside which V8 keeps what it
 * compiles when a page first runs them.
 * @param {string[]} [ran]
 */
async function store(ran) {
  const asked = own(container?.controller) && (await ask({ ask: "scripts", ran }));
  if (!asked?.scripts.length) return;
  const files = await caches.open(asked.store);
  const downloads = [];
  for (const { url, download, tag } of asked.scripts) {
    await wait(STORES.between);
    const answer = await fetch(url).catch(() => undefined);
    if (!answer || answer.headers.get("etag") !== tag) continue;
    if (await files.put(download, answer).then(() => true, () => false)) downloads.push(download);
  }
  await ask({ ask: "stored", downloads });
}

/** Lets the worker poll; it knows whether it is too early. */
function trigger() {
  void ask({ ask: "update" });
}

/**
 * The registration as it is now; `ready` may have to wait for a page that never loads. Where this app has none, browsers give that of
 * an app in a folder above.
 */
async function registered() {
  const registration = await container?.getRegistration(scope).catch(() => undefined);
  return registration?.scope === scope ? registration : undefined;
}

/**
 * The worker, where it is this app's.
 * @param {ServiceWorker | null | undefined} worker
 */
const own = (worker) => (worker?.scriptURL === workerURL ? worker : undefined);

/** Lets a waiting worker take over, and other tabs open anew. */
async function tellOthers() {
  own((await registered())?.waiting)?.postMessage({ xcache: { ask: "activate" } });
  await ask({ ask: "reload" });
}

/**
 * @param {{ask: string, [member: string]: any}} question
 * @returns {Promise<any>} undefined where there is no worker, or it ends before it answers
 */
async function ask(question) {
  const worker = own((await registered())?.active);
  if (!worker) return undefined;
  return new Promise((resolve) => {
    const { port1, port2 } = new MessageChannel();
    setTimeout(resolve, question.ask === "update" ? UPDATE_WAIT : ANSWER_WAIT);
    port1.onmessage = ({ data }) => resolve(data ?? undefined);
    worker.postMessage({ xcache: question }, [port2]);
  });
}

/** It begins, or is seen again, or isn't any more. */
function begins() {
  say({ ask: "began", hidden: document.hidden });
}

/** @param {object} word to the worker that this page is under, if there is one */
function say(word) {
  own(container?.controller)?.postMessage({ xcache: word });
}

/**
 * @param {EventName} name
 * @param {any} detail
 */
function emit(name, detail) {
  for (const listener of listeners.get(name) ?? []) listener(detail);
}

/** Reloads when nobody looks at the page. */
function reloadWhenHidden() {
  if (wantsReload && document.hidden) location.reload();
}

/** The scripts, and the stylesheets that scripts wait for, that haven't come, of those that the browser loads. */
function pending() {
  for (const { name } of performance.getEntriesByType("resource")) come.add(name);
  const styles = [...document.querySelectorAll("link")]
    .filter(({ rel, sheet, disabled }) => /\bstylesheet\b/i.test(rel) && !sheet && !disabled);
  const scripts = [...document.scripts].filter(({ noModule, type }) => !noModule && /^(module|.*script)?$/i.test(type));
  const urls = [...scripts.map(({ src }) => src), ...styles.map(({ href }) => href)];
  return urls.map((url) => url.split("#")[0]).filter((url) => /^http/.test(url) && !come.has(url) && !lost.includes(url));
}

/** No page of this app registers the worker at once again. */
function stayAway() {
  try {
    localStorage.setItem(removedKey, String(Date.now()));
  } catch {}
}

/** The worker went: the page may know it from the worker, and because it removed it. */
function removed() {
  stayAway();
  const now = performance.now();
  if (now - removedAt > ANSWER_WAIT) emit("removed", undefined);
  removedAt = now;
}

/** Why there is no worker. */
function absence() {
  if (!isSecureContext || !container) return "insecure page, or an old browser";
  if (wasRemoved()) return "removed";
  return isRefused ? "refused, see the console" : "installing";
}

function wasRemoved() {
  try {
    const at = Number(localStorage.getItem(removedKey));
    return at > 0 && Math.abs(Date.now() - at) < REMOVED_TIME;
  } catch {
    return false;
  }
}

container?.addEventListener("message", ({ data, source }) => {
  const message = data?.xcache;
  // Workers of other apps tell every page of their origin.
  if (!message || /** @type {ServiceWorker} */ (source)?.scriptURL !== workerURL) return;
  if (message.updated) {
    emit("updated", message.updated);
    stores(message.updated.from === "0" ? performance.getEntriesByType("resource").map(({ name }) => name) : undefined);
  }
  if (message.removed) removed();
  if (message.ping) say({ ask: "here" });
  if (message.trial) import(message.trial).then((trial) => trial.looks(say, elements, isShown, () => [isFailed, ...reasons])).catch(() => {});
  if (message.reload) {
    wantsReload = true;
    reloadWhenHidden();
  }
});
container?.startMessages();
document.addEventListener("visibilitychange", () => {
  begins();
  reloadWhenHidden();
  trigger();
});
setInterval(() => document.hidden || trigger(), POLLS);
addEventListener("online", trigger);
addEventListener("pageshow", ({ persisted }) => persisted && trigger());

/**
 * The elements of a page, those in open shadow roots, too.
 * @param {ParentNode | null} root
 * @returns {Element[]}
 */
const elements = (root) => [...(root?.querySelectorAll(SHOWN) ?? [])].flatMap((one) =>
  one.shadowRoot ? [one, ...elements(one.shadowRoot)] : one);
/** Those that were there before a script could fail. */
let first = new WeakSet(elements(document.body));
/** @param {Element} element */
const isWaiting = (element) => element.closest(WAITING) !== null;

/**
 * Whether an element is in what the user sees first.
 * @param {Element} element
 */
function isSeen(element) {
  const { top, left, bottom, right, width, height } = element.getBoundingClientRect();
  // What is one pixel large is for screen readers.
  const isHere = Math.min(width, height, bottom, right) > 1 && top < (innerHeight || Infinity) && left < (innerWidth || Infinity);
  return isHere && getComputedStyle(element).visibility === "visible" && !isWaiting(element);
}

/** Whether a page shows what it is for, whatever failed: its own HTML has it, or something came that wasn't there. */
function isShown() {
  const all = elements(document.body);
  let text = 0;
  let area = 0;
  for (const element of all) {
    const own = [...element.childNodes].reduce((sum, { nodeType, nodeValue }) =>
      nodeType === Node.TEXT_NODE ? sum + (nodeValue ?? "").replace(/\s+/g, "").length : sum, 0);
    const isNew = !first.has(element);
    const isPainted = PAINTED.test(element.localName);
    if ((!own && !isNew && !isPainted) || !isSeen(element)) continue;
    if (isNew) return true;
    text += own;
    if (isPainted) area += element.clientWidth * element.clientHeight;
    if (text >= COMPLETE.text || area >= COMPLETE.area * innerWidth * innerHeight) return true;
  }
  return false;
}

const hasFailed = () => isFailed || reasons.length + lost.length;
/** Whether there is nothing to see: an app that begins with an import may not have come that far. */
const isBlank = () => !document.querySelector("img,svg,canvas,video,iframe,object,input") && !document.body?.innerText.trim();
const rendered = () => hasFailed() && isShown() && say({ ask: "rendered" });
if (document.readyState === "loading") addEventListener("readystatechange", () => void (first = new WeakSet(elements(document.body))), { once: true, capture: true });

addEventListener("error", ({ error, target }) => {
  isFailed ||= error;
  if (target instanceof HTMLScriptElement && target.src) lost.push(target.src.split("#")[0]);
}, true);
addEventListener("unhandledrejection", ({ reason }) => reasons.push(reason));
/** @param {object} [how] */
const up = (how) => {
  say({ ask: "up", ...how });
  setTimeout(() => say({ ask: "alive" }), PROOF);
};
// Whether this page comes up, for the worker that answered it. A deferred script runs before modules do, when nothing is "loading" any more.
begins();
const [opening] = /** @type {PerformanceNavigationTiming[]} */ (performance.getEntriesByType("navigation"));
if (document.readyState === "loading" || opening?.domContentLoadedEventEnd === 0) {
  // What it still waits for: something of another host that hangs is no fault of the page.
  const timer = setTimeout(() => say({ ask: "up", isFailed: true, isHanging: true, lost: pending() }), HANGING);
  addEventListener("DOMContentLoaded", async () => {
    clearTimeout(timer);
    for (const time of RENDERS) if (isBlank() && !isFailed) await wait(time);
    const isBare = !isShown();
    const isEmpty = isBlank();
    up({ isFailed: isFailed && isBare, isRejected: isEmpty && reasons.length, isEmpty, lost: isBare ? lost : [] });
    // What comes up late did so.
    if (hasFailed()) for (const time of RENDERS) setTimeout(rendered, time);
  });
} else up();
addEventListener("pagehide", () => {
  rendered();
  say({ ask: "left" });
});

/** @type {any} */ (window).xcache = xcache;
if (new URLSearchParams(location.search).has("xcache-debug")) showOverlay(xcache, absence, scope);
