import { channelLink, channelPath, get, Refusal } from "./api.js";
import { badge, card, count, el, fill, percent, plural, sampled, size, table, when } from "./dom.js";
import { exactly, facts, hash, part, wholeMinute } from "./parts.js";

/** Changes that are asked for at once. */
const page = 1000;
/** Older versions whose updates are worked out at once. */
const few = 6;

/** `#/release/APP/CHANNEL/VERSION` and `#/compare/APP/CHANNEL?from=A&to=B`. */
export async function open(place) {
  return place.name === "release" ? release(place) : compare(place);
}

async function release({ names: [app, channel, version] }) {
  const path = channelPath(app, channel);
  const info = await get(`${path}/releases/${encodeURIComponent(version)}`);
  const before = (await get(`${path}/log?limit=${few}&before=${info.version}`)).releases;
  const previous = before[0]?.version ?? "0";
  const costs = el("div", { id: "update-costs" });
  const holders = el("div");
  part(holders, async () => {
    const adoption = await get(`${path}/adoption`);
    return table("Who has it", [["Time"], ["Polls", true], ["Of all", true]],
      [["this hour and the last", adoption.hour], ["24 hours", adoption.day], ["7 days", adoption.week]].map(([words, span]) => {
        const own = span.versions.find((one) => one.version === info.version)?.polls ?? 0;
        return [words, count(own), [percent(own, span.polls), span.sample ? `, ${sampled(span.sample)}` : ""]];
      }));
  });
  const rows = [];
  async function costsFrom(some) {
    const made = [];
    for (const { version: from } of some) {
      const { cost } = await get(`${path}/diff?from=${from}&to=${info.version}&limit=0`);
      made.push([el("a", { href: channelLink("compare", app, channel, `?from=${from}&to=${info.version}`) }, from), size(cost.total ?? cost.bytes),
        count(cost.files), count(cost.deltas), size(cost.plainBytes), cost.pack ? size(cost.pack) : "—"]);
    }
    rows.push(...made);
    const last = some.at(-1)?.version;
    const failed = el("p", { class: "bad", role: "alert" });
    const older = some.length < few || last === "1" ? null : el("button", { type: "button" }, "From older versions");
    older?.addEventListener("click", async () => {
      if (older.getAttribute("aria-disabled")) return;
      older.setAttribute("aria-disabled", "true");
      try {
        fill(costs, await costsFrom((await get(`${path}/log?limit=${few}&before=${last}`)).releases));
      } catch (error) {
        older.removeAttribute("aria-disabled");
        failed.textContent = `✖ ${error.message}`;
      }
    });
    return [table("The update from older versions", [["From version", true], ["Over the wire", true], ["Files", true], ["As deltas", true], ["Files without deltas", true], ["Pack", true]], rows,
      "No older version is kept."), older, failed];
  }
  part(costs, () => costsFrom(before));
  return {
    title: `Version ${info.version} of ${app} ${channel}`,
    node: [
      crumbs(app, channel),
      el("div", { class: "head" }, el("div", {},
        el("h1", {}, `Version ${info.version} `, badge(info.kind === "rollback" ? "warn" : "quiet", info.kind)),
        info.message ? el("p", { class: "message lead" }, info.message) : null)),
      el("div", { class: "columns" }, el("div", {},
        card(`What changed since version ${previous}`, changes(app, channel, previous, info.version)),
        card("What the update costs a device", costs)),
      el("div", {}, card("This release", facts([
        ["Released", when(info.at)], ["By", info.author],
        info.source && ["Content of", `${info.source.channel} ${info.source.version}${info.source.bundle ? `, bundle ${info.source.bundle}` : ""}`],
        info.breakGlass && ["Despite a freeze", `by ${info.breakGlass.frozenBy}: ${info.breakGlass.reason}`],
        ["Changes", `+${info.added} ~${info.changed} −${info.removed}, ${size(info.newBytes)} new`],
        ["Holds", `${plural(info.resources, "resource")}, ${size(info.bytes)}`],
        info.cost && ["Update", `${size(info.cost.total ?? info.cost.bytes)} in ${plural(info.cost.requests ?? info.cost.files, "request")}`],
        ["Digest", hash(info.digest)],
        ["Receipt", info.receipt ? hash(info.receipt) : "none: this release came with a restore, or is older than the trail"],
      ])), card("Who has it", holders))),
    ],
  };
}

async function compare({ names: [app, channel], query }) {
  const [from, to] = [query.get("from") ?? "", query.get("to") ?? ""];
  const field = (id, words, value) => [el("label", { for: id }, words), el("input", { id, name: id, value, required: true, autocomplete: "off", size: 24, "aria-describedby": "how" })];
  const result = el("div");
  if (from && to) {
    await part(result, async () => {
      const [first, second] = [moment(from), moment(to)];
      const diff = await get(`${channelPath(app, channel)}/diff?from=${encodeURIComponent(first)}&to=${encodeURIComponent(second)}&limit=0`);
      return card(`Version ${diff.from} → ${diff.to}`, [
        [["from", from, first, diff.from], ["to", to, second, diff.to]].filter(([, text, at]) => at !== text.trim()).map(([words, , at, version]) =>
          el("p", { class: "quiet" }, `“${words}”: what was live at `, exactly(at), `: version ${version}.`)),
        el("p", {}, `A device at ${diff.from} downloads ${size(diff.cost.total ?? diff.cost.bytes)}: ${plural(diff.cost.files, "file")}, ${count(diff.cost.deltas)} of them as deltas.`),
        changes(app, channel, diff.from, diff.to)]);
    });
  }
  return {
    title: `Compare versions of ${app} ${channel}`,
    node: [
      crumbs(app, channel), el("h1", {}, "Compare"),
      card("", el("form", {
        id: "compare",
        submit: (event) => {
          event.preventDefault();
          const data = new FormData(event.target);
          location.hash = channelLink("compare", app, channel, `?from=${encodeURIComponent(data.get("from"))}&to=${encodeURIComponent(data.get("to"))}`);
        },
      }, field("from", "From", from), field("to", "To", to), el("button", {}, "Compare"),
      el("p", { id: "how", class: "quiet" }, `${forms} Without an offset it is in your zone; a minute is all of it, a day alone its first moment.`))),
      result,
    ],
  };
}

const crumbs = (app, channel) => el("p", { class: "crumbs" }, el("a", { href: "#/" }, "Overview"), " / ", el("a", { href: channelLink("channel", app, channel) }, `${app} ${channel}`));

const forms = "Write a version's number, or a time such as 2026-11-19 14:05, 2026-11-19 14:05:30, 2026-11-19 or 2026-11-19T14:05+08:00.";

/** A time in the reader's zone becomes one with its offset, a date alone its midnight there; a version stays as it is. */
function moment(text) {
  const words = text.trim();
  if (/^\d{1,9}$/.test(words)) return words;
  const found = /^(\d{4})-(\d\d)-(\d\d)(?:[ T](\d\d):(\d\d)(?::(\d\d)(\.\d{1,3})?)?(Z|[+-]\d\d:\d\d)?)?$/.exec(words);
  const date = `${found?.[1]}-${found?.[2]}-${found?.[3]}`;
  // No 31st of February, which becomes a day of March.
  const isDay = found && new Date(`${date}T00:00Z`).toJSON()?.startsWith(date);
  const time = new Date(isDay ? found[4] ? words.replace(" ", "T") : `${date}T00:00` : NaN);
  if (Number.isNaN(time.getTime()) || Number(found[4] ?? 0) > 23) throw new Error(`“${words}” is neither a version nor a time. ${forms}`);
  const end = found[4] && !found[7] ? wholeMinute(words.replace(" ", "T")) : time;
  // Nothing is known of times to come.
  return new Date(Math.min(end, Math.max(time, Date.now()))).toISOString();
}

/** The changes as a tree, asked for in pages; what isn't there yet is said. */
function changes(app, channel, from, to) {
  const path = channelPath(app, channel);
  const box = el("div", { class: "tree" });
  const note = el("span", { role: "status", class: "quiet" });
  const more = el("button", { type: "button", hidden: true }, "Load more");
  const filter = el("input", { type: "search", id: "filter-changes", autocomplete: "off", spellcheck: "false" });
  const content = el("div", { id: "content", "aria-live": "polite" }, el("p", { class: "quiet" }, "Choose a file to see what is different in it."));
  let files = [];
  let next = null;
  let asked = 0;
  // What the changes that are shown were filtered by.
  let words = "";

  async function load(isNew) {
    asked += 1;
    const mine = asked;
    if (isNew) words = filter.value;
    more.disabled = true;
    const after = isNew || next === null ? "" : `&after=${encodeURIComponent(next)}`;
    const diff = await get(`${path}/diff?from=${from}&to=${to}&limit=${page}&filter=${encodeURIComponent(words)}${after}`);
    if (mine !== asked) return;
    const some = [["+", "added"], ["~", "changed"], ["−", "removed"]].flatMap(([mark, kind]) => diff[kind].map((file) => ({ mark, kind, ...file })));
    files = isNew ? some : files.concat(some);
    next = diff.next ?? null;
    const total = diff.counts.added + diff.counts.changed + diff.counts.removed;
    more.hidden = next === null;
    more.disabled = false;
    note.textContent = total === 0 ? (words ? "No changed URL contains this." : "Nothing changed.")
      : `${count(files.length)} of ${plural(total, "change")} shown: +${count(diff.counts.added)} ~${count(diff.counts.changed)} −${count(diff.counts.removed)}${next === null ? "" : "; more below"}`;
    fill(box, draw(tree(files), 0, ""));
  }
  const failed = (error) => { more.disabled = false; note.textContent = `✖ ${error.message}`; };
  more.addEventListener("click", () => load(false).catch(failed));
  let timer = 0;
  filter.addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(() => load(true).catch(failed), 250); });

  function draw(folder, depth, name) {
    return [
      [...folder.folders].sort(([a], [b]) => (a < b ? -1 : 1)).map(([part, inner]) => {
        const id = `tree-${name}/${encodeURIComponent(part)}`;
        const node = el("details", { id }, el("summary", {}, `${part}/ `, el("span", { class: "quiet" }, `${plural(inner.files, "change")}, ${size(inner.bytes)}`)));
        // A large folder is drawn when it is opened.
        const open = depth < 3 && folder.folders.size === 1 || inner.files <= 50;
        const body = () => { if (node.children.length === 1) node.append(...draw(inner, depth + 1, `${name}/${encodeURIComponent(part)}`).flat(3).filter(Boolean)); };
        node.addEventListener("toggle", () => { if (node.open) body(); });
        if (open) { node.open = true; body(); }
        return node;
      }),
      folder.own.length ? el("ul", {}, folder.own.map((file) => el("li", {},
        el("span", { class: { added: "good", changed: "warn", removed: "bad" }[file.kind] }, `${file.mark} `, el("span", { class: "hidden" }, `${file.kind} `)),
        el("button", { type: "button", click: () => show(file) }, file.name || "(page)"), " ",
        el("span", { class: "quiet" }, file.was ? `${size(file.was.size)} → ${size(file.size)}` : size(file.size), file.delta ? `; delta ${size(file.delta)}` : "")))) : null,
    ];
  }

  async function show(file) {
    fill(content, el("p", { class: "quiet" }, "Loading …"));
    const { compareContents } = await import("./content.js");
    await part(content, () => compareContents(path, file, from, to));
    content.scrollIntoView({ block: "nearest" });
  }

  load(true).catch((error) => { note.textContent = error instanceof Refusal ? `✖ ${error.message}` : "✖ The changes can't be read."; });
  return [el("form", { role: "search", class: "inline", submit: (event) => event.preventDefault() }, el("label", { for: "filter-changes" }, "Filter"), filter, note),
    el("div", { class: "columns files" }, el("div", {}, box, more), content)];
}

/** Folders by the parts of URLs: host, then path. */
function tree(files) {
  const root = { folders: new Map(), own: [], files: 0, bytes: 0 };
  for (const file of files) {
    const cut = file.url.search(/[?]/);
    const address = cut < 0 ? file.url : file.url.slice(0, cut);
    const found = /^(\w+:\/\/[^/]*)\/(.*)$/s.exec(address);
    const parts = found ? [found[1], ...found[2].split("/")] : [address];
    const name = parts.pop() + (cut < 0 ? "" : file.url.slice(cut));
    let folder = root;
    const bytes = file.kind === "removed" ? 0 : file.size;
    for (const part of parts) {
      if (!folder.folders.has(part)) folder.folders.set(part, { folders: new Map(), own: [], files: 0, bytes: 0 });
      folder = folder.folders.get(part);
      folder.files += 1;
      folder.bytes += bytes;
    }
    folder.own.push({ ...file, name });
  }
  return root;
}
