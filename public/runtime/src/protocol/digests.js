/** @param {Uint8Array} bytes */
export function hex(bytes) {
  let text = "";
  for (const byte of bytes) text += (byte < 16 ? "0" : "") + byte.toString(16);
  return text;
}

/**
 * @param {Uint8Array} bytes
 * @returns {Promise<string>} 64 digits
 */
export async function sha256(bytes) {
  return hex(new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)));
}

/** @param {string} text */
export const utf8 = (text) => new TextEncoder().encode(text);

const SHIFTS = [7, 12, 17, 22, 5, 9, 14, 20, 4, 11, 16, 23, 6, 10, 15, 21];
const SINES = Int32Array.from({ length: 64 }, (_, i) => Math.floor(Math.abs(Math.sin(i + 1)) * 2 ** 32));

/**
 * MD5 (RFC 1321), which entries have and SubtleCrypto doesn't.
 * @param {Uint8Array} bytes
 * @param {() => Promise<void>} pause called every 64 KiB
 * @returns {Promise<string>} 32 digits
 */
export async function md5(bytes, pause) {
  const state = Int32Array.of(0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476);
  const whole = bytes.length & ~63;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  for (let at = 0; at < whole; at += 64) {
    block(state, view, at);
    if ((at & 0xffff) === 0) await pause();
  }
  const rest = bytes.subarray(whole);
  const last = new DataView(new ArrayBuffer(rest.length < 56 ? 64 : 128));
  new Uint8Array(last.buffer).set(rest);
  last.setUint8(rest.length, 0x80);
  last.setUint32(last.byteLength - 8, bytes.length << 3, true);
  last.setUint32(last.byteLength - 4, Math.floor(bytes.length / 2 ** 29), true);
  for (let at = 0; at < last.byteLength; at += 64) block(state, last, at);
  return hex(new Uint8Array(state.buffer));
}

const words = new Int32Array(16);

/**
 * @param {Int32Array} state
 * @param {DataView} view
 * @param {number} at
 */
function block(state, view, at) {
  for (let i = 0; i < 16; i++) words[i] = view.getInt32(at + 4 * i, true);
  let [a, b, c, d] = state;
  for (let i = 0; i < 64; i++) {
    const round = i >> 4;
    let mixed;
    let word;
    if (round === 0) {
      mixed = (b & c) | (~b & d);
      word = i;
    } else if (round === 1) {
      mixed = (d & b) | (~d & c);
      word = (5 * i + 1) & 15;
    } else if (round === 2) {
      mixed = b ^ c ^ d;
      word = (3 * i + 5) & 15;
    } else {
      mixed = c ^ (b | ~d);
      word = (7 * i) & 15;
    }
    const sum = (a + mixed + SINES[i] + words[word]) | 0;
    const shift = SHIFTS[4 * round + (i & 3)];
    a = d;
    d = c;
    c = b;
    b = (b + ((sum << shift) | (sum >>> (32 - shift)))) | 0;
  }
  state[0] += a;
  state[1] += b;
  state[2] += c;
  state[3] += d;
}
