import { versionNumber } from "../protocol/entries.js";
import { fault } from "../protocol/fault.js";
import { isObject } from "../protocol/json.js";
import { readRule } from "../protocol/rollouts.js";
import { fetchJSON } from "./network.js";
import { DOCUMENT_LIMIT } from "./settings.js";

/** @typedef {import("./settings.js").Settings} Settings */
/** @typedef {import("./store.js").Manifest} Manifest */
/** @typedef {import("../protocol/rollouts.js").Rule} Rule */
/** `server`, `own`: the answer's `Date`, and the device's time when it came, where a server made it just now.
 * @typedef {{server: number, own: number}} Dated */
/** @typedef {(data: any, dated?: Dated) => Promise<void>} Seen */
/**
 * The other version of a rollout that a poll may ask for. `isCandidate`: which it asks for; `mayTurn`: whether it may still ask for the other
 * one; `decides`: which one is to be followed, by the rule of an answer; `ended`: an origin's answer has no rule; `goesBack`: whether a copy's
 * lower version is followed; `skip`: the version that isn't taken, as it failed here.
 * @typedef {{isCandidate: boolean, mayTurn: boolean, decides: (rule: any) => Promise<boolean>, ended: () => void,
 *   goesBack: (rule: Rule | undefined, isIn: boolean) => boolean, skip: () => string | undefined}} Following
 */

/** The members of an answer's `data` that are read. */
const MEMBERS = new Set([
  "base", "deltas", "digest", "edge", "first", "interval", "pack", "patch", "policy", "prefetch", "reports", "resourcemap", "rollback", "rollout",
  "samples", "update", "version",
]);
/** With those that a site with a root reads. */
const TRUSTED = new Set([...MEMBERS, "root", "trust"]);
/** The highest `Age`, in seconds, with which an answer's `Date` counts. */
const MOST_AGE = 300;

/**
 * The `data` of an answer to a poll. `seen` is given each answer that names the other documents, before anything of it is judged,
 * and what one that takes seconds, or breaks off, has named so far.
 * @param {Settings} settings
 * @param {import("./polling.js").Source} source
 * @param {Manifest} held
 * @param {boolean} takesPacks
 * @param {Following} following
 * @param {Seen} seen
 * @param {any} [earlier] what was answered to the same poll, and is of no use
 * @returns {Promise<any>}
 */
export function ask(settings, source, held, takesPacks, following, seen, earlier) {
  return source === "origin" ? askOrigin(settings, held, takesPacks, following, seen)
    : askMirror(settings, held, takesPacks, following, seen, earlier?.newest);
}

/**
 * @param {Settings} settings
 * @param {Manifest} held
 * @param {boolean} takesPacks
 * @param {Following} following
 * @param {Seen} seen
 * @returns {Promise<any>}
 */
async function askOrigin(settings, held, takesPacks, following, seen) {
  const isNamed = held.version !== "0";
  // Without a version, a shared cache may answer with what is older than what is held.
  const holding = isNamed ? `&version=${held.version}&digest=${held.digest}` : held.digest && "&version=0";
  // Packs between manifests with lazy entries leave out files that this device may lack.
  const lazy = [...held.map.values()].some((entry) => entry.lazy) ? "&lazy=1" : "";
  const pack = takesPacks && isNamed ? `&pack=1${lazy}` : "";
  const candidate = following.isCandidate ? "&candidate=1" : "";
  const left = following.skip();
  const skip = left ? `&skip=${left}` : "";
  const url = `${settings.server}/configure.json?${settings.query}${holding}&patch=1${pack}${candidate}${skip}`;
  const data = await read(url, { mayPack: !!pack, seen, names: namesFor(settings) });
  if (!data.rule) {
    following.ended();
    return data;
  }
  const isIn = await following.decides(data.rollout);
  if (isIn === (data.version === data.rule.version)) return data;
  // The version that isn't followed is nothing new.
  if (!following.mayTurn) return { ...data, update: false, version: held.version };
  Object.assign(following, { isCandidate: isIn, mayTurn: false });
  return askOrigin(settings, held, takesPacks, following, seen);
}

/**
 * A copy is files: the small "nothing new" document first, then a pack's or a patch, else the whole manifest.
 * @param {Settings} settings
 * @param {Manifest} held
 * @param {boolean} takesPacks
 * @param {Following} following
 * @param {Seen} seen
 * @param {any} [known] its `version.json`
 */
async function askMirror(settings, held, takesPacks, following, seen, known) {
  const names = namesFor(settings);
  const newest = known ?? (await read(settings.mirror("version.json"), { seen, names }));
  const { interval, policy, prefetch, rollback, root, rule } = newest;
  const isIn = rule !== undefined && (await following.decides(newest.rollout));
  const version = isIn ? rule.version : newest.version;
  const goesBack = following.goesBack(rule, isIn);
  if ((!goesBack && +version <= +held.version) || version === following.skip()) return newest;
  // The numbers of the other documents are those of version.json: these are written once, and stay. So does the rule.
  const own = { interval, policy, prefetch, rollback, root, rule, newest, goesBack };
  const folders = held.version === "0" || goesBack ? [] : takesPacks ? ["update", "patch"] : ["patch"];
  for (const folder of folders) {
    const found = await read(settings.mirror(`${folder}/${held.version}-${version}.json`), { mayPack: folder === "update", names })
      .catch(() => undefined);
    if (found) return { ...found, ...own };
  }
  const whole = await read(settings.mirror(isIn ? `configure/${version}.json` : "configure.json"), { names });
  if (isIn && whole.version !== version) fault("another version than the candidate");
  return { ...whole, ...own };
}

/** @param {Settings} settings */
const namesFor = ({ root }) => (root ? TRUSTED : MEMBERS);

/**
 * @param {string} url
 * @param {{mayPack?: boolean, seen?: Seen, names: Set<string>}} how `mayPack`: whether a pack was asked for
 * @returns {Promise<any>}
 */
async function read(url, { mayPack, seen, names }) {
  /** @type {Dated | undefined} */
  let dated;
  const answer = await fetchJSON(url, DOCUMENT_LIMIT, names, seen, ({ headers }) => {
    // A browser shows it of answers of the worker's own origin alone. What has a high age says nothing of the time.
    const age = Number(headers.get("age"));
    const server = age >= 0 && age <= MOST_AGE ? Date.parse(headers.get("date") ?? "") + age * 1000 : NaN;
    dated = Number.isNaN(server) ? undefined : { server, own: Date.now() };
  });
  const data = answer?.data;
  if (answer?.code !== 200 || !isObject(data)) fault(`${url}: ${answer?.message ?? "no answer of an origin"}`);
  await seen?.(data, dated);
  // Whoever answers so again and again would be asked without end.
  if (data.pack && !mayPack) fault(`${url}: a pack that nobody asked for`);
  if (data.rollback !== undefined && Number.isNaN(versionNumber(data.rollback))) fault(`${url}: a rollback of no version`);
  if (Number.isNaN(versionNumber(data.version)) || typeof data.update !== "boolean") fault(`${url}: no version`);
  // A channel without a release has nothing that a device could be taken to.
  if (data.update && data.version === "0") fault(`${url}: an update to no version`);
  return { ...data, rule: data.rollout === undefined ? undefined : readRule(data.rollout) };
}
