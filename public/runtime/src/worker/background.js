// What polls, downloads and decodes is larger than what answers pages, and a page waits for none of it: it is a script of its own.

/** Beside the worker's own script, which have to be there when it is installed: later a worker may import nothing new. */
const SCRIPTS = ["xcache-sw-packs.js"];
/** What checks who signed what comes, for sites that have a root. */
const TRUST = "xcache-sw-trust.js";

/**
 * Scripts' URLs as a Content-Security-Policy with `require-trusted-types-for` wants them.
 * @param {string[]} urls
 */
function trusted(urls) {
  try {
    const policy = /** @type {any} */ (self).trustedTypes.createPolicy("xcache", { createScriptURL: (/** @type {string} */ url) => url });
    return urls.map((url) => policy.createScriptURL(url));
  } catch {
    return urls;
  }
}

/**
 * What the other script has. It is fetched when the worker is installed, the browser keeps it with the worker's own, and each life of the
 * worker runs it when it first needs it.
 * @returns {{Updater: typeof import("./update.js").Updater, fetchNow: typeof import("./fetching.js").fetchNow,
 *   isCached: typeof import("./fetching.js").isCached,
 *   streamed: typeof import("./fetching.js").streamed, trim: typeof import("./room.js").trim, stateOf: typeof import("./state.js").stateOf,
 *   fails: typeof import("./judging.js").fails, judges: typeof import("./judging.js").judges, watches: typeof import("./judging.js").watches,
 *   looks: typeof import("./judging.js").looks, trial: typeof import("./judging.js").trial,
 *   describes: typeof import("./rollouts.js").describes, leaves: typeof import("./rollouts.js").leaves}}
 */
export function background() {
  const scope = /** @type {any} */ (self);
  if (!scope.xcachePacks) scope.importScripts(...trusted(scope.xcacheSettings.root ? [...SCRIPTS, TRUST] : SCRIPTS));
  return scope.xcachePacks;
}
