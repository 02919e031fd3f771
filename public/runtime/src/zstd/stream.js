import { fail } from "./bits.js";
import { Frame } from "./decoder.js";

/** Bytes of the longest header of a frame, with its magic number (RFC 8878 §3.1.1.1). */
const LONGEST_HEADER = 18;
/** Bytes that are kept besides the window: how often it is moved. */
const SLACK = 1 << 20;

/** Decodes one zstd frame while it comes, and hands on what it stands for: its window and a little more are kept in memory. */
export class FrameStream {
  /**
   * @param {{windowLimit: number, limit: number, pause: () => Promise<void>}} options as those of `decodeFrame`
   * @param {(bytes: Uint8Array) => Promise<void>} give takes each block's bytes, which are another's once it has
   */
  constructor({ pause, ...options }, give) {
    this.options = { ...options, slack: SLACK };
    this.pause = pause;
    this.give = give;
    /** @type {Frame | undefined} */
    this.frame = undefined;
    /** What came and wasn't decoded yet, how much that is, and how much it has to be. */
    this.pieces = [Uint8Array.of(0x28, 0xb5, 0x2f, 0xfd)];
    this.count = 4;
    this.needed = LONGEST_HEADER;
    this.isOver = false;
  }

  /**
   * @param {Uint8Array} bytes that follow those before
   * @param {boolean} [isLast]
   * @throws ZstdError
   */
  async take(bytes, isLast = false) {
    if (this.isOver && bytes.length > 0) fail(/* something follows the frame */);
    this.pieces.push(bytes);
    this.count += bytes.length;
    if (this.isOver || (this.count < this.needed && !isLast)) return;
    const all = new Uint8Array(this.count);
    let end = 0;
    for (const piece of this.pieces) {
      all.set(piece, end);
      end += piece.length;
    }
    const frame = (this.frame ??= new Frame(all, this.options));
    frame.bytes = all;
    while (!this.isOver && (isLast || frame.at + frame.needed <= end)) {
      const before = frame.passed + frame.given;
      this.isOver = !frame.block();
      await this.give(frame.out.subarray(before - frame.passed, frame.given));
      await this.pause();
    }
    this.needed = frame.needed;
    this.pieces = [all.slice(frame.at)];
    this.count = end - frame.at;
    frame.at = 0;
  }
}
