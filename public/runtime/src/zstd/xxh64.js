// XXH64 with seed 0, which a frame's checksum is made of (RFC 8878 §3.1.1). Frames of ours have none, so it may be slow.

const MASK = (1n << 64n) - 1n;
const [P1, P2, P3, P4, P5] = [
  0x9e3779b185ebca87n, 0xc2b2ae3d27d4eb4fn, 0x165667b19e3779f9n, 0x85ebca77c2b2ae63n, 0x27d4eb2f165667c5n,
];

/**
 * @param {bigint} value
 * @param {bigint} count
 */
const rotate = (value, count) => ((value << count) | (value >> (64n - count))) & MASK;
/**
 * @param {bigint} sum
 * @param {bigint} word
 */
const round = (sum, word) => (rotate((sum + word * P2) & MASK, 31n) * P1) & MASK;

/**
 * The low 32 bits of the hash.
 * @param {Uint8Array} data
 * @param {() => Promise<void>} pause called every 64 KiB
 * @returns {Promise<number>}
 */
export async function checksum(data, pause) {
  const view = new DataView(data.buffer, data.byteOffset, data.byteLength);
  const { length } = data;
  let at = 0;
  let hash = P5;
  if (length >= 32) {
    const sums = [(P1 + P2) & MASK, P2, 0n, MASK + 1n - P1];
    while (at + 32 <= length) {
      for (let lane = 0; lane < 4; lane++, at += 8) sums[lane] = round(sums[lane], view.getBigUint64(at, true));
      if ((at & 0xffff) === 0) await pause();
    }
    hash =
      (rotate(sums[0], 1n) + rotate(sums[1], 7n) + rotate(sums[2], 12n) + rotate(sums[3], 18n)) & MASK;
    for (const sum of sums) hash = ((hash ^ round(0n, sum)) * P1 + P4) & MASK;
  }
  hash = (hash + BigInt(length)) & MASK;
  for (; at + 8 <= length; at += 8) {
    hash = (rotate(hash ^ round(0n, view.getBigUint64(at, true)), 27n) * P1 + P4) & MASK;
  }
  if (at + 4 <= length) {
    hash = (rotate(hash ^ ((BigInt(view.getUint32(at, true)) * P1) & MASK), 23n) * P2 + P3) & MASK;
    at += 4;
  }
  for (; at < length; at++) hash = (rotate(hash ^ ((BigInt(data[at]) * P5) & MASK), 11n) * P1) & MASK;
  hash = ((hash ^ (hash >> 33n)) * P2) & MASK;
  hash = ((hash ^ (hash >> 29n)) * P3) & MASK;
  return Number((hash ^ (hash >> 32n)) & 0xffffffffn);
}
