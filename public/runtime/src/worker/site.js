import { sha256 } from "../protocol/digests.js";
import { isOverdue, misses } from "./missed.js";
import { DAY, isMetered, isWithin } from "./settings.js";

// What becomes of the site itself, looked at after polls: whether it still has the worker, and whether it is ahead of the release.

/** @typedef {import("./runtime.js").Runtime} Runtime */
/** @typedef {import("./missed.js").Missed} Missed */
/**
 * What is kept of it. `looked`: when the worker's script was last asked for; `gone`: how often in a row it wasn't there; `replaced`: a page
 * was in its place. `compared`: when the page `url` was last compared with that of `version`; `isSame`: it was the same at some time;
 * `ahead`: it has been another one since.
 * @typedef {{looked?: number, gone?: number, replaced?: Missed, compared?: number, version?: string, url?: string, isSame?: boolean,
 *   ahead?: Missed}} Site
 */

/** Milliseconds between two looks at whether the site still has its worker, and looks in a row that have to find none. */
const EVERY = 3600e3;
const LOOKS = 2;
/** Days for which a page has to be in the script's place: that of a login may be for a while. */
const REPLACED = 7;
/** Milliseconds for which an answer is waited for. */
const WAIT = 5000;

/**
 * Looks at the site, if it is time.
 * @param {Runtime} runtime
 * @returns {Promise<boolean>} whether it has no worker any more: somebody took xcache's files away without `xcache web remove`. Browsers keep
 *   such a worker, and its pages would stay what they are for ever
 */
export async function looksAtSite(runtime) {
  const { settings, site } = runtime;
  const now = Date.now();
  if (isWithin(EVERY, site.looked ?? 0, now)) return false;
  // A site that never answers is asked no more often than others.
  site.looked = now;
  await keeps(runtime);
  if (settings.isAlone) {
    // Some servers know no HEAD.
    const head = await look(settings.script, "HEAD");
    const found = head === "there" ? head : await look(settings.script, "GET");
    if (found === "gone") site.gone = (site.gone ?? 0) + 1;
    if (found === "replaced") site.replaced = misses(site.replaced, now);
    if (found === "there") Object.assign(site, { gone: 0, replaced: undefined });
  }
  await compares(runtime, now).catch(() => {});
  await keeps(runtime);
  return (site.gone ?? 0) >= LOOKS || isOverdue(site.replaced, REPLACED);
}

/** @param {Runtime} runtime */
const keeps = ({ site, store }) => store.write({ site }).catch(() => {});

/**
 * Whether a script is there. Where somebody has to sign in first, nothing is known of it.
 * @param {string} script
 * @param {string} method
 * @returns {Promise<"there" | "gone" | "replaced" | undefined>}
 */
async function look(script, method) {
  try {
    const { status, redirected, headers } = await answers(script, { method, cache: "no-store" }, async (response) => response);
    if (redirected) return undefined;
    if (status === 404 || status === 410) return "gone";
    if (status !== 200) return undefined;
    return /html/.test(headers.get("content-type") ?? "") ? "replaced" : "there";
  } catch {
    return undefined;
  }
}

/**
 * Compares a page of the site with that of the release, once a day: the site may be ahead of what is published. One that was never the same
 * is written by its server for each user, or by something before it, and says nothing; so does one while a rollout gives it to a part.
 * @param {Runtime} runtime
 * @param {number} now
 */
async function compares(runtime, now) {
  const { site, manifest, settings, rollout } = runtime;
  const isEarly = isWithin(DAY - EVERY, site.compared ?? 0, now) && site.version === manifest.version;
  if (manifest.version === "0" || settings.staleAfter <= 0 || isEarly || isMetered() || rollout.rule) return;
  const opened = [settings.scope, ...[...runtime.pages.values()].map(({ url }) => url)].reverse();
  const isOurs = (/** @type {string | undefined} */ url) => !!url && new URL(url).origin === settings.origin && manifest.map.has(url);
  const urls = opened.map((url) => runtime.listed(url, true) ?? runtime.fallback(url)).filter(isOurs);
  site.compared = now;
  if (site.version !== manifest.version) {
    // The page that was opened first came from the site.
    const url = urls.find((url) => runtime.cached.has(url ?? ""));
    Object.assign(site, { version: manifest.version, url, isSame: url !== undefined, ahead: undefined });
    return;
  }
  const url = site.isSame && isOurs(site.url) ? site.url : urls[0];
  const entry = manifest.map.get(url ?? "");
  if (!url || !entry) return;
  const bytes = await answers(url, { cache: "no-cache" }, async (response) =>
    response.status === 200 && !response.redirected ? new Uint8Array(await response.arrayBuffer()) : undefined);
  // Another version may have come meanwhile.
  if (!bytes || site.version !== runtime.manifest.version) return;
  const isSame = (await sha256(bytes)) === entry.sha256;
  if (isSame) Object.assign(site, { url, isSame, ahead: undefined });
  else if (site.isSame && site.url === url) site.ahead = misses(site.ahead, now);
}

/**
 * @template Read
 * @param {string} url
 * @param {RequestInit} how
 * @param {(response: Response) => Promise<Read>} read
 * @returns {Promise<Read>}
 */
async function answers(url, how, read) {
  const abort = /** @type {any} */ (new AbortController());
  const timer = setTimeout(() => abort.abort(), WAIT);
  try {
    return await read(await fetch(url, { ...how, signal: abort.signal }));
  } finally {
    clearTimeout(timer);
    // What isn't read isn't sent.
    abort.abort();
  }
}
