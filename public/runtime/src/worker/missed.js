import { DAY } from "./settings.js";

// What has failed for days: counted by the days on which it was tried, so that neither a device that was off for a month nor a clock that
// was wrong once makes a failure of today one of a month. No clock: each call is told the time, in milliseconds since 1970.

/**
 * When it first and last failed since it last succeeded, and on how many days.
 * @typedef {{first: number, last: number, days: number}} Missed
 */

/** Days on which it must have failed. */
const LEAST_DAYS = 3;

/**
 * Takes note of a failure.
 * @param {Missed | undefined} missed
 * @param {number} now
 * @returns {Missed}
 */
export function misses(missed, now) {
  // What is ahead is of a clock that was wrong.
  if (!missed || missed.first > now || missed.last > now) return { first: now, last: now, days: 1 };
  const isSameDay = Math.floor(missed.last / DAY) === Math.floor(now / DAY);
  return { first: missed.first, last: now, days: missed.days + (isSameDay ? 0 : 1) };
}

/**
 * Whether it failed for a number of days, on three of them at least, or on each where they are fewer.
 * @param {Missed | undefined} missed
 * @param {number} days 0: never
 */
export const isOverdue = (missed, days) =>
  !!missed && days > 0 && missed.last - missed.first >= days * DAY && missed.days >= Math.min(LEAST_DAYS, days + 1);
