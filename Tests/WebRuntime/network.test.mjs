// Downloads of the worker: the part of a file that was received is kept, whatever the server answers to requests for
// the rest.
import assert from "node:assert/strict";
import { test } from "node:test";
import { fetchBytes } from "../../public/runtime/src/worker/network.js";

// Older versions of node have no navigator.
globalThis.navigator ??= {};
const whole = new Uint8Array(40).map((_, index) => index);

/** A stream that breaks off after 30 of 40 bytes. */
function torn(from) {
  let isSent = false;
  return new ReadableStream({
    pull(controller) {
      if (isSent) return controller.error(new TypeError("broken off"));
      isSent = true;
      controller.enqueue(whole.slice(from, 30));
    },
  });
}

/** Downloads with these responses, one for each request; returns the requested ranges. `take` is given the bytes in the place of the caller. */
async function fetched(turns, take) {
  const asked = [];
  globalThis.fetch = async (_, { headers }) => {
    asked.push(headers.Range ?? "all");
    const turn = turns.shift();
    const from = Number(headers.Range?.match(/\d+/)[0] ?? 0);
    if (turn === "torn") return new Response(torn(from), { status: from ? 206 : 200 });
    if (turn === "nobody") throw new TypeError("network error");
    if (turn === "whole") return new Response(whole);
    if (turn === "rest") return new Response(whole.slice(from), { status: 206 });
    return new Response("no", { status: turn });
  };
  const { setTimeout: timer } = globalThis;
  globalThis.setTimeout = (act, delay, ...rest) => timer(act, delay > 1000 ? delay : 0, ...rest);
  try {
    assert.deepEqual(await fetchBytes("https://cdn.test/film", { limit: 40, tries: 4, take }), take ? new Uint8Array(0) : whole);
  } finally {
    globalThis.setTimeout = timer;
  }
  return asked;
}

for (const status of [503, 500, 429, 408]) {
  test(`a ${status} keeps the received part`, async () => {
    assert.deepEqual(await fetched(["torn", status, status, "rest"]), ["all", "bytes=30-", "bytes=30-", "bytes=30-"]);
  });
}
test("one unanswered request keeps the received part, a second one gives up on ranges", async () => {
  assert.deepEqual(await fetched(["torn", "nobody", "rest"]), ["all", "bytes=30-", "bytes=30-"]);
  assert.deepEqual(await fetched(["torn", "nobody", "nobody", "whole"]), ["all", "bytes=30-", "bytes=30-", "all"]);
});
test("after a 416, or from a server without ranges, the whole file is read", async () => {
  assert.deepEqual(await fetched(["torn", 416, "whole"]), ["all", "bytes=30-", "all"]);
  assert.deepEqual(await fetched(["torn", "whole"]), ["all", "bytes=30-"]);
});

/** Takes what comes; `enough`: how many bytes suffice. */
function taker(enough = Infinity) {
  const bytes = [];
  return { bytes, take: async (some) => (bytes.push(...some), bytes.length >= enough) };
}

test("what is taken as it comes is given once, whatever comes again", async () => {
  for (const turns of [["whole"], ["torn", "rest"], ["torn", 503, "rest"], ["torn", "nobody", "nobody", "whole"], ["torn", 416, "whole"], ["torn", "whole"]]) {
    const { bytes, take } = taker();
    await fetched([...turns], take);
    assert.deepEqual(bytes, [...whole], turns.join());
  }
});
test("nothing is asked for once there is enough", async () => {
  const { bytes, take } = taker(30);
  assert.deepEqual(await fetched(["torn"], take), ["all"]);
  assert.equal(bytes.length, 30);
});
test("what can't be taken isn't asked for again, and is said as it is", async () => {
  const full = new DOMException("no room", "QuotaExceededError");
  await assert.rejects(fetched(["torn", "rest"], async () => Promise.reject(full)), (error) => error === full);
});
