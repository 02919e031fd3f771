import { matchKey, withoutQuery } from "./urls.js";

/**
 * A pattern of pages (docs/protocol.md §9).
 * @typedef {{scheme: string, host: string, port: string, parts: string[], hasQuery: boolean}} Pattern
 */

/** Bytes of a pattern, also in the form in which it is matched. */
const MOST = 1024;

/**
 * @param {any} text
 * @returns {Pattern | undefined}
 */
export function readPattern(text) {
  const found = typeof text === "string" && text.length <= MOST && !text.includes("#")
    ? /^(\*|https?):\/\/(\*|(?:\*\.)?[^*/:?\s]+|(?:\*\.)?\[[0-9a-f:.]+\])(?::(\d+))?(\/[^\t\n\r]*)$/i.exec(text)
    : null;
  if (!found) return undefined;
  const [, scheme, host, port, target] = found;
  // The parser writes the rest in its one form; wildcards are no part of an escape.
  let url;
  try {
    url = new URL(`${scheme === "*" ? "https" : scheme.toLowerCase()}://any${port ? `:${port}` : ""}${target}`);
  } catch {
    return undefined;
  }
  const written = targetOf(url);
  // As it is written by the origin, it must be one that is read.
  if (text.length - target.length + written.length > MOST) return undefined;
  return {
    scheme: scheme.toLowerCase(), host: host.toLowerCase(), port: url.port,
    parts: written.split("*").map(matchKey), hasQuery: target.includes("?"),
  };
}

/**
 * Path and query; unlike `search`, with a query that is empty.
 * @param {URL} url
 */
const targetOf = ({ href }) => href.slice(href.indexOf("/", 8)).split("#")[0];

/** @param {string} page */
export function placeOf(page) {
  const url = new URL(page);
  const { protocol, port, hostname } = url;
  const target = matchKey(targetOf(url));
  return { protocol, port, hostname, target, path: withoutQuery(target) };
}

/**
 * @param {Pattern} pattern
 * @param {ReturnType<typeof placeOf>} place
 */
export function matchesPlace({ scheme, port, host, parts, hasQuery }, place) {
  if (scheme !== "*" && `${scheme}:` !== place.protocol) return false;
  return port === place.port && matchesHost(host, place.hostname) && matchesParts(parts, hasQuery ? place.target : place.path);
}

/**
 * @param {Pattern} pattern
 * @param {string} page
 */
export const matches = (pattern, page) => matchesPlace(pattern, placeOf(page));

/**
 * Whether a host is one of a name, `*.name` (the domain and all below it) or `*`.
 * @param {string} pattern
 * @param {string} host
 */
export function matchesHost(pattern, host) {
  if (pattern === "*" || pattern === host) return true;
  return pattern.startsWith("*.") && (host === pattern.slice(2) || host.endsWith(pattern.slice(1)));
}

/**
 * The first part is where the text begins, the last where it ends, those between come in order; taking each at its first place
 * is enough.
 * @param {string[]} parts
 * @param {string} text
 */
function matchesParts(parts, text) {
  const [first, ...others] = parts;
  if (!text.startsWith(first)) return false;
  const last = others.pop();
  if (last === undefined) return text === first;
  let at = first.length;
  for (const part of others) {
    const found = text.indexOf(part, at);
    if (found < 0) return false;
    at = found + part.length;
  }
  return text.length - at >= last.length && text.endsWith(last);
}
