// What polls, downloads and decodes is larger than what answers pages, and a page waits for none of it: it is a script of its own.

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
 * What the other script has. It is fetched when the worker is installed, the browser keeps it with the worker's own, and each life of the
 * worker runs it when it first needs it.
 * @returns {{Updater: typeof import("./update.js").Updater, fetchNow: typeof import("./fetching.js").fetchNow,
 *   isCached: typeof import("./fetching.js").isCached,
 *   streamed: typeof import("./fetching.js").streamed, trim: typeof import("./room.js").trim, stateOf: typeof import("./state.js").stateOf,
 *   describes: typeof import("./rollouts.js").describes, leaves: typeof import("./rollouts.js").leaves}}
 */
export function background() {
  const scope = /** @type {any} */ (self);
  if (!scope.xcachePacks) scope.importScripts(trusted(SCRIPT));
  return scope.xcachePacks;
}
