// Each kind of body by each way. The server answers with the type, the length and the SHA-256 of what arrived.
const bytes = Uint8Array.from({ length: 1000 }, (_, index) => index * 7);
const long = Uint8Array.from({ length: 2_000_000 }, (_, index) => index * 13 + (index >> 8));
const text = 'ä\u{1F600}\n';
const file = () => new File([bytes], 'a "b".bin', { type: 'application/x-a' });
const filled = () => {
  const data = new FormData();
  data.append('a', 'line\nbreak');
  data.append('ä', text);
  data.append('f', file());
  return data;
};
const plain = 'text/plain;charset=UTF-8';
const kinds = {
  string: [() => text, plain, text],
  URLSearchParams: [() => new URLSearchParams([['a', 'b c'], ['ä', '&']]), 'application/x-www-form-urlencoded;charset=UTF-8', 'a=b+c&%C3%A4=%26'],
  ArrayBuffer: [() => bytes.slice().buffer, '', bytes],
  view: [() => new Uint8Array(bytes.buffer, 7, 100), '', bytes.slice(7, 107)],
  Blob: [() => new Blob([bytes], { type: 'image/png' }), 'image/png', bytes],
  File: [file, 'application/x-a', bytes],
  long: [() => new Blob([long]), '', long],
  FormData: [filled, /^multipart\/form-data; boundary=/, undefined],
};
if (top.location.search === '?short') delete kinds.long;

// What a multipart body has, by its own boundary.
const multipart = type => {
  const boundary = /boundary=(.*)$/.exec(type)[1];
  const part = (head, body) => [`--${boundary}\r\nContent-Disposition: form-data; ${head}\r\n\r\n`, body, '\r\n'];
  return new Blob([
    ...part('name="a"', 'line\r\nbreak'), ...part('name="ä"', text.replace('\n', '\r\n')),
    ...part('name="f"; filename="a %22b%22.bin"\r\nContent-Type: application/x-a', bytes), `--${boundary}--\r\n`,
  ]).arrayBuffer();
};
const digest = async data => {
  const raw = typeof data === 'string' ? new TextEncoder().encode(data) : new Uint8Array(data);
  const hash = new Uint8Array(await crypto.subtle.digest('SHA-256', raw));
  return `${raw.length} ${[...hash].map(byte => byte.toString(16).padStart(2, '0')).join('')}`;
};
const judge = async (name, answer, type, expected) => {
  const end = answer.indexOf('\n');
  const came = answer.slice(0, end);
  if (type instanceof RegExp ? !type.test(came) : came !== type) return [name, `type ${came}`];
  const wanted = await digest(expected ?? (await multipart(came)));
  return [name, answer.slice(end + 1) === wanted ? 'ok' : `bytes ${answer.slice(end + 1)} instead of ${wanted}`];
};
const asked = (address, body, isAsync) => new Promise((resolve, reject) => {
  const request = new XMLHttpRequest();
  request.open('POST', address, isAsync);
  request.onload = () => resolve(request.responseText);
  request.onerror = () => reject(new Error('XMLHttpRequest failed'));
  request.send(body);
});
// What the server noted of a request that nobody reads the answer of.
const noted = async name => {
  for (let tries = 0; tries < 100; tries++) {
    const answer = await (await fetch('/noted?case=' + encodeURIComponent(name))).text();
    if (answer) return answer;
    await new Promise(resolve => setTimeout(resolve, 20));
  }
  return 'nothing arrived\n';
};

const ways = {
  fetch: async (name, body) => (await fetch('/echo?case=' + name, { method: 'POST', body })).text(),
  Request: async (name, body) => (await fetch(new Request('/echo?case=' + name, { method: 'POST', body }))).text(),
  XHR: (name, body) => asked('/echo?case=' + name, body, true),
  'sync XHR': (name, body) => asked('/echo?case=' + name, body, false),
  'other host': async (name, body) => (await fetch('https://api.example.com/echo?case=' + name, { method: 'POST', body })).text(),
  beacon: async (name, body) => {
    navigator.sendBeacon('/echo?case=' + name, body);
    return noted(name);
  },
};

async function run(place) {
  const results = [];
  for (const [way, send] of Object.entries(ways)) {
    for (const [kind, [make, type, expected]] of Object.entries(kinds)) {
      if (way === 'beacon' && kind === 'long') continue;
      const name = encodeURIComponent(`${place} ${way} ${kind}`);
      try {
        results.push(await judge(`${place} ${way} ${kind}`, await send(name, make()), type, expected));
      } catch (error) {
        results.push([`${place} ${way} ${kind}`, String(error)]);
      }
    }
  }
  for (const [enctype, type, expected] of [
    ['application/x-www-form-urlencoded', 'application/x-www-form-urlencoded', 'a=line%0D%0Abreak&%C3%A4=b+c&f=a+%22b%22.bin'],
    ['text/plain', 'text/plain', 'a=line\r\nbreak\r\nä=b c\r\nf=a "b".bin\r\n'],
    ['multipart/form-data', /^multipart/, undefined],
  ]) {
    for (const how of ['event', 'submit()']) {
      const name = `${place} form ${enctype} ${how}`;
      try {
        results.push(await judge(name, await form(name, enctype, how), type, expected));
      } catch (error) {
        results.push([name, String(error)]);
      }
    }
  }
  return results;
}

async function form(name, enctype, how) {
  const sink = document.createElement('iframe');
  sink.name = 'sink' + Math.random();
  const made = document.createElement('form');
  Object.assign(made, { method: 'post', enctype, target: sink.name, action: '/echo?case=' + encodeURIComponent(name) });
  const add = (type, name) => {
    const input = document.createElement(type);
    input.name = name;
    made.append(input);
    return input;
  };
  add('textarea', 'a').value = 'line\nbreak';
  add('textarea', 'ä').value = enctype.startsWith('multipart') ? text : 'b c';
  const files = add('input', 'f');
  files.type = 'file';
  const transfer = new DataTransfer();
  transfer.items.add(file());
  files.files = transfer.files;
  document.body.append(sink, made);
  const loaded = new Promise(resolve => (sink.onload = () => /echo/.test(sink.contentWindow.location.href) && resolve()));
  if (how === 'event') made.requestSubmit();
  else made.submit();
  await Promise.race([loaded, new Promise((_, reject) => setTimeout(() => reject(new Error('the form led nowhere')), 5000))]);
  const answer = sink.contentDocument.body.textContent;
  const address = sink.contentWindow.location.href;
  sink.remove();
  made.remove();
  return address.includes('xcache-body') ? 'the address has the id: ' + address + '\n' : answer;
}

async function cookies() {
  const results = [];
  const expect = (name, value, wanted) => results.push([name, value === wanted ? 'ok' : JSON.stringify(value)]);
  expect('cookie: at first', document.cookie, '');
  document.cookie = 'page=ä; path=/';
  expect('cookie: own', document.cookie, 'page=ä');
  expect('cookie: sent', await (await fetch('/cookies')).text(), 'page=ä');
  await fetch('/set');
  expect('cookie: of a server, HttpOnly hidden', document.cookie, 'page=ä; server=1');
  expect('cookie: HttpOnly sent', await (await fetch('/cookies')).text(), 'page=ä; server=1; secret=2');
  document.cookie = 'secret=3; path=/';
  document.cookie = 'more=4; path=/; HttpOnly';
  document.cookie = 'other=5; domain=bank.example';
  expect('cookie: nothing replaces an HttpOnly one', await (await fetch('/cookies')).text(), 'page=ä; server=1; secret=2');
  document.cookie = 'page=; path=/; max-age=0';
  expect('cookie: taken back', document.cookie, 'server=1');
  const frame = document.createElement('iframe');
  frame.src = '/blank.html';
  await new Promise(resolve => ((frame.onload = resolve), document.body.append(frame)));
  expect('cookie: in a frame', frame.contentDocument.cookie, 'server=1');
  const srcdoc = document.createElement('iframe');
  srcdoc.srcdoc = '<p>';
  await new Promise(resolve => ((srcdoc.onload = resolve), document.body.append(srcdoc)));
  expect('cookie: in a srcdoc frame', srcdoc.contentDocument.cookie, 'server=1');
  expect('fetch from a srcdoc frame', (await (await srcdoc.contentWindow.fetch('/echo?case=srcdoc', { method: 'POST', body: 'abc' })).text()).split('\n')[0], plain);
  const led = document.createElement('iframe');
  led.src = '/moved';
  await new Promise(resolve => {
    led.onload = () => /blank/.test(led.contentWindow.location.href) && resolve();
    document.body.append(led);
  });
  expect('a redirect changes the address', led.contentWindow.location.href, 'xcache-https://m.example.com/blank.html');
  return results;
}

// What doesn't work there, so that a change shows; none of it may end the app.
async function limits() {
  const moved = await fetch('/moved');
  const results = [['limit: the address after a redirect of a fetch', `${moved.url} ${await moved.text()}`]];
  for (const kind of ['string', 'Blob']) {
    const answer = await new Promise(resolve => {
      const worker = new Worker('/worker.js');
      worker.onmessage = ({ data }) => resolve(data);
      worker.onerror = event => resolve('no worker: ' + event.message);
      setTimeout(() => resolve('nothing'), 8000);
      worker.postMessage(kind);
    });
    results.push([`limit: a worker's ${kind}`, answer]);
  }
  return results;
}
