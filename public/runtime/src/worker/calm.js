import { after } from "../protocol/turns.js";

/**
 * Milliseconds without a request after which pages are taken to ask for nothing, and the longest wait for that. Some always ask: each wait
 * that ends without calm makes the next one half as long, down to `least`, so that a page that polls doesn't keep files from coming.
 */
const CALM = { wanted: 500, most: 5000, least: 50 };

/**
 * Waits while pages ask for something: what comes in the background takes nothing of the line from them.
 * @param {import("./runtime.js").Runtime} runtime
 */
export async function calm(runtime) {
  const begun = performance.now();
  const most = Math.max(CALM.most / 2 ** runtime.restless, CALM.least);
  const isCalm = () => performance.now() - runtime.lastRequest >= CALM.wanted;
  const left = () => Math.min(runtime.lastRequest + CALM.wanted, begun + most) - performance.now();
  for (let wait; (wait = left()) > 0; ) await after(wait);
  runtime.restless = isCalm() ? 0 : runtime.restless + 1;
}
