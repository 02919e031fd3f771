import { engineOf, framesOf, messageOf, urlOf } from "../protocol/samples.js";
import { withoutQuery } from "../protocol/urls.js";
import { isHeard } from "./evidence.js";

// Error samples (docs/protocol.md §11 and §12): what happened in a page that counts as failed, once for each version, page and kind.

/** @typedef {import("./runtime.js").Runtime} Runtime */
/** @typedef {import("./store.js").Page} Page */
/** @typedef {"script" | "rejection" | "page"} Kind */
/**
 * What is kept of them. `isOff`: the origin said that it wants none; `sent`: what it was told, as versions, kinds and pages.
 * @typedef {{isOff?: boolean, sent?: string[]}} Samples
 */

/** Samples of one version. */
const MOST = 16;
/** What is said where nothing is known of an error. @type {{[kind in Kind]: string}} */
const WORDS = {
  script: "A script of the page failed.", rejection: "A promise was rejected, and nothing handled it.",
  page: "The page did not come up in time.",
};
/** @type {WeakSet<Page>} those that were asked what happened */
const asked = new WeakSet();
/** @type {WeakMap<Runtime, Map<string, object>>} samples that wait for an answer to a poll: only then it is known that they are wanted, and arrive */
const waiting = new WeakMap();

/**
 * Takes note of whether the origin wants samples, and sends those that wait.
 * @param {Runtime} runtime
 * @param {import("./polling.js").Source} source
 * @param {{samples?: unknown}} data of its answer
 */
export function wants(runtime, source, data) {
  if (source !== "origin") return;
  const { samples } = runtime;
  const isOff = data.samples === 0;
  if (isOff) waiting.delete(runtime);
  if (isOff !== (samples.isOff === true)) {
    samples.isOff = isOff;
    keeps(runtime);
  }
  sends(runtime);
}

/**
 * Asks a page that was counted as failed what happened, or says it where the page says nothing.
 * @param {Runtime} runtime
 * @param {Page} page
 * @param {"page-failed" | "script-failed"} failure
 */
export async function asks(runtime, page, failure) {
  try {
    if (failure === "page-failed") {
      makes(runtime, page, { kind: "page", message: "", stack: "" });
      return;
    }
    if (!isNew(runtime, page, "script") && !isNew(runtime, page, "rejection")) return;
    const [id] = [...runtime.pages].find(([, one]) => one === page) ?? [];
    const client = id !== undefined && (await /** @type {any} */ (self).clients.get(id));
    if (!client) return;
    asked.add(page);
    // A page imports it as it does what a version on trial has it run. A site without it, of an earlier release, says nothing.
    client.postMessage({ xcache: { trial: new URL("xcache-samples.js", runtime.settings.script).href } });
  } catch {
    // A page that failed has enough of its own.
  }
}

/**
 * What such a page says, once.
 * @param {Runtime} runtime
 * @param {Page} page
 * @param {{kind?: unknown, message?: unknown, stack?: unknown}} said
 */
export function says(runtime, page, { kind, message, stack }) {
  if (!asked.delete(page)) return;
  makes(runtime, page, {
    kind: kind === "rejection" ? kind : "script", message: typeof message === "string" ? message : "", stack: typeof stack === "string" ? stack : "",
  });
}

/**
 * @param {Runtime} runtime
 * @param {Page} page
 * @param {Kind} kind
 */
const keyOf = (runtime, { url, version }, kind) => `${version} ${kind} ${runtime.nameOf(url)}`;

/**
 * Whether a sample may be made: the origin wants some, and has none of this version, page and kind.
 * @param {Runtime} runtime
 * @param {Page} page
 * @param {Kind} kind
 */
function isNew(runtime, page, kind) {
  const { samples: { isOff, sent }, isOver } = runtime;
  const all = [...(Array.isArray(sent) ? sent : []), ...(waiting.get(runtime)?.keys() ?? [])];
  const own = all.filter((key) => String(key).startsWith(`${page.version} `));
  return !isOver && !isOff && page.version !== "0" && own.length < MOST && !own.includes(keyOf(runtime, page, kind));
}

/**
 * @param {Runtime} runtime
 * @param {Page} page
 * @param {{kind: Kind, message: string, stack: string}} what as the page has it
 */
function makes(runtime, page, { kind, message, stack }) {
  if (!isNew(runtime, page, kind)) return;
  const missing = page.lost?.[0];
  // It may be why the error came, and is all that is known where there was none.
  const words = message || (missing && kind === "script" ? "" : WORDS[kind]);
  const whole = missing ? `${words}${/[^.]$/.test(words) ? "." : ""} Not loaded: ${missing}` : words;
  const { version } = page;
  // What another version lists says nothing about the paths of this one.
  const name = runtime.nameOf(page.url);
  const isListed = (/** @type {string} */ url) => url !== name && url === withoutQuery(page.url) ? name :
    (version === runtime.manifest.version ? runtime.listed(url, false) : runtime.setAside(url, page)) !== undefined;
  const sample = {
    engine: engineOf(navigator.userAgent), kind, message: messageOf(whole, isListed), page: urlOf(name, isListed),
    stack: framesOf(stack, isListed),
  };
  const all = waiting.get(runtime) ?? new Map();
  waiting.set(runtime, all.set(keyOf(runtime, page, kind), { sample, version }));
  sends(runtime);
}

/**
 * Sends what waits, once, if the origin answered the last poll of this process.
 * @param {Runtime} runtime
 */
function sends(runtime) {
  const { samples } = runtime;
  const all = waiting.get(runtime);
  if (!all || !isHeard(runtime)) return;
  waiting.delete(runtime);
  // Of versions before, pages may still be open.
  samples.sent = [...(Array.isArray(samples.sent) ? samples.sent : []), ...all.keys()].slice(-4 * MOST);
  keeps(runtime);
  for (const document of all.values()) runtime.post(document);
}

/** @param {Runtime} runtime */
const keeps = ({ samples, store }) => void store.write({ samples }).catch(() => {});
