import { ReverseBits, fail } from "./bits.js";
import { makeTable, readTable, singleTable } from "./fse.js";
import { readLiterals, readTree } from "./huffman.js";

export { ZstdError } from "./bits.js";

const LARGEST_BLOCK = 128 << 10;
const NOTHING = new Uint8Array(0);

/** @typedef {import("./fse.js").Table} Table */

/** @param {[number, number][]} runs a count and a probability each */
const spread = (...runs) => runs.flatMap(([count, value]) => /** @type {number[]} */ (Array(count).fill(value)));

/**
 * What the codes of sequences stand for, and their predefined distributions (RFC 8878 §3.1.1.3.2.1.1, §3.1.1.3.2.2).
 * @param {number} first
 * @param {number[]} bits
 */
function code(first, bits) {
  let base = first;
  const bases = bits.map((count) => {
    const own = base;
    base += 2 ** count;
    return own;
  });
  return { bits: Uint8Array.from(bits), bases: Float64Array.from(bases) };
}

const LENGTHS = code(0, [...spread([16, 0], [4, 1], [2, 2], [2, 3]), 4, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16]);
const MATCHES = code(3, [
  ...spread([32, 0], [4, 1], [2, 2], [2, 3], [2, 4]), 5, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16,
]);

/** The three codes: the largest logs of their tables, their symbols, their predefined tables. */
const CODES = [
  { log: 9, symbols: 36, known: () => makeTable(6, [4, 3, ...spread([11, 2], [3, 1], [9, 2]), 3, 2, ...spread([5, 1], [4, -1])]) },
  // As the reference decoder: offsets below 2^32.
  { log: 8, symbols: 32, known: () => makeTable(5, spread([6, 1], [3, 2], [15, 1], [5, -1])) },
  { log: 9, symbols: 53, known: () => makeTable(6, [1, 4, 3, ...spread([6, 2], [37, 1], [7, -1])]) },
];
/** @type {(Table | undefined)[]} */
const predefined = [];

/**
 * Decodes one zstd frame (RFC 8878), behind which nothing follows.
 *
 * @param {Uint8Array} bytes the frame, with its magic number
 * @param {{dictionary?: Uint8Array, windowLimit: number, limit: number, pause?: () => Promise<void>}} options
 *   `dictionary`: raw content that stands before the frame's first byte; `windowLimit`: bytes that its window may have;
 *   `limit`: bytes that it may stand for; `pause`: called between blocks, so that others get their turn
 * @returns {Promise<Uint8Array>}
 * @throws ZstdError
 */
export async function decodeFrame(bytes, options) {
  const pause = options.pause ?? (async () => {});
  const frame = new Frame(bytes, options);
  while (frame.block()) await pause();
  return frame.result();
}

/** What is left of a frame to decode, and what it stands for so far. */
export class Frame {
  /**
   * @param {Uint8Array} bytes
   * @param {{dictionary?: Uint8Array, windowLimit: number, limit: number, slack?: number}} options
   *   `slack`: bytes that are kept besides its window, at least those of a block; without it, all of them are
   */
  constructor(bytes, options) {
    this.bytes = bytes;
    this.dictionary = options.dictionary ?? NOTHING;
    this.limit = options.limit;
    this.at = 0;
    if (this.number(4) !== 0xfd2fb528) fail(/* no zstd frame */);
    const descriptor = this.number(1);
    if (descriptor & 8) fail(/* a reserved bit */);
    const isSingle = (descriptor & 32) !== 0;
    const windowByte = isSingle ? undefined : this.number(1);
    if (this.number([0, 1, 2, 4][descriptor & 3]) !== 0) fail(/* a frame over another dictionary */);
    const sizeBytes = descriptor >> 6 === 0 ? (isSingle ? 1 : 0) : 1 << (descriptor >> 6);
    const size = this.number(sizeBytes) + (sizeBytes === 2 ? 256 : 0);
    /** @type {number | undefined} */
    this.size = sizeBytes === 0 ? undefined : size;
    if (this.size !== undefined && this.size > this.limit) fail(/* more than it may be */);
    const base = windowByte === undefined ? 0 : 2 ** (10 + (windowByte >> 3));
    this.window = windowByte === undefined ? size : base + (base / 8) * (windowByte & 7);
    if (this.window > options.windowLimit) fail(/* too large a window */);
    this.largestBlock = Math.min(this.window, LARGEST_BLOCK);
    this.hasChecksum = (descriptor & 4) !== 0;
    // A block's bytes, with slack that lets words be read as a whole.
    this.source = new Uint8Array(LARGEST_BLOCK + 16);
    this.literals = new Uint8Array(LARGEST_BLOCK);
    const most = this.size ?? this.limit;
    this.room = options.slack === undefined ? Infinity : this.window + options.slack;
    // Room for what came, not for what a header says will come.
    this.out = new Uint8Array(Math.min(most, options.slack === undefined ? Math.max(4096, 4 * bytes.length) : this.room));
    this.given = 0;
    /** Bytes that were given before those that are kept. */
    this.passed = 0;
    /** @type {import("./huffman.js").Tree | undefined} */
    this.tree = undefined;
    /** @type {(Table | undefined)[]} */
    this.tables = [undefined, undefined, undefined];
    this.offsets = [1, 4, 8];
  }

  /** @param {number} count */
  number(count) {
    if (this.at + count > this.bytes.length) fail(/* a frame ends too early */);
    let value = 0;
    for (let i = 0; i < count; i++) value += this.bytes[this.at++] * 2 ** (8 * i);
    return value;
  }

  result() {
    return this.out.length === this.given ? this.out : this.out.slice(0, this.given);
  }

  /**
   * Makes room for more bytes behind those that were given.
   * @param {number} count
   */
  reserve(count) {
    const most = (this.size ?? this.limit) - this.passed;
    if (this.given + count > most) fail(/* more than it may be */);
    if (this.given + count > this.room) {
      const gone = this.given - this.window;
      this.out.copyWithin(0, gone, this.given);
      this.given = this.window;
      this.passed += gone;
    }
    if (this.given + count <= this.out.length) return;
    const out = new Uint8Array(Math.min(most, this.room, Math.max(2 * this.out.length, this.given + count)));
    out.set(this.out.subarray(0, this.given));
    this.out = out;
  }

  /** How many bytes from here the next block ends, as far as that is known yet. */
  get needed() {
    const { bytes, at } = this;
    if (at + 3 > bytes.length) return 3;
    const header = bytes[at] | (bytes[at + 1] << 8) | (bytes[at + 2] << 16);
    const size = (header & 6) === 2 ? 1 : Math.min(header >> 3, this.largestBlock);
    return 3 + size + (header & 1 && this.hasChecksum ? 4 : 0);
  }

  /**
   * Decodes the next block.
   * @returns {boolean} whether another one follows
   */
  block() {
    const header = this.number(3);
    const size = header >> 3;
    if (size > this.largestBlock) fail(/* too large a block */);
    switch ((header >> 1) & 3) {
      case 0:
        if (this.at + size > this.bytes.length) fail(/* a frame ends too early */);
        this.reserve(size);
        this.out.set(this.bytes.subarray(this.at, this.at + size), this.given);
        this.at += size;
        this.given += size;
        break;
      case 1: {
        const byte = this.number(1);
        this.reserve(size);
        this.out.fill(byte, this.given, this.given + size);
        this.given += size;
        break;
      }
      case 2:
        if (size === 0) fail(/* an empty block */);
        if (this.at + size > this.bytes.length) fail(/* a frame ends too early */);
        this.source.set(this.bytes.subarray(this.at, this.at + size));
        this.source.fill(0, size, size + 16);
        this.at += size;
        this.compressed(size);
        break;
      default:
        fail(/* a reserved kind of block */);
    }
    if ((header & 1) === 0) return true;
    if (this.size !== undefined && this.passed + this.given !== this.size) fail(/* another size than it says */);
    // Not compared: whatever comes of a frame is compared by its SHA-256, and frames of ours have no checksum.
    if (this.hasChecksum) this.number(4);
    if (this.at !== this.bytes.length) fail(/* something follows the frame */);
    return false;
  }

  /**
   * A compressed block (§3.1.1.3).
   * @param {number} size
   */
  compressed(size) {
    const { source } = this;
    const format = (source[0] >> 2) & 3;
    const low = source[0] | (source[1] << 8) | (source[2] << 16) | (source[3] << 24);
    // The literals section (§3.1.1.3.1).
    let literals = this.literals;
    let [count, place] = [0, 0];
    const kind = source[0] & 3;
    if (kind < 2) {
      [count, place] = format === 1 ? [(low >>> 4) & 0xfff, 2] : format === 3 ? [(low >>> 4) & 0xfffff, 3] : [(low >>> 3) & 31, 1];
      if (count > this.largestBlock || place + (kind === 0 ? count : 1) > size) fail(/* wrong literals */);
      if (kind === 0) {
        literals = source.subarray(place, place + count);
        place += count;
      } else {
        literals.fill(source[place], 0, count);
        place += 1;
      }
    } else {
      const width = [10, 10, 14, 18][format];
      place = [3, 3, 4, 5][format];
      count = (low >>> 4) & ((1 << width) - 1);
      const bits = 4 + width;
      // Five bytes at most: what lies above the first 32 bits comes of the fifth.
      const coded =
        ((low >>> bits) | (bits + width > 32 ? source[4] << (32 - bits) : 0)) & ((1 << width) - 1);
      if (count === 0 || count > this.largestBlock || place + coded > size) fail(/* wrong literals */);
      this.codedLiterals(place, place + coded, count, kind === 2, format !== 0);
      place += coded;
    }
    this.sequences(place, size, literals, count);
  }

  /**
   * @param {number} start
   * @param {number} end
   * @param {number} count
   * @param {boolean} hasTree
   * @param {boolean} inFour
   */
  codedLiterals(start, end, count, hasTree, inFour) {
    const { source, literals } = this;
    if (hasTree) {
      const read = readTree(source, start, end);
      this.tree = read.tree;
      start = read.end;
    }
    const tree = this.tree ?? fail(/* literals without a tree */);
    if (!inFour) return readLiterals(tree, source, start, end, literals, 0, count);
    // The Jump_Table (§3.1.1.3.1.6): the sizes of the first three streams; all have at least a byte.
    if (count < 6 || end - start < 10) fail(/* wrong literals */);
    const part = (count + 3) >> 2;
    if (3 * part > count) fail(/* wrong literals */);
    let first = start + 6;
    for (let i = 0; i < 4; i++) {
      const next = i < 3 ? first + (source[start + 2 * i] | (source[start + 2 * i + 1] << 8)) : end;
      if (next > end) fail(/* wrong literals */);
      readLiterals(tree, source, first, next, literals, i * part, i < 3 ? (i + 1) * part : count);
      first = next;
    }
  }

  /**
   * The sequences section (§3.1.1.3.2), and what its sequences make of the literals (§3.1.1.4).
   * @param {number} start
   * @param {number} end
   * @param {Uint8Array} literals
   * @param {number} literalCount
   */
  sequences(start, end, literals, literalCount) {
    const { source } = this;
    if (start >= end) fail(/* no sequences section */);
    let count = source[start++];
    if (count >= 128) {
      count = count < 255 ? ((count - 128) << 8) + source[start++] : source[start++] + (source[start++] << 8) + 0x7f00;
    }
    if (count === 0) {
      if (start !== end) fail(/* wrong sequences */);
      this.reserve(literalCount);
      this.out.set(literals.subarray(0, literalCount), this.given);
      this.given += literalCount;
      return;
    }
    if (start >= end) fail(/* wrong sequences */);
    const modes = source[start++];
    if (modes & 3) fail(/* reserved modes */);
    for (let i = 0; i < 3; i++) {
      const { log, symbols, known } = CODES[i];
      switch ((modes >> (6 - 2 * i)) & 3) {
        case 0:
          this.tables[i] = predefined[i] ??= known();
          break;
        case 1:
          if (start >= end || source[start] >= symbols) fail(/* wrong sequences */);
          this.tables[i] = singleTable(source[start++]);
          break;
        case 2: {
          const read = readTable(source, start, end, log, symbols);
          this.tables[i] = read.table;
          start = read.end;
          break;
        }
        default:
          if (!this.tables[i]) fail(/* sequences without a table */);
      }
    }
    if (start >= end) fail(/* wrong sequences */);
    this.execute(new ReverseBits(source, start, end), count, literals, literalCount);
  }

  /**
   * @param {ReverseBits} bits
   * @param {number} count
   * @param {Uint8Array} literals
   * @param {number} literalCount
   */
  execute(bits, count, literals, literalCount) {
    const [lengths, distances, matches] = /** @type {Table[]} */ (this.tables);
    const most = Math.min(this.largestBlock, (this.size ?? this.limit) - this.passed - this.given);
    this.reserve(Math.max(0, most));
    const { out, dictionary, window } = this;
    const blockEnd = this.given + most;
    let [first, second, third] = this.offsets;
    let next = this.given;
    let literal = 0;
    let [lengthState, offsetState, matchState] = [bits.read(lengths.log), bits.read(distances.log), bits.read(matches.log)];
    for (let left = count; ; ) {
      const offsetCode = distances.symbols[offsetState];
      const lengthCode = lengths.symbols[lengthState];
      const matchCode = matches.symbols[matchState];
      const offsetValue = 2 ** offsetCode + bits.read(offsetCode);
      const matchLength = MATCHES.bases[matchCode] + bits.read(MATCHES.bits[matchCode]);
      const literalLength = LENGTHS.bases[lengthCode] + bits.read(LENGTHS.bits[lengthCode]);
      if (--left > 0) {
        lengthState = lengths.next[lengthState] + bits.read(lengths.bits[lengthState]);
        matchState = matches.next[matchState] + bits.read(matches.bits[matchState]);
        offsetState = distances.next[offsetState] + bits.read(distances.bits[offsetState]);
      }
      if (bits.left < 0) fail(/* sequences end too early */);
      let offset = offsetValue - 3;
      if (offsetValue > 3) {
        [first, second, third] = [offset, first, second];
      } else {
        // "When the current sequence's literals_length is 0 […] repeated offsets are shifted by one".
        switch (literalLength === 0 ? offsetValue + 1 : offsetValue) {
          case 1:
            offset = first;
            break;
          case 2:
            offset = second;
            [first, second] = [offset, first];
            break;
          case 3:
            offset = third;
            [first, second, third] = [offset, first, second];
            break;
          default:
            offset = first - 1;
            if (offset === 0) fail(/* an offset of 0 */);
            [first, second, third] = [offset, first, second];
        }
      }
      const end = next + literalLength + matchLength;
      if (literal + literalLength > literalCount || end > blockEnd) fail(/* more than a block may have */);
      if (literalLength > 24) {
        out.set(literals.subarray(literal, literal + literalLength), next);
        next += literalLength;
        literal += literalLength;
      } else {
        for (const stop = next + literalLength; next < stop; ) out[next++] = literals[literal++];
      }
      let from = next - offset;
      if (from < 0 || offset > window) {
        // "Once the decoded content exceeds Window_Size, the dictionary is no longer accessible" (§5), as the reference decoder:
        // where the match begins in the dictionary, the frame's bytes before it are within the window.
        if (from >= 0 || next > window) fail(/* an offset behind the window */);
        from += dictionary.length;
        if (from < 0) fail(/* an offset behind the dictionary */);
        const part = Math.min(matchLength, dictionary.length - from);
        out.set(dictionary.subarray(from, from + part), next);
        next += part;
        from = 0;
      }
      if (end - next > 24 && from + (end - next) <= next) {
        out.copyWithin(next, from, from + (end - next));
        next = end;
      } else {
        while (next < end) out[next++] = out[from++];
      }
      if (left === 0) break;
    }
    if (bits.left !== 0) fail(/* sequences have bits left */);
    const rest = literalCount - literal;
    if (next + rest > blockEnd) fail(/* more than a block may have */);
    out.set(literals.subarray(literal, literalCount), next);
    this.given = next + rest;
    this.offsets = [first, second, third];
  }
}
