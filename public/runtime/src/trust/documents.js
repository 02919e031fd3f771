// Readers of signed documents (docs/protocol.md §14). No I/O; WebCrypto alone. `Common/Trust` has the same in Swift.
import { canonical, checkURL, isObject, readRule, sha256, utf8, versionNumber } from "./shared.js";

/** @typedef {{type: string, payload: Uint8Array, signatures: Map<string, Uint8Array>}} Envelope `signatures`: r and s, by key */
/** @typedef {{value: any, envelope: Envelope}} Signed a document, and who is said to have signed it */

/** Bytes of an envelope and of a payload; values of which an envelope consists. */
export const ENVELOPE = 98_304;
const PAYLOAD = 65_536;
const VALUES = 256;
/** What the base64 of each key begins with: the 27 bytes in front of a point's coordinates. */
const KEY = "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE";

/** By this a document is refused, or an offer: its message is the result's name. */
export class Refused extends Error {}

/**
 * @param {unknown} holds
 * @param {string} [name]
 * @returns {asserts holds}
 */
export function need(holds, name) {
  if (!holds) throw new Refused(name);
}

// MARK: - Texts and lists

/** @typedef {(value: any) => boolean} Is */
/** @type {(pattern: RegExp) => Is} */
const texts = (pattern) => (value) => typeof value === "string" && pattern.test(value);
const isID = texts(/^[0-9a-f]{64}$/);
export const isBundle = texts(/^[A-Za-z\d][\w.-]{0,127}$/);
const isLabel = texts(/^[a-z][a-z\d-]{0,31}$/);
const isApp = texts(/^(?!delta$)[a-z][\w-]{0,63}$/i);
/** @type {Is} */
const isSerial = (value) => Number.isSafeInteger(value) && value >= 0;
/** @type {(value: any, is: Is) => boolean} */
const mayBe = (value, is) => value === undefined || is(value);
/** @type {(value: any, is: Is, most: number, least?: number) => boolean} whether it is a list of texts, ordered, each once */
const isList = (value, is, most, least = 1) => Array.isArray(value) && value.length >= least && value.length <= most &&
  value.every((one, at) => is(one) && !(one <= value[at - 1]));
/** @type {(value: any, is: Is) => boolean} */
const isScope = (value, is) => JSON.stringify(value) === '["*"]' || isList(value, is, 256);
/** @type {Is} */
const isGroup = ({ keys, threshold }) => isList(keys, isID, 16) && Number.isInteger(threshold) && threshold > 0 && threshold <= Math.min(8, keys.length);

/** @type {Is} */
function isPrefix(value) {
  checkURL(value);
  return value.endsWith("/") && !value.includes("?");
}

/**
 * The bytes of which a text is the only base64.
 * @param {any} text
 */
export function decoded(text) {
  const data = atob(text);
  need(btoa(data) === text);
  return Uint8Array.from(data, (character) => character.charCodeAt(0));
}

// MARK: - Keys, signatures, envelopes

/**
 * @param {any} text
 * @returns the bytes of a key
 */
export function keyOf(text) {
  const key = decoded(text);
  need(text.startsWith(KEY) && key.length === 91);
  return key;
}

/**
 * r and s of a signature in DER, 32 bytes each, as WebCrypto wants them.
 * @param {Uint8Array} der
 */
export function rawOf(der) {
  const raw = new Uint8Array(64);
  need(der.length <= 72 && der[0] === 0x30 && der[1] === der.length - 2);
  let at = 2;
  for (const end of [32, 64]) {
    const [kind, length] = der.subarray(at, at += 2);
    const number = der.subarray(at, at += length);
    // A zero in front is there to keep the number positive, or not at all.
    need(kind === 2 && number.length === length && (number[0] || number[1] >= 0x80) && number[0] < 0x80);
    const digits = number.subarray(number[0] ? 0 : 1);
    need(digits.length <= 32);
    raw.set(digits, end - digits.length);
  }
  need(at === der.length);
  return raw;
}

/**
 * @param {any} value
 * @returns {number} of how many values one consists
 */
const count = (value) => (typeof value === "object" && value ? Object.values(value).reduce((sum, one) => sum + count(one), 1) : 1);

/** @param {Uint8Array} bytes */
const textOf = (bytes) => new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);

/**
 * Parses a document of its own, in which no member may come twice: JSON.parse would take the last one.
 * @param {Uint8Array} bytes
 */
function parsed(bytes) {
  need(bytes.length <= ENVELOPE);
  const text = textOf(bytes);
  let members = 0;
  const value = JSON.parse(text, (_, one) => {
    if (isObject(one)) members += Object.keys(one).length;
    return one;
  });
  need(text.match(/"(\\.|[^"\\])*"|:/g)?.filter((part) => part === ":").length === members);
  return value;
}

/**
 * @param {any} data its bytes, or the value that is part of another document
 * @returns {Envelope}
 */
export function readEnvelope(data) {
  const value = data instanceof Uint8Array ? parsed(data) : data;
  need(count(value) <= VALUES);
  const { payload, payloadType: type, signatures } = value;
  need(typeof type === "string" && Array.isArray(signatures) && signatures.length <= 16);
  const raw = new Map();
  for (const { keyid, sig } of signatures) {
    need(isID(keyid) && !raw.has(keyid));
    raw.set(keyid, rawOf(decoded(sig)));
  }
  const bytes = decoded(payload);
  need(bytes.length <= PAYLOAD);
  return { type, payload: bytes, signatures: raw };
}

/** @type {(type: string, payload: Uint8Array) => Uint8Array} what a key signs: DSSE's pre-authentication encoding */
export function messageOf(type, payload) {
  const head = utf8(`DSSEv1 ${utf8(type).length} ${type} ${payload.length} `);
  const message = new Uint8Array(head.length + payload.length);
  message.set(head);
  message.set(payload, head.length);
  return message;
}

const ALGORITHM = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" };
/** @type {Map<string, Promise<CryptoKey>>} */
const keys = new Map();

/**
 * @param {string} text a key
 * @param {Uint8Array} raw
 * @param {Uint8Array} message
 * @returns {Promise<boolean>}
 */
export async function verifies(text, raw, message) {
  const key = keys.get(text) ?? crypto.subtle.importKey("spki", keyOf(text), ALGORITHM, false, ["verify"]);
  keys.set(text, key);
  try {
    return await crypto.subtle.verify(ALGORITHM, await key, raw, message);
  } catch {
    // A point that isn't on the curve.
    return false;
  }
}

/**
 * Those of some keys that have signed a document.
 * @param {Signed} signed
 * @param {string[]} ids
 * @param {{[id: string]: string}} keys
 */
export async function signersOf({ envelope }, ids, keys) {
  const message = messageOf(envelope.type, envelope.payload);
  const signers = [];
  for (const [id, raw] of envelope.signatures) if (ids.includes(id) && (await verifies(keys[id], raw, message))) signers.push(id);
  return signers.sort();
}

// MARK: - Documents

/** @type {Is} what statements have in common */
const isStatement = ({ channels, content, serial, floor }) =>
  isList(channels, isLabel, 64) && isID(content) && isSerial(serial) && mayBe(floor, (one) => isSerial(one) && one <= serial);

/** @type {{[kind: string]: (value: any) => unknown}} whether a document is what it should be; what throws isn't */
const FORMS = {
  root: async ({ keys, roots, releases, prefetch, heads, floors = {}, prefetchFloor, number, scriptKey, off }) => {
    const named = Object.entries(keys);
    need(isObject(keys) && named.length && named.length <= 64);
    for (const [id, key] of named) need(id === (await sha256(keyOf(key))));
    need(Array.isArray(releases) && releases.length <= 64);
    for (const grant of releases) {
      need(isGroup(grant) && isScope(grant.channels, isLabel) && isScope(grant.bundles, (one) => isBundle(one.replace(/\*$/, ""))));
      need(isScope(grant.prefixes, isPrefix));
    }
    need(isGroup(roots) && isList(prefetch, isID, 16, 0) && isList(heads, isID, 16, off ? 0 : 1));
    const others = [heads, prefetch, ...releases.map((grant) => grant.keys)].flat();
    need([...others, ...roots.keys].every((id) => id in keys) && !others.some((id) => roots.keys.includes(id)));
    const lowest = Object.entries(floors);
    need(isObject(floors) && lowest.length <= 1000 && lowest.every(([name, floor]) => isBundle(name) && isSerial(floor)));
    return mayBe(prefetchFloor, isSerial) && versionNumber(number) && mayBe(scriptKey, (text) => decoded(text).length === 32) &&
      mayBe(off, (value) => typeof value === "boolean");
  },
  release: (value) => isBundle(value.bundle) && isStatement(value),
  prefetch: isStatement,
  head: ({ channel, version, digest, policy, prefetch, at, until, candidate }) => {
    const isVersion = (/** @type {any} */ one) => versionNumber(one) >= 0;
    return isLabel(channel) && isVersion(version) && isID(digest) && mayBe(policy, isVersion) && mayBe(prefetch, isVersion) &&
      isSerial(at) && isSerial(until) && at <= until &&
      mayBe(candidate, ({ digest, rollout }) => isID(digest) && +readRule(rollout).version > +version);
  },
};

/**
 * @param {"root" | "release" | "prefetch" | "head"} kind
 * @param {Uint8Array} payload
 * @returns {Promise<any>}
 */
export async function readPayload(kind, payload) {
  const text = textOf(payload);
  const value = JSON.parse(text);
  need(canonical(value) === text && isApp(value.app) && mayBe(value.environment, isLabel) && (await FORMS[kind](value)));
  return value;
}

/**
 * Reads an envelope and its payload.
 * @param {"root" | "release" | "prefetch" | "head"} kind
 * @param {any} data
 * @returns {Promise<Signed>}
 */
export async function read(kind, data) {
  try {
    const envelope = readEnvelope(data);
    need(envelope.type === `application/vnd.xcache.${kind}+json`);
    return { envelope, value: await readPayload(kind, envelope.payload) };
  } catch {
    throw new Refused(`${kind}-form`);
  }
}
