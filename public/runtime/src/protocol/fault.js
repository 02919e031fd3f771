/** What came isn't what the protocol says. */
export class Fault extends Error {
  /**
   * @param {string} why
   * @param {string} [reason] by which the origin is told: `download`, `integrity`, `manifest`, `not-found`, `patch`, `storage`, `timeout`,
   *   or what failed of the check of signatures (`trust-…`)
   * @param {boolean} [isFinal] whether whoever was asked doesn't have what was asked for: nothing that passes, as with a network
   */
  constructor(why, reason, isFinal = false) {
    super(why);
    this.reason = reason;
    this.isFinal = isFinal;
  }
}

/**
 * @param {string} [why] nothing where a comment beside the call is enough, since a device does the same whatever it is
 * @returns {never}
 */
export function fault(why = "a pack that can't be used") {
  throw new Fault(why, "manifest");
}
