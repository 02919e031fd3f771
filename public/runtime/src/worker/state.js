import { pollPolicy } from "./polling.js";
import { followedPrefetch, holdsCandidate } from "./rollouts.js";

/** @typedef {import("./runtime.js").Runtime} Runtime */

/**
 * What `xcache.state()` gives.
 * @param {Runtime} runtime
 * @param {import("./store.js").Page | undefined} page that asks
 * @param {string | undefined} url of whoever asks
 */
export async function stateOf(runtime, page, url) {
  const { manifest, counts, policy, backlog, aside } = runtime;
  const { saved } = pollPolicy(runtime.settings, runtime.poll);
  const present = await runtime.files.present();
  const isOutside = !url?.startsWith(runtime.settings.scope);
  /** @type {import("./store.js").Why | undefined} */
  const why = page ? page.why : isOutside ? "outside" : "first-visit";
  return {
    version: manifest.version, digest: manifest.digest, counts, policy: policy.number, prefetch: followedPrefetch(runtime).number,
    source: saved.source, failures: saved.failures, listed: manifest.map.size, backlog: backlog.size,
    held: [...manifest.map.values()].filter(({ download }) => present.has(download)).length,
    lazy: [...manifest.map.values()].filter(({ lazy, download }) => lazy && !present.has(download)).length,
    candidate: holdsCandidate(runtime), aside: [...aside.values()].flat().filter(({ ended }) => !ended).length, page: page?.version,
    from: page?.from ?? "network", why, previous: runtime.before?.version, skipped: runtime.heal.skip,
  };
}
