// When the worker polls, and whom it asks: the origin, or its copy after five failures in a row (docs/protocol.md §11). No I/O and
// no clock: each call is told the time, in milliseconds since 1970. `XCacheDevice/Polling/PollPolicy.swift` has the same rules.

import { misses } from "./missed.js";

/** @typedef {"origin" | "mirror"} Source */
/**
 * What is kept of it. `interval` is in seconds, `originWait` and the times in milliseconds; `asked`: who is asked in a poll that
 * isn't over; `missed`: those that failed since one was last answered; `clock`: clock.js.
 * @typedef {{server: string, source: Source, failures: number, interval: number, lastPoll: number, originWait: number, originDue: number,
 *   asked?: Source, missed?: import("./missed.js").Missed, clock?: import("./clock.js").Clock}} Saved
 */

const FAILURES_BEFORE_FALLBACK = 5;
const INTERVALS = [30, 3600];
const ORIGIN_WAITS = [30_000, 600_000];

export class PollPolicy {
  /**
   * @param {{server: string, hasFallback: boolean}} settings
   * @param {Saved} [saved] of an earlier worker; where it was about another server, that polls have failed is all that counts
   */
  constructor({ server, hasFallback }, saved) {
    this.hasFallback = hasFallback;
    /** @type {Saved} */
    this.saved = saved?.server === server
      ? { ...saved, source: hasFallback ? saved.source : "origin" }
      : {
        server, source: "origin", failures: 0, interval: INTERVALS[0], lastPoll: 0, originWait: ORIGIN_WAITS[0], originDue: 0,
        missed: saved?.missed,
      };
  }

  /**
   * Whether a poll may start now, and whom it asks; a poll that is allowed counts as started. `force` skips the interval alone.
   * @param {number} now
   * @param {boolean} [force]
   * @returns {Source | undefined}
   */
  begin(now, force = false) {
    const { saved } = this;
    // A clock that was set back must not silence the device.
    const isEarly = saved.lastPoll <= now && now - saved.lastPoll < saved.interval * 1000;
    if (isEarly && !force) return undefined;
    // One in whose middle the device was ended failed, too: by an origin that hangs nobody would come to the copy.
    if (saved.asked) this.failed(saved.asked, saved.lastPoll, 0.5);
    saved.lastPoll = now;
    const isDue = now >= saved.originDue || saved.originDue - now > 2 * ORIGIN_WAITS[1];
    saved.asked = saved.source === "origin" || isDue ? "origin" : "mirror";
    return saved.asked;
  }

  /**
   * Takes note of a good answer, which may carry the operator's interval in seconds.
   * @param {Source} by
   * @param {unknown} interval
   * @param {boolean} [isNews] whether it ends what failed before: a copy that nobody renews answers for ever
   */
  answered(by, interval, isNews = by === "origin") {
    this.saved.asked = undefined;
    if (isNews) this.saved.missed = undefined;
    const asked = Number.isSafeInteger(interval) ? Number(interval) : 0;
    this.saved.interval = Math.min(Math.max(asked, INTERVALS[0]), INTERVALS[1]);
    if (by === "origin") Object.assign(this.saved, { source: "origin", failures: 0 });
  }

  /**
   * Takes note of a poll that brought no good answer. `chance`, from 0 to 1, picks the next wait from its spread of ±20 %, so that a
   * fleet doesn't come back to the origin in one step.
   * @param {Source} asked
   * @param {number} now
   * @param {number} chance
   */
  failed(asked, now, chance) {
    const { saved } = this;
    Object.assign(saved, { missed: misses(saved.missed, now), asked: undefined });
    if (asked !== "origin") return;
    saved.failures += 1;
    if (saved.source === "mirror") {
      saved.originWait = Math.min(saved.originWait * 2, ORIGIN_WAITS[1]);
    } else if (this.hasFallback && saved.failures >= FAILURES_BEFORE_FALLBACK) {
      saved.source = "mirror";
      saved.originWait = ORIGIN_WAITS[0];
    } else {
      return;
    }
    saved.originDue = now + saved.originWait * (0.8 + 0.4 * chance);
  }
}

/**
 * Whether an offered manifest replaces the one held: a copy may be older than that, and only moves a device upwards; the origin
 * takes it to whatever it has.
 * @param {{version: string, digest: string}} offered
 * @param {Source} from
 * @param {{version: string, digest: string}} held
 */
export function takes(offered, from, held) {
  if (from === "mirror") return +offered.version > +held.version;
  return offered.version !== held.version || offered.digest !== held.digest;
}

/**
 * @param {import("./settings.js").Settings} settings
 * @param {Saved} [saved]
 */
export const pollPolicy = (settings, saved) => new PollPolicy({ server: settings.server, hasFallback: settings.fallback !== undefined }, saved);
