/** Milliseconds of work after which others get their turn. */
export const SLICE = 8;

/**
 * Lets what waits run, once a slice of work is over: long work calls it often, and no fetch waits for long.
 */
export class Turns {
  constructor() {
    this.begun = Date.now();
    this.channel = new MessageChannel();
    /** @type {(() => void)[]} */
    this.waiting = [];
    this.channel.port1.onmessage = () => this.waiting.shift()?.();
  }

  pause = async () => {
    if (Date.now() - this.begun < SLICE) return;
    // A message, since timers wait at least 4 ms once they are nested.
    await new Promise((/** @type {(value?: undefined) => void} */ resume) => {
      this.waiting.push(resume);
      this.channel.port2.postMessage(0);
    });
    this.begun = Date.now();
  };

  end() {
    this.channel.port1.close();
  }
}
