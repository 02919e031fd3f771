// Every kind of body and every way to send one, for pages and workers. The site records the bytes and returns them.
const octets = Uint8Array.from({length: 256}, (_, i) => i);
const ownFile = () => new File([octets], 'own.bin', {type: 'text/x-own'});
const bodies = {
  string: () => 'tëxt\r\n&=\u0000',
  URLSearchParams: () => new URLSearchParams([['a', '1 2'], ['b', 'ü&=']]),
  ArrayBuffer: () => octets.slice().buffer,
  view: () => new DataView(octets.buffer, 100, 60),
  Blob: () => new Blob([octets, new Blob(['blob'])], {type: 'text/x-own'}),
  File: ownFile,
  FormData: () => { const f = new FormData(); f.append('k', 'v ü'); f.append('file', ownFile()); return f; },
};
const sendXHR = (url, body, isAsync) => new Promise((done, fail) => { const x = new XMLHttpRequest(); x.onload = done; x.onerror = () => fail(new Error('xhr')); x.open('POST', url, isAsync); x.send(body); });
const ways = {
  'fetch': (url, body) => fetch(url, {method: 'POST', body}),
  'fetch with keepalive': (url, body) => fetch(url, {method: 'POST', body, keepalive: true}),
  'XHR': (url, body) => sendXHR(url, body, true),
  'synchronous XHR': (url, body) => sendXHR(url, body, false),
  'beacon': (url, body) => { if (!navigator.sendBeacon(url, body)) throw new Error('refused'); },
};
const recordingURL = () => '/api/record?key=' + crypto.randomUUID();
const send = async (way, kind) => { const url = recordingURL(); await ways[way](url, bodies[kind]()); return url; };
