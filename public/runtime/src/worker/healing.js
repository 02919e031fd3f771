import { after } from "../protocol/turns.js";
import { isWithin } from "./settings.js";

// Whether a version proves itself here (docs/protocol.md §11): who counts what becomes of its first pages, and when the device goes back.
// `returning.js` is how it does.

/** @typedef {import("../protocol/entries.js").Entry} Entry */
/** @typedef {import("./runtime.js").Runtime} Runtime */
/** @typedef {import("./store.js").Page} Page */
/**
 * The version before, by what it has otherwise than the one that is held: `map` has null for what it lacks. `over`: the digest of the manifest
 * that is meant; `releases`: its statements, where there is a root.
 * @typedef {{version: string, digest: string, candidate?: string, over: string, map: Map<string, Entry | null>, releases?: Map<string, any>}} Before
 */
/** @typedef {"page" | "start" | "rejected"} Cause */
/**
 * `failed`: first pages in a row that failed; `crashes`: openings in a row that never ended in order; `isUp`: a page of the version came up.
 * `isTrial`: it hasn't proved itself. `skip`: the version that was left, `cause` and `url`: why, as long as that wasn't told; `isBack`: no page
 * has come up or failed since. `spared`: a version that isn't left again, since the one before failed as well.
 * @typedef {{failed?: number, crashes?: number, isUp?: boolean, isTrial?: boolean, skip?: string, cause?: Cause, url?: string, isBack?: boolean, spared?: string}} Heal
 */

/** Failed pages, or crashes, by which a version has failed. */
const MOST = 2;
/** Milliseconds for which a page that hasn't begun may be on its way, and in which one that has begun is left rather than crashes. */
const FRESH = 2000;
/** Milliseconds for which the last word of a page that is gone is waited for: longer where it decides, and shorter than a page waits. */
const LAST_WORD = { first: 500, second: 2500 };
/** Milliseconds after which a page that has said nothing hangs, as long as it is open. */
const HANGING = 20_000;

/**
 * Whether pages tell something: of a version that has yet to prove itself, or of the one that was gone back to.
 * @param {Runtime} runtime
 */
export const isTested = ({ before, heal }) => !!before || heal.isBack === true;

/**
 * Counts what became of the pages of the version that is held, and goes back if it has failed.
 * @param {Runtime} runtime
 * @param {Page} [only] the page that has failed or was left; otherwise another one is about to open
 */
export async function judges(runtime, only) {
  const { heal, heard, manifest, pages } = runtime;
  if (!isTested(runtime)) return;
  let failed = 0;
  let hasCrashed = false;
  /** @type {[id: string, page: Page][]} */
  const suspects = [];
  let url = "";
  for (const [id, page] of pages) {
    if (!page.isMarked || page.version !== manifest.version || (only ? only !== page : heard.has(id))) continue;
    runtime.late(page);
    if (!page.hasFailed) {
      const isFresh = isWithin(FRESH, page.began ?? page.at, Date.now());
      if (only || (!page.began && isFresh)) continue;
      const isGone = !(await clients.get(id));
      // A page that hangs may still be open; what was gone before it began was left.
      if (!isGone && (page.began || !page.isSilent || isWithin(HANGING, page.at, Date.now()))) continue;
      // Nor does one say anything whose last word the browser lost, since the next page came at once.
      if (page.isSilent || (page.began && !(isFresh && runtime.isLoaded))) suspects.push([id, page]);
      else page.isMarked = false;
      continue;
    }
    failed += 1;
    page.isMarked = false;
    url = page.url;
  }
  // Their last words may be on their way: browsers let pages go before these have run.
  if (suspects.length > 0) await after(heal.crashes ? LAST_WORD.second : LAST_WORD.first);
  for (const [id, page] of suspects) {
    if (!page.isMarked || heard.has(id)) continue;
    page.isMarked = false;
    // Those that one crash ended are one.
    page.hasCrashed = hasCrashed = true;
    url = page.url;
  }
  if (!url) return;
  if (heal.isBack) {
    // The version before has the same fault, or the site's own servers have: nobody is told, and the next poll brings the other one again.
    runtime.heal = { spared: heal.skip };
  } else {
    if (!heal.isUp) heal.failed = (heal.failed ?? 0) + failed;
    if (hasCrashed) heal.crashes = (heal.crashes ?? 0) + 1;
  }
  await runtime.store.write({ heal: runtime.heal, pages }).catch(() => {});
  const hasFailed = (heal.failed ?? 0) >= MOST;
  if (hasFailed || (heal.crashes ?? 0) >= MOST) await runtime.updater?.().returns(hasFailed ? "page" : "start", url);
}

/**
 * A page of the version that is held came up.
 * @param {Runtime} runtime
 * @param {Page} page
 */
export function isUp(runtime, page) {
  const { heal } = runtime;
  page.isUp = true;
  const { crashes, skip, cause, url, isTrial } = heal;
  runtime.heal = { crashes, skip, cause, url, isUp: true, isTrial };
  tells(runtime);
}

/**
 * Tells the origin, once and when it may hear it, that the device went back, as soon as a page has come up since.
 * @param {Runtime} runtime
 */
export function tells(runtime) {
  const { heal } = runtime;
  const { cause, url, skip: version } = heal;
  if (!cause || heal.isBack || navigator.onLine === false) return;
  runtime.post({ reason: "returned", version, url, cause });
  heal.cause = undefined;
}

/**
 * A page ended in order, or went out of sight.
 * @param {Runtime} runtime
 * @param {Page} page
 */
export function ends({ heal, manifest }, page) {
  page.isMarked = false;
  // It was late.
  if (page.hasCrashed && heal.crashes) heal.crashes -= 1;
  page.hasCrashed = false;
  if (page.isUp && page.version === manifest.version) heal.crashes = 0;
}

/**
 * The version has proved itself: there is no way back any more, and the floors that it leaves are in force.
 * @param {Runtime} runtime
 */
export function proves(runtime) {
  const { heal: { isTrial, ...heal }, manifest: { digest }, settings: { root }, store } = runtime;
  /** @type {import("./store.js").Kept} */
  const members = {};
  if (isTrial) Object.assign(members, { before: (runtime.before = undefined), heal: (runtime.heal = { skip: heal.skip, cause: heal.cause, url: heal.url }) });
  if (root && runtime.proved !== digest) members.proved = runtime.proved = digest;
  return Object.keys(members).length > 0 ? store.write(members) : undefined;
}

/** @type {Clients} */
const clients = /** @type {any} */ (self).clients;
