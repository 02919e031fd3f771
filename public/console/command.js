// The command that does the same as a dialog, to copy.
import { el, fill, tell } from "./dom.js";

/** Words as a POSIX shell reads them back. */
const quoted = (word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`);
const written = (word) => {
  const found = /^(--[a-z-]+=)(.*)$/s.exec(word);
  return found ? found[1] + quoted(found[2]) : quoted(word);
};

/** A command of this server, as the words of a shell; those that are false are left out. */
export const shell = (words) => (words ? ["xcache", ...words.filter((word) => word !== false), "--server", location.origin].map((word) => written(String(word))) : []);

/** A place for a command: `set(words)` shows it, or nothing. */
export function shown() {
  const text = el("pre", { id: "command", tabindex: 0, "aria-label": "Command" });
  const said = el("span", { class: "quiet small", role: "status" });
  const copy = el("button", { type: "button", id: "copy", click: async () => {
    try {
      // Over plain http a browser has no clipboard to write to.
      await navigator.clipboard.writeText(text.textContent);
      said.textContent = "Copied.";
    } catch {
      getSelection().selectAllChildren(text);
      said.textContent = "Selected; copy it with the keyboard.";
    }
    tell(said.textContent);
  } }, "Copy");
  const node = el("details", { class: "command", hidden: true }, el("summary", {}, "The command that does the same"), text, el("div", { class: "row" }, copy, said));
  return { node, set(words) {
    node.hidden = !words.length;
    said.textContent = "";
    // A line ends between two words.
    fill(text, words.flatMap((word, index) => [index ? " " : "", el("span", {}, word)]));
  } };
}
