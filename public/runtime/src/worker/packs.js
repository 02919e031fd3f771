import { applyDelta, applyPack } from "../protocol/packs.js";
import { fetchNow, isCached, streamed } from "./fetching.js";
import { fails, judges, looks, trial, watches } from "./judging.js";
import { describes, leaves } from "./rollouts.js";
import { trim } from "./room.js";
import * as shared from "./shared.js";
import { stateOf } from "./state.js";
import { Updater } from "./update.js";

// A script of its own, `xcache-sw-packs.js`: see background.js.
/** @type {any} */ (self).xcachePacks = { Updater, applyDelta, applyPack, describes, fails, fetchNow, isCached, judges, leaves, looks, shared, stateOf, streamed, trial, trim, watches };
