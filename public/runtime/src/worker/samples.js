import { engineOf, framesOf, messageOf, urlOf } from "../protocol/samples.js";

// Error samples (docs/protocol.md §12): what happened in a page that counts as failed, told once for each version, page and kind.

/** @typedef {import("./runtime.js").Runtime} Runtime */
/** @typedef {import("./store.js").Page} Page */
/** @typedef {"script" | "rejection" | "page"} Kind */
/**
 * What is kept of them. `isOff`: the origin said that it wants none; `sent`: kinds and pages of `version` that it was told.
 * @typedef {{isOff?: boolean, version?: string, sent?: string[]}} Samples
 */

/** Samples of one version. */
const MOST = 16;
const LATE = "The page did not come up in time.";
/** @type {WeakSet<Page>} those that were asked what happened */
const asked = new WeakSet();

/**
 * Takes note of whether the origin wants samples.
 * @param {Runtime} runtime
 * @param {import("./polling.js").Source} source
 * @param {{samples?: unknown}} data of its answer
 */
export function wants({ samples, store }, source, data) {
  const isOff = data.samples === 0;
  if (source !== "origin" || isOff === (samples.isOff === true)) return;
  samples.isOff = isOff;
  void store.write({ samples }).catch(() => {});
}

/**
 * Asks a page that was counted as failed what happened, or tells it where the page says nothing.
 * @param {Runtime} runtime
 * @param {Page} page
 * @param {"page-failed" | "script-failed"} failure
 */
export async function asks(runtime, page, failure) {
  try {
    if (failure === "page-failed") return await sends(runtime, page, { kind: "page", message: LATE, stack: "" });
    const [id] = [...runtime.pages].find(([, one]) => one === page) ?? [];
    if (id === undefined || (!mayTell(runtime, page, "script") && !mayTell(runtime, page, "rejection"))) return;
    const client = await /** @type {any} */ (self).clients.get(id);
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
export async function says(runtime, page, { kind, message, stack }) {
  if (!asked.delete(page)) return;
  await sends(runtime, page, {
    kind: kind === "rejection" ? kind : "script", message: typeof message === "string" ? message : "", stack: typeof stack === "string" ? stack : "",
  });
}

/**
 * Whether the origin is to be told: not by a device that is on the static copy, or was told to send none.
 * @param {Runtime} runtime
 * @param {Page} page
 * @param {Kind} kind
 */
function mayTell(runtime, page, kind) {
  const { samples, manifest, poll, isOver } = runtime;
  const { version } = page;
  if (isOver || samples.isOff || version === "0" || version !== manifest.version || poll?.source === "mirror") return false;
  const sent = samples.version === version && Array.isArray(samples.sent) ? samples.sent : [];
  Object.assign(samples, { version, sent });
  return sent.length < MOST && !sent.includes(keyOf(runtime, page, kind));
}

/**
 * @param {Runtime} runtime
 * @param {Page} page
 * @param {Kind} kind
 */
const keyOf = (runtime, { url }, kind) => `${kind} ${runtime.nameOf(url)}`;

/**
 * @param {Runtime} runtime
 * @param {Page} page
 * @param {{kind: Kind, message: string, stack: string}} what as the page has it
 */
async function sends(runtime, page, { kind, message, stack }) {
  const missing = page.lost?.[0];
  // It may be why the error came.
  const whole = missing ? `${message}${/[^.]$/.test(message) ? "." : ""} Not loaded: ${missing}` : message;
  if (!whole || !mayTell(runtime, page, kind)) return;
  const { samples, store } = runtime;
  const { version } = page;
  const key = keyOf(runtime, page, kind);
  samples.sent?.push(key);
  const isListed = (/** @type {string} */ url) => runtime.listed(url, true) !== undefined;
  const sample = {
    engine: engineOf(navigator.userAgent), kind, message: messageOf(whole, isListed), page: urlOf(runtime.nameOf(page.url), isListed),
    stack: framesOf(stack, isListed),
  };
  const isTaken = await runtime.post({ sample, version });
  // Without a network nobody was told: the next time.
  if (!isTaken && samples.version === version) samples.sent = samples.sent?.filter((one) => one !== key);
  await store.write({ samples }).catch(() => {});
}
