// Search over what one may read: channels, releases, changes, files and people.
import { channelLink, get } from "./api.js";
import { card, el, fill, named, plural, table, when } from "./dom.js";
import { address } from "./parts.js";
import { states } from "./overview.js";

/** Characters that the server takes, and results of a kind. */
const [least, longest, most] = [2, 100, 20];
/** Places of a file that are named. */
const fewest = 3;
const kinds = { policy: "Policy", prefetch: "Prefetch" };

/** A text with the parts that were looked for. */
function found(text, words) {
  const at = text.toLowerCase().indexOf(words.toLowerCase());
  return at < 0 ? text : [text.slice(0, at), el("mark", {}, text.slice(at, at + words.length)), text.slice(at + words.length)];
}

export async function open({ query, overview: fleet }) {
  let asked = 0;
  let first = "";
  let timer = 0;
  let isShown = false;
  const field = el("input", { id: "search", type: "search", name: "q", value: query.get("q") ?? "", maxlength: longest, autocomplete: "off", spellcheck: "false", placeholder: "Releases, files, people, messages", "aria-label": "Search", "aria-describedby": "search-note",
    input: () => { clearTimeout(timer); timer = setTimeout(look, 250); } });
  const note = el("p", { id: "search-note", class: "quiet", role: "status" });
  const results = el("div", { id: "results" });
  const form = el("form", { role: "search", class: "inline finder", submit: async (event) => {
    event.preventDefault();
    clearTimeout(timer);
    await look();
    if (first && form.isConnected) location.hash = first;
  } }, field);
  const all = async () => (fleet ??= await get("overview")).channels;

  const place = (one) => el("a", { href: channelLink("channel", one.app, one.channel) }, `${one.app} ${one.channel}`);
  const version = (one) => el("a", { href: channelLink("release", one.app, one.channel, `/${one.version}`) }, `${one.app} ${one.channel}`, el("span", { class: "hidden" }, `, version ${one.version}`));

  function draw(words, channels, answer) {
    const { releases, changes, files, people } = answer;
    first = channels[0] ? channelLink("channel", channels[0].app, channels[0].channel)
      : releases[0] ? channelLink("release", releases[0].app, releases[0].channel, `/${releases[0].version}`)
        : changes[0] ? channelLink("channel", changes[0].app, changes[0].channel, `?kinds=${changes[0].kind}`)
          : files[0] ? channelLink("release", files[0].app, files[0].channel, `/${files[0].version}?filter=${encodeURIComponent(files[0].url)}`)
            : people[0] ? `#/search?q=${encodeURIComponent(people[0].name)}` : "";
    // A file that several channels have is one row.
    const urls = new Map();
    for (const one of files) urls.set(one.url, [...(urls.get(one.url) ?? []), one]);
    const held = (one, words = [`${one.app} ${one.channel}, version ${one.version}`, el("span", { class: "hidden" }, `: ${one.url}`)]) => el("a", { href: channelLink("release", one.app, one.channel, `/${one.version}?filter=${encodeURIComponent(one.url)}`) }, words);
    const name = (url) => url.split("/").at(-1) || url;
    const sub = (words) => el("div", { class: "sub" }, words);
    // All kinds have the same columns, so that the page is one list.
    const part = (title, columns, rows) => (rows.length ? card(title, table(title, columns.map((one, index) => [one, index > 1 && index === columns.length - 1, index === 1]), rows), el("span", { class: "quiet" }, plural(rows.length, "result")), true) : null);
    fill(results,
      part("Channels", ["Channel", "State", "Who", "Released"], channels.slice(0, most).map((one) => [
        [place(one), sub(one.version === "0" ? "no release yet" : `version ${one.version}`)], states(one, fleet.problems), named(one.author ?? "—"), one.at ? when(one.at) : "—"])),
      part("Releases", ["Release", "Message", "Who", "When"], releases.map((one) => [
        [version(one), el("div", { class: "sub", "aria-hidden": "true" }, `version ${one.version}${one.kind === "publish" ? "" : `, ${one.kind}`}`)], found(one.message || "no message", words), named(one.author), when(one.at)])),
      part("Changes beside releases", ["Change", "Message", "Who", "When"], changes.map((one) => [
        [el("a", { href: channelLink("channel", one.app, one.channel, `?kinds=${one.kind}`) }, `${kinds[one.kind] ?? one.kind}${one.version ? ` ${one.version}` : ""}`), sub(`${one.app} ${one.channel}`)],
        found(one.message || "no message", words), named(one.author), when(one.at)])),
      part("Files", ["File", "Where it is", "Channels"], [...urls].map(([url, all]) => [
        [held(all[0], [found(name(url), words), el("span", { class: "hidden" }, ` at ${url}`)]), el("div", { class: "sub url" }, found(url, words))], el("span", { class: "places" }, all.slice(0, fewest).map((one) => held(one)), all.length > fewest ? [el("span", { class: "hidden" }, " and"), held(all[fewest], [`+${all.length - fewest}`, el("span", { class: "hidden" }, ` more, with ${url}`)])] : null), plural(all.length, "channel")])),
      part("People", ["Name", "Releases", "Last one"], people.map((one) => [
        el("a", { href: `#/search?q=${encodeURIComponent(one.name)}` }, found(one.name, words)), plural(one.releases, "release"), when(one.lastAt)])));
    const sum = channels.length + releases.length + changes.length + urls.size + people.length;
    note.textContent = !sum ? `Nothing has “${words}” in it.` : `${plural(sum, "result")}${answer.isCut ? "; there are more: write more of what you look for" : ""}. Enter opens the first one.`;
  }

  async function look() {
    // Somebody went on before the time was up: the address is another page's.
    if (isShown && !form.isConnected) return;
    asked += 1;
    const mine = asked;
    const words = field.value.trim();
    if (isShown) history.replaceState(null, "", words ? `#/search?q=${encodeURIComponent(words)}` : "#/search");
    first = "";
    if (new TextEncoder().encode(words).length < least) {
      fill(results);
      note.textContent = words ? "Write two characters at least." : "Finds text in channels, releases and their messages, policy changes, URLs of files, and names of people.";
      return;
    }
    try {
      const channels = (await all()).filter((one) => words.toLowerCase().split(/\s+/).every((word) => `${one.app} ${one.channel}`.toLowerCase().includes(word)));
      const answer = await get(`search?limit=${most}&q=${encodeURIComponent(words)}`);
      if (mine === asked) draw(words, channels, answer);
    } catch (error) {
      if (mine === asked) fill(note, `✖ ${error.message}`);
    }
  }

  await look();
  isShown = true;
  return { title: "Search", node: [el("h1", {}, "Search"), form, note, results], shown: () => { field.focus(); field.select(); } };
}
