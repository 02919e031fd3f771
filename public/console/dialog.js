// The dialog that every act has, and what it asks in it.
import { currentSession, Ended, newKey, Refusal, Unreachable } from "./api.js";
import { el, fill, refocus, tell } from "./dom.js";
import { shell, shown as commandShown } from "./command.js";
import { localMinute } from "./parts.js";

/**
 * A dialog for one act: what it asks, what it would do, why, and what came of it.
 * `verb`: what its button says in place of the title; `where`: what it is done to; `lead`: what it is about, in a sentence; `fields`: `{name, words, hint, …}`;
 * `effect(values)`: nodes that say what would happen, or `{nodes, plan, notes}`, of which `notes` has what is to be said below a field, by its name;
 * `guard(values, plan)`: what changed since the preview, in words, asked before the act is sent for the first time;
 * `command(values, plan)`: the words of the command that does the same;
 * `send(values, key, plan)`: does it and gives a sentence, or `{sentence, secret}`: nodes that are shown once and said nowhere else.
 */
export function propose({ title, verb = title, where, lead, fields = [], effect, guard, command, send, needsReason = true, isReasonOptional = false, reasonWords = "Reason", reasonHint = "For the audit trail and your colleagues.", reasonLength = 1000, isDangerous = false, done }) {
  // A second click while the first one's dialog was on its way.
  if (document.querySelector("dialog[open]")) return;
  const keys = new Map();
  let isSending = false;
  let isDone = false;
  // Its reader closes it, and nothing else does, while an act is on its way or a secret is shown.
  let mayClose = false;
  let asked = 0;
  // The values whose effect is shown, and what it was worked out with: these can be confirmed, no others.
  let ready = null;
  const session = currentSession();
  const opener = document.activeElement;
  const shown = el("div", { class: "preview", "aria-live": "polite", id: "preview" });
  const outcome = el("p", { role: "alert", id: "outcome" });
  const go = el("button", { id: "confirm", class: isDangerous ? "danger" : "primary", "aria-disabled": "true" }, verb);
  const close = el("button", { type: "button", id: "cancel", click: () => { if (isSending) return; mayClose = true; dialog.close(); } }, "Cancel");
  const once = el("div", { id: "once" });
  const inputs = fields.map((field) => input(field));
  const reason = needsReason ? input({ name: "reason", words: reasonWords, hint: reasonHint, required: !isReasonOptional, maxlength: reasonLength }) : null;
  const same = commandShown();
  // What is longer than the screen scrolls above the buttons, which say so by a shadow until its end is seen.
  const end = el("div");
  const heading = el("h2", { id: "dialog-title" }, title, " ", el("span", { class: "where" }, where));
  const body = el("div", { class: "body" }, lead ? el("p", { class: "lead" }, lead) : null, inputs.map((one) => one.node), shown, reason?.node, same.node, once, end);
  const foot = el("div", { class: "foot" }, outcome, el("div", { class: "row" }, close, go));
  new IntersectionObserver(([entry]) => foot.classList.toggle("over", !entry.isIntersecting), { root: body, rootMargin: "0px 0px 8px" }).observe(end);
  const form = el("form", { submit: submit, input: (event) => { if (event.target.name !== "reason") soon(); else tellCommand(); } }, heading, body, foot);
  const dialog = el("dialog", { "aria-labelledby": "dialog-title", close: closed, cancel: keep, keydown: (event) => { if (event.key === "Escape") keep(event); } }, form);

  const isKept = () => isSending || "secret" in dialog.dataset;

  function closed() {
    // Some browsers close a dialog whatever it says to that.
    if (isKept() && !mayClose && session === currentSession()) {
      dialog.showModal();
      return;
    }
    clearTimeout(timer);
    fill(once);
    dialog.remove();
    // The banner is drawn anew under a dialog.
    if (!opener.isConnected && session === currentSession()) refocus(opener);
    tell("");
    if (isDone && session === currentSession()) done?.();
  }

  /** Escape is pressed too easily for what is shown once. */
  function keep(event) {
    if (!isKept()) return;
    event.preventDefault();
    if (isSending) return;
    fill(outcome, "▲ This is shown only once. Copy it, then press Close.");
    close.focus();
  }

  const values = () => Object.fromEntries([...inputs, reason].filter(Boolean).map((one) => [one.name, one.value()]));
  /** Of what is previewed: what can't be confirmed has no command, either. */
  function tellCommand() {
    const write = (all) => shell(command(all, ready.plan));
    const words = ready && !isDone ? write(values()) : [];
    // Some commands have no option for a reason.
    same.set(words, !reason || !words.length || !isSame(write({ ...values(), reason: "a" }), write({ ...values(), reason: "b" })));
  }
  const wordsOf = ({ reason, ...rest }) => JSON.stringify(rest);

  let timer = 0;
  function soon() { disarm(); clearTimeout(timer); timer = setTimeout(show, 300); }
  function disarm() {
    ready = null;
    asked += 1;
    go.setAttribute("aria-disabled", "true");
    tellCommand();
  }

  async function show() {
    disarm();
    const mine = asked;
    const all = values();
    if (!shown.hasChildNodes()) fill(shown, el("p", { class: "quiet" }, "Working out what it would do …"));
    try {
      const made = await effect(all);
      if (mine !== asked) return;
      fill(shown, el("h3", {}, "What it would do"), made?.nodes ?? made);
      for (const one of inputs) one.tell(made?.notes?.[one.name]);
      ready = { words: wordsOf(all), plan: made?.plan };
      go.removeAttribute("aria-disabled");
      tellCommand();
    } catch (error) {
      if (mine !== asked || error instanceof Ended) return;
      if (isUnknown(error)) {
        fill(shown, el("h3", {}, "What it would do isn't known"), el("p", { class: "bad" }, `✖ ${error.message} Asking again …`));
        timer = setTimeout(show, 5000);
      } else if (error instanceof Unchanged) fill(shown, el("h3", {}, "What it would do"), el("p", { class: "quiet" }, error.message));
      else fill(shown, el("h3", {}, "It would be refused"), el("p", { class: "bad" }, `✖ ${error.message}`));
    }
  }

  async function submit(event) {
    event.preventDefault();
    // A second click is the same act, and the server knows it by its key, too.
    if (isSending || isDone) return;
    if (ready?.words !== wordsOf(values())) {
      outcome.className = "warn";
      fill(outcome, "▲ Not done: there is no preview of these values.");
      return;
    }
    const { plan } = ready;
    isSending = true;
    dialog.dataset.sending = "";
    go.setAttribute("aria-disabled", "true");
    close.setAttribute("aria-disabled", "true");
    outcome.className = "quiet";
    outcome.textContent = "Sending …";
    for (const { field } of [...inputs, reason].filter(Boolean)) field.disabled = true;
    const all = values();
    const words = JSON.stringify(all);
    // With what it was first sent: the same key is never another act.
    if (!keys.has(words)) keys.set(words, { key: newKey(), plan });
    const first = keys.get(words);
    let isStale = false;
    try {
      if (!first.isSent) {
        const changed = await guard?.(all, plan);
        if (changed) throw new Changed(changed);
      }
      first.isSent = true;
      const made = await send(all, first.key, first.plan);
      isDone = true;
      outcome.className = "good";
      fill(outcome, "✔ ", made.sentence ?? made);
      if (made.secret) {
        dialog.dataset.secret = "";
        fill(once, made.secret);
        once.scrollIntoView({ block: "nearest" });
      }
      go.remove();
      tellCommand();
      close.textContent = "Close";
    } catch (error) {
      if (error instanceof Ended) return;
      // What was refused, and never got lost on the way, is another act when it is tried again.
      isStale = !first.isSent || !isUnknown(error) && !first.isLost;
      if (isStale) keys.delete(words);
      else if (isUnknown(error)) first.isLost = true;
      outcome.className = error instanceof Changed ? "warn" : "bad";
      fill(outcome, error instanceof Changed ? `▲ Not done: changed meanwhile: ${error.message} Look at the new preview.`
        : !first.isSent ? `✖ Not sent: ${error.message}`
          : isUnknown(error) ? `✖ ${error.message} Whether it was done is not known. Press again: the same act is never done twice.`
            : `✖ Refused: ${error.message}`);
      for (const { field } of [...inputs, reason].filter(Boolean)) field.disabled = false;
      if (!isStale) go.removeAttribute("aria-disabled");
    }
    isSending = false;
    delete dialog.dataset.sending;
    close.removeAttribute("aria-disabled");
    (isDone ? close : go).focus();
    if (isStale) show();
  }

  document.body.append(dialog);
  dialog.showModal();
  show();
  (inputs.find((one) => !one.field.hidden)?.field ?? reason?.field ?? go).focus();
}

/** What an act is about isn't any more what its preview showed. */
class Changed extends Error {}

/** Nothing would happen: no refusal either. */
export class Unchanged extends Error {}

/** What a server says that failed on the way is no refusal. */
const isUnknown = (error) => error instanceof Unreachable || error instanceof Refusal && error.status >= 500;

let fieldNumber = 0;

/**
 * A field of a dialog. `hint`: a line below it; `unit`: what its number counts; `offers`: values that it proposes;
 * `spans`: `[hours, words]` of times from now that a time is often set to, 0 for none; `span`: the one that it is set to.
 */
function input({ name, words, hint, kind = "text", options, value, unit, offers, spans, span, ...rest }) {
  fieldNumber += 1;
  const id = `field-${fieldNumber}`;
  if (kind === "check") {
    const field = el("input", { id, name, type: "checkbox" });
    field.checked = Boolean(value);
    return { name, field, tell() {}, node: el("label", { class: "check", for: id }, field, words), value: () => field.checked };
  }
  if (kind === "choice") {
    // Rows of `[value, shown, who, when]`; a list that a select would cut.
    const field = el("fieldset", {}, el("legend", {}, words), el("div", { class: "choices" }, options.map(([key, text, note, time], index) => {
      const radio = el("input", { type: "radio", name, value: key });
      radio.checked = options.some(([other]) => other === value) ? key === value : index === 0;
      return el("label", {}, radio, el("b", {}, text), el("span", {}, note), el("span", { class: "quiet" }, time));
    })));
    field.focus = () => field.querySelector(":checked")?.focus();
    return { name, field, tell() {}, node: field, value: () => field.querySelector(":checked")?.value ?? "" };
  }
  const help = el("p", { class: "quiet small", id: `${id}-help` }, hint);
  const note = el("p", { class: "warn small" });
  if (span !== undefined) value = localMinute(Date.now() + span * 3600_000);
  const field = kind === "select"
    ? el("select", { id, name, "aria-describedby": hint ? help.id : null }, options.map(([key, text]) => el("option", { value: key, selected: key === value }, text)))
    : el("input", { id, name, type: kind, value, autocomplete: "off", spellcheck: "false", "aria-describedby": hint ? help.id : null, list: offers ? `${id}-offers` : null, ...rest });
  const pick = (hours) => { for (const one of choices.children) one.setAttribute("aria-pressed", String(one.value === String(hours))); };
  const set = (hours) => { field.value = hours ? localMinute(Date.now() + hours * 3600_000) : ""; field.dispatchEvent(new Event("input", { bubbles: true })); pick(hours); field.hidden = !hours; };
  const choices = spans && el("div", { class: "row joined spans", role: "group", "aria-label": words }, spans.map(([hours, text]) => el("button", { type: "button", value: hours, "aria-pressed": "false", click: () => set(hours) }, text)));
  if (choices) {
    pick(span ?? 0);
    // Without an end there is no time to be written, until one is chosen.
    field.hidden = !value && spans.some(([hours]) => !hours);
    field.addEventListener("input", () => { pick(field.value ? null : 0); field.hidden &&= !field.value; });
  }
  return { name, field, value: () => field.value.trim(), tell(words) { fill(note, words); },
    node: [el("label", { for: id }, words), unit ? el("div", { class: "row measured" }, field, unit) : choices ? el("div", { class: "timed" }, choices, field) : field,
      offers ? el("datalist", { id: `${id}-offers` }, offers.map((one) => el("option", { value: one }))) : null, hint ? help : null, note] };
}

export const isSame = (one, other) => JSON.stringify(one ?? null) === JSON.stringify(other ?? null);

/** A reason, for the audit trail, of an act that has no member for it. */
export const why = (reason) => `?reason=${encodeURIComponent(reason)}`;
