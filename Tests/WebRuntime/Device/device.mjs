#!/usr/bin/env node
// The service worker as a device of docs/conformance.md: reads commands as lines, runs the worker as built for
// browsers, with the browser's APIs from browser.mjs.
import { createHash } from "node:crypto";
import fs from "node:fs";
import readline from "node:readline";
import vm from "node:vm";
import { cacheStorage, database, fetchByProxy } from "./browser.mjs";

const dist = new URL("../../../public/runtime/dist/", import.meta.url);
const self = globalThis;
/** @type {{[kind: string]: ((event: any) => void)[]}} */
const listeners = {};
const pages = new Map();
let opened = 0;
/** Ids of pages aren't used again, by a later process neither. */
const idOf = (page) => `page-${process.pid}-${page}`;
/** Milliseconds for which a page that came up has to live. */
let proofDelay = 0;
/** Where the pages that are open and seen are noted, as a browser knows its tabs. */
let tabs = "";
const conditions = { onLine: true, connection: { saveData: false, type: "wifi" } };
let now = 0;
let store = "";
/** @type {string | undefined} the site's cookies */
let cookies;
let stores;
/** The worker's requests while a page opens, if they are recorded instead of sent. */
let seen;
/** What scripts of pages threw, and what a page does to say it. */
const errors = new Map();
let explaining;
/** What was told, or is on its way. */
const reports = [];

const isNetwork = Symbol("network");
class Asked {
  constructor(members) {
    Object.assign(this, { method: "GET", credentials: "same-origin", redirect: "follow", cache: "default" }, members);
    this.headers = new Headers(members.headers);
  }

  clone() {
    return { text: async () => "" };
  }
}

function dispatch(kind, event) {
  const work = [];
  event.waitUntil = (promise) => {
    work.push(promise);
    // Only an installation fails by it.
    Promise.resolve(promise).catch(() => {});
  };
  for (const listener of listeners[kind] ?? []) listener(event);
  return work;
}

/** Whether a host belongs to the app; its hosts count as the worker's own. */
const matchesHost = (name) => xcacheSettings.hosts.some((host) => host === name || (host.startsWith("*.") && `.${name}`.endsWith(host.slice(1))));

/** A page imports what says why it failed. */
async function explains(page) {
  // Node takes a file by that name for a script of the other kind.
  const text = fs.readFileSync(new URL("xcache-samples.js", dist), "utf8");
  const { looks } = await import(`data:text/javascript,${encodeURIComponent(text)}`);
  const words = [];
  looks((word) => words.push(tell(word, page)), undefined, undefined, () => [errors.get(page) ?? false]);
  await Promise.all(words);
}

/** Sends a page's message to the worker; resolves to the reply. */
function tell(question, page) {
  return new Promise((resolve) => {
    const source = page === undefined ? null : { id: idOf(page), postMessage() {} };
    dispatch("message", { data: { xcache: question }, source, ports: [{ postMessage: resolve }] });
  });
}

const notesTabs = () => fs.writeFileSync(tabs, JSON.stringify([...pages.values()].filter(({ isSeen }) => isSeen).map(({ url }) => url)));

/** What was open as the process was killed: its pages crashed, and whoever looks at the last one asks for it anew. */
async function reloads() {
  const [url] = fs.existsSync(tabs) ? JSON.parse(fs.readFileSync(tabs, "utf8")).slice(-1) : [];
  if (!url) return;
  const page = (opened += 1);
  await tell({ ask: "state" });
  await request({ url, method: methodOf(url), destination: "document", page, isReload: true }, true);
  await tell({ ask: "left" }, page);
}

/** No page is seen any more. */
const hides = (id) => new Promise((resolve) => dispatch("message", {
  data: { xcache: { ask: "hidden" } }, source: { id }, ports: [{ postMessage: resolve }],
}));

/** The worker's answer to a page's request; undefined: the network answers. */
async function request({ url, method = "GET", headers = {}, destination = "", mode = "noCORS", credentials, cookies: hasCookies, page, isReload }, opens) {
  const isPage = ["document", "frame", "iframe"].includes(destination);
  const request = new Asked({
    // Normalized like in browsers.
    url: URL.canParse(url) ? new URL(url).href : url, method, headers, destination, mode: isPage ? "navigate" : mode === "noCORS" ? "no-cors" : mode,
    credentials: credentials ? "include" : hasCookies === false ? "omit" : "same-origin", isReloadNavigation: isReload === true,
  });
  // Browsers don't ask the worker for requests of other origins' pages.
  const from = headers.Origin ?? pages.get(idOf(page))?.url;
  if (!isPage && from && !(URL.canParse(from) && matchesHost(new URL(from).hostname))) return undefined;
  let answer;
  dispatch("fetch", {
    request, clientId: isPage || page === undefined ? "" : idOf(page), resultingClientId: opens ? idOf(page) : "",
    respondWith: (promise) => (answer = promise),
  });
  const response = await Promise.resolve(answer).catch(() => undefined);
  return response && !response[isNetwork] ? response : undefined;
}

/** By which the worker learns that a page opens: a HEAD request fetches no document, but only a GET is answered for a route. */
function methodOf(url) {
  const map = stores.read(store).get("manifest")?.map;
  return [...(map?.values() ?? [])].some(({ fallback }) => fallback) && !map.has(url) ? "GET" : "HEAD";
}

/** Opens a page, which the worker learns from a request for it; without `sends`, its requests are recorded, not sent. */
async function opens(url, page, sends = false) {
  await tell({ ask: "state" });
  seen = sends ? undefined : [];
  const answer = request({ url, method: methodOf(url), destination: "document", page }, true);
  // The worker may look at earlier pages first; nothing else of it runs meanwhile.
  for (let turn = 0; turn < 100; turn++) await undefined;
  const sent = seen;
  seen = undefined;
  await answer;
  return sent;
}

/** @param {string | undefined} header a value of `Cookie` */
const pairs = (header) => (header ?? "").split("; ").filter(Boolean).map((pair) => {
  const [name, value] = pair.split("=");
  return { name, value };
});

/** Background requests, whose answers are taken later. */
const requests = [];

async function answered(asked) {
  const response = await request(asked, false);
  if (!response) return { answer: "network" };
  try {
    const body = Buffer.from(await response.arrayBuffer()).toString("base64");
    return { answer: "local", status: response.status, headers: [...response.headers], body };
  } catch (error) {
    return { error: String(error) };
  }
}

const commands = {
  cookies: ({ value }) => {
    cookies = value ?? undefined;
    return {};
  },
  async open({ now: begun, settings }) {
    now = begun;
    proofDelay = settings.proofDelay ?? 0;
    fs.mkdirSync(settings.folder, { recursive: true });
    const [host] = settings.hosts;
    const place = `https://${host.replace("*.", "")}/`;
    stores = database(settings.folder);
    store = `xcache ${settings.app} ${settings.channel} /`;
    const worker = {
      addEventListener: (kind, listener) => (listeners[kind] ??= []).push(listener),
      location: new URL("xcache-sw.js", place), registration: { scope: place, unregister: async () => true },
      clients: {
        get: async (id) => pages.get(id), matchAll: async () => [...pages.values()],
      },
      skipWaiting: async () => {}, navigator: conditions, caches: cacheStorage(settings.folder), indexedDB: stores,
      fetch: (target, options) => {
        if (target instanceof Asked) return Promise.resolve(Object.assign(new Response(), { [isNetwork]: true }));
        if (!conditions.onLine) return Promise.reject(new TypeError("offline"));
        // The runner doesn't serve the site's files, and there is no HTTP cache; only the worker's script exists.
        if (options.mode === "same-origin") return Promise.reject(new TypeError("no site"));
        if (options.method === "HEAD" && target === worker.location.href) return Promise.resolve(new Response());
        const own = options.credentials === "same-origin" && cookies && matchesHost(new URL(target).hostname) ? { Cookie: cookies } : {};
        if (!seen) {
          const answer = fetchByProxy(target, { ...options, headers: { ...options.headers, ...own } });
          if (options.method === "POST") reports.push(answer.catch(() => {}));
          return answer;
        }
        seen.push({ method: options.method, url: target, body: options.body ?? null });
        return Promise.reject(new TypeError("only to be seen"));
      },
      cookieStore: { getAll: async () => pairs(cookies) },
      importScripts: (...names) => names.forEach((name) => vm.runInThisContext(fs.readFileSync(new URL(name, dist), "utf8"))),
      xcacheSettings: {
        app: settings.app, channel: settings.channel, server: settings.server, fallback: settings.fallback, hosts: settings.hosts,
        goesBack: true, limit: settings.diskLimit, meteredLimit: settings.meteredLimit, root: settings.root,
      },
    };
    for (const [name, value] of Object.entries(worker)) Object.defineProperty(self, name, { value, configurable: true, writable: true });
    self.self = self;
    Date.now = () => now;
    const { setTimeout: timer } = self;
    // Idle connections time out after some seconds, and slow documents after five, not a minute; pauses are short;
    // opening a page starts no poll, since the runner triggers polls.
    self.setTimeout = (act, delay = 0, ...rest) =>
      delay > 1000 && delay <= 2000 && delay !== 1800 ? undefined
        : timer(act, delay === 20_000 ? 4000 : delay === 61_000 ? 5000 : delay === 3500 ? 0 : [200, 600, 1800].includes(delay) ? delay / 20 : delay, ...rest);
    if (settings.install) stores.begin(store, "rollout", { install: settings.install });
    importScripts("xcache-sw.js");
    await Promise.all(dispatch("install", {}));
    await tell({ ask: "describe", appVersion: settings.appVersion ?? null, groups: settings.groups ?? [] });
    tabs = `${settings.folder}.tabs`;
    await reloads();
    notesTabs();
    return {};
  },
  advance: ({ milliseconds }) => {
    now += milliseconds;
    return {};
  },
  async trigger({ background }) {
    const update = tell({ ask: "update" });
    if (!background) await update;
    return {};
  },
  async pageOpen({ url, sends }) {
    const page = (opened += 1);
    pages.set(idOf(page), {
      id: idOf(page), url, isSeen: true, visibilityState: "visible",
      postMessage: ({ xcache }) => void (xcache?.trial?.endsWith("/xcache-samples.js") && (explaining = explains(page))),
    });
    notesTabs();
    await opens(url, page, sends);
    await tell({ ask: "began" }, page);
    return { page };
  },
  async pageUp({ page }) {
    await tell({ ask: "up" }, page);
    const lives = () => tell({ ask: "alive" }, page);
    if (proofDelay) setTimeout(lives, proofDelay);
    else await lives();
    return {};
  },
  async scriptFailed({ page, message, stack }) {
    if (message !== undefined) errors.set(page, { message, stack });
    await tell({ ask: "up", isFailed: true }, page);
    await explaining;
    return {};
  },
  async pageClose({ page }) {
    await tell({ ask: "left" }, page);
    pages.delete(idOf(page));
    notesTabs();
    return {};
  },
  async conditions({ network, dataSaver = false, foreground }) {
    if (foreground === false) {
      await Promise.all([...pages.keys()].map(hides));
      for (const page of pages.values()) page.isSeen = false;
      notesTabs();
    }
    if (network) conditions.onLine = network !== "offline";
    conditions.connection = { saveData: dataSaver, type: network === "metered" ? "cellular" : "wifi" };
    return {};
  },
  memoryShort: () => ({}),
  describe: async ({ appVersion, groups }) => ((await tell({ ask: "describe", appVersion, groups })), {}),
  confirm: async () => ((await tell({ ask: "confirm" })), {}),
  reject: async () => ((await tell({ ask: "reject" })), {}),
  leaveCandidate: async () => ((await tell({ ask: "leave" })), {}),
  async request(asked) {
    const answer = answered(asked);
    return asked.background ? { request: requests.push(answer) } : answer;
  },
  answer: ({ request }) => requests[request - 1],
  prefetch: async ({ url }) => ({ requests: await opens(url, "prefetch") }),
  script: () => ({ script: null }),
  async state() {
    const { version, digest, policy, prefetch } = await tell({ ask: "state" });
    const cache = await caches.open(store);
    const files = {};
    for (const [url, entry] of stores.read(store).get("manifest")?.map ?? []) {
      const bytes = await (await cache.match(entry.download))?.arrayBuffer();
      const sum = bytes && createHash("sha256").update(Buffer.from(bytes)).digest("hex");
      if (sum === entry.sha256) files[url] = sum;
    }
    return { version, digest, policy: String(policy), prefetch: String(prefetch), files };
  },
};

for await (const line of readline.createInterface({ input: process.stdin })) {
  const command = JSON.parse(line);
  let answer;
  try {
    answer = Object.hasOwn(commands, command.do) ? await commands[command.do](command) : { error: "there is no such command" };
  } catch (error) {
    answer = { error: String(error?.stack ?? error) };
  }
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}
await Promise.all([...pages.keys()].map(hides));
pages.clear();
if (tabs) notesTabs();
// A browser lets them end.
await Promise.race([Promise.all(reports), new Promise((resolve) => setTimeout(resolve, 1000))]);
process.exit(0);
