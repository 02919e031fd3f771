import { applyDelta, applyPack } from "../protocol/packs.js";

// A script of its own, `xcache-sw-packs.js`: see decoding.js.
/** @type {any} */ (self).xcachePacks = { applyDelta, applyPack };
