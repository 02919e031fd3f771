// A browser without room for a version: what it had no room for isn't downloaded again with each poll.

/** Milliseconds before a version is tried again, at first, where the browser tells its room, and at most; each further time waits twice as long. */
const WAITS = [30e3, 600e3, 24 * 3600e3];
/** Bytes by which the room must have grown to be worth a try before that. */
const LEAST_GROWN = 1e6;

/** @typedef {{version: string, until: number, wait: number, free?: number}} Full */

/**
 * Whether the browser has no more room.
 * @param {any} error
 */
export const isFull = (error) => error?.name === "QuotaExceededError";

/** Bytes that may still be stored; nothing where the browser doesn't say. */
export async function room() {
  const { quota, usage } = (await navigator.storage?.estimate?.().catch(() => undefined)) ?? {};
  return quota === undefined || usage === undefined ? undefined : Math.max(0, quota - usage);
}

/**
 * Takes note that there was no room for a version.
 * @param {import("./runtime.js").Runtime} runtime
 * @param {string} version
 * @returns {Promise<Full>} the note, which is to be written
 */
export async function ranFull(runtime, version) {
  const { full } = runtime;
  const free = await room();
  // Where more room would be seen, time alone brings none.
  const first = WAITS[free === undefined ? 0 : 1];
  const wait = full?.version === version ? Math.min(full.wait * 2, WAITS[2]) : first;
  return (runtime.full = { version, wait, until: Date.now() + wait, free });
}

/**
 * Whether a version may be tried: there was room for it, or there is more by now, or it is time.
 * @param {import("./runtime.js").Runtime} runtime
 * @param {string} version
 */
export async function mayTry({ full }, version) {
  if (full?.version !== version) return true;
  const now = Date.now();
  if (now >= full.until || full.until - now > WAITS[2]) return true;
  const free = await room();
  return free !== undefined && full.free !== undefined && free > full.free + LEAST_GROWN;
}
