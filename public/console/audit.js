import { channelLink, get, hindrance, long } from "./api.js";
import { badge, card, count, el, fill, named, plural, table, when } from "./dom.js";
import { exactly, facts, hash, retire, wholeMinute } from "./parts.js";

const page = 50;
/** Kinds of acts, by the first part of their names. */
const kinds = [["publish", "Publish"], ["promote", "Promote"], ["rollback", "Roll back"], ["rollout", "Rollouts"], ["policy", "Policy, kill switch"], ["prefetch", "Prefetch"], ["channel", "Channels, freezes"],
  ["schedule", "Scheduled acts"], ["approval", "Approvals"], ["problem", "Problems"], ["token", "Tokens"], ["session", "Sessions"], ["mirror", "Mirrors"], ["webhook", "Webhooks"], ["gc", "Garbage collection"], ["trust", "Trust"]];
/** A moment of this year, and of another: to the second, in the reader's zone, which the column's name tells. */
const exact = { month: "short", day: "numeric", hour: "numeric", minute: "2-digit", second: "2-digit" };
const [ofThisYear, ofAnother] = [exact, { year: "numeric", ...exact }].map((parts) => new Intl.DateTimeFormat(undefined, parts));
const zone = new Intl.DateTimeFormat(undefined, { timeZoneName: "short" }).formatToParts().find(({ type }) => type === "timeZoneName")?.value ?? "";
const moment = (at) => (new Date(at).getFullYear() === new Date().getFullYear() ? ofThisYear : ofAnother).format(new Date(at));

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
  const moments = [["since", "From"], ["until", "Until"]].map(([name, words]) => field(name, words, el("input", { id: `by-${name}`, name, type: "datetime-local", value: query.get(name) ?? "" })));
  const clear = el("button", { type: "button", id: "clear", class: "plain", click: () => { for (const one of form.elements) one.value = ""; load(true); } }, "Clear");
  const form = el("form", { role: "search", class: "filters", submit: (event) => { event.preventDefault(); load(true); }, change: () => load(true) },
    field("author", "Who", el("input", { id: "by-author", name: "author", value: query.get("author") ?? "", list: "people", placeholder: "Anybody", autocomplete: "off", spellcheck: "false" })), people,
    field("act", "Act", acts), field("where", "Where", where), moments, clear);

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
    const written = (some) => some.map(([name, value]) => `${name}=${encodeURIComponent(value)}`).join("&");
    const asked = all.map(([name, value]) => [name, name === "since" ? new Date(value).toISOString() : name === "until" ? wholeMinute(value).toISOString() : value]);
    return { path: `audit?${written([["limit", page], ...asked])}`, link: all.length ? `#/audit?${written(all)}` : "#/audit" };
  }

  function draw(isAll) {
    note.textContent = isAll ? plural(rows.length, "row") : `The newest ${count(rows.length)} rows; older ones are below`;
    fill(box, table("Audit trail, newest first", [[`When, ${zone}`], ["Who"], ["Act"], ["Where"], ["What", false, true], ["Row", true]], rows.map((row) => [
      [el("span", { "aria-hidden": "true" }, moment(row.at)), " ", el("span", { class: "sub" }, when(row.at))], named(row.author), el("code", {}, row.act),
      row.app ? row.channel ? el("a", { href: channelLink("channel", row.app, row.channel) }, `${row.app} ${row.channel}`) : row.app : el("span", { class: "quiet" }, "—"),
      el("details", { id: `row-${row.id}` }, el("summary", {}, summary(row), el("span", { class: "hidden" }, `, row ${row.id}`)), facts([["At", exactly(row.at)], row.address && ["From", row.address],
        ["Asked", written(row.parameters)], ["Result", written(row.result)], ["Hash", hash(row.hash)]])), count(row.id),
    ]), "No rows match."));
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
    node: [el("div", { class: "head" }, el("div", {}, el("h1", {}, "Audit trail"), note), el("div", { class: "row" }, verify)), verdict, card("", [form, box, more], null, true)],
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
  const about = text(asked.summary) ?? text(made.summary) ?? [text(asked.code), number(asked.approvals, "approval"), number(asked.maps, "map"), text(asked.name),
    version && `${isDocument ? "config" : "version"} ${version}`, row.act === "rollback" && text(asked.to) && `with the content of ${asked.to}`, text(asked.fromVersion) && text(asked.from) && `from ${asked.from}`,
    [bypass.added, bypass.removed].flat().filter(text).join(", "), text(asked.scope), text(asked.publicURL), text(asked.sort)].filter(Boolean).join(", ");
  const why = text(asked.reason) ?? text(asked.message);
  return [about ? el("span", { class: why ? "about" : null }, about) : null, why || (about ? null : el("span", { class: "quiet" }, "details"))];
}
