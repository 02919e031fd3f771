/** The bytes aren't what RFC 8878 says, or stand for more than they may. */
export class ZstdError extends Error {}

/**
 * What is wrong stands beside each call, for readers of the source alone: a device could do nothing else about it.
 * @returns {never}
 */
export function fail() {
  throw new ZstdError("a zstd frame that can't be decoded");
}

/** Bits that are read from the end of a stream to its beginning (RFC 8878 §4.1). */
export class ReverseBits {
  /**
   * @param {Uint8Array} data with at least 4 bytes behind `end`
   * @param {number} start
   * @param {number} end
   */
  constructor(data, start, end) {
    const last = end > start ? data[end - 1] : 0;
    if (last === 0) fail(/* a stream without an end mark */);
    this.data = data;
    this.start = start * 8;
    /** Bits that are left; negative where more were read than there are. */
    this.left = (end - start) * 8 - (Math.clz32(last) - 24) - 1;
  }

  /**
   * The next bits; what lies in front of the stream is 0.
   * @param {number} count at most 25
   * @returns {number}
   */
  peek(count) {
    let at = this.left - count;
    let missing = 0;
    if (at < 0) {
      if (this.left <= 0) return 0;
      missing = -at;
      at = 0;
    }
    at += this.start;
    const { data } = this;
    const i = at >>> 3;
    const word = data[i] | (data[i + 1] << 8) | (data[i + 2] << 16) | (data[i + 3] << 24);
    return ((word >>> (at & 7)) & ((1 << (count - missing)) - 1)) << missing;
  }

  /**
   * @param {number} count at most 31
   * @returns {number}
   */
  read(count) {
    if (count > 16) {
      const high = this.read(count - 16);
      return high * 65536 + this.read(16);
    }
    const value = this.peek(count);
    this.left -= count;
    return value;
  }
}
