import { channelLink, channelPath, get, Refusal } from "./api.js";
import { age, badge, card, count, el, fill, named, percent, plural, sampled, size, stats, svg, table, when } from "./dom.js";
import { figures, rate } from "./health.js";
import { copier } from "./command.js";
import { isFailing } from "./overview.js";
import { exactly, facts, hash, inWords, part, retire, wholeMinute } from "./parts.js";

/** Changes that are asked for at once. */
const page = 1000;
/** Older versions whose updates are worked out at once. */
const few = 6;

/** `#/release/APP/CHANNEL/VERSION` and `#/compare/APP/CHANNEL?from=A&to=B`; both with `file=` and `filter=`. */
export async function open(place) {
  return place.name === "release" ? release(place) : compare(place);
}

async function release({ names: [app, channel, version], query, overview: fleet, reload }) {
  const path = channelPath(app, channel);
  const info = await get(`${path}/releases/${encodeURIComponent(version)}`);
  const [log, adoption, status] = await Promise.all([get(`${path}/log?limit=${few}&before=${info.version}`), get(`${path}/adoption`).catch(() => null), get(path)]);
  const before = log.releases;
  const previous = before[0]?.version ?? "0";
  const costs = el("div", { id: "update-costs" });
  part(costs, () => updateCosts(app, channel, info.version, before, adoption));
  const link = (words, page, rest) => el("a", { class: "button", href: channelLink(page, app, channel, rest) }, words);
  const acts = el("div", { class: "row" }, link("Preview", "preview", `/${info.version}`), link("Failures", "failures", `?version=${info.version}`),
    link("Compare", "compare", `?from=${previous}&to=${info.version}`));
  if (Number(info.version) < Number(status.version)) {
    // The dialogs are loaded meanwhile.
    import("./acts.js").then(({ buttons, whyNot }) => {
      const back = buttons({ app, channel, status, reload, to: info.version, isFailing: isFailing({ app, channel }, fleet),
        fleet: fleet?.channels.find((one) => one.app === app && one.channel === channel) })[0].querySelector("#act-roll-back");
      if (back) acts.append(back, ...whyNot(back));
    }).catch(() => {});
  }
  return {
    title: `Version ${info.version} of ${app} ${channel}`,
    node: [
      crumbs(app, channel),
      el("div", { class: "head" }, el("div", {},
        el("h1", {}, `Version ${info.version} `, info.kind === "publish" ? null : badge(info.kind === "rollback" ? "warn" : "quiet", info.kind), standing(info.version, status)),
        info.message ? el("p", { class: "message said" }, info.message) : null,
        el("p", { class: "lead" }, "Released ", when(info.at), " by ", named(info.author))),
      acts),
      stats("release-figures", vitals(info, previous, adoption, info.version === status.version && isFailing({ app, channel }, fleet))),
      card(`What changed since version ${previous}`, changes(app, channel, previous, info.version, query, channelLink("release", app, channel, `/${info.version}`))),
      el("div", { class: "columns of-release" }, el("div", {}, card("What the update costs a device", costs)),
        el("div", {}, card("This release", facts([
          info.source && ["Content of", `${info.source.channel} ${info.source.version}${info.source.bundle ? `, bundle ${info.source.bundle}` : ""}`],
          info.breakGlass && ["Despite a freeze", `by ${info.breakGlass.frozenBy}: ${info.breakGlass.reason}`],
          ["Released", exactly(info.at)], ["By", named(info.author)],
          ["Content", `${plural(info.resources, "resource")}, ${size(info.bytes)}`],
          ["Digest", copied("digest", info.digest)],
          ["Receipt", info.receipt ? copied("receipt", info.receipt) : "none: this release came with a restore, or is older than the trail"],
        ])))),
    ],
  };
}

/** Whether devices get it. */
function standing(version, { version: live, rollout }) {
  if (rollout?.version === version) return badge("warn", "in a rollout");
  if (rollout?.full === version || version === live) return badge("good", "live");
  return badge("quiet", Number(version) < Number(live) ? `not live: superseded by version ${live}` : "not live");
}

/** A digest with a button that copies all of it. */
function copied(name, text) {
  const shown = hash(text);
  const { copy, said } = copier(shown, { class: "plain" });
  copy.append(el("span", { class: "hidden" }, ` the ${name}`));
  return el("div", { class: "copied" }, shown, copy, said);
}

/** What happened to files, beside how many they are: one kind of change needs no number again. */
function apart(counts) {
  const words = inWords(counts);
  const kind = words.split(/^[^a-z]+/)[1];
  return words.includes(", ") || !kind ? words : words.startsWith("1 ") ? kind : `all ${kind}`;
}

/** What one asks first of a release. `isAlarm`: its channel has the problem of failing. */
function vitals(info, previous, adoption, isAlarm) {
  const polls = (span) => span.versions.find((one) => one.version === info.version)?.polls ?? 0;
  const share = (span) => percent(polls(span), span.polls);
  const reported = (version) => adoption?.reports?.find((one) => one.version === version);
  const [mine, older] = [info.version, previous].map((one) => figures(reported(one)));
  return [
    { name: "Files", value: count(info.added + info.changed + info.removed), notes: [el("span", { id: "in-words" }, apart(info)), `${size(info.newBytes)} new`] },
    { name: previous === "0" ? "First install" : `Update from ${previous}`, value: info.cost ? size(info.cost.total ?? info.cost.bytes) : "—",
      notes: info.cost ? [`in ${plural(info.cost.requests ?? info.cost.files, "request")}`, info.cost.plainBytes ? `${size(info.cost.plainBytes)} without deltas` : null] : [] },
    { name: "Devices on it", value: adoption?.hour.polls ? share(adoption.hour) : "—", kind: adoption?.hour.polls ? "" : "none",
      notes: [adoption?.hour.polls ? `of ${plural(adoption.hour.polls, "poll")}, this hour and the last` : "no polls yet", sampled(adoption?.hour.sample),
        adoption?.week.polls ? `${share(adoption.day)} in 24 hours, ${share(adoption.week)} in 7 days` : null] },
    { name: "Failed pages per 1,000", value: rate(mine.perThousand), kind: mine.perThousand === null ? "none" : isAlarm ? "bad" : "",
      notes: [older.perThousand === null ? null : `${rate(older.perThousand)} on version ${previous}`, mine.perThousand === null ? "nothing reported" : `of ${plural(mine.openings, "opening")}`] },
  ];
}

/** A share as a bar and a number. */
const bar = (part, all) => [svg("svg", { class: "bar", viewBox: "0 0 100 6", preserveAspectRatio: "none", "aria-hidden": "true" },
  svg("rect", { width: 100, height: 6 }), svg("rect", { width: all ? (part * 100) / all : 0, height: 6 })), percent(part, all)];

/** What the update costs devices, by the version that they are on: the versions before, and older ones that still poll. */
async function updateCosts(app, channel, version, before, adoption) {
  const path = channelPath(app, channel);
  const polls = new Map((adoption?.hour.versions ?? []).map((one) => [one.version, one.polls]));
  const all = adoption?.hour.polls ?? 0;
  const inUse = [...polls.keys()].filter((one) => /^[1-9]\d{0,8}$/.test(one) && Number(one) < Number(version) && polls.get(one) * 100 >= all);
  const rows = new Map();
  let oldest = null;
  async function add(versions) {
    for (const from of versions) {
      if (rows.has(from)) continue;
      try {
        rows.set(from, (await get(`${path}/diff?from=${from}&to=${version}&limit=0`)).cost);
      } catch (error) {
        // It polls, and isn't kept.
        if (!(error instanceof Refusal && error.status === 404)) throw error;
      }
    }
  }
  function drawn(listed) {
    oldest = listed.at(-1)?.version ?? oldest;
    const largest = Math.max(1, ...[...rows.values()].map((cost) => cost.total ?? cost.bytes));
    const sorted = [...rows].sort(([a], [b]) => Number(b) - Number(a));
    const older = listed.length < few || oldest === "1" ? null : el("button", { type: "button" }, "From older versions");
    const failed = el("p", { class: "bad", role: "alert" });
    const box = document.getElementById("update-costs");
    older?.addEventListener("click", async () => {
      if (older.getAttribute("aria-disabled")) return;
      older.setAttribute("aria-disabled", "true");
      try {
        const next = (await get(`${path}/log?limit=${few}&before=${oldest}`)).releases;
        await add(next.map((one) => one.version));
        fill(box, drawn(next));
      } catch (error) {
        older.removeAttribute("aria-disabled");
        fill(failed, `✖ ${error.message}`);
      }
    });
    const known = sorted.filter(([from]) => polls.get(from));
    const shares = known.reduce((sum, [from]) => sum + polls.get(from), 0);
    if (sorted.length === 1 && !older) {
      const [[from, cost]] = sorted;
      return [el("p", {}, "From ", el("a", { href: channelLink("compare", app, channel, `?from=${from}&to=${version}`) }, `version ${from}`),
        all ? `, which ${percent(polls.get(from) ?? 0, all)} of polls are on, ` : " ", "a device downloads ", el("b", {}, size(cost.total ?? cost.bytes)), ` in ${plural(cost.files, "file")}, ${cost.deltas === cost.files ? cost.files === 1 ? "as a delta" : "all as deltas" : `${count(cost.deltas)} as ${cost.deltas === 1 ? "a delta" : "deltas"}`}.`),
      el("p", { class: "quiet" }, `Without deltas it would be ${size(cost.plainBytes)}.${cost.pack ? ` As one pack: ${size(cost.pack)}.` : ""}`)];
    }
    const mean = known.reduce((sum, [from, cost]) => sum + polls.get(from) * (cost.total ?? cost.bytes), 0) / (shares || 1);
    return [
      shares ? el("p", { class: "quiet" }, `Devices that aren't on it download ${size(Math.round(mean))} on average, by what they poll with.`) : null,
      table("The update from older versions", [["From version"], ["Of polls", true], ["Over the wire", true], ["Files", true], ["As deltas", true], ["Without deltas", true], ["Pack", true]],
        sorted.map(([from, cost]) => [el("a", { href: channelLink("compare", app, channel, `?from=${from}&to=${version}`), "aria-label": `From version ${from}` }, from),
          all ? bar(polls.get(from) ?? 0, all) : "—", [svg("svg", { class: "bar wire", viewBox: "0 0 100 6", preserveAspectRatio: "none", "aria-hidden": "true" },
            svg("rect", { width: 100, height: 6 }), svg("rect", { width: ((cost.total ?? cost.bytes) * 100) / largest, height: 6 })), size(cost.total ?? cost.bytes)],
          count(cost.files), count(cost.deltas), size(cost.plainBytes), cost.pack ? size(cost.pack) : "—"]),
        "No older version is kept."), older, failed];
  }
  await add([...before.map((one) => one.version), ...inUse]);
  return drawn(before);
}

/** Versions that can be chosen from; others are named. */
const offered = 50;

async function compare({ names: [app, channel], query }) {
  const path = channelPath(app, channel);
  const { releases } = await get(`${path}/log?limit=${offered}`);
  // Without two sides, what the newest release changed.
  const from = query.get("from") ?? releases[1]?.version ?? "";
  const to = query.get("to") ?? releases[0]?.version ?? "";
  const result = el("div", { class: "parts" });
  const summary = el("div", { class: "summed" });
  const help = el("p", { id: "how", class: "quiet small" }, `${forms} Without an offset it is in your zone; a minute is all of it, a day alone its first moment.`);
  const form = el("form", { id: "compare", class: "inline", submit: (event) => {
    event.preventDefault();
    const data = new FormData(form);
    if (data.get("from").trim() && data.get("to").trim()) {
      location.hash = channelLink("compare", app, channel, `?from=${encodeURIComponent(data.get("from"))}&to=${encodeURIComponent(data.get("to"))}`);
    }
  } });
  /** A list of versions, and a field for what it hasn't: an older version, or a time. */
  const side = (id, words, value) => {
    const isListed = releases.some((one) => one.version === value);
    const field = el("input", { id, name: id, value, autocomplete: "off", spellcheck: "false", "aria-label": `${words}: a version or a time`, "aria-describedby": "how", hidden: isListed });
    const chosen = el("select", { id: `${id}-version`, change: () => {
      field.hidden = chosen.value !== "";
      field.value = chosen.value;
      tellHow();
      if (chosen.value) form.requestSubmit();
      else field.focus();
    } }, releases.map((one) => el("option", { value: one.version, selected: one.version === value }, listedAs(one))), el("option", { value: "", selected: !isListed }, "A time, or another version …"));
    return el("div", { class: "side" }, el("label", { for: `${id}-version` }, words), chosen, field);
  };
  const swap = el("button", { type: "button", id: "swap", title: "Swap the two", "aria-label": "Swap the two", disabled: !from || !to,
    click: () => { location.hash = channelLink("compare", app, channel, `?from=${encodeURIComponent(to)}&to=${encodeURIComponent(from)}`); } }, "⇄");
  form.append(side("from", "From", from), swap, side("to", "To", to), el("button", { id: "go" }, "Compare"), help);
  const fields = () => [...form.querySelectorAll("input")];
  const go = form.querySelector("#go");
  /** The words on how to write a time are there where one is written; a chosen version needs no button. */
  const tellHow = () => { help.hidden = fields().every((one) => one.hidden); go.hidden = help.hidden; };
  tellHow();
  if (from && to) {
    await part(result, async () => {
      const [first, second] = [moment(from), moment(to)];
      const diff = await get(`${path}/diff?from=${encodeURIComponent(first)}&to=${encodeURIComponent(second)}&limit=0`);
      const [low, high] = [diff.from, diff.to].map(Number).sort((a, b) => a - b);
      const newer = releases.some((one) => Number(one.version) === high) ? releases : (await get(`${path}/log?limit=${offered}&before=${high + 1}`)).releases;
      const between = newer.filter((one) => Number(one.version) > low && Number(one.version) <= high);
      const isBack = Number(diff.from) > Number(diff.to);
      const all = high - low;
      const authors = [...new Set(between.map((one) => one.author))];
      fill(summary, el("p", {}, el("b", { class: "number" }, count(diff.counts.added + diff.counts.changed + diff.counts.removed)), " files, ", el("span", { id: "in-words" }, apart(diff.counts)), el("span", { class: "quiet" }, " · "),
        "update of ", el("b", {}, size(diff.cost.total ?? diff.cost.bytes)), ` in ${plural(diff.cost.requests ?? diff.cost.files, "request")}`,
        diff.cost.plainBytes ? el("span", { class: "quiet" }, `, ${size(diff.cost.plainBytes)} without deltas`) : null),
      between.length ? el("details", { id: "between" }, el("summary", {}, el("b", {}, plural(all, "release")), isBack ? " taken back" : "", ` by ${authors.length > 3 ? `${count(authors.length)} people` : authors.join(" and ")}`),
        el("ol", { class: "commits" }, between.slice(0, 8).map((one) => el("li", {},
          el("a", { href: channelLink("release", app, channel, `/${one.version}`), "aria-label": `Version ${one.version}` }, one.version), el("span", {}, one.message?.slice(0, 160) || el("span", { class: "quiet" }, one.kind)), el("span", { class: "quiet" }, named(one.author)), el("span", { class: "quiet" }, when(one.at)))),
        all > Math.min(8, between.length) ? el("li", { class: "quiet" }, `and ${plural(all - Math.min(8, between.length), "more", "more")}`) : null)) : null);
      return [
        [["from", from, first, diff.from], ["to", to, second, diff.to]].filter(([, text, at]) => at !== text.trim()).map(([words, , at, version]) =>
          el("p", { class: "quiet small" }, `“${words}”: what was live at `, exactly(at), `: version ${version}.`)),
        card(`Version ${diff.from} → ${diff.to}`, changes(app, channel, diff.from, diff.to, query, channelLink("compare", app, channel, `?from=${encodeURIComponent(from)}&to=${encodeURIComponent(to)}`)))];
    });
  }
  return {
    title: `Compare versions of ${app} ${channel}`,
    node: [crumbs(app, channel), el("h1", {}, "Compare versions"), card("", [form, summary]), result],
  };
}

/** A release as an option of a list: what it is, by whom, and how old. */
const listedAs = (one) => [one.version, one.message?.slice(0, 60) || one.kind, `${one.author}, ${age(one.at)}`].join(" · ");

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

const kinds = {
  added: { mark: "+", kind: "good" }, renamed: { mark: "R", kind: "warn", words: "renamed" }, changed: { mark: "~", kind: "warn" }, removed: { mark: "−", kind: "bad" },
};

/** The changes as a tree, asked for in pages; what isn't there yet is said. The file and the filter are in the page's address, too. */
function changes(app, channel, from, to, query, address) {
  const path = channelPath(app, channel);
  const box = el("div", { class: "tree" });
  const note = el("span", { role: "status", class: "quiet" });
  const more = el("button", { type: "button", hidden: true }, "Load more");
  const filter = el("input", { type: "search", id: "filter-changes", autocomplete: "off", spellcheck: "false", placeholder: "part of a URL" });
  // Who listens is taken to the file that they chose, and goes back by Escape.
  const content = el("div", { id: "content", keydown: (event) => { if (event.key === "Escape") box.querySelector("[aria-current]")?.focus(); } }, el("p", { class: "quiet" }, "Loading …"));
  let files = [];
  let next = null;
  let asked = 0;
  // What the changes that are shown were filtered by.
  let words = "";
  let shown = query.get("file");
  filter.value = query.get("filter") ?? "";

  /** A link to what is shown: to be sent to somebody, or kept. It makes no step back. */
  function keep() {
    // Somebody went on meanwhile: the address is another page's.
    if (!box.isConnected) return;
    const state = [shown && `file=${encodeURIComponent(shown)}`, filter.value && `filter=${encodeURIComponent(filter.value)}`].filter(Boolean).join("&");
    history.replaceState(null, "", state ? `${address}${address.includes("?") ? "&" : "?"}${state}` : address);
  }

  /** A renamed file is listed once, by the URL that it has now. */
  const listed = (diff) => ["added", "changed", "removed"].flatMap((kind) => diff[kind].filter((file) => !file.renamedTo)
    .map((file) => ({ ...file, kind: file.renamedFrom ? "renamed" : kind })));

  async function load(isNew) {
    asked += 1;
    const mine = asked;
    if (isNew) words = filter.value;
    more.setAttribute("aria-disabled", "true");
    const after = isNew || next === null ? "" : `&after=${encodeURIComponent(next)}`;
    const diff = await get(`${path}/diff?from=${from}&to=${to}&limit=${page}&filter=${encodeURIComponent(words)}${after}`);
    if (mine !== asked) return;
    files = isNew ? listed(diff) : files.concat(listed(diff));
    next = diff.next ?? null;
    const renamed = diff.renamed ?? 0;
    const sums = { added: diff.counts.added - renamed, renamed, changed: diff.counts.changed, removed: diff.counts.removed - renamed };
    const total = sums.added + sums.renamed + sums.changed + sums.removed;
    more.removeAttribute("aria-disabled");
    if (next === null) retire(more, filter);
    else more.hidden = false;
    const told = [["added", "added"], ["renamed", "renamed and changed"], ["changed", "changed"], ["removed", "removed"]].filter(([kind]) => sums[kind]);
    fill(note, total === 0 ? (words ? "No changed URL contains this." : "Nothing changed.")
      : [next === null ? told.length > 1 && `${plural(total, "change")}: ` : `${count(files.length)} of ${plural(total, "change")} shown: `,
        told.map(([kind, text], index) => [index ? ", " : "", el("span", { class: kinds[kind].kind }, el("span", { "aria-hidden": "true" }, `${kinds[kind].mark}${kind === "renamed" ? "\u00a0" : ""}`), count(sums[kind])), ` ${text}`]), next === null ? "" : "; more below"]);
    if (!words) figure(diff);
    fill(box, draw(tree(files), 0, ""));
    if (!shown) fill(content, largest());
  }

  /** While no file is chosen: those whose size changed most. */
  function largest() {
    const former = (file) => (file.was ?? file.renamedFrom)?.size ?? 0;
    const now = (file) => (file.kind === "removed" ? 0 : file.size);
    const some = files.map((file) => ({ file, change: Math.abs(now(file) - former(file)) || file.kind === "removed" && file.size })).filter((one) => one.change)
      .sort((a, b) => b.change - a.change).slice(0, 8);
    if (!some.length) return el("p", { class: "quiet empty" }, files.length ? "Choose a file to see what is different in it." : "No file.");
    const most = Math.max(...some.map(({ file }) => Math.max(former(file), file.size)));
    const line = (bytes, kind) => svg("rect", { width: (bytes * 100) / most, height: 5, y: kind === "old" ? 0 : 7, class: kind });
    return [el("h3", {}, next === null ? "What changed most in size" : "What changed most in size, of the files that are shown"),
      el("ol", { class: "largest" }, some.map(({ file }) => {
        const before = file.kind === "removed" ? file.size : former(file);
        return el("li", {}, el("button", { type: "button", title: file.url, click: () => show(file) }, file.url.split("/").at(-1) || file.url),
          svg("svg", { viewBox: "0 0 100 12", preserveAspectRatio: "none", "aria-hidden": "true" }, line(before, "old"), line(now(file), "new")),
          el("span", {}, before ? size(before) : "new", " → ", file.kind === "removed" ? "gone" : size(file.size)));
      })), el("p", { class: "quiet small" }, "Choose a file to see what is different in it.")];
  }
  /** The number of files at the top of the page counts a renamed file once, too. */
  function figure(diff) {
    const node = document.getElementById("in-words");
    if (!node || !diff.renamed) return;
    const { added, changed, removed } = diff.counts;
    node.textContent = apart({ added: added - diff.renamed, renamed: diff.renamed, changed, removed: removed - diff.renamed });
    node.closest("div").querySelector(".number").textContent = count(added + changed + removed - diff.renamed);
  }

  const failed = (error) => { more.removeAttribute("aria-disabled"); fill(note, `✖ ${error.message}`); };
  more.addEventListener("click", () => { if (!more.ariaDisabled) load(false).catch(failed); });
  let timer = 0;
  filter.addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(() => { keep(); load(true).catch(failed); }, 250); });

  function draw(folder, depth, name) {
    return [
      [...folder.folders].sort(([a], [b]) => (a < b ? -1 : 1)).map(([part, inner]) => {
        const id = `tree-${name}/${encodeURIComponent(part)}`;
        // A folder with nothing in it but another one is a line with that.
        let words = part;
        while (inner.folders.size === 1 && !inner.own.length) {
          const [[next, only]] = inner.folders;
          [words, inner] = [`${words}/${next}`, only];
        }
        const node = el("details", { id }, el("summary", {}, el("span", { class: "folder" }, `${words}/`), el("span", { class: "quiet" }, `${plural(inner.files, "change")}, ${size(inner.bytes)}`)));
        // A large folder is drawn when it is opened.
        const open = depth < 3 && folder.folders.size === 1 || inner.files <= 50 || shown?.startsWith(inner.path);
        const body = () => { if (node.children.length === 1) node.append(...draw(inner, depth + 1, `${name}/${encodeURIComponent(part)}`).flat(3).filter(Boolean)); };
        node.addEventListener("toggle", () => { if (node.open) body(); });
        if (open) { node.open = true; body(); }
        return node;
      }),
      folder.own.length ? el("ul", {}, folder.own.sort((a, b) => b.size - a.size).map((file) => {
        const { mark, kind } = kinds[file.kind];
        const former = file.was ?? file.renamedFrom;
        const change = former && former.size !== file.size ? `${file.size > former.size ? "+" : "−"}${size(Math.abs(file.size - former.size))}` : former ? "±0" : size(file.size);
        return el("li", {}, el("span", { class: `mark-of ${kind}` }, el("span", { "aria-hidden": "true" }, mark), el("span", { class: "hidden" }, `${file.kind} `)),
          el("button", { type: "button", click: () => show(file), "data-url": file.url, title: file.url, "aria-current": file.url === shown ? "true" : null }, file.name || "(page)"),
          el("span", { class: "quiet", title: former ? `${size(former.size)} → ${size(file.size)}${file.delta ? `; delta ${size(file.delta)}` : ""}` : file.delta ? `delta ${size(file.delta)}` : null }, change));
      })) : null,
    ];
  }

  /** New names of renamed files, by the old ones, without their folders. */
  function renames() {
    const last = (url) => url.split(/[?]/)[0].split("/").at(-1);
    return new Map(files.filter((file) => file.renamedFrom).map((file) => [last(file.renamedFrom.url), last(file.url)]).filter(([old, now]) => old && now && old !== now));
  }

  async function show(file, isChosen = true) {
    shown = file.url;
    keep();
    for (const one of box.querySelectorAll("button[data-url]")) {
      if (one.dataset.url === shown) one.setAttribute("aria-current", "true");
      else one.removeAttribute("aria-current");
    }
    content.replaceChildren(el("p", { class: "quiet" }, "Loading …"));
    const { compareContents } = await import("./content.js");
    await part(content, async () => { const made = await compareContents(path, file, from, to, renames()); return file.url === shown ? made : [...content.childNodes]; });
    content.scrollIntoView({ block: "nearest" });
    if (!isChosen || file.url !== shown) return;
    const heading = content.querySelector("h3");
    heading?.setAttribute("tabindex", "-1");
    (heading ?? box.querySelector("[aria-current]"))?.focus({ preventScroll: true });
  }

  async function begin() {
    await load(true);
    if (words) get(`${path}/diff?from=${from}&to=${to}&limit=1`).then(figure).catch(() => {});
    // One alone needs no choice.
    if (!shown && files.length === 1 && next === null && !words) return show(files[0]);
    if (!shown) return;
    const file = files.find((one) => one.url === shown)
      ?? listed(await get(`${path}/diff?from=${from}&to=${to}&limit=${page}&filter=${encodeURIComponent(shown)}`)).find((one) => one.url === shown);
    if (file) await show(file, false);
    else fill(content, el("p", { class: "quiet" }, "The file of this address isn't different between the two versions."));
  }

  begin().catch((error) => { fill(note, error instanceof Refusal ? `✖ ${error.message}` : "✖ The changes can't be read."); });
  return [el("form", { role: "search", class: "inline", submit: (event) => event.preventDefault() }, el("label", { for: "filter-changes" }, "Filter"), filter, note),
    el("div", { class: "columns files" }, el("div", {}, box, more), content)];
}

/** Folders by the parts of URLs: host, then path. */
function tree(files) {
  const root = { folders: new Map(), own: [], files: 0, bytes: 0, path: "" };
  for (const file of files) {
    const cut = file.url.search(/[?]/);
    const address = cut < 0 ? file.url : file.url.slice(0, cut);
    const found = /^(\w+:\/\/[^/]*)\/(.*)$/s.exec(address);
    const parts = found ? [found[1], ...found[2].split("/")] : [address];
    const name = parts.pop() + (cut < 0 ? "" : file.url.slice(cut));
    let folder = root;
    const bytes = file.kind === "removed" ? 0 : file.size;
    for (const part of parts) {
      if (!folder.folders.has(part)) folder.folders.set(part, { folders: new Map(), own: [], files: 0, bytes: 0, path: `${folder.path}${part}/` });
      folder = folder.folders.get(part);
      folder.files += 1;
      folder.bytes += bytes;
    }
    folder.own.push({ ...file, name });
  }
  return root;
}
