import { FrameStream } from "../zstd/stream.js";
import { hex } from "./digests.js";
import { fault } from "./fault.js";
import { Reader, joined } from "./reader.js";

/** Bytes of the longest head, without its list. */
const LONGEST_HEAD = 28;
const MOST_FILES = 2 ** 20;
/** Bytes of the longest item of the list. */
const LONGEST_ITEM = 40;
const WINDOW_LIMIT = 8 << 20;

/**
 * Reads a first pack (docs/protocol.md §8) while its bytes come: its files stand one after another in one frame, of which the window is in
 * memory, and the file that comes.
 */
export class FirstPack {
  /**
   * @param {Map<string, number>} wanted sizes of the files that are taken, by the first 32 digits of their SHA-256
   * @param {(id: string, bytes: Uint8Array) => Promise<void>} keep takes each as it is whole
   * @param {{pause: () => Promise<void>, limit: number}} options `limit`: bytes that all of its files may have
   */
  constructor(wanted, keep, options) {
    this.wanted = wanted;
    this.keep = keep;
    this.options = options;
    /** @type {Uint8Array[]} what came of the head */
    this.pieces = [];
    this.count = 0;
    this.needed = LONGEST_HEAD;
    /** @type {FrameStream | undefined} what decodes, once the head has come */
    this.stream = undefined;
    /** @type {{id: string, size: number}[]} */
    this.files = [];
    /** Which file comes, what came of it, and how much. */
    this.index = -1;
    /** @type {Uint8Array | undefined} */
    this.file = undefined;
    this.filled = 0;
    /** How many of those that are wanted haven't come. */
    this.left = 0;
  }

  /** Whether nothing that follows is wanted. */
  get isDone() {
    return this.stream !== undefined && this.left === 0;
  }

  /**
   * @param {Uint8Array} bytes that follow those before
   * @param {boolean} [isLast]
   * @throws Fault, ZstdError
   */
  async take(bytes, isLast = false) {
    let coded = bytes;
    if (!this.stream) {
      this.pieces.push(bytes);
      this.count += bytes.length;
      if (this.count < this.needed && !isLast) return;
      const head = joined(this.pieces, this.count);
      this.pieces = [head];
      const end = this.head(head);
      if (end > head.length) {
        if (isLast) fault(/* it ends in its list */);
        this.needed = end;
        return;
      }
      this.pieces = [];
      coded = head.subarray(end);
      await this.next();
    }
    await this.stream?.take(coded, isLast);
    if (isLast && this.index < this.files.length) fault(/* its frame stands for too little */);
  }

  /**
   * Reads the head, if all of it has come.
   * @param {Uint8Array} bytes
   * @returns {number} where it ends
   */
  head(bytes) {
    const reader = new Reader(bytes);
    if (reader.ascii(4) !== "XPF1") fault(/* not a first pack */);
    const [version, count] = [reader.number(), reader.number(MOST_FILES)];
    const length = reader.number(LONGEST_ITEM * count);
    if (version === 0 || count === 0) fault(/* a first pack of nothing */);
    const end = reader.at + length;
    if (end > bytes.length) return end;
    const list = new Reader(reader.bytes(length));
    const items = new Set();
    let sum = 0;
    for (let left = count; left > 0; left--) {
      const id = hex(list.bytes(16));
      const size = list.number();
      sum += size;
      if (sum > this.options.limit) fault(/* more than it may stand for */);
      if (items.size === items.add(`${id} ${size}`).size) fault(/* a file twice */);
      const wanted = this.wanted.get(id);
      if (wanted !== undefined && wanted !== size) fault(/* a file of another size */);
      if (wanted !== undefined) this.left += 1;
      this.files.push({ id, size });
    }
    if (list.left > 0) fault(/* the list goes on behind its end */);
    this.stream = new FrameStream({ windowLimit: WINDOW_LIMIT, limit: sum, pause: this.options.pause }, (some) => this.give(some));
    return end;
  }

  /**
   * What the frame stands for next.
   * @param {Uint8Array} bytes
   */
  async give(bytes) {
    for (let at = 0; at < bytes.length; ) {
      const { size } = this.files[this.index];
      const count = Math.min(size - this.filled, bytes.length - at);
      this.file?.set(bytes.subarray(at, at + count), this.filled);
      at += count;
      this.filled += count;
      if (this.filled === size) await this.next();
    }
  }

  /** Goes to the next file that has bytes, once the one before is whole. */
  async next() {
    for (;;) {
      if (this.file) {
        this.left -= 1;
        await this.keep(this.files[this.index].id, this.file);
      }
      this.index += 1;
      this.filled = 0;
      const next = this.files[this.index];
      this.file = next && this.wanted.has(next.id) ? new Uint8Array(next.size) : undefined;
      if (!next || next.size > 0) return;
    }
  }
}
