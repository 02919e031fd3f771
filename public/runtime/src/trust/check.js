// What a device with a root takes, whoever it comes from: the check of docs/protocol.md §14, in its order, with its names.
import { Refused, isBundle, need, read, signersOf } from "./documents.js";
import { canonical, sha256, utf8 } from "./shared.js";

/** @typedef {import("./documents.js").Signed} Signed */
/** `leaves`: the floor that it leaves once the version has proved itself.
 * @typedef {{statement: any, signers: string[], leaves: number}} Held */
/**
 * What is stored. Nothing in it is changed in its place. `builtIn`: the digest of the root that the app was built with; `root`: the one in
 * force; `releases`: the statements of the bundles that are held.
 * @typedef {{builtIn: string, root: any, head?: {head: any, signers: string[]}, floors: Map<string, number>, prefetchFloor: number,
 *   releases: Map<string, Held>}} State
 */
/**
 * What was received. `root`: the number that an answer names; `roots`, `head`, `releases`: envelopes; `content`: the digest of `config`.
 * @typedef {{root?: string, roots?: any[], head?: any, releases?: any[],
 *   manifest?: {version: string, digest: string, map: import("../protocol/entries.js").Resourcemap},
 *   policy?: number, prefetch?: {version: number, content: string, statement: any}}} Offer
 */
/**
 * `failure`: the first check that failed; `state`: what is to be stored at once; `releases`: what is to be stored with the switch.
 * @typedef {{failure?: string, state: State, releases?: Map<string, Held>, isCandidate?: boolean}} Verdict
 */

/** Release statements of an answer. */
const MOST = 1000;

/** @type {(group: {keys: string[], threshold: number}, signers: string[]) => boolean} */
const isMet = ({ keys, threshold }, signers) => keys.filter((id) => signers.includes(id)).length >= threshold;
/** @type {(list: string[], matches: (one: string) => boolean) => boolean} */
const covers = (list, matches) => list[0] === "*" || list.some(matches);
/** @type {(grant: any, bundle: string, channel: string) => boolean} */
const isFor = ({ bundles, channels }, bundle, channel) => covers(channels, (one) => one === channel) &&
  covers(bundles, (one) => (one.endsWith("*") ? bundle.startsWith(one.slice(0, -1)) : bundle === one));
/** @type {(document: any, root: any) => boolean} */
const isOf = ({ app, environment }, root) => app === root.app && environment === root.environment;

/**
 * Begins with the root that an app was built with, or goes on with the one of another build.
 * @param {Signed} root
 * @param {State} [state] that is stored
 * @returns {Promise<State>}
 */
export async function started({ value, envelope }, state) {
  const builtIn = await sha256(envelope.payload);
  if (!state) return adopted({ builtIn, root: value, floors: new Map(), prefetchFloor: 0, releases: new Map() }, value);
  return state.builtIn === builtIn ? state : { ...(canonical(state.root) === canonical(value) ? state : adopted(state, value)), builtIn };
}

/**
 * Puts a root in force.
 * @param {State} state
 * @param {any} root
 * @returns {State}
 */
function adopted(state, root) {
  const [floors, releases] = [new Map(state.floors), new Map(state.releases)];
  for (const [bundle, floor] of Object.entries(root.floors ?? {})) {
    floors.set(bundle, floor);
    const held = releases.get(bundle);
    // Or what is held would raise it again.
    if (held) releases.set(bundle, { ...held, leaves: Math.min(held.leaves, floor) });
  }
  const head = state.head?.signers.some((id) => root.heads.includes(id)) ? state.head : undefined;
  return { ...state, root, head, floors, releases, prefetchFloor: root.prefetchFloor ?? state.prefetchFloor };
}

/**
 * Raises the floors to what the statements of a version leave that has proved itself.
 * @param {State} state
 * @param {string} channel
 * @returns {State}
 */
export function proved(state, channel) {
  const raised = [...state.releases].filter(([bundle, { leaves, signers }]) => leaves > (state.floors.get(bundle) ?? 0) &&
    state.root.releases.some((/** @type {any} */ grant) => isMet(grant, signers) && isFor(grant, bundle, channel)));
  if (raised.length === 0) return state;
  return { ...state, floors: new Map([...state.floors, ...raised.map(([bundle, { leaves }]) => /** @type {const} */ ([bundle, leaves]))]) };
}

/**
 * Whether the newest head has expired, which changes nothing of what is taken.
 * @param {State} state
 * @param {number} now
 */
export const isStale = ({ root, head }, now) => !root.off && head !== undefined && head.head.until < now;

/**
 * Checks an offer.
 * @param {Offer} offer
 * @param {State} state
 * @param {string} channel
 * @param {() => Promise<unknown>} pause
 * @returns {Promise<Verdict>}
 */
export async function check(offer, state, channel, pause) {
  try {
    for (const data of offer.roots ?? []) {
      const next = await read("root", data);
      const { root } = state;
      need(isOf(next.value, root), "root-app");
      need(+next.value.number === +root.number + 1, "root-number");
      need(isMet(root.roots, await signersOf(next, root.roots.keys, root.keys)), "root-old-keys");
      need(isMet(next.value.roots, await signersOf(next, next.value.roots.keys, next.value.keys)), "root-new-keys");
      state = adopted(state, next.value);
    }
    need(!(Number(offer.root) > +state.root.number), "root-missing");
    const { manifest } = offer;
    // The way out: nothing is signed any more.
    if (state.root.off) return { state, releases: manifest && new Map() };
    return await checkRest(offer, state, channel, pause);
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    return { state, failure: error.message };
  }
}

/**
 * @param {Offer} offer
 * @param {State} state
 * @param {string} channel
 * @param {() => Promise<unknown>} pause
 * @returns {Promise<Verdict>}
 */
async function checkRest(offer, state, channel, pause) {
  const { root } = state;
  const { manifest, prefetch } = offer;
  /** @type {(statement: any) => boolean} */
  const isHere = (statement) => isOf(statement, root) && statement.channels.includes(channel);
  let isOld = false;
  if (offer.head !== undefined) {
    const received = await read("head", offer.head);
    const head = received.value;
    const signers = await signersOf(received, root.heads, root.keys);
    need(signers.length, "head-key");
    need(isOf(head, root) && head.channel === channel, "head-place");
    const held = state.head?.head;
    // Documents keep the head of their release: an older one is no fault as long as it isn't followed.
    if (held && head.at <= held.at) isOld = canonical(head) !== canonical(held);
    else {
      need(!held || ["version", "policy", "prefetch"].every((name) => +(head[name] ?? 0) >= +(held[name] ?? 0)), "head-fell");
      state = { ...state, head: { head, signers } };
    }
  }
  const head = state.head?.head;
  let releases;
  let isCandidate = false;
  if (manifest) {
    need(head, "head-missing");
    isCandidate = manifest.version === head.candidate?.rollout.version && manifest.digest === head.candidate.digest;
    need(isCandidate || (manifest.version === head.version && manifest.digest === head.digest), isOld ? "head-old" : "head-manifest");
    releases = await checkBundles(manifest.map, offer.releases ?? [], state, channel, isHere, pause);
  }
  if (offer.policy !== undefined) need(offer.policy >= +(head?.policy ?? 0), "policy-old");
  if (prefetch) {
    need(prefetch.statement !== undefined, "prefetch-missing");
    const signed = await read("prefetch", prefetch.statement);
    const { content, floor = 0, serial } = signed.value;
    need(isHere(signed.value), "prefetch-place");
    need(content === prefetch.content, "prefetch-content");
    need((await signersOf(signed, root.prefetch, root.keys)).length, "prefetch-key");
    need(serial >= state.prefetchFloor, "prefetch-floor");
    need(prefetch.version >= +(head?.prefetch ?? 0), "prefetch-old");
    state = { ...state, prefetchFloor: Math.max(state.prefetchFloor, floor) };
  }
  return { state, releases, isCandidate };
}

/**
 * Whether a version that was held before may be held again, by its statements in `state`.
 * @param {import("../protocol/entries.js").Resourcemap} map
 * @param {State} state
 * @param {string} channel
 */
export async function holds(map, state, channel) {
  try {
    await checkBundles(map, [], state, channel, (statement) => isOf(statement, state.root) && statement.channels.includes(channel), async () => {});
    return true;
  } catch {
    return false;
  }
}

/**
 * @param {import("../protocol/entries.js").Resourcemap} map
 * @param {any[]} statements
 * @param {State} state
 * @param {string} channel
 * @param {(statement: any) => boolean} isHere
 * @param {() => Promise<unknown>} pause
 * @returns {Promise<Map<string, Held>>} the statement of each bundle
 */
async function checkBundles(map, statements, state, channel, isHere, pause) {
  const { root } = state;
  /** @type {Map<string, [url: string, member: string, fallback?: import("../protocol/fallbacks.js").Fallback[]][]>} */
  const bundles = new Map();
  for (const url of [...map.keys()].sort()) {
    const { bundle, ctype, fallback, headers, sha256, size } = /** @type {any} */ (map.get(url));
    need(isBundle(bundle), "entry-bundle");
    const list = bundles.get(bundle) ?? [];
    // Headers are as they are written, with those that aren't known.
    list.push([url, `${JSON.stringify(url)}:${canonical({ ctype, ...(headers === undefined ? {} : { headers }), sha256, size })}`, fallback]);
    bundles.set(bundle, list);
    await pause();
  }
  need(Array.isArray(statements) && statements.length <= MOST, "release-form");
  const all = [];
  for (const data of statements) all.push(await read("release", data));
  const came = new Map(all.map((signed) => [signed.value.bundle, signed]));
  need(came.size === all.length, "release-twice");
  const ids = root.releases.flatMap((/** @type {any} */ grant) => grant.keys);
  const releases = new Map();
  for (const bundle of [...bundles.keys()].sort()) {
    const list = bundles.get(bundle) ?? [];
    const signed = came.get(bundle);
    const held = signed
      ? { statement: signed.value, signers: await signersOf(signed, ids, root.keys), leaves: signed.value.floor ?? 0 }
      : state.releases.get(bundle);
    need(held, "release-missing");
    const { statement, signers } = held;
    need(isHere(statement), "release-place");
    const pages = list.flatMap(([url, , fallback]) => (fallback ? [`${JSON.stringify(url)}:${canonical(fallback)}`] : []));
    const content = `{${pages.length ? `"fallbacks":{${pages.join()}},` : ""}"resources":{${list.map(([, member]) => member).join()}}}`;
    need((await sha256(utf8(content))) === statement.content, "release-content");
    // What a page answers is a place, too.
    const places = list.flatMap(([url, , fallback = []]) => [url, ...fallback.map(({ prefix }) => new URL(new URL(url).origin + prefix).href)]);
    // A held statement is judged by the root in force, too.
    const grants = root.releases.filter((/** @type {any} */ grant) => isMet(grant, signers));
    need(grants.length, "release-key");
    need(grants.some((/** @type {any} */ grant) => isFor(grant, bundle, channel) &&
      places.every((place) => covers(grant.prefixes, (prefix) => place.startsWith(prefix)))), "release-scope");
    need(statement.serial >= (state.floors.get(bundle) ?? 0), "release-floor");
    releases.set(bundle, held);
    await pause();
  }
  return releases;
}
