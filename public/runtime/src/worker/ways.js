// Two ways to the same thing, of which neither may keep it waiting.
import { after } from "../protocol/turns.js";

const LATE = Symbol("late");

/**
 * What the first of two ways gives, or the second, which begins once the first has given nothing, or is late. Neither rejects; one that
 * gives nothing never wins while the other is on its way.
 * @template Value
 * @param {() => Promise<Value | undefined>} first
 * @param {() => Promise<Value | undefined>} second
 * @param {number} patience milliseconds after which the first is late
 * @param {() => void} [late] called then
 * @returns {Promise<Value | undefined>} nothing: both gave nothing
 */
export async function either(first, second, patience, late) {
  const one = first();
  const early = await Promise.race([one, after(patience, LATE)]);
  if (typeof early !== "symbol" && early !== undefined) return early;
  if (early !== undefined) late?.();
  const other = second();
  return early === undefined ? other : (await Promise.race([one, other])) ?? (await one) ?? other;
}
