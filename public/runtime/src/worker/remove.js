// The worker that `xcache web remove` ships in the place of the other: it takes over at once, forgets everything, and is gone.

const worker = /** @type {ServiceWorkerGlobalScope} */ (/** @type {unknown} */ (self));

worker.addEventListener("install", () => void worker.skipWaiting());
worker.addEventListener("activate", (event) => {
  const end = ` ${new URL(worker.registration.scope).pathname}`;
  const isOurs = (/** @type {string | undefined} */ name) => name?.startsWith("xcache ") && name.endsWith(end);
  event.waitUntil((async () => {
    for (const name of await caches.keys()) if (isOurs(name)) await caches.delete(name);
    for (const { name } of (await indexedDB.databases?.()) ?? []) if (name && isOurs(name)) indexedDB.deleteDatabase(name);
    await worker.registration.unregister();
    for (const client of await worker.clients.matchAll({ includeUncontrolled: true })) client.postMessage({ xcache: { removed: true } });
  })());
});
