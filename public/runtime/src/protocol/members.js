import { fault } from "./fault.js";

/** Bytes up to which a document is parsed as it is: what can be in it costs little. */
export const SMALL = 1 << 20;
/** Bytes that are looked at between two pauses. */
const STRIDE = 1 << 15;
const [QUOTE, BACKSLASH, COMMA, COLON, OPENS, CLOSES, BEGINS, ENDS] = [...'"\\,:{}[]'].map((sign) => sign.charCodeAt(0));

/**
 * The text of a document without the members that nobody reads: JSON.parse builds whatever is in a text, and of what it builds, memory
 * is needed for each value. What is left is JSON if the document is; what was left out is only looked at for where it ends.
 * @param {Uint8Array} bytes
 * @param {Set<string>} names of members of `data` that are read
 * @param {() => Promise<unknown>} pause
 * @throws Fault
 */
export async function withoutOthers(bytes, names, pause) {
  const document = new Members(bytes, pause);
  const text = await document.object(new Set(["code", "message"]), names);
  document.space();
  return document.at === bytes.length ? text : fault("more than one document");
}

/**
 * The members of an answer's `data` that name other documents, whatever is wrong with the rest: a wrong manifest must not keep the kill
 * switch from devices. Of a body that breaks off, what came before the break counts.
 * @param {Uint8Array} bytes
 * @param {() => Promise<unknown>} pause
 * @returns {Promise<{policy?: unknown, prefetch?: unknown} | undefined>} nothing where it is no answer, or not yet
 */
export async function named(bytes, pause) {
  try {
    const { code, data } = JSON.parse(await new Members(bytes, pause, true).object(new Set(["code"]), new Set(["policy", "prefetch"])));
    return code === 200 ? data : undefined;
  } catch {
    return undefined;
  }
}

class Members {
  /**
   * @param {Uint8Array} bytes
   * @param {() => Promise<unknown>} pause
   * @param {boolean} [isPart] whether an object that breaks off has the members that came
   */
  constructor(bytes, pause, isPart = false) {
    this.bytes = bytes;
    this.pause = pause;
    this.isPart = isPart;
    // A byte order mark may be passed over (RFC 8259 §8.1).
    this.at = bytes[0] === 0xef ? 3 : 0;
    this.paused = 0;
    this.decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  }

  space() {
    while (this.bytes[this.at] <= 0x20) this.at++;
  }

  /** @param {number} start */
  since(start) {
    return this.decoder.decode(this.bytes.subarray(start, this.at));
  }

  string() {
    const { bytes } = this;
    for (this.at++; bytes[this.at] !== QUOTE; this.at++) {
      if (bytes[this.at] === BACKSLASH) this.at++;
      if (this.at >= bytes.length) fault("it ends in a text");
    }
    this.at++;
  }

  /** Goes to where a value ends: before the comma or the bracket behind it. */
  async value() {
    const { bytes } = this;
    for (let depth = 0; ; ) {
      const sign = bytes[this.at];
      if (sign === undefined) fault("it ends in a value");
      if (depth === 0 && (sign === COMMA || sign === CLOSES || sign === ENDS)) return;
      if (sign === QUOTE) this.string();
      else {
        if (sign === OPENS || sign === BEGINS) depth++;
        if (sign === CLOSES || sign === ENDS) depth--;
        this.at++;
      }
      if (this.at - this.paused < STRIDE) continue;
      this.paused = this.at;
      await this.pause();
    }
  }

  /**
   * The text of an object with some of its members. Another value is given as it is.
   * @param {Set<string>} names
   * @param {Set<string>} [inner] those of `data`, which is read then
   * @returns {Promise<string>}
   */
  async object(names, inner) {
    this.space();
    const begun = this.at;
    if (this.bytes[this.at] !== OPENS) {
      await this.value();
      return this.since(begun);
    }
    /** @type {string[]} */
    const kept = [];
    try {
      await this.members(kept, names, inner);
    } catch (error) {
      if (!this.isPart) throw error;
    }
    return `{${kept.join()}}`;
  }

  /**
   * @param {string[]} kept
   * @param {Set<string>} names
   * @param {Set<string>} [inner]
   */
  async members(kept, names, inner) {
    do {
      this.at++;
      this.space();
      if (this.bytes[this.at] === CLOSES && this.bytes[this.at - 1] !== COMMA) break;
      const start = this.at;
      if (this.bytes[start] !== QUOTE) fault("no name of a member");
      this.string();
      const name = JSON.parse(this.since(start));
      this.space();
      if (this.bytes[this.at++] !== COLON) fault("no value of a member");
      if (inner && name === "data") kept.push(`"data":${await this.object(inner)}`);
      else {
        await this.value();
        if (names.has(name)) kept.push(this.since(start));
      }
      this.space();
    } while (this.bytes[this.at] === COMMA);
    if (this.bytes[this.at++] !== CLOSES) fault("no end of an object");
  }
}
