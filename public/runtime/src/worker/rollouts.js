import { hex } from "../protocol/digests.js";
import { versionNumber } from "../protocol/entries.js";
import { bucketOf, isIn, liesIn, readRule } from "../protocol/rollouts.js";
import { armBy } from "./evidence.js";

/** @typedef {import("./runtime.js").Runtime} Runtime */
/** @typedef {import("./store.js").Manifest} Manifest */
/** @typedef {import("../protocol/rollouts.js").Rule} Rule */
/**
 * What is kept of rollouts (docs/protocol.md §13). `install`: the install id, which no request has; `app`, `groups`: what the page said;
 * `rule`: the last one, as it came; `isIn`: what was decided by it; `left`: the seed of a candidate that the page left; `arm`: what the device
 * counts as; `seeds`: those of earlier rollouts in which it has counted; `share`: the last one of this rollout that let anybody in.
 * @typedef {{install?: string, app?: string, groups?: string[], rule?: any, isIn?: boolean, left?: string, arm?: import("./evidence.js").Arm,
 *   seeds?: string[], share?: number}} Rollout
 */

/**
 * Makes the install id at the first start.
 * @param {Runtime} runtime
 */
export function installs(runtime) {
  if (/^[0-9a-f]{32}$/.test(runtime.rollout.install ?? "")) return;
  runtime.rollout = { ...runtime.rollout, install: hex(crypto.getRandomValues(new Uint8Array(16))) };
}

/**
 * Decides by a rule, and takes note of it.
 * @param {Runtime} runtime
 * @param {any} rule as it came
 */
export async function decides(runtime, rule) {
  const { install = "", app, groups, rule: last, share: before } = runtime.rollout;
  const read = readRule(rule);
  const standing = { install, app, groups, held: runtime.manifest.candidate };
  const isInside = await isIn(read, standing);
  // "If the app leaves the candidate, the device is out until a rule with another seed." It may have left it just now.
  const left = runtime.rollout.left === read.seed ? read.seed : undefined;
  const bucket = await bucketOf(install, read.seed);
  // A pause changes nothing about who has the candidate, nor about the arms. An older worker kept the rule alone.
  const share = read.share || (last?.seed === read.seed ? last.share || before : 0);
  const { arm, seeds } = armBy(runtime, { ...read, share }, bucket);
  // From a candidate that failed here the device has gone back to the full version.
  const follows = isInside && left === undefined && read.version !== runtime.heal.skip;
  runtime.rollout = { ...runtime.rollout, arm, seeds, rule, left, share, isIn: follows };
  return runtime.rollout.isIn === true;
}

/**
 * The arm in which a page has opened: it stays.
 * @param {Runtime} runtime
 */
const opened = ({ rollout: { arm } }) => (arm?.at === undefined ? undefined : arm);

/**
 * Takes note that no rollout is open.
 * @param {Runtime} runtime
 */
export function ended(runtime) {
  runtime.rollout = { ...runtime.rollout, rule: undefined, share: undefined, isIn: false, arm: opened(runtime) };
}

/**
 * Whether what is held is a candidate that a copy leads away from, though its full version is lower: what a rule was decided about, or,
 * where the copy has none, one whose range the app's version has left.
 * @param {Runtime} runtime
 * @param {Rule | undefined} rule of the copy
 * @param {boolean} isInside
 */
export function goesBack({ manifest, rollout }, rule, isInside) {
  // A copy may be from before the rollout was completed: who holds the version as everyone does stays.
  if (rule) return !isInside && manifest.candidate === rule.seed;
  try {
    const last = readRule(rollout.rule);
    return manifest.candidate === last.seed && !liesIn(rollout.app, last.app);
  } catch {
    return false;
  }
}

/**
 * Whether the version held is the candidate of the open rollout.
 * @param {Runtime} runtime
 */
export const holdsCandidate = ({ manifest, rollout }) =>
  manifest.candidate !== undefined && manifest.candidate === rollout.rule?.seed && manifest.version === rollout.rule.version;

/**
 * The prefetch config that is followed: while the candidate of a rollout is held, the one that goes along with it, unless the channel has a
 * newer one. (A static copy may have ended the rollout without a word: then its config's number says so.)
 * @param {Runtime} runtime
 */
export const followedPrefetch = ({ manifest, rollout: { rule }, prefetch, candidatePrefetch }) =>
  rule && manifest.candidate === rule.seed && versionNumber(rule.prefetch) === candidatePrefetch.number &&
  candidatePrefetch.number > prefetch.number ? candidatePrefetch : prefetch;

/**
 * What a page says of the app, which may change while it runs; members that it leaves out stay, and a version that is null is unknown.
 * @param {Runtime} runtime
 * @param {{appVersion?: unknown, groups?: unknown}} said
 */
export function describes(runtime, { appVersion, groups }) {
  const { rollout } = runtime;
  runtime.rollout = {
    ...rollout,
    app: appVersion === undefined ? rollout.app : appVersion === null ? undefined : String(appVersion),
    groups: Array.isArray(groups) ? groups.map(String) : rollout.groups,
  };
  return runtime.store.write({ rollout: runtime.rollout });
}

/**
 * Leaves the candidate, until another rollout.
 * @param {Runtime} runtime
 */
export function leaves(runtime) {
  const { rollout, manifest } = runtime;
  const left = rollout.rule?.seed ?? manifest.candidate ?? rollout.left;
  runtime.rollout = { ...rollout, left, isIn: false, arm: opened(runtime) };
  return runtime.store.write({ rollout: runtime.rollout });
}
