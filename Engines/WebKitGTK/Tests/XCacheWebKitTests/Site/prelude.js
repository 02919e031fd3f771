const text = async (url, init) => (await fetch(url, init)).text();
const json = async (url, init) => (await fetch(url, init)).json();
const sent = async (init, url = '/api/echo') => { const e = await json(url, init); return [e.method, e.type, e.text]; };
const once = (target, name) => new Promise((done, fail) => { target.addEventListener(name, done, {once: true}); target.addEventListener('error', () => fail(new Error(name + ' failed')), {once: true}) });
const add = (name, fields) => { const e = Object.assign(document.createElement(name), fields); document.body.append(e); return e; };
const xhr = (method, url, body, type, prepare) => new Promise((done, fail) => { const x = new XMLHttpRequest(); x.open(method, url); if (type) x.responseType = type; if (prepare) prepare(x); x.onload = () => done(x); x.onerror = () => fail(new Error('xhr')); x.send(body) });
const path = url => new URL(url).pathname;
const worker = async script => { const w = new Worker('/js/worker.js'); const got = once(w, 'message'); w.postMessage(script); const value = (await got).data; w.terminate(); return value; };
const bytes = (count, value) => new Uint8Array(count).fill(value);
const cdn = url => location.origin.replace('m.example.com', 'cdn.example.com') + url;
const until = async test => { for (let i = 0; i < 500; i++) { const value = await test(); if (value) return value; await new Promise(d => setTimeout(d, 10)); } return 'never' };

const received = async url => JSON.parse(await until(async () => { const r = await fetch(url.replace('/record?', '/recorded?')); return r.status === 200 && await r.text(); }));
const submit = async (enctype, hasFile) => { const url = recordingURL(), i = add('iframe', {name: 'form' + url}), f = add('form', {method: 'post', action: url, target: i.name, enctype}), field = (name, fields) => f.append(Object.assign(document.createElement('input'), {name}, fields)); field('k', {value: 'v ü'}); if (hasFile) { const d = new DataTransfer(); d.items.add(ownFile()); field('file', {type: 'file', files: d.files}); } else field('l', {value: '=&'}); const l = once(i, 'load'); f.submit(); await l; i.remove(); f.remove(); return url; };
