import { hex } from "./digests.js";
import { checkLazy, sentHeaders, versionNumber } from "./entries.js";
import { checkFallbacks } from "./fallbacks.js";
import { fault } from "./fault.js";
import { canonical, isObject } from "./json.js";
import { Reader } from "./reader.js";
import { checkURL } from "./urls.js";

/** @typedef {import("./entries.js").Entry} Entry */
/**
 * An entry that comes or changes. `other`: a place of the base, or for source 6 an index of the arrivals; `file`: for source 8, which has none.
 * @typedef {{md5: string, sha256: string, size: number}} File
 * @typedef {{url: string, partner: number | undefined, source: number, other: number, file: File | undefined, form: {[key: string]: any},
 *   version: number, manifest: number}} Arrival
 */

/**
 * What the arrivals' URLs and forms may come to: a few bytes of a list may stand for an entry of many thousands.
 */
const MOST_STOOD_FOR = 64 << 20;

/**
 * Reads a pack's change list (docs/protocol.md §8).
 * @param {Uint8Array} data
 * @param {number} version the pack's
 * @param {[string, Entry][]} entries of the base, in the order of their URLs
 * @param {() => Promise<void>} pause
 * @param {boolean} [mayLack] whether files of lazy entries may be left out
 * @returns {Promise<{touched: number[], arrivals: Arrival[]}>}
 */
export async function readChanges(data, version, entries, pause, mayLack = false) {
  const reader = new Reader(data);
  /** @type {number[]} */
  const touched = [];
  let place = -1;
  for (let left = reader.count(); left > 0; left--) {
    place += 1 + reader.number();
    if (place >= entries.length) fault(/* a place behind the base */);
    touched.push(place);
  }
  const count = reader.count();
  /** @param {(index: number) => any} make */
  const column = (make) => Array.from({ length: count }, (_, index) => make(index));

  let expected = 0;
  /** @type {(number | undefined)[]} */
  const partners = column(() => {
    const value = reader.number();
    if (value === 0) return undefined;
    const zigzag = value - 1;
    const partner = expected + (zigzag % 2 === 0 ? zigzag / 2 : -(zigzag + 1) / 2);
    if (partner < 0 || partner >= touched.length) fault(/* a partner that isn't there */);
    expected = partner + 1;
    return touched[partner];
  });
  const [starts, ends, middles] = [0, 1, 2].map(() => column(() => reader.number(4096)));
  const urls = await readURLs(reader, partners, starts, ends, middles, entries, pause);
  const sources = Array.from(reader.bytes(count));
  sources.forEach((source, index) => {
    if (source > (mayLack ? 8 : 7) || ([0, 1, 7].includes(source) && partners[index] === undefined)) fault(/* a source that can't be */);
  });
  const others = column((index) => {
    const source = sources[index];
    if (source === 2 || source === 3 || source === 5) return reader.number(entries.length - 1);
    const other = source === 6 ? reader.number(index - 1) : partners[index] ?? -1;
    return source === 6 && sources[other] === 8 ? fault(/* the file of an entry without one */) : other;
  });
  /** @type {(File | undefined)[]} */
  const files = column((index) => (sources[index] === 8
    ? { md5: hex(reader.bytes(16)), sha256: hex(reader.bytes(32)), size: reader.number() } : undefined));
  const versions = column(() => reader.number());
  const manifests = column(() => {
    const since = reader.number();
    return since <= version ? version - since : Number(BigInt(version) - BigInt(since) + 2n ** 53n);
  });
  if (versions.includes(0) || manifests.includes(0)) fault(/* a version of 0 */);
  const places = column(() => reader.number());
  const forms = Array.from({ length: reader.count() }, () => readForm(reader.bytes(reader.count())));
  if (reader.left > 0) fault(/* the list goes on behind its end */);

  let stoodFor = 0;
  await pause();
  const arrivals = urls.map((url, index) => {
    const partner = partners[index];
    const read = forms[places[index] - 1];
    if (places[index] > forms.length) fault(/* a form that isn't there */);
    const form = places[index] > 0 ? read.form : partner === undefined ? fault(/* no form */) : formOf(entries[partner][1]);
    if (sources[index] === 8 && !form.lazy) fault(/* an entry without a file that isn't lazy */);
    stoodFor += 256 + url.length + (read?.size ?? 0);
    if (stoodFor > MOST_STOOD_FOR) fault(/* a list that stands for too much */);
    return {
      url, partner, source: sources[index], other: others[index], file: files[index], form, version: versions[index], manifest: manifests[index],
    };
  });
  return { touched, arrivals };
}

/**
 * @param {Reader} reader
 * @param {(number | undefined)[]} partners
 * @param {number[]} starts
 * @param {number[]} ends
 * @param {number[]} middles
 * @param {[string, Entry][]} entries
 * @param {() => Promise<void>} pause
 */
async function readURLs(reader, partners, starts, ends, middles, entries, pause) {
  /** @type {string[]} */
  const urls = [];
  let bytes = 0;
  for (const [index, partner] of partners.entries()) {
    const model = partner === undefined ? urls[index - 1] ?? "" : entries[partner][0];
    if (starts[index] + ends[index] > model.length) fault(/* a URL that shares more than there is */);
    const url = model.slice(0, starts[index]) + reader.ascii(middles[index]) + model.slice(model.length - ends[index]);
    checkURL(url);
    if (index > 0 && urls[index - 1] >= url) fault(/* arrivals out of order */);
    bytes += url.length;
    if (bytes > MOST_STOOD_FOR) fault(/* a list that stands for too much */);
    urls.push(url);
    if ((index & 255) === 255) await pause();
  }
  return urls;
}

/** @param {Uint8Array} bytes */
function readForm(bytes) {
  /** @type {any} */
  let form;
  let text;
  try {
    text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
    form = JSON.parse(text);
  } catch {
    fault(/* a form that isn't JSON */);
  }
  // JSON.parse would take the last of a member that comes twice.
  if (canonical(form) !== text) fault(/* a form that isn't canonical */);
  if (!isObject(form) || ["md5", "sha256", "size", "version"].some((key) => key in form)) fault(/* a form that can't be */);
  if (typeof form.ctype !== "string" || !/^[ -~]*$/.test(form.ctype) || typeof form.download !== "string") fault(/* a form that can't be */);
  sentHeaders(form.headers);
  checkFallbacks(form.fallback);
  checkLazy(form.lazy);
  return { form, size: bytes.length };
}

/**
 * What an entry says beside its file and its versions.
 * @param {Entry} entry
 */
function formOf(entry) {
  const { md5, sha256, size, version, ...form } = entry;
  const parts = entry.download.split("/");
  if (parts.length < 5 || Number.isNaN(versionNumber(parts[parts.length - 4]))) fault(/* no form */);
  form.download = parts.slice(0, -4).join("/");
  return form;
}
