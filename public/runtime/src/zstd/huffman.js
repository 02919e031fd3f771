import { ReverseBits, fail } from "./bits.js";
import { readTable } from "./fse.js";

/** "Max_Number_of_Bits must be <= 11" (RFC 8878 §4.2.1). */
const MOST_BITS = 11;

/**
 * The Huffman table of literals: for each value of the longest code a symbol, and how many bits its own code has.
 * @typedef {{bits: number, symbols: Uint8Array, lengths: Uint8Array}} Tree
 */

/**
 * Reads the description of a tree (§4.2.1).
 * @param {Uint8Array} data with at least 4 bytes behind `end`
 * @param {number} start
 * @param {number} end
 * @returns {{tree: Tree, end: number}} the tree, and where its description ends
 */
export function readTree(data, start, end) {
  if (start >= end) fail(/* a tree is missing */);
  const header = data[start];
  const first = start + 1;
  const after = first + (header < 128 ? header : (header - 126) >> 1);
  if (after > end) fail(/* a tree ends too early */);
  if (header < 128) return { tree: makeTree(readWeights(data, first, after)), end: after };
  const weights = [];
  for (let i = 0; i < header - 127; i++) {
    const byte = data[first + (i >> 1)];
    weights.push(i & 1 ? byte & 15 : byte >> 4);
  }
  return { tree: makeTree(weights), end: after };
}

/**
 * "Finite State Entropy compression of Huffman weights" (§4.2.1.2).
 * @param {Uint8Array} data
 * @param {number} start
 * @param {number} end
 */
function readWeights(data, start, end) {
  const { table, end: described } = readTable(data, start, end, 6, 256);
  const bits = new ReverseBits(data, described, end);
  let [state, other] = [bits.read(table.log), bits.read(table.log)];
  if (bits.left < 0) fail(/* weights without bits */);
  const weights = [];
  for (;;) {
    if (weights.length + 2 > 255) fail(/* too many weights */);
    weights.push(table.symbols[state]);
    const needed = table.bits[state];
    if (needed > bits.left) {
      weights.push(table.symbols[other]);
      return weights;
    }
    [state, other] = [other, table.next[state] + bits.read(needed)];
  }
}

/**
 * "Conversion from weights to Huffman prefix codes" (§4.2.1.3).
 * @param {number[]} weights
 * @returns {Tree}
 */
function makeTree(weights) {
  let sum = 0;
  for (const weight of weights) {
    if (weight > MOST_BITS) fail(/* a tree that is too deep */);
    sum += (1 << weight) >> 1;
  }
  if (sum === 0) fail(/* a tree without leaves */);
  const bits = 32 - Math.clz32(sum);
  if (bits > MOST_BITS) fail(/* a tree that is too deep */);
  // The last symbol completes the sum to a power of two.
  const rest = (1 << bits) - sum;
  if (rest & (rest - 1)) fail(/* a tree that isn't whole */);
  weights.push(32 - Math.clz32(rest));
  const counts = new Int32Array(MOST_BITS + 2);
  for (const weight of weights) counts[weight]++;
  if (counts[1] < 2 || counts[1] & 1) fail(/* a tree that isn't whole */);
  let row = 0;
  for (let weight = 1; weight <= bits; weight++) {
    const first = row;
    row += counts[weight] << (weight - 1);
    counts[weight] = first;
  }
  const tree = { bits, symbols: new Uint8Array(1 << bits), lengths: new Uint8Array(1 << bits) };
  weights.forEach((weight, symbol) => {
    if (weight === 0) return;
    const first = counts[weight];
    const end = first + (1 << (weight - 1));
    tree.symbols.fill(symbol, first, end);
    tree.lengths.fill(bits + 1 - weight, first, end);
    counts[weight] = end;
  });
  return tree;
}

/**
 * Reads one stream of literals, which has to end with the last of them.
 * @param {Tree} tree
 * @param {Uint8Array} data with at least 4 bytes behind `end`
 * @param {number} start
 * @param {number} end
 * @param {Uint8Array} out
 * @param {number} from
 * @param {number} to
 */
export function readLiterals(tree, data, start, end, out, from, to) {
  const source = new ReverseBits(data, start, end);
  const { bits, symbols, lengths } = tree;
  const base = source.start;
  const mask = (1 << bits) - 1;
  let { left } = source;
  let at = from;
  // Two codes, at most 22 bits, of each word that is loaded.
  for (; at + 2 <= to && left >= 25; at += 2) {
    const place = base + left - 25;
    const i = place >>> 3;
    const word =
      (data[i] | (data[i + 1] << 8) | (data[i + 2] << 16) | (data[i + 3] << 24)) >>> (place & 7);
    const row = (word >>> (25 - bits)) & mask;
    const length = lengths[row];
    const second = (word >>> (25 - length - bits)) & mask;
    out[at] = symbols[row];
    out[at + 1] = symbols[second];
    left -= length + lengths[second];
  }
  source.left = left;
  for (; at < to; at++) {
    if (source.left <= 0) fail(/* a stream of literals ends too early */);
    const row = source.peek(bits);
    out[at] = symbols[row];
    source.left -= lengths[row];
  }
  if (source.left !== 0) fail(/* a stream of literals has bits left */);
}
