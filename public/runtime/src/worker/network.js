import { Fault } from "../protocol/fault.js";
import { SMALL, withoutOthers } from "../protocol/members.js";
import { Turns } from "../protocol/turns.js";

/** Milliseconds without a byte after which a request is given up. */
const STALL = 20_000;
/** Milliseconds after which an answer has to come with a byte for each of them: one that drips would keep all updates. */
const SLOW = 60_000;
/** Milliseconds before a file is asked for again, the first time; each further time waits three times as long. */
const PAUSE = 200;

/**
 * `limit`: bytes that are taken; `tries`: how often it is asked for; `calm`: waited for before each piece, so that others go first.
 * @typedef {{limit: number, priority?: string, tries?: number, calm?: () => Promise<unknown>, cache?: RequestCache, mode?: RequestMode,
 *   credentials?: RequestCredentials}} Ask
 */

/**
 * Fetches bytes of the origin, its copy or a CDN: without cookies, by CORS, past the browser's cache, which would keep them twice.
 * What was torn off goes on where it was, which only a file whose bytes never change may be asked for.
 * @param {string} url
 * @param {Ask} ask
 * @returns {Promise<Uint8Array>}
 * @throws Fault
 */
export async function fetchBytes(url, { limit, tries = 1, calm, ...how }) {
  /** @type {Uint8Array[]} */
  let pieces = [];
  let count = 0;
  /** Requests for the rest that nobody answered, in a row. */
  let unanswered = 0;
  for (let pause = PAUSE; ; pause *= 3) {
    const abort = /** @type {any} */ (new AbortController());
    const begun = count;
    let at = performance.now();
    let reason = "download";
    let isFinal = false;
    /** The status of the answer; 0: there is none. */
    let status = 0;
    /** @type {any} */
    let timer;
    const waits = () => {
      clearTimeout(timer);
      timer = setTimeout(() => {
        reason = "timeout";
        abort.abort();
      }, STALL);
    };
    waits();
    try {
      const headers = begun ? { Range: `bytes=${begun}-` } : {};
      const options = { cache: "no-store", credentials: "omit", ...how, headers, signal: abort.signal };
      const response = await fetch(url, /** @type {RequestInit} */ (options));
      const { body } = response;
      status = response.status;
      if (status !== (begun ? 206 : 200)) {
        // One that knows no ranges sends all of it.
        if (status !== 200) {
          isFinal = status < 500 && ![408, 416, 429].includes(status);
          if ([404, 410].includes(status)) reason = "not-found";
          throw new Error(String(status));
        }
        [pieces, count] = [[], 0];
      }
      const reader = body?.getReader();
      for (let read; reader && !(read = await reader.read()).done; ) {
        waits();
        count += read.value.length;
        if (performance.now() - at > SLOW + count - begun) throw new Error("slow");
        // A limit that is no number stands for nothing.
        if (!(count <= limit)) {
          reason = "integrity";
          isFinal = true;
          throw new Error(`more than ${limit} bytes`);
        }
        pieces.push(read.value);
        if (!calm) continue;
        // What isn't read isn't sent on for long; and it is no fault of the server's.
        clearTimeout(timer);
        const paused = performance.now();
        await calm();
        at += performance.now() - paused;
        waits();
      }
      return joined(pieces, count);
    } catch (error) {
      abort.abort();
      if (--tries < 1 || isFinal || navigator.onLine === false) throw new Fault(`${url}: ${error}`, reason);
      // What came stays whatever a server says for now. Where twice nobody answers, ranges may be what isn't allowed.
      unanswered = status ? 0 : unanswered + 1;
      if (status === 416 || (count === begun && unanswered > 1)) [pieces, count, unanswered] = [[], 0, 0];
    } finally {
      clearTimeout(timer);
    }
    await new Promise((resolve) => setTimeout(resolve, pause));
  }
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
 * @param {string} url
 * @param {number} limit
 * @param {Set<string>} names of the members of `data` that are read
 * @returns {Promise<any>} a document
 */
export async function fetchJSON(url, limit, names) {
  const bytes = await fetchBytes(url, { limit });
  const turns = new Turns();
  try {
    if (bytes.length <= SMALL) {
      try {
        return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
      } catch {
        // A member that nobody reads must not hide the kill switch.
      }
    }
    return JSON.parse(await withoutOthers(bytes, names, turns.pause));
  } catch {
    throw new Fault(`${url}: no JSON`, "manifest");
  } finally {
    turns.end();
  }
}
