import { fault } from "./fault.js";
import { sha256, utf8 } from "./digests.js";

/**
 * What URLs that match have in common (docs/protocol.md §4).
 * @param {string} url
 */
export function matchKey(url) {
  const end = url.indexOf("#");
  const text = end < 0 ? url : url.slice(0, end);
  if (!text.includes("%")) return text;
  return text.replace(/%([2-7][0-9a-f])/gi, (escape, digits) => {
    const code = parseInt(digits, 16);
    const character = String.fromCharCode(code);
    return code === 0x7f || "%/?#\\&=+;".includes(character) ? escape : character;
  });
}

/** @param {string} url */
export function withoutQuery(url) {
  const end = url.search(/[?#]/);
  return end < 0 ? url : url.slice(0, end);
}

/**
 * Refuses a URL that isn't as the serialiser writes it.
 * @param {string} text
 */
export function checkURL(text) {
  if (text.length <= 4096 && /^https?:\/\/[!-~]+$/.test(text) && !text.includes("#")) {
    try {
      const { href, username, password } = new URL(text);
      if (href === text && !username && !password) return;
    } catch {}
  }
  fault(`a URL that can't be: ${text.slice(0, 200)}`);
}

/**
 * @param {string} digest 64 digits
 * @returns the UUIDv8 of a SHA-256 (§5)
 */
export function uuid(digest) {
  const variant = ((parseInt(digest[16], 16) & 3) | 8).toString(16);
  return [
    digest.slice(0, 8), digest.slice(8, 12), `8${digest.slice(13, 16)}`, variant + digest.slice(17, 20), digest.slice(20, 32),
  ].join("-");
}

/**
 * The name under which a URL's file is (§5), as a download has it.
 * @param {string} url
 */
async function name(url) {
  const escaped = url.replace(
    /[^A-Za-z0-9._~-]/g, (character) => `%${character.charCodeAt(0).toString(16).toUpperCase().padStart(2, "0")}`);
  if (escaped.length <= 200) return escaped.replace(/%/g, "%25");
  const path = /^https?:\/\/[^/?]*([^?]*)/.exec(url)?.[1] ?? "";
  return `~${(await sha256(utf8(url))).slice(0, 32)}${/\.[A-Za-z0-9]{1,8}$/.exec(path)?.[0] ?? ""}`;
}

/**
 * @param {string} place `{public-url}/{space}/{app id}`
 * @param {number} manifest
 * @param {number} version
 * @param {string} digest
 * @param {string} url
 */
export async function download(place, manifest, version, digest, url) {
  return `${place}/${manifest}/${version}/${uuid(digest)}/${await name(url)}`;
}

/**
 * A URL without the hash of its content that bundlers put into names.
 * @param {string} url
 */
export const stemOf = (url) => url.replace(/([-./])[0-9a-f]{8,}(?=\.[^/]*$)|([-.])[\w-]{8}(?=\.[^/]*$)/, "$1$2");
