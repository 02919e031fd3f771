import { channelLink, get, hindrance, long } from "./api.js";
import { badge, card, count, el, fill, named, table, when } from "./dom.js";
import { exactly, retire, wholeMinute } from "./parts.js";

const page = 50;
/** A moment as a report names it: with seconds and the zone. */
const zoned = new Intl.DateTimeFormat(undefined, { year: "numeric", month: "short", day: "numeric", hour: "2-digit", minute: "2-digit", second: "2-digit", timeZoneName: "short" });

export async function open({ query }) {
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
  const names = [["author", "Who"], ["act", "Act"], ["app", "App"], ["channel", "Channel"]];
  const form = el("form", { role: "search", class: "filters", submit: (event) => { event.preventDefault(); load(true); } },
    names.map(([name, words]) => el("div", { class: "field" }, el("label", { for: `by-${name}` }, words), el("input", { id: `by-${name}`, name, value: query.get(name) ?? "", autocomplete: "off", size: 12, spellcheck: "false" }))),
    [["since", "From"], ["until", "Until"]].map(([name, words]) => el("div", { class: "field" }, el("label", { for: `by-${name}` }, words), el("input", { id: `by-${name}`, name, type: "datetime-local" }))),
    el("button", {}, "Filter"));

  const conditions = () => {
    const parts = [`limit=${page}`];
    for (const [name, value] of new FormData(form)) {
      if (value.trim()) parts.push(`${name}=${encodeURIComponent(name === "since" ? new Date(value).toISOString() : name === "until" ? wholeMinute(value).toISOString() : value.trim())}`);
    }
    return `audit?${parts.join("&")}`;
  };

  function draw(isAll) {
    note.textContent = isAll ? `${count(rows.length)} rows` : `${count(rows.length)} rows; there are older ones`;
    fill(box, table("Audit trail, newest first", [["Row", true], ["When"], ["Who"], ["Act"], ["Where"], ["What", false, true]], rows.map((row) => [
      count(row.id), [when(row.at), el("div", { class: "sub", "aria-hidden": "true" }, zoned.format(new Date(row.at)))], named(row.author), row.act,
      row.app ? row.channel ? el("a", { href: channelLink("channel", row.app, row.channel) }, `${row.app} ${row.channel}`) : row.app : "—",
      el("details", { id: `row-${row.id}` }, el("summary", {}, summary(row), el("span", { class: "hidden" }, `, row ${row.id}`)), el("p", {}, "At: ", exactly(row.at), row.address ? ` from ${row.address}` : ""), el("p", {}, "Asked: ", el("code", {}, row.parameters)), el("p", {}, "Result: ", el("code", {}, row.result)), el("p", {}, "Hash: ", el("code", {}, row.hash))),
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
      const conditioned = isNew ? conditions() : filter;
      const found = (await get(isNew ? conditioned : `${conditioned}&before=${rows.at(-1).id}`)).rows;
      if (mine !== asked) return;
      rows = isNew ? found : rows.concat(found);
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
    node: [el("div", { class: "head" }, el("div", {}, el("h1", {}, "Audit trail"), note), el("div", {}, verify)), verdict, card("", [form, box, more], null, true)],
    poll: conditions(),
    update(document) {
      // Somebody who went on to older rows is not thrown back, nor who is about to.
      if (isAsking || rows.length > page || document.rows[0]?.id === rows[0]?.id) return;
      rows = document.rows;
      draw(rows.length < page);
    },
  };
  await load(true);
  return shown;
}

function summary(row) {
  try {
    const asked = JSON.parse(row.parameters);
    return asked.reason || asked.message || asked.name || (asked.bundles ?? []).join(", ") || "details";
  } catch { return "details"; }
}
