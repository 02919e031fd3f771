import { canonical } from "../protocol/json.js";
import { matchKey, withoutQuery } from "../protocol/urls.js";

// The way back to the version before: docs/protocol.md §11.

/** @typedef {import("./healing.js").Before} Before */
/** @typedef {import("./healing.js").Cause} Cause */
/** @typedef {import("./runtime.js").Runtime} Runtime */
/** @typedef {import("./store.js").Manifest} Manifest */

/**
 * The version that a switch leaves a way back to, as it differs from the next one: the one held, or the one before it as long as that one hasn't
 * proved itself. None, where the operator rolled it back.
 * @param {Runtime} runtime
 * @param {Manifest} next
 * @param {number} rollback as the answer says
 * @param {() => Promise<void>} pause
 * @returns {Promise<Before | undefined>}
 */
export async function leaves(runtime, next, rollback, pause) {
  const { before, manifest, trust, heal, settings } = runtime;
  // Of a version that hasn't proved itself, nobody knows whether it is one.
  if (!settings.goesBack || (heal.isTrial && !before)) return undefined;
  const last = before && mapOf(runtime, before);
  const { version, digest, candidate, map } = last ?? manifest;
  if (version === "0" || +version >= +next.version || isRolledBack(version, rollback, next)) return undefined;
  /** @type {Before["map"]} */
  const others = new Map();
  for (const [url, entry] of map) {
    await pause();
    const other = next.map.get(url);
    if (other !== entry && (!other || canonical(other) !== canonical(entry))) others.set(url, entry);
  }
  for (const url of next.map.keys()) if (!map.has(url)) others.set(url, null);
  return { version, digest, candidate, over: next.digest, map: others, releases: last ? before?.releases : trust?.releases };
}

/**
 * @param {string} version
 * @param {number} rollback
 * @param {{version: string}} next
 */
const isRolledBack = (version, rollback, next) => +version < rollback && rollback <= +next.version;

/**
 * The manifest of the version before.
 * @param {Runtime} runtime
 * @param {Before} before
 * @returns {Manifest}
 */
function mapOf({ manifest }, { version, digest, candidate, map: others }) {
  const map = new Map(manifest.map);
  for (const [url, entry] of others) {
    if (entry) map.set(url, entry);
    else map.delete(url);
  }
  return { version, digest, map, ...(candidate === undefined ? {} : { candidate }) };
}

/**
 * The entries of the version before whose files are kept for it.
 * @param {Runtime} runtime
 */
export const entriesBefore = ({ before }) => [...(before?.map.values() ?? [])].flatMap((entry) => entry ?? []);

/**
 * Gives up the way back, for the room that it takes.
 * @param {Runtime} runtime
 */
export async function givesUp(runtime) {
  const { aside, files, manifest, store } = runtime;
  const entries = entriesBefore(runtime);
  runtime.before = undefined;
  await store.write({ before: undefined }).catch(() => {});
  const left = [...aside.values()].flat().map(({ entry }) => entry);
  const named = new Set([...manifest.map.values(), ...left].map(({ download }) => download));
  await files.drop(entries.map(({ download }) => download).filter((download) => !named.has(download)));
}

/**
 * Goes back to the version before, without the network. Policy, prefetch config and rollout stay what they are, and open pages keep their files.
 * @param {Runtime} runtime
 * @param {Cause} cause
 * @param {string} url of the page that failed
 * @param {import("./trusting.js").Trust | undefined} trust
 * @param {boolean} isCounted as in `Updater.returns`
 * @returns {Promise<{from: string, to: string} | undefined>} nothing: there is no way back
 */
export async function goesBack(runtime, cause, url, trust, isCounted) {
  const { before, heal, manifest: from, rollback } = runtime;
  if (!before || heal.spared === from.version || isRolledBack(before.version, rollback, from)) return undefined;
  const next = mapOf(runtime, before);
  const aside = new Map(runtime.aside);
  const at = Date.now();
  for (const [changed] of before.map) {
    const entry = from.map.get(changed);
    if (!entry || next.map.get(changed)?.download === entry.download) continue;
    const key = matchKey(changed);
    aside.set(key, [...(aside.get(key) ?? []), { entry, last: +from.version, at }]);
  }
  const backlog = new Set([...runtime.backlog].filter((one) => next.map.has(one)));
  const members = {
    manifest: next, aside, backlog, health: new Map(), before: undefined,
    heal: /** @type {import("./healing.js").Heal} */ ({
      skip: from.version, cause, url: withoutQuery(url), isBack: true, ...(isCounted && { left: from.candidate }),
    }),
  };
  const write = (/** @type {import("./store.js").Kept} */ more) => runtime.store.write({ ...members, ...more });
  if (trust) {
    if (!(await trust.returns(next, before.releases, write))) return undefined;
  } else await write({});
  const { manifest, ...rest } = members;
  Object.assign(runtime, rest);
  runtime.hold(manifest);
  return { from: from.version, to: next.version };
}
