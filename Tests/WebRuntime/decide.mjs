import { Fault } from "../../public/runtime/src/protocol/fault.js";
import { isIn, readRule } from "../../public/runtime/src/protocol/rollouts.js";

/** The worker's decision in a case of docs/vectors/rollout.json; "error" if the rule is invalid. */
export async function decide({ rule, install, app, groups, held }) {
  try {
    return await isIn(readRule(rule), { install, app: app ?? undefined, groups, held: held ?? undefined });
  } catch (error) {
    if (error instanceof Fault) return "error";
    throw error;
  }
}
