import { isAlone } from "./settings.js";
import { removeOthers } from "./store.js";

// The worker that `xcache web remove` ships in the place of the other: it takes over at once, forgets everything, and is gone. Where the
// site's own worker imports it, that one stays, and comes in its own time.

const worker = /** @type {ServiceWorkerGlobalScope} */ (/** @type {unknown} */ (self));
const { registration } = worker;

worker.addEventListener("install", () => void (isAlone(worker.location.href) && worker.skipWaiting()));
worker.addEventListener("activate", (event) => {
  event.waitUntil((async () => {
    await removeOthers(registration.scope);
    for (const client of await worker.clients.matchAll({ includeUncontrolled: true })) client.postMessage({ xcache: { removed: true } });
    // At the end: from there on nothing of a worker without pages is sure to run.
    if (isAlone(worker.location.href)) await registration.unregister();
  })());
});
