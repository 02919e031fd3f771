import { background } from "./background.js";
import { ends as endsInOrder, healed, isTested, proves } from "./healing.js";
import { Runtime, isOfNetwork } from "./runtime.js";
import { Settings } from "./settings.js";
import { after } from "../protocol/turns.js";
import { Store, removeOthers } from "./store.js";

/** Milliseconds without a request after which a page counts as loaded, where it doesn't say so itself, and the longest wait. */
const QUIET = { wanted: 2000, most: 20_000 };
/** Milliseconds in which a page may still render what it seemed to lack. */
const RENDERS = 3500;
/** Milliseconds for which an older worker of ours may keep its answer to a newer one. */
const ALIVE = 3000;

const worker = /** @type {ServiceWorkerGlobalScope} */ (/** @type {unknown} */ (self));
const { registration } = worker;
const settings = new Settings(/** @type {any} */ (self).xcacheSettings, worker.location.href, registration.scope);
const runtime = new Runtime(settings, new Store(settings.storeName));
/** @type {import("./update.js").Updater | undefined} */
let updater;
/** @type {Promise<void> | undefined} the worker's end, once it was decided */
let ending;

runtime.updater = () => (updater ??= new (background().Updater)(runtime, async (report) => {
  if (report.from !== report.to) await tell({ updated: report });
  await preload();
  if (report.from === "0" && report.to !== "0") await claims();
  if (runtime.isOver) await ends();
}));

/** @param {import("./update.js").Wish} wish */
const update = async (wish) => runtime.updater?.().update(wish);

worker.addEventListener("install", (event) => {
  // They are fixed until the next worker, so that only what never changes is among them: methods, and hosts that aren't named. What a
  // worker of the site's own would get isn't ours to keep from it.
  if (settings.isAlone) {
    const methods = ["PUT", "DELETE", "PATCH", "OPTIONS"].map((requestMethod) => ({ requestMethod }));
    const hosts = settings.hosts.map((host) => ({ urlPattern: { protocol: "http{s}?", hostname: host.replace("*.", "{*.}?") } }));
    /** @type {(condition: object, source: string) => Promise<void>} */
    const route = async (condition, source) => /** @type {any} */ (event).addRoutes?.({ condition, source });
    // One by one: a browser that doesn't know a condition takes the others.
    for (const condition of [...methods, { not: { or: hosts } }]) event.waitUntil(route(condition, "network").catch(() => {}));
    // Chromium would ask for a page beside the worker that has it.
    event.waitUntil(route({ requestMode: "navigate" }, "fetch-event").catch(() => {}));
  }
  event.waitUntil(installs());
});

// What the older worker wrote after this one had read it; and what it kept by another name.
worker.addEventListener("activate", (event) => {
  runtime.loading = runtime.load();
  event.waitUntil(removeOthers(registration.scope, settings.storeName));
});

/** Whether pages are asked for while this worker starts is the registration's to remember, and a worker's that is ended to forget. */
async function preload() {
  if (settings.isAlone) await registration.navigationPreload?.[runtime.preloads ? "enable" : "disable"]().catch(() => {});
}

/**
 * A worker without the script that decodes isn't installed: what was before stays, and the next visit tries again. Nor is one whose root is
 * none, which would never poll. Takes the place of an older worker of this script that doesn't answer; any other one goes when its pages are
 * closed.
 */
async function installs() {
  background();
  if (settings.root) await /** @type {any} */ (self).xcacheTrust.read("root", settings.root);
  const old = registration.active;
  if (settings.isAlone && old?.scriptURL === worker.location.href && !(await ask(old, { ask: "ping" }))) await worker.skipWaiting();
}

/**
 * @param {ServiceWorker} other
 * @param {object} question
 * @returns {Promise<any>} undefined where it doesn't answer in time
 */
function ask(other, question) {
  return new Promise((resolve) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = ({ data }) => resolve(data);
    setTimeout(resolve, ALIVE);
    other.postMessage({ xcache: question }, [port2]);
  });
}

worker.addEventListener("fetch", (event) => {
  try {
    const answer = runtime.answer(event);
    if (answer) event.respondWith(answer);
    if (event.request.mode === "navigate") event.waitUntil(quiet().then(() => update({})).then(goes));
  } catch {
    // The browser goes on as if there were no worker.
  }
});

/**
 * Takes the pages of a first visit, whose documents are those of the version that this worker now holds: they know the release, which the
 * browser's own cache tells, and would else ask a site that moves on for their lazy chunks.
 */
async function claims() {
  const all = await worker.clients.matchAll({ type: "window", includeUncontrolled: true });
  const ours = new Set((await worker.clients.matchAll({ type: "window" })).map(({ id }) => id));
  const others = all.filter(({ id, url }) => !ours.has(id) && url.startsWith(registration.scope));
  if (!settings.isAlone) return;
  const { isCached } = background();
  for (const { url } of others) if (!(await isCached(runtime, url))) return;
  const { version } = runtime.manifest;
  for (const { id, url } of others) {
    runtime.pages.set(id, { url, version, at: Date.now(), isOver: true, from: "network", why: "first-visit" });
  }
  await worker.clients.claim();
}

/** Resolves when the page that opens has what it asked for: never a poll before that. */
async function quiet() {
  const begun = performance.now();
  const left = () => runtime.lastRequest + QUIET.wanted - performance.now();
  while (left() > 0 && performance.now() - begun < QUIET.most) await new Promise((resolve) => setTimeout(resolve, left()));
}

/** Forgets everything and tells the pages, once. */
function ends() {
  return (ending ??= runtime.remove().then(() => tell({ removed: true })));
}

/** Unregisters at the end: from there on nothing of a worker without pages is sure to run. One of the site's own stays. */
async function goes() {
  await updater?.looking;
  return ending && settings.isAlone && registration.unregister();
}

/** @param {object} message */
async function tell(message) {
  for (const client of await worker.clients.matchAll({ includeUncontrolled: true })) {
    client.postMessage({ xcache: { ...message, page: runtime.pages.get(client.id)?.version } });
  }
}

/** @param {ExtendableMessageEvent} event */
async function pageOf(event) {
  await runtime.loading;
  const page = runtime.pages.get(/** @type {Client} */ (event.source)?.id);
  if (page) runtime.quiet.delete(page);
  if (page?.isSilent) {
    // It was busy.
    page.isSilent = false;
    await keeps();
  }
  return page;
}

const keeps = () => runtime.store.write({ pages: runtime.pages, health: runtime.health, ...healed(runtime) });

/** @param {import("./store.js").Page | undefined} page that ends in order, or goes out of sight */
async function out(page) {
  if (!page?.isMarked || page.hasFailed) return;
  endsInOrder(runtime, page);
  await keeps();
}

/** @param {import("./store.js").Page | undefined} page that nobody sees: it is never late, and may be ended without a word */
function hides(page) {
  if (page) page.began = Infinity;
  return out(page);
}

/**
 * @param {import("./store.js").Page} page that seems to have failed
 * @param {string} [id] nothing: it is left
 */
const fails = async (page, id) => (isTested(runtime) || page.seed) && background().fails(runtime, page, id);

/**
 * Whether the app itself says it, and of the version that is held: of what the network gives to a page it isn't known which one that is.
 * @param {ExtendableMessageEvent} event
 */
async function isOfHeld(event) {
  const page = await pageOf(event);
  return page ? page.version === runtime.manifest.version && !isOfNetwork(page) : !event.source;
}

/** @type {{[ask: string]: (event: ExtendableMessageEvent, question: any) => unknown}} */
const answers = {
  ping: () => true,
  // A page that this worker doesn't see asks for something.
  busy: () => void (runtime.lastRequest = performance.now()),
  update: (_, { force, metered }) => update({ force, metered }),
  state: async (event) => background().stateOf(runtime, await pageOf(event), /** @type {Client} */ (event.source)?.url),
  // What a page is to store again, by its own URL, so that V8 keeps what it compiled.
  scripts: (_, { ran }) => {
    for (const url of ran ?? []) runtime.ran(url);
    const scripts = [...runtime.scripts].map(([download, [url, tag]]) => ({ download, url, tag }));
    runtime.scripts.clear();
    return { store: settings.storeName, scripts };
  },
  stored: (_, { downloads }) => runtime.stored(downloads),
  // What a page says of itself once it is loaded.
  opened: async (event, { paint, load }) => {
    const isLocal = (await pageOf(event))?.isLocal === true;
    runtime.tally.time("paint", isLocal, paint);
    runtime.tally.time("load", isLocal, load);
  },
  // Whether it comes up: it begins, and then it is up, has failed, or is left.
  began: async (event, { hidden }) => {
    const page = await pageOf(event);
    // Scripts of earlier releases answer nothing.
    if (page) Object.assign(page, { began: Date.now(), answers: hidden !== undefined });
    if (hidden) await hides(page);
    await runtime.store.write({ pages: runtime.pages });
    if (page?.isMarked) event.source?.postMessage({ xcache: { trial: settings.trial } });
    if (page?.seed && !runtime.rollout.arm?.at) await runtime.updater?.().counts();
  },
  up: async (event, { isFailed, isRejected, isEmpty, isHanging, lost = [] }) => {
    const page = await pageOf(event);
    // A script that isn't of this version and didn't come fails the page on the network, too.
    const others = lost.filter((/** @type {string} */ url) => !runtime.listed(url, false));
    const hasFailed = isFailed || isRejected || lost.length > others.length;
    if (page) page.lost = lost;
    const isOffline = navigator.onLine === false;
    if (page && hasFailed && (isOffline || others.length > 0)) page.isOver = true;
    // Its version is at fault also where the site has no more of it, but not for what another host lacks. Without a network little is known.
    // What it shows it may have said before.
    if (page && isEmpty) Object.assign(page, { isEmpty, isBare: page.isBare ?? true });
    if (page && !isHanging && (hasFailed || others.length > 0) && others.every((/** @type {string} */ url) => settings.allows(url))) {
      Object.assign(page, { hasFailed: true, failedAt: Date.now(), others });
      // Out of sight, too, a script throws for its own reasons.
      if (page.began === Infinity && page.isLocal && isTested(runtime) && (isFailed || lost.length > others.length)) page.isMarked = true;
      if (isOffline && (!isFailed || lost.length > 0)) page.isMarked = false;
    }
    // One that waits for its own may still come up.
    if (!isHanging) runtime.cameUp(page, hasFailed && "script-failed");
    // The failure is counted even if the browser stops this worker now.
    const { pages, health, tally } = runtime;
    await runtime.store.write({ pages, health, tally: tally.batch, ...healed(runtime) });
    if (!page?.hasFailed) return;
    await after(RENDERS);
    await fails(page, /** @type {Client} */ (event.source).id);
  },
  rendered: async (event) => {
    runtime.rendered(await pageOf(event));
    return keeps();
  },
  left: async (event) => {
    const page = await pageOf(event);
    if (page) runtime.left(page);
    await keeps();
    if (page?.hasFailed) return fails(page);
    return out(page);
  },
  looks: async (event, said) => {
    const page = await pageOf(event);
    if (page) await background().looks(runtime, page, said);
    return keeps();
  },
  // An answer.
  here: pageOf,
  // By scripts of earlier releases.
  hidden: async (event) => hides(await pageOf(event)),
  alive: async (event) => {
    const page = await pageOf(event);
    if (page?.isBare) return;
    if (page?.isUp && page.version === runtime.manifest.version) await proves(runtime);
    return out(page);
  },
  // What the app itself says of the version that it is of.
  confirm: async (event) => {
    const isOf = await isOfHeld(event);
    if (isOf) await proves(runtime);
    return isOf;
  },
  reject: async (event) => (await isOfHeld(event)) && runtime.updater?.().returns("rejected", "", false),
  // What rollouts are decided by, besides their share.
  describe: async (_, said) => {
    await runtime.loading;
    await background().describes(runtime, said);
    return true;
  },
  leave: async () => {
    await runtime.loading;
    await background().leaves(runtime);
    return true;
  },
  activate: () => worker.skipWaiting(),
  reload: () => tell({ reload: true }),
  remove: ends,
};

worker.addEventListener("message", (event) => {
  const question = event.data?.xcache;
  const answer = Object.hasOwn(answers, question?.ask) ? answers[question.ask] : undefined;
  if (!answer) return;
  event.waitUntil((async () => {
    /** @type {unknown} */
    let said;
    try {
      said = await answer(event, question);
    } catch {}
    event.ports[0]?.postMessage(said ?? null);
    await goes();
  })());
});
