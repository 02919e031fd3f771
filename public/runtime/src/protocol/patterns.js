import { matchKey, withoutQuery } from "./urls.js";

/**
 * A pattern of pages (docs/protocol.md §9).
 * @typedef {{scheme: string, host: string, port: string, parts: string[], hasQuery: boolean}} Pattern
 */

/**
 * @param {any} text
 * @returns {Pattern | undefined}
 */
export function readPattern(text) {
  const found = typeof text === "string" && text.length <= 1024 && !text.includes("#")
    ? /^(\*|https?):\/\/(\*|(?:\*\.)?[^*/:?\s]+|(?:\*\.)?\[[0-9a-f:.]+\])(?::(\d+))?(\/.*)$/i.exec(text)
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
  return {
    scheme: scheme.toLowerCase(), host: host.toLowerCase(), port: url.port,
    parts: matchKey(url.pathname + url.search).split("*"), hasQuery: target.includes("?"),
  };
}

/** @param {string} page */
export function placeOf(page) {
  const { protocol, port, hostname, pathname, search } = new URL(page);
  const target = matchKey(pathname + search);
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
