import { armOf, liesIn } from "../protocol/rollouts.js";
import { after } from "../protocol/turns.js";
import { DAY } from "./settings.js";

// What a rollout came to on this device (docs/protocol.md §12, docs/evidence.md): told once for each seed, and never sampled.

/** @typedef {import("./runtime.js").Runtime} Runtime */
/** @typedef {import("../protocol/rollouts.js").Rule} Rule */
/** @typedef {import("./store.js").Page} Page */
/**
 * What the device counts as in the rollout of `seed`. `at`: when it opened its first page, from which on it stays in this arm; `hasFailed`:
 * one failed since; `told`: what of it the origin was told.
 * @typedef {{seed: string, name: "candidate" | "control", at?: number, hasFailed?: boolean, told?: {opened?: 1, failed?: 1}}} Arm
 */

const HOUR = 3600e3;
/** Milliseconds for which the store is waited for. */
const PATIENCE = 1000;
/** Milliseconds after which a page that has failed shows nothing more. */
const RENDERS = 20_000;
/** The oldest opening, in whole hours, that is told of. */
const OLDEST = 24;
/** Seeds that are remembered, so that a copy that is behind makes nothing count twice. */
const MOST_SEEDS = 8;

/**
 * The arm by the rule of an answer, and the seeds that have counted. Neither has who was chosen, or has what its bucket doesn't give.
 * @param {Runtime} runtime
 * @param {Rule} rule
 * @param {number} bucket
 * @returns {{arm: Arm | undefined, seeds: string[]}}
 */
export function armBy({ rollout: { app, groups = [], left, arm, seeds = [] }, manifest }, rule, bucket) {
  const { seed, share } = rule;
  const hasOpened = arm?.at !== undefined;
  if (hasOpened && arm.seed === seed) return { arm, seeds };
  const counted = hasOpened ? [...seeds, arm.seed].slice(-MOST_SEEDS) : seeds;
  const name = armOf(bucket, share);
  const isNeither = !name || counted.includes(seed) || left === seed || !liesIn(app, rule.app) ||
    groups.some((group) => rule.groups.includes(group)) || (name === "control" && manifest.candidate === seed);
  return { arm: isNeither ? undefined : { seed, name }, seeds: counted };
}

/** @type {WeakSet<Runtime>} whose last poll in this life of the worker the origin has answered */
const reached = new WeakSet();

/**
 * Takes note of whether the origin answers.
 * @param {Runtime} runtime
 * @param {boolean} isReached
 */
export const reaches = (runtime, isReached) => void reached[isReached ? "add" : "delete"](runtime);

/**
 * Whether what is told now arrives, as far as that is known.
 * @param {Runtime} runtime
 */
export const isHeard = (runtime) => reached.has(runtime) && navigator.onLine !== false;

/**
 * Tells the origin, once and when it hears it, that the device went back, as soon as a page has come up since.
 * @param {Runtime} runtime
 */
export function tells(runtime) {
  const { heal } = runtime;
  const { cause, url, skip: version } = heal;
  if (!cause || heal.isBack || !isHeard(runtime)) return;
  runtime.post({ reason: "returned", version, url, cause });
  heal.cause = undefined;
}

/**
 * Takes note of the first page, and of what failed since, and tells the origin what it hasn't heard of, once it is there.
 * @param {Runtime} runtime
 * @param {{page?: Page, left?: string}} news `page`: one that has failed for good; `left`: the seed of a candidate that was gone back from
 */
export async function counts(runtime, { page: lost, left }) {
  const { rollout: { arm, rule }, manifest, pages } = runtime;
  if (!arm || runtime.isOver) return;
  const now = Date.now();
  const { at, hasFailed } = arm;
  const isOwn = (manifest.candidate === arm.seed) === (arm.name === "candidate");
  for (const page of isOwn ? pages.values() : []) {
    if (page.seed !== arm.seed || page.version !== manifest.version) continue;
    const isPassed = page.why === "failed" && !page.isLocal;
    if (arm.at === undefined && (page.isLocal || isPassed)) {
      arm.at = page.at;
      // It has failed before, whatever it shows now.
      arm.hasFailed = isPassed;
    }
    // What it lacked it may still render.
    const isFinal = page === lost || now - page.at > RENDERS;
    if (page.isFailed && page.hasFailed && !page.lacks?.size && isFinal && isInDay(arm, page.at)) arm.hasFailed = true;
  }
  if (left === arm.seed && arm.name === "candidate" && isInDay(arm, now)) arm.hasFailed = true;
  if (arm.at === undefined) return;
  const { told = {} } = arm;
  const age = Math.max(Math.floor((now - arm.at) / HOUR), 0);
  const opened = told.opened ? 0 : 1;
  const failed = arm.hasFailed && !told.failed ? 1 : 0;
  const isTold = opened + failed > 0 && age <= OLDEST && rule?.seed === arm.seed && isHeard(runtime);
  if (isTold) arm.told = { opened: 1, failed: failed || told.failed };
  if (!isTold && at === arm.at && hasFailed === arm.hasFailed) return;
  // Nothing is told twice, whatever ends the worker: so it is noted first, and what can't be noted isn't told. No update waits for the store.
  const write = runtime.store.write({ rollout: runtime.rollout }).then(() => true, () => false);
  const isNoted = await Promise.race([write, after(PATIENCE)]);
  if (!isTold) return;
  if (!isNoted) {
    // It may be noted all the same, later: then a failure would be told of what never opened.
    arm.told = { opened: 1, failed: 1 };
    void runtime.store.write({ rollout: runtime.rollout }).catch(() => {});
    return;
  }
  runtime.post({ evidence: { ...(opened && !age ? {} : { age }), arm: arm.name, failed, opened, version: rule.version } });
}

/**
 * Whether a page was opened in the day from the first one on.
 * @param {Arm} arm
 * @param {number} time
 */
const isInDay = ({ at }, time) => at !== undefined && time >= at && time - at < DAY;
