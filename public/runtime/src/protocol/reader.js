import { fault } from "./fault.js";

/** Reads bytes and numbers of a pack (docs/protocol.md §8), and refuses what isn't there. */
export class Reader {
  /** @param {Uint8Array} data */
  constructor(data) {
    this.data = data;
    this.at = 0;
  }

  get left() {
    return this.data.length - this.at;
  }

  /** @param {number} count */
  bytes(count) {
    if (count > this.left) fault(/* it ends too early */);
    this.at += count;
    return this.data.subarray(this.at - count, this.at);
  }

  /** @param {number} count */
  ascii(count) {
    let text = "";
    for (const byte of this.bytes(count)) text += byte < 0x80 ? String.fromCharCode(byte) : fault(/* a text that isn't ASCII */);
    return text;
  }

  /**
   * Unsigned LEB128, in as few bytes as it needs.
   * @param {number} [most]
   */
  number(most = Number.MAX_SAFE_INTEGER) {
    let value = 0;
    for (let position = 0; position < 8; position++) {
      const byte = this.bytes(1)[0];
      value += (byte & 0x7f) * 2 ** (7 * position);
      if (byte >= 0x80) continue;
      if ((byte === 0 && position > 0) || value > most || value > Number.MAX_SAFE_INTEGER) fault(/* a number that can't be */);
      return value;
    }
    fault(/* a number of more than 8 bytes */);
  }

  /** How many things follow, each of at least a byte. */
  count() {
    return this.number(this.left);
  }
}

/**
 * @param {Uint8Array[]} pieces
 * @param {number} count
 */
export function joined(pieces, count) {
  const bytes = new Uint8Array(count);
  let at = 0;
  for (const piece of pieces) {
    bytes.set(piece, at);
    at += piece.length;
  }
  return bytes;
}
