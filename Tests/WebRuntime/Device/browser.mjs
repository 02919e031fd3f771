// The browser APIs of a service worker, over a folder and the runner's proxy: Cache Storage, IndexedDB, fetch.
import { createHash } from "node:crypto";
import { setMaxListeners } from "node:events";
import fs from "node:fs";
import http from "node:http";
import path from "node:path";
import v8 from "node:v8";
import zlib from "node:zlib";

const digest = (text) => createHash("sha256").update(text).digest("hex");

/** Writes a file atomically; a full disk throws a QuotaExceededError, as in browsers. */
function write(file, bytes) {
  try {
    fs.writeFileSync(`${file}.new`, bytes);
    fs.renameSync(`${file}.new`, file);
  } catch (error) {
    fs.rmSync(`${file}.new`, { force: true });
    throw error.code === "ENOSPC" ? new DOMException("no room", "QuotaExceededError") : error;
  }
}

/** Stores each body in a file, and its URL in another. */
class Cache {
  constructor(folder) {
    this.folder = folder;
  }

  file(url) {
    return path.join(this.folder, digest(url));
  }

  url(name) {
    const url = fs.readFileSync(path.join(this.folder, name), "utf8");
    return `${digest(url)}.url` === name && fs.existsSync(this.file(url)) ? url : undefined;
  }

  async match(url) {
    const file = this.file(url);
    if (!fs.existsSync(`${file}.url`) || this.url(path.basename(`${file}.url`)) !== url) return undefined;
    return new Response(fs.readFileSync(file));
  }

  async put(url, response) {
    const bytes = Buffer.from(await response.arrayBuffer());
    write(this.file(url), bytes);
    write(`${this.file(url)}.url`, url);
  }

  async delete(url) {
    for (const file of [`${this.file(url)}.url`, this.file(url)]) fs.rmSync(file, { force: true });
  }

  async keys() {
    const names = fs.readdirSync(this.folder).filter((name) => name.endsWith(".url"));
    return names.map((name) => this.url(name)).filter(Boolean).map((url) => ({ url }));
  }
}

export function cacheStorage(folder) {
  const place = (name) => path.join(folder, `cache-${digest(name).slice(0, 16)}`);
  return {
    async open(name) {
      fs.mkdirSync(place(name), { recursive: true });
      return new Cache(place(name));
    },
    match: async (url, { cacheName }) => (fs.existsSync(place(cacheName)) ? new Cache(place(cacheName)).match(url) : undefined),
    delete: async (name) => fs.rmSync(place(name), { recursive: true, force: true }),
  };
}

/** A database with one store, in one file; an unreadable one is replaced, as in browsers. */
export function database(folder) {
  const answer = (make) => {
    const request = {};
    setImmediate(() => {
      try {
        request.result = make(request);
        request.onsuccess?.({ target: request });
      } catch (error) {
        request.error = error;
        request.onerror?.({ target: request });
      }
    });
    return request;
  };
  const place = (name) => path.join(folder, `database-${digest(name).slice(0, 16)}`);
  const read = (file) => {
    try {
      return v8.deserialize(fs.readFileSync(file));
    } catch {
      return new Map();
    }
  };
  return {
    read: (name) => read(place(name)),
    /** Creates a database with a value, if there is none. */
    begin(name, key, value) {
      if (!fs.existsSync(place(name))) write(place(name), v8.serialize(new Map([[key, value]])));
    },
    open: (name) => answer((request) => {
      const file = place(name);
      let values = read(file);
      request.result = { createObjectStore() {} };
      if (!fs.existsSync(file)) request.onupgradeneeded?.({ target: request });
      return {
        close() {},
        transaction(_, mode) {
          const next = new Map(values);
          const transaction = {
            objectStore: () => ({
              getAllKeys: () => answer(() => [...values.keys()]),
              getAll: () => answer(() => [...values.values()]),
              put: (value, key) => void next.set(key, structuredClone(value)),
            }),
          };
          if (mode === "readwrite") setImmediate(() => {
            try {
              write(file, v8.serialize(next));
              values = next;
              transaction.oncomplete?.();
            } catch (error) {
              transaction.error = error;
              transaction.onabort?.();
            }
          });
          return transaction;
        },
      };
    }),
    deleteDatabase: (name) => answer(() => fs.rmSync(place(name), { force: true })),
  };
}

/** Fetches through the proxy of `http_proxy`. */
export function fetchByProxy(url, { method = "GET", headers = {}, body, signal } = {}, led = 0) {
  const proxy = new URL(process.env.http_proxy);
  // Each redirect adds a listener.
  if (signal) setMaxListeners(0, signal);
  return new Promise((resolve, reject) => {
    const failed = (error) => reject(new TypeError(`network error: ${error?.message}`));
    const request = http.request({
      host: proxy.hostname, port: proxy.port, method, path: url, agent: false,
      headers: { Host: new URL(url).host, "Accept-Encoding": "gzip", ...headers, ...(body ? { "Content-Length": Buffer.byteLength(body) } : {}) },
    }, (answer) => {
      if ([301, 302, 307, 308].includes(answer.statusCode) && answer.headers.location) {
        answer.resume();
        if (led === 20) return failed(new Error("led too often"));
        const next = fetchByProxy(new URL(answer.headers.location, url).href, { method, headers, body, signal }, led + 1);
        return resolve(next.then((response) => Object.defineProperty(response, "redirected", { value: true })));
      }
      const isCoded = answer.headers["content-encoding"] === "gzip";
      const source = isCoded ? answer.pipe(zlib.createGunzip()) : answer;
      // Whether the stream takes no more: a decoder has data left when the reader has had enough.
      let isClosed = false;
      const stream = new ReadableStream({
        start(controller) {
          let isOver = false;
          const ends = (act) => {
            // Lets the reader take buffered data first.
            if (!isOver) {
              setTimeout(() => {
                if (!isClosed) act();
                isClosed = true;
              }, 20);
            }
            isOver = true;
          };
          const breaks = () => ends(() => controller.error(new TypeError("network error")));
          source.on("data", (data) => {
            if (!isClosed) controller.enqueue(new Uint8Array(data));
          });
          source.on("end", () => (answer.complete ? ends(() => controller.close()) : breaks()));
          for (const emitter of [source, answer]) emitter.on("error", breaks).on("aborted", breaks);
        },
        cancel() {
          isClosed = true;
          request.destroy();
        },
      });
      const hasBody = ![204, 304].includes(answer.statusCode) && method !== "HEAD";
      const { "content-encoding": coding, "content-length": length, ...rest } = answer.headers;
      resolve(new Response(hasBody ? stream : null, { status: answer.statusCode, headers: isCoded ? rest : answer.headers }));
    });
    request.on("error", failed);
    signal?.addEventListener("abort", () => request.destroy(new Error("given up")));
    request.end(body);
  });
}
