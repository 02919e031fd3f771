// The command that does the same as a dialog, to copy.
import { el, fill } from "./dom.js";

/** Words as a POSIX shell reads them back. */
const quoted = (word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`);
const written = (word) => {
  const found = /^(--[a-z-]+=)(.*)$/s.exec(word);
  return found ? found[1] + quoted(found[2]) : quoted(word);
};

/** A command of this server, as the words of a shell; those that are false are left out. */
export const shell = (words) => (words ? ["xcache", ...words.filter((word) => word !== false), "--server", location.origin].map((word) => written(String(word))) : []);

/** A button that copies what a node says, and where it tells of that. */
export function copier(node, attributes = {}) {
  const said = el("span", { class: "quiet small", role: "status" });
  const copy = el("button", { type: "button", ...attributes, click: async () => {
    try {
      // Over plain http a browser has no clipboard to write to.
      await navigator.clipboard.writeText(node.textContent);
      said.textContent = "Copied.";
    } catch {
      getSelection().selectAllChildren(node);
      said.textContent = "Selected; copy it with the keyboard.";
    }
  } }, "Copy");
  return { copy, said };
}

/** A command on a line of its own, to copy. */
export function toCopy(words) {
  const text = el("code", {}, words);
  const { copy, said } = copier(text);
  return el("div", { class: "to-copy" }, text, copy, said);
}

/** A place for a command: `set(words, hasReason)` shows it, or nothing. */
export function shown() {
  const text = el("pre", { id: "command", role: "group", tabindex: 0, "aria-label": "Command" });
  const { copy, said } = copier(text, { id: "copy" });
  const name = el("summary");
  // All of it is seen where it is opened.
  const node = el("details", { class: "command", hidden: true, toggle: () => { if (node.open) node.scrollIntoView({ block: "nearest" }); } },
    name, text, el("div", { class: "row" }, copy, said));
  return { node, set(words, hasReason = true) {
    node.hidden = !words.length;
    said.textContent = "";
    name.textContent = hasReason ? "As a command" : "As a command, without the reason";
    // A line ends before an option, which keeps its value.
    const parts = words.reduce((all, word) => {
      if (/^--[a-z-]+$/.test(all.at(-1)) && !word.startsWith("--")) all.push(`${all.pop()} ${word}`);
      else all.push(word);
      return all;
    }, []);
    fill(text, parts.flatMap((part, index) => [index ? " " : "", el("span", {}, part)]));
  } };
}
