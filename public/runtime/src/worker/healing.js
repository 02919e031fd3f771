// Whether a version proves itself here (docs/protocol.md §11): what is noted of its pages. `judging.js` counts what becomes of them, and
// `returning.js` is how the device goes back.

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
 * has come up or failed since. `loops`: pages in a row that loaded another one by themselves. `left`: the seed of the candidate that it was, until that counts. `spared`: a version that isn't left again, since the one before failed as well.
 * @typedef {{failed?: number, crashes?: number, isUp?: boolean, isTrial?: boolean, skip?: string, cause?: Cause, url?: string, isBack?: boolean, spared?: string, left?: string, loops?: number}} Heal
 */

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
 * A page of the version that is held came up.
 * @param {Runtime} runtime
 * @param {Page} page
 */
export function isUp(runtime, page) {
  const { heal } = runtime;
  page.isUp = true;
  if (!isTested(runtime) && !heal.spared) return;
  const { crashes, skip, cause, url, isTrial, left } = heal;
  runtime.undone = { page, heal };
  runtime.heal = { crashes, skip, cause, url, isUp: true, isTrial, left };
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
