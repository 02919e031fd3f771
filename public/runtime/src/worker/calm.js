import { after } from "../protocol/turns.js";

/** Milliseconds without a request after which pages are taken to ask for nothing, and the longest wait for that: some always ask. */
const CALM = { wanted: 500, most: 5000 };

/**
 * Waits while pages ask for something: what comes in the background takes nothing of the line from them.
 * @param {import("./runtime.js").Runtime} runtime
 * @param {{wanted: number, most: number}} [how] in milliseconds
 */
export async function calm(runtime, how) {
  const { wanted, most } = how ?? CALM;
  const begun = performance.now();
  const left = () => Math.min(runtime.lastRequest + wanted, begun + most) - performance.now();
  for (let wait; (wait = left()) > 0; ) await after(wait);
}
