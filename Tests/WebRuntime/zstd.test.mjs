// The zstd decoder against libzstd, with frames of make_frames.py in the folder XCACHE_FRAMES.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { ZstdError, decodeFrame } from "../../public/runtime/src/zstd/decoder.js";
import { FrameStream } from "../../public/runtime/src/zstd/stream.js";

const folder = process.env.XCACHE_FRAMES ?? "";
const options = { windowLimit: 2 ** 27, limit: 2 ** 27 };

test("every frame is decoded as by libzstd, or refused", { skip: !folder }, async (context) => {
  const all = readFileSync(`${folder}/frames.bin`);
  const part = ([start, count]) => new Uint8Array(all.subarray(start, start + count));
  let [bytes, refused, taken, longest, spent] = [0, 0, 0, 0, 0];
  for (const [number, sample] of JSON.parse(readFileSync(`${folder}/frames.json`, "utf8")).entries()) {
    const wanted = sample.result && part(sample.result);
    let begun = performance.now();
    const pause = async () => {
      longest = Math.max(longest, performance.now() - begun);
      spent += performance.now() - begun;
      begun = performance.now();
    };
    let result;
    try {
      result = await decodeFrame(part(sample.frame), { ...options, dictionary: part(sample.dictionary), pause });
      await pause();
    } catch (error) {
      assert.ok(error instanceof ZstdError, `frame ${number}: ${error.stack}`);
      // Damaged frames that libzstd accepts against the RFC may be refused.
      assert.ok(!wanted || sample.damaged, `frame ${number} is refused: ${error.message}`);
      refused += 1;
      continue;
    }
    assert.ok(wanted, `frame ${number} is taken, which libzstd refuses`);
    assert.equal(Buffer.compare(result, wanted), 0, `frame ${number} has other bytes`);
    bytes += result.length;
    taken += 1;
  }
  context.diagnostic(`${taken} decoded, ${refused} refused; ${Math.round(bytes / spent / 1000)} MB/s; longest slice ${longest.toFixed(1)} ms`);
});

test("frames without a base are decoded as they come, in pieces of any size", { skip: !folder }, async () => {
  const all = readFileSync(`${folder}/frames.bin`);
  const part = ([start, count]) => new Uint8Array(all.subarray(start, start + count));
  const samples = JSON.parse(readFileSync(`${folder}/frames.json`, "utf8")).filter(({ dictionary: [, count] }) => count === 0);
  let taken = 0;
  for (const [number, sample] of samples.entries()) {
    const wanted = sample.result && part(sample.result);
    // Without the magic number.
    const frame = part(sample.frame).subarray(4);
    if (!wanted || Buffer.from(part(sample.frame)).readUInt32LE() !== 0xfd2fb528) continue;
    const pieces = [];
    const stream = new FrameStream({ ...options, pause: async () => {} }, async (bytes) => void pieces.push(bytes.slice()));
    try {
      for (let at = 0, size = 1 + (number % 7) ** 5; at < frame.length; at += size) await stream.take(frame.subarray(at, at + size));
      await stream.take(new Uint8Array(0), true);
    } catch (error) {
      assert.ok(error instanceof ZstdError && sample.damaged, `frame ${number}: ${error.stack}`);
      continue;
    }
    assert.equal(Buffer.compare(Buffer.concat(pieces), wanted), 0, `frame ${number} has other bytes`);
    taken += 1;
  }
  assert.ok(taken > samples.length / 2);
});

test("false sizes in headers allocate no memory, and limits are enforced", async () => {
  // A single-segment frame that declares 2^40 bytes; then one within the limit without content.
  const header = [0x28, 0xb5, 0x2f, 0xfd, 0xe0];
  await assert.rejects(decodeFrame(Uint8Array.from([...header, 0, 0, 0, 0, 0, 1, 0, 0]), options), ZstdError);
  await assert.rejects(decodeFrame(Uint8Array.from([...header, 0, 0, 0, 4, 0, 0, 0, 0]), options), ZstdError);
  // 128 KiB of zeros from a 4-byte block, with and without a lower limit.
  const zeros = [0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x58, 0x03, 0x00, 0x10, 0x00];
  assert.equal((await decodeFrame(Uint8Array.from(zeros), options)).length, 128 << 10);
  await assert.rejects(decodeFrame(Uint8Array.from(zeros), { ...options, limit: 1000 }), ZstdError);
  await assert.rejects(decodeFrame(Uint8Array.from(zeros), { ...options, windowLimit: 1000 }), ZstdError);
});
