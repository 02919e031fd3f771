import { pollPolicy } from "./polling.js";
import { followedPrefetch, holdsCandidate } from "./rollouts.js";

/** @typedef {import("./runtime.js").Runtime} Runtime */

/**
 * What `xcache.state()` gives.
 * @param {Runtime} runtime
 * @param {import("./store.js").Page | undefined} page that asks
 */
export async function stateOf(runtime, page) {
  const { manifest, counts, policy, backlog, aside } = runtime;
  const { saved } = pollPolicy(runtime.settings, runtime.poll);
  const present = await runtime.files.present();
  return {
    version: manifest.version, digest: manifest.digest, counts, policy: policy.number, prefetch: followedPrefetch(runtime).number,
    source: saved.source, failures: saved.failures, listed: manifest.map.size, backlog: backlog.size,
    held: [...manifest.map.values()].filter(({ download }) => present.has(download)).length,
    candidate: holdsCandidate(runtime), aside: [...aside.values()].flat().filter(({ ended }) => !ended).length, page: page?.version,
  };
}
