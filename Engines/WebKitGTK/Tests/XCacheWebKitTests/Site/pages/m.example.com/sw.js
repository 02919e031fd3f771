self.version = 1;
addEventListener('install', event => event.waitUntil(caches.open('sw').then(c => c.addAll(['/digits.txt', '/js/classic.js'])).then(() => skipWaiting())));
addEventListener('activate', event => event.waitUntil(clients.claim()));
addEventListener('fetch', event => {
  const path = new URL(event.request.url).pathname;
  if (path === '/from-worker') event.respondWith(new Response('made by the worker'));
  if (path === '/through-worker') event.respondWith(fetch('/digits.txt'));
  if (path === '/from-cache') event.respondWith(caches.match('/digits.txt'));
});
