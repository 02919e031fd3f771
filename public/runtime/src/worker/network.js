import { Fault } from "../protocol/fault.js";

/** Milliseconds without a byte after which a request is given up. */
const STALL = 20_000;

/** @typedef {{limit: number, stall?: number, priority?: string, from?: number}} Ask `limit`: bytes that are taken; `from`: the first byte */

/**
 * Fetches bytes of the origin, its copy or a CDN: without cookies, by CORS, past the browser's cache, which would keep them twice.
 * @param {string} url
 * @param {Ask} ask
 * @returns {Promise<Uint8Array>}
 * @throws Fault
 */
export async function fetchBytes(url, ask) {
  /** @type {Uint8Array[]} */
  const pieces = [];
  let count = 0;
  /** @type {any} */
  const abort = new AbortController();
  let isStalled = false;
  const stop = () => {
    isStalled = true;
    abort.abort();
  };
  let timer = setTimeout(stop, ask.stall ?? STALL);
  try {
    const headers = ask.from ? { Range: `bytes=${ask.from}-` } : {};
    const options = { cache: "no-store", credentials: "omit", mode: "cors", headers, priority: ask.priority, signal: abort.signal };
    const response = await fetch(url, /** @type {RequestInit} */ (options));
    if (response.status !== (ask.from ? 206 : 200)) {
      throw new Fault(`${url}: ${response.status}`, [404, 410].includes(response.status) ? "not-found" : "download");
    }
    const reader = response.body?.getReader();
    for (let read; reader && !(read = await reader.read()).done; ) {
      clearTimeout(timer);
      timer = setTimeout(stop, ask.stall ?? STALL);
      count += read.value.length;
      if (count > ask.limit) throw new Fault(`${url}: more than ${ask.limit} bytes`, "integrity");
      pieces.push(read.value);
    }
  } catch (error) {
    abort.abort();
    const known = error instanceof Fault ? error : new Fault(`${url}: ${error}`, isStalled ? "timeout" : "download");
    throw Object.assign(known, { pieces, count });
  } finally {
    clearTimeout(timer);
  }
  return joined(pieces, count);
}

/**
 * @param {Uint8Array[]} pieces
 * @param {number} count
 */
function joined(pieces, count) {
  const bytes = new Uint8Array(count);
  let at = 0;
  for (const piece of pieces) {
    bytes.set(piece, at);
    at += piece.length;
  }
  return bytes;
}

/**
 * Fetches a file whose bytes never change; one that was torn off goes on from there.
 * @param {string} url
 * @param {Ask} ask
 */
export async function fetchFile(url, ask) {
  /** @type {Uint8Array[]} */
  const pieces = [];
  let count = 0;
  for (let tries = 0; ; tries++) {
    try {
      const rest = await fetchBytes(url, { ...ask, limit: ask.limit - count, from: count });
      return joined([...pieces, rest], count + rest.length);
    } catch (error) {
      const torn = /** @type {any} */ (error);
      if (tries === 3 || torn.reason !== "download" || !torn.count) throw error;
      pieces.push(...torn.pieces);
      count += torn.count;
    }
  }
}

/**
 * @param {string} url
 * @param {Ask} ask
 * @returns {Promise<any>} a document
 */
export async function fetchJSON(url, ask) {
  const bytes = await fetchBytes(url, ask);
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch {
    throw new Fault(`${url}: it isn't JSON`, "manifest");
  }
}
