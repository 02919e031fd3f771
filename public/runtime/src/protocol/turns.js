/**
 * @template Value
 * @param {number} milliseconds
 * @param {Value} [value]
 * @returns {Promise<Value | undefined>}
 */
export const after = (milliseconds, value) => new Promise((resolve) => setTimeout(resolve, milliseconds, value));

/** Milliseconds of work after which others get their turn. */
export const SLICE = 8;

/**
 * Lets what waits run, once a slice of work is over: long work calls it often, and no fetch waits for long.
 */
export class Turns {
  constructor() {
    this.begun = performance.now();
    this.channel = new MessageChannel();
    /** @type {(() => void)[]} */
    this.waiting = [];
    this.channel.port1.onmessage = () => this.waiting.shift()?.();
  }

  pause = async () => {
    // By a clock that nobody sets.
    if (performance.now() - this.begun >= SLICE) await this.yield();
  };

  /** Lets others in at once. */
  async yield() {
    // A message, since timers wait at least 4 ms once they are nested.
    await new Promise((/** @type {(value?: undefined) => void} */ resume) => {
      this.waiting.push(resume);
      this.channel.port2.postMessage(0);
    });
    this.begun = performance.now();
  }

  end() {
    this.channel.port1.close();
  }
}
