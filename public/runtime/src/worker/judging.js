import { after } from "../protocol/turns.js";
import { isTested, isUp } from "./healing.js";
import { says } from "./samples.js";
import { isWithin } from "./settings.js";

// What becomes of the first pages of a version on trial, and what is said of it by that (docs/protocol.md §11).

/** @typedef {import("./runtime.js").Runtime} Runtime */
/** @typedef {import("./store.js").Page} Page */

/** Failed pages, or crashes, by which a version has failed. */
const MOST = 2;
/** Milliseconds for which a page that hasn't begun may be on its way. */
const FRESH = 2000;
/** Milliseconds between two looks at a page, and those in which it has answered none by which it hangs. */
const LOOKS = { every: 2000, silent: 4, most: 12 };
/** Looks from its opening after which a page that hangs does so though it is still open, and one that begins is late. */
const LATE_LOOKS = 10;
/** Pages in a row that load another one by themselves, within as many looks and before they are up, which are one that failed. */
const MOST_LOOPS = 3;
const SOON = 2;
/** Milliseconds in which a page may still render what it seemed to lack. */
const RENDERS = 3500;

/**
 * Whether whoever asks for a page anew has it no more: a page that is well is still there then, so that this one has crashed. Where any other
 * page of the site is seen, it may be that one that is asked for anew, by another address. Chromium alone says what is asked for anew.
 * @param {Runtime} runtime
 * @param {Request} request
 */
async function hasLost(runtime, request) {
  if (!(/** @type {any} */ (request).isReloadNavigation)) return false;
  const all = await clients.matchAll({ type: "window", includeUncontrolled: true });
  const own = runtime.nameOf(request.url);
  return all.every((client) => client.visibilityState !== "visible" && runtime.nameOf(client.url) !== own);
}

/**
 * Counts a page of the version that is held that has failed, or those that crashed, and goes back if it has failed. Only what was seen counts: a
 * page that is gone without a word may have been left, while it or the worker had no time for that.
 * @param {Runtime} runtime
 * @param {{only?: Page, request?: Request}} why `only`: the page that has failed; `request`: for another one, which is about to open
 */
export async function judges(runtime, { only, request }) {
  const { heal, manifest, pages } = runtime;
  if (!isTested(runtime)) return;
  const isLost = request !== undefined && (await hasLost(runtime, request));
  /** @param {Page} page */
  const isAskedAnew = ({ isMarked, url }) => isMarked && runtime.nameOf(url) === runtime.nameOf(request?.url ?? "");
  const last = isLost ? [...pages.values()].filter(isAskedAnew).pop() : undefined;
  let failed = 0;
  let hasCrashed = false;
  let url = "";
  for (const [id, page] of pages) {
    if (!page.isMarked || page.version !== manifest.version || (only && only !== page)) continue;
    if (only) {
      page.isMarked = false;
      if (page.lacks?.size) continue;
      failed = 1;
    } else {
      if (!page.began && isWithin(FRESH, page.at, Date.now())) continue;
      const isOpen = await clients.get(id);
      if (!page.isMarked || (isOpen && !(page.isSilent && (page.looks ?? 0) >= LATE_LOOKS))) continue;
      page.isMarked = false;
      // One that seemed to have failed was left before that was certain. One that came up may wait for its user, who answers a question of its.
      if (page.hasFailed || (page !== last && (page.isUp || !page.isSilent))) {
        page.hasFailed = false;
        continue;
      }
      // Those that one crash ended are one.
      hasCrashed = true;
    }
    url = runtime.nameOf(page.url);
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
  if ((heal.failed ?? 0) + (heal.crashes ?? 0) < MOST) return;
  // What control never counts counts for the candidate neither.
  await runtime.updater?.().returns((heal.failed ?? 0) >= MOST ? "page" : "start", url, only?.isFailed === true);
}

/**
 * Looks whether a page that has begun hangs: it is open, and answers nothing. What one that hasn't waits for isn't known.
 * @param {Runtime} runtime
 * @param {Page} page
 * @param {string} id
 */
export async function watches(runtime, page, id) {
  const { quiet } = runtime;
  let silent = 0;
  for (let look = 0; look < LOOKS.most; look++) {
    // Looks rather than times: a computer that slept was no page that hung.
    await after(LOOKS.every);
    page.looks = look + 1;
    const client = page.isMarked && (await clients.get(id));
    if (!client) return;
    silent = quiet.has(page) && page.began && page.answers ? silent + 1 : 0;
    quiet.add(page);
    client.postMessage({ xcache: { ping: true } });
    if (silent !== LOOKS.silent) continue;
    page.isSilent = true;
    await runtime.store.write({ pages: runtime.pages }).catch(() => {});
  }
  runtime.late(page);
  if (page.hasFailed) await fails(runtime, page);
}

/**
 * Whether the site has no such file: an ad blocker takes what is there.
 * @param {string} url
 */
async function isGone(url) {
  const answer = await fetch(url, { credentials: "omit" }).catch(() => undefined);
  return answer !== undefined && (/^(404|410)$/.test(String(answer.status)) || (answer.ok && /html/.test(answer.headers.get("content-type") ?? "")));
}

/**
 * Counts a page that has failed, once it is certain. One that is left before that says nothing: what it shows until then would take it back.
 * @param {Runtime} runtime
 * @param {Page} page
 * @param {string} [id] of one that must be open; nothing: it is left
 */
export async function fails(runtime, page, id) {
  if (!page.hasFailed || page.isJudged) return;
  const { failedAt, others = [] } = page;
  const isDrawn = page.isEmpty && page.isBare === false;
  const isEarly = id ? !(await clients.get(id)) : failedAt !== undefined && isWithin(RENDERS, failedAt, Date.now());
  if (!page.hasFailed || page.isJudged) return;
  page.isJudged = true;
  if (isEarly || isDrawn || (others.length > 0 && !(await Promise.all(others.map(isGone))).includes(true))) {
    page.hasFailed = page.isMarked = false;
    await runtime.store.write({ pages: runtime.pages }).catch(() => {});
    return;
  }
  // In the arm that it is in until the device goes back.
  if (page.seed && page.isFailed) await runtime.updater?.().counts(page);
  await judges(runtime, { only: page });
}

/** The script by which pages of a version on trial say what they show: page/trial.js, as a text. */
export const trial = async () => new Response(/** @type {any} */ (self).xcacheTrialText, { headers: { "Content-Type": "text/javascript" } });

/**
 * What a page of a version on trial says that it shows.
 * @param {Runtime} runtime
 * @param {Page} page
 * @param {{isBare: boolean, hasFailed: boolean, goes?: true, sample?: any}} said `goes`: it loads another page, or itself, unasked; `sample`: by what it
 *   failed, on trial or not
 */
export async function looks(runtime, page, { isBare, hasFailed, goes, sample }) {
  if (sample) return says(runtime, page, sample);
  if (!page.isMarked) return;
  const { manifest, heal, undone } = runtime;
  if (goes) {
    if (page.isOver || (page.looks ?? 0) > SOON) return;
    heal.loops = (heal.loops ?? 0) + 1;
    page.isOver = true;
    if (heal.loops < MOST_LOOPS) return;
    heal.loops = 0;
    page.hasFailed = true;
    await fails(runtime, page);
    return;
  }
  page.isBare = isBare;
  // What it shows late it shows.
  if (!isBare && page.isOver && !page.isUp && !page.hasFailed && page.version === manifest.version) isUp(runtime, page);
  if (!hasFailed || navigator.onLine === false) return;
  page.hasFailed = true;
  page.isUp = false;
  // It said that it came up before it was known that nothing else would come.
  if (undone?.page === page && runtime.heal.isUp && !runtime.heal.skip) runtime.heal = undone.heal;
  await fails(runtime, page);
}

/** @type {Clients} */
const clients = /** @type {any} */ (self).clients;
