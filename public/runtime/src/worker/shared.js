// What xcache-sw-trust.js takes from this script, which runs before it.
export { sha256, utf8 } from "../protocol/digests.js";
export { versionNumber } from "../protocol/entries.js";
export { canonical, isObject } from "../protocol/json.js";
export { readRule } from "../protocol/rollouts.js";
export { checkURL } from "../protocol/urls.js";
