import { versionNumber } from "../protocol/entries.js";
import { fault } from "../protocol/fault.js";
import { isObject } from "../protocol/json.js";
import { fetchJSON } from "./network.js";
import { DOCUMENT_LIMIT } from "./settings.js";

/** @typedef {import("./settings.js").Settings} Settings */
/** @typedef {import("./store.js").Manifest} Manifest */
/** @typedef {(data: any) => Promise<void>} Seen */

/** The members of an answer's `data` that are read. */
const MEMBERS = new Set([
  "base", "deltas", "digest", "interval", "pack", "patch", "policy", "prefetch", "reports", "resourcemap", "rollback", "update", "version",
]);

/**
 * The `data` of an answer to a poll. `seen` is given each answer that names the other documents, before anything of it is judged.
 * @param {Settings} settings
 * @param {import("./polling.js").Source} source
 * @param {Manifest} held
 * @param {boolean} takesPacks
 * @param {Seen} seen
 * @param {any} [earlier] what was answered to the same poll, and is of no use
 * @returns {Promise<any>}
 */
export function ask(settings, source, held, takesPacks, seen, earlier) {
  return source === "origin" ? askOrigin(settings, held, takesPacks, seen) : askMirror(settings, held, takesPacks, seen, earlier?.newest);
}

/**
 * @param {Settings} settings
 * @param {Manifest} held
 * @param {boolean} takesPacks
 * @param {Seen} seen
 */
async function askOrigin({ server, query }, held, takesPacks, seen) {
  const holding = held.version === "0" ? "" : `&version=${held.version}&digest=${held.digest}`;
  const pack = takesPacks && holding ? "&pack=1" : "";
  return read(`${server}/configure.json?${query}${holding}&patch=1${pack}`, { mayPack: !!pack, seen });
}

/**
 * A copy is files: the small "nothing new" document first, then a pack's or a patch, else the whole manifest.
 * @param {Settings} settings
 * @param {Manifest} held
 * @param {boolean} takesPacks
 * @param {Seen} seen
 * @param {any} [known] its `version.json`
 */
async function askMirror(settings, held, takesPacks, seen, known) {
  const newest = known ?? (await read(settings.mirror("version.json"), { seen }));
  if (+newest.version <= +held.version) return newest;
  // The numbers of the other documents are those of version.json: these are written once, and stay.
  const { interval, policy, prefetch, rollback } = newest;
  const own = { interval, policy, prefetch, rollback, newest };
  const folders = held.version === "0" ? [] : takesPacks ? ["update", "patch"] : ["patch"];
  for (const folder of folders) {
    const found = await read(settings.mirror(`${folder}/${held.version}-${newest.version}.json`), { mayPack: folder === "update" })
      .catch(() => undefined);
    if (found) return { ...found, ...own };
  }
  return { ...(await read(settings.mirror("configure.json"))), ...own };
}

/**
 * @param {string} url
 * @param {{mayPack?: boolean, seen?: Seen}} [how] `mayPack`: whether a pack was asked for
 */
async function read(url, how) {
  const { mayPack, seen } = how ?? {};
  const answer = await fetchJSON(url, DOCUMENT_LIMIT, MEMBERS);
  const data = answer?.data;
  if (answer?.code !== 200 || !isObject(data)) fault(`${url}: ${answer?.message ?? "no answer of an origin"}`);
  await seen?.(data);
  // Whoever answers so again and again would be asked without end.
  if (data.pack && !mayPack) fault(`${url}: a pack that nobody asked for`);
  if (data.rollback !== undefined && Number.isNaN(versionNumber(data.rollback))) fault(`${url}: a rollback of no version`);
  if (Number.isNaN(versionNumber(data.version)) || typeof data.update !== "boolean") fault(`${url}: no version`);
  return data;
}
