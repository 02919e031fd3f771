// xcache-samples.js: what a page says of the error by which it failed. The worker asks for it once it has counted the failure; what it says goes
// to the worker, which takes out what may name a person before it tells the origin (worker/samples.js).

/** Characters of a message and of a stack that the worker gets to see. */
const MOST = { message: 4096, stack: 16384 };

/**
 * What was thrown, in words.
 * @param {any} thrown
 */
function wordsOf(thrown) {
  if (typeof thrown !== "object" || thrown === null || thrown.message === undefined) return String(thrown);
  const { name, message } = thrown;
  return name ? `${name}: ${message}` : `${message}`;
}

/**
 * Without a word at the end that would be cut: half an e-mail address or id isn't known as one any more.
 * @param {string} text
 */
const cut = (text) => (text.length > MOST.message ? text.slice(0, MOST.message).replace(/\S*$/, "") : text);

/**
 * @template Value
 * @param {() => Value} read of something of the page, which may throw
 */
function tried(read) {
  try {
    return read();
  } catch {
    return "";
  }
}

/**
 * Tells the worker of the first error, or where there is none of the first promise that was rejected. Its name and its place are those by
 * which pages call what they import for the worker (trial.js), so that pages of earlier versions can, too.
 * @param {(word: object) => void} say
 * @param {unknown} _elements
 * @param {unknown} _isShown
 * @param {() => any[]} reasons what a script threw, or false; and why promises were rejected
 */
export function looks(say, _elements, _isShown, reasons) {
  tried(() => {
    const [error, ...rejected] = reasons();
    const thrown = error || rejected[0];
    const kind = error ? "script" : rejected.length > 0 ? "rejection" : undefined;
    const message = kind ? cut(tried(() => wordsOf(thrown))) : "";
    const stack = tried(() => String(thrown?.stack ?? "")).slice(0, MOST.stack);
    say({ ask: "looks", sample: { kind, message, stack } });
  });
}
