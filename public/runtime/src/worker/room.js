import { isFull } from "./quota.js";
import { entriesBefore, givesUp } from "./returning.js";
import { ASIDE_TIME, BACKLOG_TIME, isWithin } from "./settings.js";
import { isOf } from "./store.js";

/** Pages that are gone and may come back, by a browser's back button say. */
const MOST_GONE = 64;

/** @typedef {import("./runtime.js").Runtime} Runtime */

/**
 * No page gets what was set aside any more.
 * @param {Runtime} runtime
 */
export function endAside({ aside }) {
  for (const left of [...aside.values()].flat()) left.ended = true;
}

/**
 * Drops what was set aside long ago, files that nothing names, the least recently used above the limit, and pages that are gone.
 * @param {Runtime} runtime
 */
export async function sweep(runtime) {
  await dropAside(runtime, runtime.backlog.size > 0 ? BACKLOG_TIME : ASIDE_TIME);
  await dropUnnamed(runtime);
  await trim(runtime);
  await forgetPages(runtime);
}

/**
 * Drops files that nothing names: an update that failed left them.
 * @param {Runtime} runtime
 */
async function dropUnnamed(runtime) {
  const { aside, files, manifest } = runtime;
  const left = [...[...aside.values()].flat().map(({ entry }) => entry), ...entriesBefore(runtime)];
  const present = await files.present();
  const named = new Set([...left, ...manifest.map.values()].map(({ download }) => download));
  await files.drop(new Set([...present, ...files.used.keys()].filter((download) => !named.has(download))));
}

/**
 * Writes what has to outlive this worker, a kill switch say. Where there is no room for it, what failed updates left and what was set
 * aside makes some.
 * @param {Runtime} runtime
 * @param {import("./store.js").Kept} members
 */
export async function writes(runtime, members) {
  try {
    await runtime.store.write(members);
  } catch (error) {
    if (!isFull(error)) throw error;
    await dropUnnamed(runtime);
    await dropAside(runtime, 0).catch(() => {});
    await runtime.store.write(members).catch(async (again) => {
      if (!isFull(again) || !runtime.before) throw again;
      await givesUp(runtime);
      await runtime.store.write(members);
    });
  }
}

/**
 * Keeps to the disk limit: what was set aside goes first, then the version before, then the files least recently used.
 * @param {Runtime} runtime
 */
export async function trim(runtime) {
  const { files, manifest, aside, settings: { limit } } = runtime;
  const present = await files.present();
  /** @param {import("./store.js").Aside["entry"][]} entries */
  const held = (entries) => [...new Map(entries.map((entry) => [entry.download, entry])).values()]
    .filter(({ download }) => present.has(download));
  /** @param {{size: number}[]} entries */
  const sum = (entries) => entries.reduce((bytes, { size }) => bytes + size, 0);
  const byUse = held([...manifest.map.values()])
    .map(({ download, size }) => ({ download, size, at: files.used.get(download) ?? 0 }))
    .sort((a, b) => a.at - b.at);
  let bytes = sum(byUse);
  const listed = new Set(byUse.map(({ download }) => download));
  const others = (/** @type {import("./store.js").Aside["entry"][]} */ entries) => held(entries).filter(({ download }) => !listed.has(download));
  const left = others([...aside.values()].flat().map(({ entry }) => entry));
  const before = others(entriesBefore(runtime));
  if (left.length > 0 && bytes + sum(others([...left, ...before])) > limit) await dropAside(runtime, 0);
  // The way back is given up only then, and before what the version itself has.
  if (before.length > 0 && bytes + sum(before) > limit) await givesUp(runtime);
  for (const { download, size, at } of byUse) {
    if (bytes <= limit) break;
    // A page has asked for it meanwhile.
    if ((files.used.get(download) ?? 0) !== at) continue;
    await files.drop([download]);
    bytes -= size;
  }
}

/**
 * Drops files that were set aside, and the notes of them that no open page may ask by.
 * @param {Runtime} runtime
 * @param {number} age milliseconds for which what left stays, and longer where a page that is open has it; 0: files stay for no page
 */
export async function dropAside(runtime, age) {
  const now = Date.now();
  const open = await openClients();
  const versions = new Set([...runtime.pages].filter(([id]) => open.has(id)).map(([, { version }]) => version));
  const isOpen = (/** @type {import("./store.js").Aside} */ left) => [...versions].some((version) => isOf(left, version));
  const stays = (/** @type {import("./store.js").Aside} */ left) => isWithin(age, left.at, now) || isOpen(left);
  const aside = new Map([...runtime.aside].map(([key, list]) => [key, list.filter(stays)]));
  for (const [key, list] of aside) if (list.length === 0) aside.delete(key);
  const left = age ? [...aside.values()].flat().map(({ entry }) => entry) : [];
  const named = new Set([...runtime.manifest.map.values(), ...left, ...entriesBefore(runtime)].map(({ download }) => download));
  const gone = [...runtime.aside.values()].flat().map(({ entry }) => entry.download).filter((download) => !named.has(download));
  runtime.aside = aside;
  // On a full disk there is room for the note of it only then. What a note names and isn't there is fetched where a page asks for it.
  await runtime.files.drop(gone);
  await runtime.store.write({ aside });
}

/** @returns {Promise<Set<string>>} the ids of what is open */
async function openClients() {
  const all = await /** @type {any} */ (self).clients.matchAll({ type: "all", includeUncontrolled: true });
  return new Set(all.map((/** @type {Client} */ { id }) => id));
}

/** @param {Runtime} runtime */
async function forgetPages(runtime) {
  const open = await openClients();
  const now = Date.now();
  // One that is loading isn't listed yet, and one that the back button brings again isn't meanwhile.
  const gone = [...runtime.pages].filter(([id]) => !open.has(id));
  gone.forEach(([id, { at }], index) => {
    if (index < gone.length - MOST_GONE || !isWithin(ASIDE_TIME, at, now)) runtime.pages.delete(id);
  });
  await runtime.store.write({ pages: runtime.pages });
}
