// What decodes packs and deltas is half as large as all the rest, and most of a worker's lives end without it.

/** Beside the worker's own script, which has to be there when it is installed: later a worker may import nothing new. */
const SCRIPT = "xcache-sw-packs.js";

/**
 * A script's URL as a Content-Security-Policy with `require-trusted-types-for` wants it.
 * @param {string} url
 */
function trusted(url) {
  try {
    return /** @type {any} */ (self).trustedTypes.createPolicy("xcache", { createScriptURL: () => url }).createScriptURL(url);
  } catch {
    return url;
  }
}

/**
 * What decodes packs and deltas. The script is fetched when the worker is installed, the browser keeps it with the worker's own, and
 * each life of the worker runs it when it first needs it.
 * @returns {Pick<typeof import("../protocol/packs.js"), "applyDelta" | "applyPack">}
 */
export function decoding() {
  const scope = /** @type {any} */ (self);
  if (!scope.xcachePacks) scope.importScripts(trusted(SCRIPT));
  return scope.xcachePacks;
}
