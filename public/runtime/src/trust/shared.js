// What xcache-sw-packs.js has, which runs before this script: none of it is in both.

/** @type {import("../worker/shared.js")} */
const { canonical, checkURL, isObject, readRule, sha256, utf8, versionNumber } = /** @type {any} */ (self).xcachePacks.shared;
export { canonical, checkURL, isObject, readRule, sha256, utf8, versionNumber };
