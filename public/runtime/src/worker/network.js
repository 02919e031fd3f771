import { Fault } from "../protocol/fault.js";
import { SMALL, named, withoutOthers } from "../protocol/members.js";
import { joined } from "../protocol/reader.js";
import { Turns } from "../protocol/turns.js";

/** Milliseconds without a byte after which a request is given up. */
const STALL = 20_000;
/** Milliseconds after which an answer has to come with a byte for each of them: one that drips would keep all updates. */
const SLOW = 60_000;
/**
 * The same for documents, which keep the next poll waiting: milliseconds that each gets, and the bytes a millisecond, on average, that one
 * which takes longer must have brought (docs/protocol.md §11, D-99: "over more than a minute"). What has come is first looked into after
 * `look` milliseconds.
 */
const PACE = { patience: 61_000, least: 2.048, look: 1000 };
/** Milliseconds before a file is asked for again, the first time; each further time waits three times as long. */
const PAUSE = 200;

/**
 * `limit`: bytes that are taken; `tries`: how often it is asked for; `calm`: waited for before each piece, so that others go first;
 * `isDocument`: whether it is to come at the pace of documents; `look`: given what has come of one that takes seconds, or that breaks off;
 * `head`: given the head of each answer; `take`: takes the bytes as they come, each once, and says whether it has enough. What it throws is thrown.
 * @typedef {{limit: number, take?: (bytes: Uint8Array) => Promise<boolean>, priority?: string, tries?: number, calm?: () => Promise<unknown>, isDocument?: boolean,
 *   look?: (bytes: Uint8Array) => Promise<unknown>, head?: (response: Response) => void, cache?: RequestCache, mode?: RequestMode, credentials?: RequestCredentials}} Ask
 */

/**
 * Fetches bytes of the origin, its copy or a CDN: without cookies, by CORS, past the browser's cache, which would keep them twice.
 * What was torn off goes on where it was, which only a file whose bytes never change may be asked for.
 * @param {string} url
 * @param {Ask} ask
 * @returns {Promise<Uint8Array>} nothing where the bytes were taken
 * @throws Fault
 */
export async function fetchBytes(url, { limit, take, tries = 1, calm, isDocument, look, head, ...how }) {
  /** @type {Uint8Array[]} */
  let pieces = [];
  let count = 0;
  let taken = 0;
  /** @type {{error: unknown} | undefined} what went wrong with what was taken */
  let refusal;
  /** Requests for the rest that nobody answered, in a row. */
  let unanswered = 0;
  for (let pause = PAUSE; ; pause *= 3) {
    const abort = /** @type {any} */ (new AbortController());
    const begun = count;
    let at = performance.now();
    let nextLook = PACE.look;
    let isLate = false;
    const late = setTimeout(() => (isLate = true), PACE.patience);
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
      head?.(response);
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
        const elapsed = performance.now() - at;
        if (isDocument ? isLate && count < elapsed * PACE.least : elapsed > SLOW + count - begun) {
          reason = "timeout";
          throw new Error("slow");
        }
        // A limit that is no number stands for nothing.
        if (!(count <= limit)) {
          reason = "integrity";
          isFinal = true;
          throw new Error(`more than ${limit} bytes`);
        }
        if (!take) pieces.push(read.value);
        const looks = look && elapsed >= nextLook;
        if (!calm && !looks && !take) continue;
        // What isn't read isn't sent on for long; and it is no fault of the server's.
        clearTimeout(timer);
        const paused = performance.now();
        await calm?.();
        if (take && count > taken) {
          const fresh = read.value.subarray(Math.max(0, read.value.length - (count - taken)));
          taken = count;
          const isEnough = await take(fresh).catch((error) => void (refusal = { error }));
          if (refusal) throw refusal.error;
          if (isEnough) {
            abort.abort();
            break;
          }
        }
        if (looks) {
          // The cost of looking into a long one stays below that of reading it twice.
          nextLook = 2 * elapsed;
          await look(joined(pieces, count));
        }
        at += performance.now() - paused;
        waits();
      }
      return joined(pieces, pieces.length && count);
    } catch (error) {
      abort.abort();
      if (refusal) throw error;
      if (count) await look?.(joined(pieces, count));
      if (--tries < 1 || isFinal || navigator.onLine === false) throw new Fault(`${url}: ${error}`, reason, isFinal);
      // What came stays whatever a server says for now. Where twice nobody answers, ranges may be what isn't allowed.
      unanswered = status ? 0 : unanswered + 1;
      if (status === 416 || (count === begun && unanswered > 1)) [pieces, count, unanswered] = [[], 0, 0];
    } finally {
      clearTimeout(timer);
      clearTimeout(late);
    }
    await new Promise((resolve) => setTimeout(resolve, pause));
  }
}

/**
 * @param {string} url
 * @param {number} limit
 * @param {Set<string>} names of the members of `data` that are read
 * @param {(data: any) => Promise<void>} [seen] given what a document names that takes seconds, breaks off, or is no JSON
 * @param {(response: Response) => void} [head] given the answer's head
 * @param {(text: string) => any} [parse] what makes a document of its text
 * @returns {Promise<any>} a document
 */
export async function fetchJSON(url, limit, names, seen, head, parse = JSON.parse) {
  const turns = new Turns();
  const look = async (/** @type {Uint8Array} */ bytes) => {
    const data = seen && (await named(bytes, turns.pause));
    if (data) await seen(data);
  };
  try {
    const bytes = await fetchBytes(url, { limit, isDocument: true, look, head });
    try {
      return await parsed(bytes, names, turns.pause, parse);
    } catch {
      // What is wrong with the rest must not hide the kill switch.
      await look(bytes);
      throw new Fault(`${url}: no JSON`, "manifest");
    }
  } finally {
    turns.end();
  }
}

/**
 * @param {Uint8Array} bytes
 * @param {Set<string>} names
 * @param {() => Promise<void>} pause
 * @param {(text: string) => any} parse
 * @returns {Promise<any>}
 */
async function parsed(bytes, names, pause, parse) {
  if (bytes.length <= SMALL) {
    try {
      return parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
    } catch {
      // A member that nobody reads must not hide the kill switch.
    }
  }
  return parse(await withoutOthers(bytes, names, pause));
}
