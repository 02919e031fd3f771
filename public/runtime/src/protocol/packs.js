import { decodeFrame } from "../zstd/decoder.js";
import { readChanges } from "./changes.js";
import { hex, md5, sha256 } from "./digests.js";
import { digestOf } from "./entries.js";
import { fault } from "./fault.js";
import { Reader } from "./reader.js";
import { rename, wordPairs } from "./renaming.js";
import { checkURL, download } from "./urls.js";

/** @typedef {import("./entries.js").Entry} Entry */
/** @typedef {import("./entries.js").Resourcemap} Resourcemap */
/**
 * What a pack is decoded with. `file` gives the bytes of a SHA-256 that is held, checked, or undefined; `keep` takes a file that
 * came, before the next one is decoded.
 * @typedef {{file: (sha256: string) => Promise<Uint8Array | undefined>, keep: (url: string, entry: Entry, bytes: Uint8Array) => Promise<void>,
 *   pause: () => Promise<void>, limit: number}} Holder
 */

/** Bytes that a pack may have read and made: each record costs its whole base, however small it is. */
const MOST_WORK = 512 << 20;

/**
 * Bytes that a window may have (docs/protocol.md §7).
 * @param {number} base
 */
const windowLimit = (base) => Math.min(Math.max(8 << 20, 2 ** Math.ceil(Math.log2(Math.max(1, (base * 5) / 4)))), 128 << 20);

/**
 * @param {Uint8Array} frame without its magic number
 * @param {Uint8Array} base
 * @param {Holder} holder
 * @param {number} limit
 */
function decode(frame, base, { pause }, limit) {
  const whole = new Uint8Array(frame.length + 4);
  whole.set([0x28, 0xb5, 0x2f, 0xfd]);
  whole.set(frame, 4);
  return decodeFrame(whole, { dictionary: base, windowLimit: windowLimit(base.length), limit, pause });
}

/**
 * @param {Uint8Array} bytes
 * @param {Uint8Array} check
 */
const passes = async (bytes, check) => (await sha256(bytes)).startsWith(hex(check));

/**
 * Applies a pack to the manifest that it starts from (§8, "Decoding").
 * @param {Uint8Array} pack
 * @param {{base: string, version: string, digest: string}} answer what the poll said
 * @param {{map: Resourcemap, digest: string}} held
 * @param {Holder} holder
 * @returns {Promise<Resourcemap>} the new resourcemap; each file of it that came was kept
 */
export async function applyPack(pack, answer, held, holder) {
  const reader = new Reader(pack);
  const format = /^XPK([12])$/.exec(reader.ascii(4))?.[1] ?? fault(/* not a pack */);
  const [base, version] = [reader.number(), reader.number()];
  const [baseDigest, digest] = [hex(reader.bytes(32)), hex(reader.bytes(32))];
  const records = reader.number(2 ** 24);
  const [plain, coded] = [reader.number(holder.limit), reader.number(holder.limit)];
  const check = reader.bytes(8);
  if (base < 1 || base >= version || String(base) !== answer.base || String(version) !== answer.version) fault(/* another pack */);
  if (digest !== answer.digest || baseDigest !== held.digest) fault(/* another manifest */);
  const list = await decode(reader.bytes(coded), new Uint8Array(0), holder, plain);
  if (list.length !== plain || !(await passes(list, check))) fault(/* a damaged change list */);
  await holder.pause();

  const entries = [...held.map].sort(([a], [b]) => (a < b ? -1 : 1));
  await holder.pause();
  const { touched, arrivals } = await readChanges(list, version, entries, holder.pause, format === "2");
  await holder.pause();
  if (arrivals.filter(({ source }) => source <= 4).length !== records) fault(/* another number of records */);
  const pairs = wordPairs(
    arrivals.flatMap(({ partner, url }) => (partner === undefined ? [] : [/** @type {[string, string]} */ ([entries[partner][0], url])])));

  const map = new Map(held.map);
  for (const place of touched) map.delete(entries[place][0]);
  /** @type {Entry[]} */
  const made = [];
  let work = 0;
  /** @param {{length: number}} bytes */
  const costs = ({ length }) => ((work += length) > MOST_WORK ? fault(/* more work than a release is worth */) : undefined);
  for (const arrival of arrivals) {
    const { source, other, form, url } = arrival;
    if (map.has(url)) fault(/* an arrival that is there already */);
    /** @type {Uint8Array | undefined} */
    let bytes;
    /** @type {import("./changes.js").File | undefined} */
    let copied;
    if (source === 8) {
      copied = arrival.file;
    } else if (source <= 4) {
      const over = source === 4 ? new Uint8Array(0) : (await holder.file(entries[other][1].sha256)) ?? fault(/* a base that isn't held */);
      costs(over);
      const named = source === 1 || source === 3 ? await rename(over, pairs, holder.pause) : over;
      const length = reader.count();
      const recordCheck = reader.bytes(8);
      bytes = await decode(reader.bytes(length), named, holder, holder.limit);
      if (!(await passes(bytes, recordCheck))) fault(/* a damaged file */);
    } else {
      copied = source === 6 ? made[other] : entries[other][1];
    }
    const sum = copied?.sha256 ?? (await sha256(/** @type {Uint8Array} */ (bytes)));
    const entry = /** @type {Entry} */ ({
      ...form,
      download: await download(form.download, arrival.manifest, arrival.version, sum, url),
      md5: copied?.md5 ?? (await md5(/** @type {Uint8Array} */ (bytes), holder.pause)),
      sha256: sum, size: copied?.size ?? /** @type {Uint8Array} */ (bytes).length, version: String(arrival.version),
    });
    checkURL(entry.download);
    made.push(entry);
    map.set(url, entry);
    // What a pack leaves out comes when a page asks for it.
    if (source < 8) {
      const file = bytes ?? (await holder.file(sum)) ?? fault(/* a file that isn't held */);
      costs(file);
      await holder.keep(url, entry, file);
    }
    await holder.pause();
  }
  if (reader.left > 0) fault(/* the pack goes on behind its end */);
  if ((await digestOf(map, holder.pause)) !== digest) fault(/* it leads to another manifest */);
  return map;
}

/**
 * A delta (§7): the file that it makes of its base.
 * @param {Uint8Array} delta
 * @param {Uint8Array} base
 * @param {{pause: () => Promise<void>, limit: number}} options
 */
export async function applyDelta(delta, base, { pause, limit }) {
  if (hex(delta.subarray(0, 8)) !== "5e2a4d1820000000" || hex(delta.subarray(8, 40)) !== (await sha256(base))) fault(/* not a delta on this base */);
  return decodeFrame(delta.subarray(40), { dictionary: base, windowLimit: windowLimit(base.length), limit, pause });
}

