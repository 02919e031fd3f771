// Texts that a bundler has written on few lines, on many: for reading and comparing, never for running. Every character that isn't
// white space stays, in its order, and strings, templates, regular expressions and comments stay as they are. Each function goes over
// the text once, without a regular expression that could go back, and without recursion.

/** Characters of a line from which on a text counts as written by a program. */
const long = 400;
/** Characters after which a line is broken inside of brackets; the same for both sides of a comparison. */
const wide = 120;
const deepest = 24;
/** Lines from which on a text is shown as it is. */
const most = 400_000;

class TooLong extends Error {}

/** How to format texts of a type; null if it has no format. */
function formatOf(type) {
  const essence = type.split(";")[0].trim().toLowerCase();
  if (/^(text|application)\/(x-)?(javascript|ecmascript)$/.test(essence)) return formatScript;
  if (essence === "text/css") return formatStyle;
  if (/[/+]json$/.test(essence)) return formatJSON;
  if (/^text\/html$|[/+]xml$/.test(essence)) return formatMarkup;
  return null;
}

/** Whether a text has lines that nobody reads. */
export function isDense(text) {
  for (let start = 0; start < text.length;) {
    const found = text.indexOf("\n", start);
    const end = found < 0 ? text.length : found;
    if (end - start > long) return true;
    start = end + 1;
  }
  return false;
}

/** A dense text of this type as lines; null where it isn't dense, or its type has no format. */
export function formatted(text, type) {
  const format = isDense(text) ? formatOf(type) : null;
  try {
    return format && format(text);
  } catch (error) {
    if (error instanceof TooLong) return null;
    throw error;
  }
}

const isBlank = (code) => code === 32 || (code > 8 && code < 14) || code === 0xa0 || code === 0xfeff || code === 0x2028 || code === 0x2029;
const isEnd = (code) => code === 10 || code === 13 || code === 0x2028 || code === 0x2029;
/** Letters, digits, `$`, `_`, `#` of private names, `\` of escapes, and all that isn't ASCII. */
const isWord = (code) => (code > 96 && code < 123) || (code > 64 && code < 91) || (code > 47 && code < 58) || code === 36 || code === 95 || code === 92 || code === 35
  || (code > 127 && !isBlank(code));

/** Lines in the making. */
class Writer {
  lines = [];
  #parts = [];
  length = 0;

  /** `hang`: how much deeper a line is that goes on with what the one before began. */
  constructor(base = 0) { this.base = base; this.depth = this.hang = 0; }

  get isEmpty() { return this.#parts.length === 0; }

  add(text) {
    if (!text) return;
    if (!this.#parts.length) {
      const indent = "  ".repeat(Math.min(Math.max(this.depth + this.base + this.hang, 0), deepest));
      this.#parts.push(indent);
      this.length = indent.length;
    }
    this.#parts.push(text);
    this.length += text.length;
  }

  blank() { if (this.#parts.length && this.#parts.at(-1) !== " " ) { this.#parts.push(" "); this.length += 1; } }

  end(hang = 0) {
    if (!this.#parts.length) return;
    this.hang = hang;
    if (this.lines.length > most) throw new TooLong();
    while (this.#parts.at(-1) === " ") this.#parts.pop();
    // A template or a comment has lines of its own.
    for (const line of this.#parts.join("").split("\n")) this.lines.push(line);
    this.#parts = [];
    this.length = 0;
  }
}

/** Where a string that begins at `at` ends. One that isn't closed ends with its line. */
function endOfString(text, at) {
  const quote = text.charCodeAt(at);
  let index = at + 1;
  for (; index < text.length; index += 1) {
    const code = text.charCodeAt(index);
    if (code === 92) index += 1;
    else if (code === quote) return index + 1;
    else if (code === 10 || code === 13) return index;
  }
  return Math.min(index, text.length);
}

/** Where the text of a template ends: behind its last quote, or behind `${`. */
function endOfTemplate(text, at) {
  let index = at;
  for (; index < text.length; index += 1) {
    const code = text.charCodeAt(index);
    if (code === 92) index += 1;
    else if (code === 96) return index + 1;
    else if (code === 36 && text.charCodeAt(index + 1) === 123) return index + 2;
  }
  return Math.min(index, text.length);
}

/** Where a regular expression with its flags ends; 0 if this is none, because its line ends first, or `most` characters later. */
function endOfPattern(text, at, most) {
  let isClass = false;
  const last = Math.min(text.length, at + most);
  for (let index = at + 1; index < last; index += 1) {
    const code = text.charCodeAt(index);
    if (isEnd(code)) return 0;
    if (code === 92) index += 1;
    else if (code === 91) isClass = true;
    else if (code === 93) isClass = false;
    else if (code === 47 && !isClass) {
      index += 1;
      while (index < text.length && isWord(text.charCodeAt(index))) index += 1;
      return index;
    }
  }
  return 0;
}

const behind = (found, length, text) => (found < 0 ? text.length : found + length);

/** Words before which a value ends no more than before an operator: a `/` behind them begins a regular expression, a `{` an object. */
const openers = new Set(["return", "typeof", "instanceof", "in", "of", "new", "delete", "void", "throw", "case", "do", "else", "await", "yield", "default", "extends"]);
const controls = new Set(["if", "for", "while", "with"]);
const signs = [">>>=", "...", "===", "!==", "**=", "<<=", ">>=", ">>>", "&&=", "||=", "??=", "=>", "==", "!=", "<=", ">=", "&&", "||", "??", "?.", "++", "--", "+=", "-=", "*=", "/=",
  "%=", "&=", "|=", "^=", "<<", ">>", "**"];
const signsBy = new Map();
for (const sign of signs) signsBy.set(sign[0], [...(signsBy.get(sign[0]) ?? []), sign]);

/**
 * The tokens of a script, one after another: `next()` returns the next one's kind, and `at`, `end`, `isApart` (white space before it) and
 * `hasLine` (a line's end in that) are its place. Kinds: "word", "number", "string", "template", "pattern", "comment", "sign".
 */
export class ScriptTokens {
  at = 0;
  end = 0;
  isApart = false;
  hasLine = false;
  /** Whether a value ended in front of the token: then `-` subtracts. */
  isBehindValue = false;
  /** Brackets that are open: `{kind, isControl, isValue}`; kind is `(`, `[`, `{`, or "$" for the braces of a template. */
  open = [];
  #text;
  /** Whether a value ended: then `/` divides. */
  #isValue = false;
  #last = "";
  /** The word before the last one, and whether a function's head began where a value may be. */
  #before = "";
  #isFunctionValue = false;
  /** Characters that a regular expression may have. */
  #patience = 1 << 17;

  constructor(text) { this.#text = text; }

  get token() { return this.#text.slice(this.at, this.end); }

  next() {
    const text = this.#text;
    let at = this.end;
    this.isApart = this.hasLine = false;
    this.isBehindValue = this.#isValue;
    while (at < text.length && isBlank(text.charCodeAt(at))) {
      this.isApart = true;
      if (isEnd(text.charCodeAt(at))) this.hasLine = true;
      at += 1;
    }
    this.at = at;
    if (at >= text.length) { this.end = text.length; return null; }
    const code = text.charCodeAt(at);
    if (code === 47) {
      const second = text.charCodeAt(at + 1);
      if (second === 47) {
        let end = at + 2;
        while (end < text.length && !isEnd(text.charCodeAt(end))) end += 1;
        this.end = end;
        return "comment";
      }
      if (second === 42) { this.end = behind(text.indexOf("*/", at + 2), 2, text); return "comment"; }
      if (!this.#isValue) {
        const end = endOfPattern(text, at, this.#patience);
        if (end) return this.#value("pattern", end);
        // Looking for ends that aren't there must not take the square of the text's length.
        this.#patience /= 2;
      }
    }
    if (code === 34 || code === 39) return this.#value("string", endOfString(text, at));
    if (code === 96) return this.#template(at + 1);
    if (code === 125 && this.open.at(-1)?.kind === "$") {
      this.open.pop();
      return this.#template(at + 1);
    }
    if ((code > 47 && code < 58) || (code === 46 && text.charCodeAt(at + 1) > 47 && text.charCodeAt(at + 1) < 58)) return this.#value("number", this.#endOfNumber(at));
    if (isWord(code)) return this.#word(at);
    return this.#sign(at);
  }

  #value(kind, end) {
    this.end = end;
    this.#isValue = true;
    this.#before = this.#last;
    this.#last = kind;
    return kind;
  }

  #template(at) {
    const end = endOfTemplate(this.#text, at);
    this.#value("template", end);
    if (this.#text.charCodeAt(end - 1) === 123 && this.#text.charCodeAt(end - 2) === 36 && end - at >= 2) {
      this.open.push({ kind: "$" });
      this.#isValue = false;
    }
    return "template";
  }

  #endOfNumber(at) {
    const text = this.#text;
    const isHex = text.charCodeAt(at) === 48 && /[xXbBoO]/.test(text[at + 1] ?? "");
    let end = at;
    let hasPoint = false;
    for (; end < text.length; end += 1) {
      const code = text.charCodeAt(end);
      if (code === 46 && !hasPoint && !isHex) { hasPoint = true; continue; }
      if ((code === 43 || code === 45) && !isHex && (text.charCodeAt(end - 1) | 32) === 101) continue;
      if (!isWord(code) || code === 92 || code === 35) break;
    }
    return end;
  }

  #word(at) {
    const text = this.#text;
    let end = at + 1;
    while (end < text.length && isWord(text.charCodeAt(end))) {
      // `\u{…}` of a name.
      if (text.charCodeAt(end) === 117 && text.charCodeAt(end - 1) === 92 && text.charCodeAt(end + 1) === 123) end = behind(text.indexOf("}", end), 1, text) - 1;
      end += 1;
    }
    this.end = end;
    const word = end - at > 12 ? "" : text.slice(at, end);
    const isMember = this.#last === "." || this.#last === "?.";
    if (word === "function" || word === "class") this.#isFunctionValue = !this.#isStatement() && !isMember;
    this.#isValue = isMember || !openers.has(word);
    this.#before = this.#last;
    this.#last = isMember ? "name" : word || "name";
    return "word";
  }

  /** Whether a statement may begin here. */
  #isStatement() {
    return ["", ";", "{", "}", "else", "do"].includes(this.#last) || (this.#last === ")" && !this.#isValue) || this.#last === "export" || this.#last === "async";
  }

  #sign(at) {
    const text = this.#text;
    const first = text[at];
    let sign = first;
    for (const longer of signsBy.get(first) ?? []) if (text.startsWith(longer, at)) { sign = longer; break; }
    // `a?.5:1`
    if (sign === "?." && text.charCodeAt(at + 2) > 47 && text.charCodeAt(at + 2) < 58) sign = "?";
    this.end = at + sign.length;
    const last = this.#last;
    if (sign === "(") {
      this.open.push({ kind: "(", isControl: controls.has(last) || (last === "await" && this.#before === "for"), isFor: last === "for" || last === "await" && this.#before === "for" });
      this.#isValue = false;
    } else if (sign === "[") {
      this.open.push({ kind: "[" });
      this.#isValue = false;
    } else if (sign === "{") {
      // Behind `)` and words it is a body, behind operators an object; a body of a function that is a value is one.
      const isObject = !this.#isValue && last !== ")" && last !== "=>" && !["", ";", "{", "}", "else", "do", ":"].includes(last)
        || (last === ":" && this.open.at(-1)?.isObject === true) || last === "return" || last === "default";
      this.open.push({ kind: "{", isObject, isValue: isObject || this.#isFunctionValue });
      this.#isFunctionValue = false;
      this.#isValue = false;
    } else if (sign === ")" || sign === "]" || sign === "}") {
      const kind = { ")": "(", "]": "[", "}": "{" }[sign];
      // What doesn't fit together is left as it is.
      const opened = this.open.at(-1)?.kind === kind ? this.open.pop() : null;
      this.#isValue = sign === "]" || (sign === ")" ? !opened?.isControl : opened?.isValue === true);
    } else if (sign !== "++" && sign !== "--") {
      this.#isValue = false;
    }
    this.#before = last;
    this.#last = sign;
    return "sign";
  }
}

/** What goes on behind a block on the same line. */
const continued = new Set(["else", "catch", "finally", "while", "from", "instanceof", "in", "of", "as"]);
/** Words that a bracket doesn't call. */
const spacious = new Set(["if", "for", "while", "switch", "catch", "return", "with", "await", "in", "of", "typeof", "else", "case", "throw", "yield"]);
const spaced = new Set(["=", "=>", "==", "===", "!=", "!==", "<=", ">=", "&&", "||", "??", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>=", ">>>=", "**=", "&&=", "||=", "??=", "?", ">", "<", "*", "%", "|", "&", "^", "<<", ">>", ">>>", "**"]);

function formatScript(text, base = 0) {
  const tokens = new ScriptTokens(text);
  const out = new Writer(base);
  const root = { kind: "" };
  let isBinary = false;
  let last = "";
  let lastKind = "";
  for (let kind = tokens.next(); kind; kind = tokens.next()) {
    const token = tokens.token;
    const isSign = kind === "sign";
    const wasSign = lastKind === "sign";
    const wasBlock = wasSign && last === "}";
    if (kind === "comment") {
      if (tokens.hasLine) out.end(); else out.blank();
      out.add(token);
      if (token.startsWith("//")) out.end();
      continue;
    }
    if (isSign && token === "}") {
      out.depth -= 1;
      if (!wasSign || last !== "{") out.end();
      out.add(token);
    } else {
      const bracket = tokens.open.at(-1) ?? root;
      if (wasSign && last === "{") out.end();
      else if (wasBlock && !(isSign && !["{", "!", "~"].includes(token)) && !(kind === "word" && continued.has(token)) && kind !== "template") out.end();
      else if (tokens.hasLine && wasSign && [";", ",", "}"].includes(last)) out.end();
      const wasBinary = isBinary;
      const isChoice = isSign && token === ":" && bracket.choices > 0;
      if (isChoice) bracket.choices -= 1;
      if (isSign && token === "?") bracket.choices = (bracket.choices ?? 0) + 1;
      isBinary = isSign && (spaced.has(token) || isChoice || ((token === "+" || token === "-") && tokens.isBehindValue));
      if (isBinary && out.length > wide && ["&&", "||", "??", "?", ":"].includes(token)) out.end(1);
      const isHead = isSign && ((token === "{" && (last === ")" || lastKind === "word" || last === "=>")) || (token === "(" && lastKind === "word" && spacious.has(last)));
      const isApart = isBinary || wasBinary || tokens.isApart || isHead || (wasSign && (last === "," || last === ":" || last === ";")) || (kind === "word" && wasSign && (last === ")" || wasBlock));
      if (isApart && !out.isEmpty && !(isSign && (token === ";" || token === ","))) out.blank();
      out.add(token);
      if (isSign) {
        if (token === "{") out.depth += 1;
        else if (token === ";" && !bracket.isFor) out.end();
        else if (token === "," && (bracket.kind === "{" || bracket === root || out.length > wide)) out.end(bracket.isObject ? 0 : 1);
      }
    }
    last = kind === "template" || kind === "string" ? "" : token;
    lastKind = kind;
  }
  out.end();
  return out.lines;
}

function formatStyle(text, base = 0) {
  const out = new Writer(base);
  let round = 0;
  let isSelector = true;
  for (let at = 0; at < text.length;) {
    const code = text.charCodeAt(at);
    if (isBlank(code)) {
      let hasLine = false;
      while (at < text.length && isBlank(text.charCodeAt(at))) { hasLine ||= isEnd(text.charCodeAt(at)); at += 1; }
      if (!out.isEmpty) out.blank();
      continue;
    }
    if (code === 47 && text.charCodeAt(at + 1) === 42) {
      const end = behind(text.indexOf("*/", at + 2), 2, text);
      out.add(text.slice(at, end));
      out.end();
      at = end;
    } else if (code === 34 || code === 39) {
      const end = endOfString(text, at);
      out.add(text.slice(at, end));
      at = Math.max(end, at + 1);
    } else if ((code | 32) === 117 && /^url\($/i.test(text.slice(at, at + 4))) {
      // An address without quotes has `;` and `,` of its own.
      let inner = at + 4;
      while (isBlank(text.charCodeAt(inner))) inner += 1;
      const isQuoted = text[inner] === '"' || text[inner] === "'";
      const end = isQuoted ? at + 4 : behind(text.indexOf(")", at), 1, text);
      if (isQuoted) round += 1;
      out.add(text.slice(at, end));
      at = end;
    } else if (code === 92) {
      out.add(text.slice(at, at + 2));
      at += 2;
    } else {
      const sign = text[at];
      if (sign === "{") {
        if (!out.isEmpty) out.blank();
        out.add(sign);
        out.end();
        out.depth += 1;
        [isSelector, round] = [true, 0];
        at += 1;
      } else if (sign === "}") {
        out.end();
        out.depth -= 1;
        out.add(sign);
        out.end();
        [isSelector, round] = [true, 0];
        at += 1;
      } else if (sign === ";" && round === 0) {
        out.add(sign);
        out.end();
        isSelector = true;
        at += 1;
      } else if (sign === "," && round === 0 && isSelector && out.length > 60) {
        out.add(sign);
        out.end(1);
        at += 1;
      } else {
        let end = at;
        for (; end < text.length; end += 1) {
          const one = text.charCodeAt(end);
          if (one === 40) round += 1;
          else if (one === 41) round = Math.max(0, round - 1);
          const isOwn = isBlank(one) || one === 34 || one === 39 || one === 92 || one === 123 || one === 125 || (one === 59 && round === 0) || (one === 44 && round === 0)
            || (one === 47 && text.charCodeAt(end + 1) === 42) || ((one | 32) === 117 && end > at && text.charCodeAt(end + 3) === 40 && !isWord(text.charCodeAt(end - 1)));
          if (isOwn) break;
        }
        if (end === at) end += 1;
        const part = text.slice(at, end);
        if (part.startsWith("@")) isSelector = false;
        out.add(part);
        at = end;
      }
    }
  }
  out.end();
  return out.lines;
}

function formatJSON(text) {
  const out = new Writer();
  for (let at = 0; at < text.length;) {
    const code = text.charCodeAt(at);
    if (isBlank(code)) { at += 1; continue; }
    if (code === 34) {
      const end = endOfString(text, at);
      out.add(text.slice(at, end));
      at = Math.max(end, at + 1);
      continue;
    }
    const sign = text[at];
    at += 1;
    if (sign === "{" || sign === "[") {
      out.add(sign);
      let next = at;
      while (isBlank(text.charCodeAt(next))) next += 1;
      // What is empty stays on its line.
      if (text[next] === "}" || text[next] === "]") { out.add(text[next]); at = next + 1; continue; }
      out.end();
      out.depth += 1;
    } else if (sign === "}" || sign === "]") {
      out.end();
      out.depth -= 1;
      out.add(sign);
    } else if (sign === ",") {
      out.add(sign);
      out.end();
    } else if (sign === ":") {
      out.add(": ");
    } else {
      let end = at;
      while (end < text.length && !isBlank(text.charCodeAt(end)) && !'{}[],:"'.includes(text[end])) end += 1;
      out.add(text.slice(at - 1, end));
      at = end;
    }
  }
  out.end();
  return out.lines;
}

const voids = new Set(["area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"]);

function formatMarkup(text) {
  const out = new Writer();
  let at = 0;
  let isBehindTag = false;
  const within = (name, format) => {
    const close = `</${name}`;
    // Looked for once per element, from its start on.
    let end = at;
    while (end >= 0 && end < text.length) {
      end = text.indexOf("</", end);
      if (end < 0 || text.slice(end, end + close.length).toLowerCase() === close) break;
      end += 2;
    }
    const inner = text.slice(at, end < 0 ? text.length : end);
    at = end < 0 ? text.length : end;
    if (!inner.trim()) { out.add(inner.trim()); return; }
    if (format && inner.length > wide) {
      out.end();
      for (const line of format(inner, out.depth)) out.lines.push(line);
    } else {
      out.add(inner);
    }
  };
  while (at < text.length) {
    if (text[at] !== "<") {
      const found = text.indexOf("<", at);
      const end = found < 0 ? text.length : found;
      const words = text.slice(at, end);
      if (words.trim()) {
        // Existing lines stay lines.
        words.split("\n").forEach((line, index) => {
          if (index) out.end();
          if (index === 0 && isBlank(line.charCodeAt(0))) out.blank();
          out.add(line.trim());
          if (line.trim() && isBlank(line.charCodeAt(line.length - 1))) out.blank();
        });
        isBehindTag = false;
      } else if (words.includes("\n")) {
        out.end();
      }
      at = end;
      continue;
    }
    if (isBehindTag) out.end();
    if (text.startsWith("<!--", at)) {
      const end = behind(text.indexOf("-->", at + 4), 3, text);
      out.add(text.slice(at, end));
      at = end;
      isBehindTag = true;
      continue;
    }
    let end = at + 1;
    let quote = 0;
    for (; end < text.length; end += 1) {
      const code = text.charCodeAt(end);
      if (quote) { if (code === quote) quote = 0; } else if ((code === 34 || code === 39) && text.charCodeAt(end - 1) === 61) quote = code;
      else if (code === 62) { end += 1; break; }
    }
    const tag = text.slice(at, end);
    at = end;
    const name = /^<\/?([a-zA-Z][\w:-]{0,40})/.exec(tag)?.[1].toLowerCase() ?? "";
    if (tag.startsWith("</")) {
      out.depth = Math.max(0, out.depth - 1);
      out.add(tag);
    } else {
      out.add(tag);
      if (name && !voids.has(name) && !tag.endsWith("/>") && !tag.startsWith("<!") && !tag.startsWith("<?")) {
        out.depth += 1;
        if (name === "script") within(name, /\btype="?(application\/(ld\+)?json|importmap)/i.test(tag) ? formatJSON : formatScript);
        else if (name === "style") within(name, formatStyle);
        else if (name === "pre" || name === "textarea") within(name, null);
      }
    }
    isBehindTag = true;
  }
  out.end();
  return out.lines;
}
