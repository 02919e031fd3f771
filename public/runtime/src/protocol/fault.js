/** What came isn't what the protocol says. */
export class Fault extends Error {
  /**
   * @param {string} why
   * @param {string} [reason] by which the origin is told: `download`, `integrity`, `manifest`, `not-found`, `patch`, `storage`, `timeout`
   */
  constructor(why, reason) {
    super(why);
    this.reason = reason;
  }
}

/**
 * @param {string} why
 * @returns {never}
 */
export function fault(why) {
  throw new Fault(why, "manifest");
}
