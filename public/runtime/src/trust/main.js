import * as check from "./check.js";
import { read, readPayload } from "./documents.js";

// A script of its own, `xcache-sw-trust.js`, for sites that have a root: see background.js.
/** @type {any} */ (self).xcacheTrust = { ...check, read, readPayload };
