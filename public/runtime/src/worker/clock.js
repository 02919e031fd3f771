// The time of the channel's servers: the ends that a policy names are times of theirs, and a device's own clock may be hours off
// (docs/protocol.md §11, D-101). No I/O and no clock; times are milliseconds since 1970. `XCacheDevice/Polling/ServerClock.swift` has
// the same rules.

/** @typedef {import("./polling.js").Source} Source */
/**
 * `server`, `own`: the `Date` of the last answer that had one, and the device's own time then; `ahead`: by how much the device's clock
 * is ahead of the server's; 0 where that isn't known, or little.
 * @typedef {{source: Source, server: number, own: number, ahead: number}} Clock
 */

/** How far two answers are apart by the device's clock. */
const APART = [20e3, 7200e3];
/** How much less or more the server's may have gone on meanwhile. */
const TOLERANCE = 10e3;
/** What is less than this isn't corrected: a cache that keeps an answer for a shorter time may be behind it. */
const LEAST = 7200e3;

/**
 * Takes note of an answer's `Date`. By itself it counts for nothing, since a cache may have kept the answer: what is kept doesn't go on.
 * @param {Clock | undefined} clock
 * @param {Source} source
 * @param {number} server
 * @param {number} own
 * @returns {Clock}
 */
export function readClock(clock, source, server, own) {
  const passed = clock && clock.source === source ? own - clock.own : 0;
  // A clock that was set back is another one.
  let ahead = clock && own >= clock.own ? clock.ahead : 0;
  if (clock && passed >= APART[0] && passed <= APART[1] && Math.abs(server - clock.server - passed) <= TOLERANCE) {
    ahead = Math.abs(own - server) < LEAST ? 0 : own - server;
  }
  return { source, server, own, ahead };
}

/**
 * The server's time, as far as it is known.
 * @param {Clock | undefined} clock
 * @param {number} own
 */
export const serverTime = (clock, own) => (clock && own >= clock.own ? own - clock.ahead : own);
