import { channelLink, get, hindrance, long } from "./api.js";
import { badge, card, count, el, fill, named, plural, svg, table, utcText } from "./dom.js";
import { exactly, facts, hash, retire, wholeMinute } from "./parts.js";
import { shareText } from "./rollout.js";

const page = 50;
/** Kinds of acts, by the first part of their names. */
const kinds = [["publish", "Publish"], ["promote", "Promote"], ["rollback", "Roll back"], ["rollout", "Rollouts"], ["policy", "Policy, kill switch"], ["prefetch", "Prefetch"], ["channel", "Channels, freezes"],
  ["schedule", "Scheduled acts"], ["approval", "Approvals"], ["problem", "Problems"], ["token", "Tokens"], ["session", "Sessions"], ["mirror", "Mirrors"], ["webhook", "Webhooks"], ["gc", "Garbage collection"], ["trust", "Trust"]];
/** A row's time, below its day, in the reader's zone, which the column's name tells. */
const [clock, toTheSecond] = [{}, { second: "2-digit" }].map((more) => new Intl.DateTimeFormat(undefined, { hour: "numeric", minute: "2-digit", ...more }));
const [near, ofThisYear, ofAnother] = [{}, { weekday: "long" }, { weekday: "long", year: "numeric" }].map((more) => new Intl.DateTimeFormat(undefined, { month: "short", day: "numeric", ...more }));
const zone = new Intl.DateTimeFormat(undefined, { timeZoneName: "short" }).formatToParts().find(({ type }) => type === "timeZoneName")?.value ?? "";
function day(date) {
  const [now, then] = [new Date(), new Date(date)].map((one) => new Date(one.getFullYear(), one.getMonth(), one.getDate()));
  const words = (then.getFullYear() === now.getFullYear() ? ofThisYear : ofAnother).format(then);
  return { 0: `Today, ${near.format(then)}`, 1: `Yesterday, ${near.format(then)}` }[Math.round((now - then) / 86_400_000)] ?? words;
}

/** Pictures of acts, by their sort: what changes what devices get, what holds it back, who may do something, what waits, and others. */
const pictures = {
  release: "M8 13V3M4 7l4-4 4 4", back: "M6 3 2 7l4 4M2 7h8a4 4 0 0 1 0 7H7", guard: "M8 2l5 2v4c0 3-2 5-5 6-3-1-5-3-5-6V4z",
  key: "M8 8a3 3 0 1 1-6 0 3 3 0 1 1 6 0h6v3", clock: "M14 8a6 6 0 1 1-12 0 6 6 0 1 1 12 0M8 5v3l2 2", other: "M3 4h10M3 8h10M3 12h6",
};
const sorts = [["release", /^(publish|promote|rollout\.(create|set|complete|resume))/], ["back", /^(rollback|unpublish|rollout)/], ["guard", /^(policy|channel\.(freeze|thaw|protect)|problem|pin|unpin)/],
  ["key", /^(token|session|identity|trust)/], ["clock", /^(schedule|approval)/]];
const picture = (act) => {
  const sort = sorts.find(([, pattern]) => pattern.test(act))?.[0] ?? "other";
  return svg("svg", { class: `sort ${sort}`, viewBox: "0 0 16 16", "aria-hidden": "true" }, svg("path", { d: pictures[sort] }));
};

export async function open({ query, overview: fleet }) {
  const hindered = hindrance("admin", "", "", true);
  if (hindered) return { title: "Audit", node: [el("h1", {}, "Audit trail"), card("", el("p", { class: "quiet" }, `○ ${hindered}`))] };
  const box = el("div", { id: "rows" });
  const verdict = el("div", { role: "status" });
  const more = el("button", { type: "button", id: "older-rows" }, "Older rows");
  const note = el("p", { class: "lead", role: "status" });
  let rows = [];
  let asked = 0;
  let isAsking = false;
  // As the rows that are shown were asked for, whatever is in the form by now.
  let filter = "";
  const field = (name, words, node) => el("div", { class: "field" }, el("label", { for: `by-${name}` }, words), node);
  const people = el("datalist", { id: "people" });
  const acts = el("select", { id: "by-act", name: "act" });
  const [app, channel] = [query.get("app") ?? "", query.get("channel") ?? ""];
  const places = new Map((fleet?.channels ?? []).flatMap((one) => [[JSON.stringify([one.app, ""]), `${one.app}, all channels`], [JSON.stringify([one.app, one.channel]), `${one.app} ${one.channel}`]]));
  // Also a channel that is gone, by a link.
  if (app || channel) places.set(JSON.stringify([app, channel]), `${app || "every app"} ${channel || ", all channels"}`);
  const where = el("select", { id: "by-where" }, el("option", { value: "" }, "Everywhere"),
    [...places].sort(([, a], [, b]) => (a < b ? -1 : 1)).map(([value, words]) => el("option", { value, selected: Boolean(app || channel) && value === JSON.stringify([app, channel]) }, words)));
  const [since, until] = [["since", "From"], ["until", "Until"]].map(([name, words]) => field(name, words, el("input", { id: `by-${name}`, name, type: "datetime-local", value: query.get(name) ?? "" })));
  // Two fields that are seldom needed.
  const between = el("details", { class: "between", id: "between" }, el("summary", {}, "Between …"), el("div", {}, since, until));
  const span = el("div", { class: "field" }, el("span", { class: "label" }, "When"), between);
  between.open = query.has("since") || query.has("until");
  const clear = el("button", { type: "button", id: "clear", class: "plain", click: () => { for (const one of form.elements) one.value = ""; load(true); } }, "Clear");
  const form = el("form", { role: "search", class: "filters folded", id: "filters", submit: (event) => { event.preventDefault(); load(true); }, change: () => load(true) },
    field("author", "Who", el("input", { id: "by-author", name: "author", value: query.get("author") ?? "", list: "people", placeholder: "Anybody", autocomplete: "off", spellcheck: "false" })), people,
    field("act", "Action", acts), field("where", "Where", where), span, clear);
  const unfold = el("button", { type: "button", id: "unfold", "aria-expanded": "false", "aria-controls": "filters", click: () => {
    unfold.setAttribute("aria-expanded", String(!form.classList.toggle("folded")));
  } }, "Filters");

  /** Names and acts that are known, as choices. */
  function offer(some) {
    for (const name of some.map((row) => row.author)) known.people.add(name);
    for (const row of some) known.acts.add(row.act);
    fill(people, [...known.people].sort().map((one) => el("option", { value: one })));
    const chosen = acts.options.length ? acts.value : query.get("act") ?? "";
    if (chosen && !kinds.some(([kind]) => kind === chosen)) known.acts.add(chosen);
    const option = ([value, words]) => el("option", { value, selected: value === chosen }, words);
    fill(acts, option(["", "All"]), el("optgroup", { label: "Kinds" }, kinds.map(option)), el("optgroup", { label: "One act" }, [...known.acts].sort().map((one) => option([one, one]))));
  }
  const known = { people: new Set(), acts: new Set() };

  /** What the form says, as the API has it, and as the page's address has it. */
  function conditions() {
    const [inApp = "", inChannel = ""] = where.value ? JSON.parse(where.value) : [];
    const all = [...new FormData(form), ["app", inApp], ["channel", inChannel]].map(([name, value]) => [name, value.trim()]).filter(([, value]) => value);
    clear.hidden = !all.length;
    unfold.textContent = all.length ? `Filters (${all.length})` : "Filters";
    between.classList.toggle("set", all.some(([name]) => name === "since" || name === "until"));
    const written = (some) => some.map(([name, value]) => `${name}=${encodeURIComponent(value)}`).join("&");
    const asked = all.map(([name, value]) => [name, name === "since" ? new Date(value).toISOString() : name === "until" ? wholeMinute(value).toISOString() : value]);
    return { path: `audit?${written([["limit", page], ...asked])}`, link: all.length ? `#/audit?${written(all)}` : "#/audit" };
  }

  function draw(isAll) {
    note.textContent = isAll ? plural(rows.length, "row") : `The newest ${count(rows.length)} rows; older ones are below`;
    fill(box, table("Audit trail, newest first", [[`Time, ${zone}`], ["Who"], ["Action"], ["Where"], ["What", false, true], ["Row", true]], rows.map((row) => [
      el("time", { datetime: row.at, title: utcText(new Date(row.at)) }, toTheSecond.format(new Date(row.at)), el("span", { class: "hidden" }, `, ${utcText(new Date(row.at))}`)), named(row.author), [picture(row.act), el("code", {}, row.act)],
      row.app ? row.channel ? el("a", { href: channelLink("channel", row.app, row.channel) }, `${row.app} ${row.channel}`) : row.app : "",
      el("details", { id: `row-${row.id}` }, el("summary", {}, summary(row), el("span", { class: "hidden" }, `, row ${row.id}`)), facts([["At", exactly(row.at)], row.address && ["From", row.address],
        ["Asked", written(row.parameters)], ["Result", written(row.result)], ["Hash", hash(row.hash)]])), count(row.id),
    ]), "No rows match."));
    // Rows of one day stand below its name.
    let last = "";
    const told = new Set();
    [...box.querySelectorAll("tbody > tr")].forEach((line, index) => {
      const name = day(rows[index].at);
      // The rows are in the order in which they were written, whatever the origin's clock said.
      if (name !== last) line.before(el("tr", { class: "day" }, el("th", { colspan: 6, scope: "rowgroup" }, name, told.has(name) ? el("span", { class: "quiet" }, " again: the origin's clock was set") : null)));
      told.add(last = name);
      // The triangle there is for who points; others have the summary.
      const details = line.querySelector("details");
      line.firstChild.addEventListener("click", () => { details.open = !details.open; });
    });
    if (isAll) retire(more, box.querySelector("tr:last-child summary"));
    else more.hidden = false;
  }

  async function load(isNew) {
    asked += 1;
    const mine = asked;
    isAsking = true;
    more.setAttribute("aria-disabled", "true");
    try {
      const { path, link } = conditions();
      const conditioned = isNew ? path : filter;
      const found = (await get(isNew ? conditioned : `${conditioned}&before=${rows.at(-1).id}`)).rows;
      if (mine !== asked) return;
      rows = isNew ? found : rows.concat(found);
      // Somebody may have gone on meanwhile: the address is another page's.
      if (isNew && box.isConnected) history.replaceState(null, "", link);
      offer(found);
      filter = shown.poll = conditioned;
      draw(found.length < page);
    } catch (error) {
      if (mine === asked) fill(note, `✖ ${error.message}`);
    } finally {
      if (mine === asked) {
        isAsking = false;
        more.removeAttribute("aria-disabled");
      }
    }
  }
  more.addEventListener("click", () => { if (!isAsking) load(false); });

  const verify = el("button", {
    type: "button", id: "verify", click: async () => {
      verdict.textContent = "Verifying the whole trail …";
      try {
        const found = await get("audit/verify", long);
        fill(verdict, found.broken ? badge("bad", "broken") : badge("good", "whole"),
          found.broken ? `${found.broken}. Rows 1 to ${count(found.rows)} are right.` : `${count(found.rows)} rows, each follows the one before it. The newest: `, found.broken ? null : el("code", {}, found.head));
      } catch (error) { fill(verdict, `✖ ${error.message}`); }
    },
  }, "Verify the trail");
  const shown = {
    title: "Audit",
    node: [el("div", { class: "head" }, el("div", {}, el("h1", {}, "Audit trail"), note), el("div", { class: "row" }, unfold, verify)), verdict, card("", [form, box, more], null, true)],
    poll: conditions().path,
    update(document) {
      // Somebody who went on to older rows is not thrown back, nor who is about to.
      if (isAsking || rows.length > page || document.rows[0]?.id === rows[0]?.id) return;
      rows = document.rows;
      draw(rows.length < page);
    },
  };
  offer([]);
  get("tokens").then(({ tokens }) => { for (const one of tokens) known.people.add(one.name); offer([]); }).catch(() => {});
  await load(true);
  return shown;
}

/** What was asked, or what came of it, one member a line. */
function written(text) {
  try {
    const document = JSON.parse(text);
    return Object.keys(document).length ? el("pre", { tabindex: 0 }, JSON.stringify(document, null, 2)) : "nothing";
  } catch { return el("code", {}, text); }
}

/** What an act was about, and why: "version 3 from online: New basket". */
function summary(row) {
  const [asked, made] = [row.parameters, row.result].map((text) => { try { return JSON.parse(text) ?? {}; } catch { return {}; } });
  const text = (value) => (typeof value === "string" && value ? value : null);
  const isDocument = /^(policy|prefetch)/.test(row.act);
  const version = text(made.version) ?? text(asked.version);
  const bypass = made.changes?.bypass ?? {};
  const number = (value, word) => (Number.isInteger(value) ? plural(value, word) : null);
  const share = made.is?.share;
  const to = (at) => (text(at) && !Number.isNaN(Date.parse(at)) ? `${near.format(new Date(at))}, ${clock.format(new Date(at))}` : null);
  const of = {
    __proto__: null,
    "token.create": () => text(asked.name) && `token of ${asked.name}, ${text(asked.scope) ? `scope ${asked.scope}` : "limited"}`,
    "session.create": () => text(asked.name) && `signed in as ${asked.name}${text(asked.sort) ? `: ${asked.sort.split(", ").reverse().join(", ")}` : ""}`,
    "channel.create": () => text(asked.publicURL) && `downloads from ${asked.publicURL}`,
    "channel.protect": () => Number.isInteger(asked.approvals) && (asked.approvals ? `needs ${plural(asked.approvals, "approval")}` : "needs no approval"),
    "channel.freeze": () => (to(asked.from) || to(asked.to)) && [to(asked.from) && `from ${to(asked.from)}`, to(asked.to) && `until ${to(asked.to)}`].filter(Boolean).join(" "),
    "mirror.register": () => text(asked.name) && `mirror ${asked.name}`,
    "rollout.set": () => version && Number.isInteger(share) && `version ${version} to ${shareText(share)}`,
  }[row.act];
  const about = of?.() || ((text(asked.summary) ?? text(made.summary))?.replace(/^rollout set of version (\S+) to /, "roll out version $1 to ") ?? [text(asked.code), number(asked.approvals, "approval"), number(asked.maps, "source map"), text(asked.name) && `“${asked.name}”`,
    version && `${isDocument ? "config" : "version"} ${version}`, row.act === "rollback" && text(asked.to) && `with the content of ${asked.to}`, text(asked.fromVersion) && text(asked.from) && `from version ${asked.fromVersion} of ${asked.from}`,
    [bypass.added, bypass.removed].flat().filter(text).join(", "), text(asked.scope) && `scope ${asked.scope}`, text(asked.publicURL), text(asked.sort)].filter(Boolean).join(", "));
  const why = text(asked.reason) ?? text(asked.message);
  const words = about ? about.charAt(0).toUpperCase() + about.slice(1) : "";
  return [words ? el("span", { class: why ? "about" : null }, words) : null, why || (words ? null : el("span", { class: "quiet" }, "Details"))];
}
