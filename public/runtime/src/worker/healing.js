import { after } from "../protocol/turns.js";
import { withoutQuery } from "../protocol/urls.js";
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
 * `failed`: first pages in a row that failed; `crashes`: pages that crashed or hung; `isUp`: a page of the version came up.
 * `isTrial`: it hasn't proved itself. `skip`: the version that was left, `cause` and `url`: why, as long as that wasn't told; `isBack`: no page
 * has come up or failed since. `spared`: a version that isn't left again, since the one before failed as well.
 * @typedef {{failed?: number, crashes?: number, isUp?: boolean, isTrial?: boolean, skip?: string, cause?: Cause, url?: string, isBack?: boolean, spared?: string}} Heal
 */

/** Failed pages, or crashes, by which a version has failed. */
const MOST = 2;
/** Milliseconds for which a page that hasn't begun may be on its way. */
const FRESH = 2000;
/** Milliseconds between two looks at a page, the looks in which it has answered none by which it hangs, and all of them. */
const LOOKS = { every: 2000, silent: 4, most: 12 };
/** Milliseconds from its opening after which a page that hangs does so though it is still open. */
const HANGING = 20_000;

/**
 * Whether pages tell something: of a version that has yet to prove itself, or of the one that was gone back to.
 * @param {Runtime} runtime
 */
export const isTested = ({ before, heal }) => !!before || heal.isBack === true;

/**
 * What of it isn't kept yet: without a trial nothing is written.
 * @param {Runtime} runtime
 * @returns {{heal?: Heal}}
 */
export function healed(runtime) {
  const text = JSON.stringify(runtime.heal);
  if (text === runtime.healKept) return {};
  runtime.healKept = text;
  return { heal: runtime.heal };
}

/**
 * Whether whoever asks for a page anew has it no more: a page that is well is still there then, so that this one has crashed. Where any other
 * page of the site is seen, it may be that one that is asked for anew, by another address. Chromium alone says what is asked for anew.
 * @param {Request} request
 */
async function hasLost(request) {
  if (!(/** @type {any} */ (request).isReloadNavigation)) return false;
  const all = await clients.matchAll({ type: "window", includeUncontrolled: true });
  return all.every((client) => client.visibilityState !== "visible" && withoutQuery(client.url) !== withoutQuery(request.url));
}

/**
 * Counts what became of the pages of the version that is held, and goes back if it has failed. Only what was seen counts: a page that is gone
 * without a word may have been left, while it or the worker had no time for that.
 * @param {Runtime} runtime
 * @param {{only?: Page, request?: Request}} why `only`: the page that has failed or was left; `request`: for another one, which is about to open
 */
export async function judges(runtime, { only, request }) {
  const { heal, manifest, pages } = runtime;
  if (!isTested(runtime)) return;
  const isLost = request !== undefined && (await hasLost(request));
  /** @param {Page} page */
  const isAskedAnew = ({ isMarked, url }) => isMarked && withoutQuery(url) === withoutQuery(request?.url ?? "");
  const last = isLost ? [...pages.values()].filter(isAskedAnew).pop() : undefined;
  let failed = 0;
  let hasCrashed = false;
  let url = "";
  for (const [id, page] of pages) {
    if (!page.isMarked || page.version !== manifest.version || (only && only !== page)) continue;
    if (!page.hasFailed) {
      if (only || (!page.began && isWithin(FRESH, page.at, Date.now()))) continue;
      const isOpen = await clients.get(id);
      if (!page.isMarked || (isOpen && !(page.isSilent && !isWithin(HANGING, page.at, Date.now())))) continue;
      page.isMarked = false;
      if (!page.isSilent && page !== last) continue;
      // Those that one crash ended are one.
      hasCrashed = true;
    }
    page.isMarked = false;
    if (page.hasFailed) {
      if (page.lacks?.size) continue;
      failed += 1;
    }
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
  // One that failed and one that crashed are two that didn't come up.
  if ((heal.failed ?? 0) + (heal.crashes ?? 0) >= MOST) await runtime.updater?.().returns((heal.failed ?? 0) >= MOST ? "page" : "start", url);
}

/**
 * Looks whether a page that has opened hangs: it is open, and answers nothing. One whose document waits for another host hasn't begun for that.
 * @param {Runtime} runtime
 * @param {Page} page
 * @param {string} id
 * @param {boolean} speaks whether nothing but the page itself keeps it from saying that it begins
 */
export async function watches(runtime, page, id, speaks) {
  const { quiet } = runtime;
  let silent = 0;
  for (let look = 0; look < LOOKS.most; look++) {
    // Looks rather than times: a computer that slept was no page that hung.
    await after(LOOKS.every);
    const client = page.isMarked && (await clients.get(id));
    if (!client) return;
    silent = quiet.has(page) && (page.began ? page.answers : speaks && !page.lacks?.size) ? silent + 1 : 0;
    quiet.add(page);
    client.postMessage({ xcache: { ping: true } });
    if (silent !== LOOKS.silent) continue;
    page.isSilent = true;
    await runtime.store.write({ pages: runtime.pages }).catch(() => {});
  }
  runtime.late(page);
  if (page.hasFailed) await judges(runtime, { only: page });
}

/**
 * A page of the version that is held came up.
 * @param {Runtime} runtime
 * @param {Page} page
 */
export function isUp(runtime, page) {
  const { heal } = runtime;
  page.isUp = true;
  if (!isTested(runtime) && !heal.spared) return;
  const { crashes, skip, cause, url, isTrial } = heal;
  runtime.heal = { crashes, skip, cause, url, isUp: true, isTrial };
  runtime.updater?.().tells();
}

/**
 * A page ended in order, or went out of sight.
 * @param {Runtime} runtime
 * @param {Page} page
 */
export function ends({ heal, manifest }, page) {
  page.isMarked = false;
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
