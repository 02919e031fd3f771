// What happened while a version was held, in numbers alone (docs/protocol.md §11).

/** Milliseconds between two batches. */
const EVERY = 120_000;
/** Classes of times, in milliseconds. */
const CLASSES = [128, 256, 512, 1024, 2048, 4096, 8192];

/**
 * `at`: when one was last made.
 * @typedef {{counts: {[name: string]: number}, at: number}} Batch
 */

export class Tally {
  /** @param {Batch} [batch] of an earlier worker */
  constructor(batch) {
    /** @type {Batch} */
    this.batch = batch ?? { counts: {}, at: 0 };
  }

  /** @param {string} name */
  add(name) {
    const { counts } = this.batch;
    counts[name] = Math.min((counts[name] ?? 0) + 1, 1_000_000);
  }

  /**
   * The network's answer to what was passed on.
   * @param {Response} [response] nothing: there was none
   */
  status(response) {
    const kind = response && response.status >= 200 && response.status < 600 ? `${Math.floor(response.status / 100)}xx` : "error";
    // What only the page may read says no status.
    if (response?.type !== "opaque" && response?.type !== "opaqueredirect") this.add(`status-${kind}`);
  }

  /**
   * How long a page took.
   * @param {"paint" | "load"} what
   * @param {boolean} isLocal whether its document came from the worker
   * @param {unknown} milliseconds
   */
  time(what, isLocal, milliseconds) {
    if (typeof milliseconds !== "number" || !(milliseconds > 0)) return;
    this.add(`${what}-${isLocal ? "local" : "network"}-${CLASSES.find((most) => milliseconds <= most) ?? "more"}`);
  }

  /**
   * The batch that is to be told now; undefined where there is none, or it isn't asked for.
   * @param {string} version that is held
   * @param {{share: unknown, isLast: boolean, now: number, countsPolls?: boolean}} when `share`: of 10,000 batches, those that the
   *   origin asks for; `isLast`: another version follows; `countsPolls`: it says how many polls there were, also if none
   * @returns {{counts: {[name: string]: number}, version: string} | undefined}
   */
  take(version, { share, isLast, now, countsPolls }) {
    const { batch } = this;
    if (!isLast && now - batch.at < EVERY && now >= batch.at) return undefined;
    const { counts } = batch;
    if (version === "0" || Object.keys(counts).length === 0) return undefined;
    this.batch = { counts: {}, at: now };
    if (countsPolls) counts.polls ??= 0;
    return Math.random() * 10_000 < (Number.isSafeInteger(share) ? Number(share) : 10_000) ? { counts, version } : undefined;
  }
}
