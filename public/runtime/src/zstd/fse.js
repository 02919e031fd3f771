import { fail } from "./bits.js";

/**
 * A table of Finite State Entropy (RFC 8878 §4.1): for each state its symbol, how many bits lead to the next state, and
 * what these are added to.
 * @typedef {{log: number, symbols: Uint8Array, bits: Uint8Array, next: Uint16Array}} Table
 */

/**
 * Reads a distribution (§4.1.1).
 * @param {Uint8Array} data with at least 4 bytes behind `end`
 * @param {number} start
 * @param {number} end
 * @param {number} largestLog
 * @param {number} most how many symbols there may be
 * @returns {{table: Table, end: number}} the table, and where its description ends
 */
export function readTable(data, start, end, largestLog, most) {
  if (start >= end) fail(/* a distribution is missing */);
  const log = (data[start] & 15) + 5;
  if (log > largestLog) fail(/* a distribution with too large a table */);
  const last = end * 8;
  let position = start * 8 + 4;
  /** @param {number} count */
  const peek = (count) => {
    const i = position >>> 3;
    const word = data[i] | (data[i + 1] << 8) | (data[i + 2] << 16) | (data[i + 3] << 24);
    return (word >>> (position & 7)) & ((1 << count) - 1);
  };
  /** @type {number[]} */
  const probabilities = [];
  let remaining = (1 << log) + 1;
  while (remaining > 1) {
    if (probabilities.length >= most || position > last) fail(/* a distribution over too many symbols */);
    // The values from 0 to `remaining` need `bits` bits; the first of them one less.
    const bits = 32 - Math.clz32(remaining);
    const threshold = 1 << (bits - 1);
    const short = 2 * threshold - 1 - remaining;
    let value = peek(bits - 1);
    if (value < short) {
      position += bits - 1;
    } else {
      value = peek(bits);
      if (value >= threshold) value -= short;
      position += bits;
    }
    const probability = value - 1;
    probabilities.push(probability);
    remaining -= Math.abs(probability);
    if (probability !== 0) continue;
    for (let flag = 3; flag === 3; ) {
      if (position > last) fail(/* a distribution ends too early */);
      flag = peek(2);
      position += 2;
      if (probabilities.length + flag > most) fail(/* a distribution over too many symbols */);
      for (let i = 0; i < flag; i++) probabilities.push(0);
    }
  }
  if (position > last) fail(/* a distribution ends too early */);
  return { table: makeTable(log, probabilities), end: (position + 7) >>> 3 };
}

/**
 * Makes the table of a distribution, whose sum is the table's size.
 * @param {number} log
 * @param {number[]} probabilities
 * @returns {Table}
 */
export function makeTable(log, probabilities) {
  const size = 1 << log;
  const table = { log, symbols: new Uint8Array(size), bits: new Uint8Array(size), next: new Uint16Array(size) };
  const successors = probabilities.map((probability) => (probability === -1 ? 1 : probability));
  // "Less than 1" probabilities have a row each, from the end of the table.
  let last = size - 1;
  probabilities.forEach((probability, symbol) => {
    if (probability === -1) table.symbols[last--] = symbol;
  });
  const step = (size >> 1) + (size >> 3) + 3;
  let row = 0;
  probabilities.forEach((probability, symbol) => {
    for (let i = 0; i < probability; i++) {
      table.symbols[row] = symbol;
      do row = (row + step) & (size - 1);
      while (row > last);
    }
  });
  for (let row = 0; row < size; row++) {
    const successor = successors[table.symbols[row]]++;
    const bits = log - (31 - Math.clz32(successor));
    table.bits[row] = bits;
    table.next[row] = (successor << bits) - size;
  }
  return table;
}

/**
 * The table of one symbol: one row, which leads to itself without a bit.
 * @param {number} symbol
 * @returns {Table}
 */
export function singleTable(symbol) {
  return { log: 0, symbols: Uint8Array.of(symbol), bits: new Uint8Array(1), next: new Uint16Array(1) };
}
