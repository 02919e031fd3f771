// Continues after its page is closed, and records its results in Cache Storage.
addEventListener('install', () => skipWaiting());
addEventListener('activate', event => event.waitUntil(clients.claim()));
const attempt = async load => { try { return await load() } catch (error) { return String(error) } };
addEventListener('message', event => event.waitUntil((async () => {
  const pages = async () => (await clients.matchAll({type: 'window', includeUncontrolled: true})).length;
  for (let i = 0; i < 1000 && await pages() > 0; i++) await new Promise(done => setTimeout(done, 20));
  const got = [await pages()];
  const kept = await caches.open('lonely');
  const note = async load => {
    got.push(await attempt(load));
    await kept.put('/lonely-result', new Response(JSON.stringify(got)));
  };
  await note(async () => (await (await fetch('/digits.txt')).text()).length);
  await note(async () => (await fetch('@CDN@/text.txt')).text());
  await note(async () => typeof await self.registration.update());
  await note(async () => (await fetch('/api/status?code=201')).status);
})()));
