// "Renaming" of docs/protocol.md §8.

/** Whether each byte is one of a word. */
const IN_WORD = Uint8Array.from({ length: 256 }, (_, byte) => (/[A-Za-z0-9_-]/.test(String.fromCharCode(byte)) ? 1 : 0));
const PIECES = /[A-Za-z0-9_-]+|[^A-Za-z0-9_-]+/g;

/**
 * The words that a release renames.
 * @param {[string, string][]} urls of partners and their arrivals, in the order of the arrivals
 * @returns {Map<string, string>}
 */
export function wordPairs(urls) {
  const pairs = new Map();
  for (const [old, now] of urls) {
    const before = old.match(PIECES) ?? [];
    const after = now.match(PIECES) ?? [];
    if (before.length !== after.length) continue;
    const differing = before.map((piece, i) => [piece, after[i]]).filter(([a, b]) => a !== b);
    if (!differing.every((pair) => pair.every((piece) => IN_WORD[piece.charCodeAt(0)]))) continue;
    for (const [a, b] of differing) {
      if (a.length >= 6 && a.length <= 64 && b.length <= Math.min(64, 2 * a.length) && !pairs.has(a)) pairs.set(a, b);
    }
  }
  return pairs;
}

/**
 * @param {Uint8Array} file
 * @param {Map<string, string>} pairs
 * @param {() => Promise<void>} pause
 * @returns {Promise<Uint8Array>} the file with each old word in the place of the new one
 */
export async function rename(file, pairs, pause) {
  if (pairs.size === 0) return file;
  const lengths = new Uint8Array(65);
  for (const old of pairs.keys()) lengths[old.length] = 1;
  /** @type {[number, number, string][]} */
  const found = [];
  let growth = 0;
  let steps = 0;
  for (let at = 0; at < file.length; ) {
    while (at < file.length && !IN_WORD[file[at]]) at++;
    const start = at;
    while (at < file.length && IN_WORD[file[at]]) at++;
    const count = at - start;
    if (count <= 64 && lengths[count]) {
      const word = pairs.get(String.fromCharCode(...file.subarray(start, at)));
      if (word !== undefined) {
        found.push([start, at, word]);
        growth += word.length - count;
      }
    }
    if ((++steps & 0xfff) === 0) await pause();
  }
  if (found.length === 0) return file;
  const out = new Uint8Array(file.length + growth);
  let [read, written] = [0, 0];
  for (const [start, end, word] of found) {
    out.set(file.subarray(read, start), written);
    written += start - read;
    for (let i = 0; i < word.length; i++) out[written++] = word.charCodeAt(i);
    read = end;
  }
  out.set(file.subarray(read), written);
  return out;
}
