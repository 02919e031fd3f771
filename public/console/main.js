import { currentSession, endSession, Ended, get, grants, isSession, me, provider, Refusal, resume, signIn, signOut, Unreachable } from "./api.js";
import { el, fill, keepAges, plural, tell } from "./dom.js";

const $ = (id) => document.getElementById(id);
/** Seconds between two requests of a page that nobody touches. */
const pause = 5;

/** The overview's module, loaded while the server is asked who signs in. */
let overview = null;
const loaded = async () => { overview = await import("./overview.js"); };

// Loaded when they are first opened.
const pages = {
  "": async () => overview,
  channel: () => import("./channel.js"),
  release: () => import("./release.js"),
  compare: () => import("./release.js"),
  failures: () => import("./failures.js"),
  preview: () => import("./preview.js"),
  search: () => import("./search.js"),
  audit: () => import("./audit.js"),
  operations: () => import("./operations.js"),
  waiting: () => import("./waiting.js"),
  you: () => import("./you.js"),
  signin: () => import("./signin.js"),
};

/** Names that an address has. */
const lengths = { channel: 2, release: 3, compare: 2, failures: 2, preview: 3, signin: 1 };

/** The page that is shown: `poll` is what it asks for as time passes, `update` is given that; `refresh` brings all of it up to date and leaves what its reader did there. */
let page = null;
let place = "";
let seen = null;
let turn = 0;

function route() {
  const [path, query] = location.hash.replace(/^#\/?/, "").split("?");
  const [name, ...rest] = path.split("/");
  let names = [];
  try { names = rest.map(decodeURIComponent); } catch { names = [""]; }
  const isKnown = Object.hasOwn(pages, name) && names.length === (lengths[name] ?? 0) && names.every(Boolean);
  return { name, isKnown, names, query: new URLSearchParams(query ?? "") };
}

async function show(keepsPlace = false) {
  if (!me()) return;
  const mine = location.hash;
  const session = currentSession();
  place = mine;
  const { name, isKnown, names, query } = route();
  for (const link of $("nav").children) {
    if (link.getAttribute("href") === `#/${name}`) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  page = null;
  if (!isKnown) {
    document.title = "No such page – xcache console";
    fill($("view"), el("section", { class: "card" }, el("h1", {}, "There is no such page"),
      el("p", { role: "alert" }, "✖ The console has no page at this address. ", el("a", { href: "#/" }, "To the overview"))));
    return;
  }
  if (!keepsPlace) fill($("view"), el("p", { class: "quiet" }, "Loading …"));
  try {
    const [module] = await Promise.all([pages[name](), name && styled()]);
    const made = await module.open({ name, names, query, overview: seen, reload, signOut: goOut });
    // Somebody went on meanwhile.
    if (place !== mine || session !== currentSession()) return;
    page = made;
    document.title = `${made.title} – xcache console`;
    fill($("view"), made.node);
    if (!keepsPlace) {
      $("view").focus({ preventScroll: true });
      scrollTo(0, 0);
      if (query.has("all")) toAll();
      made.shown?.();
    }
    $("link").textContent = "";
  } catch (error) {
    if (place === mine && session === currentSession()) failed(error, true);
  }
}

/** The style of what is behind the overview. Without it, all is there to read. */
let behind = null;
function styled() {
  behind ??= new Promise((done) => {
    const link = document.createElement("link");
    link.rel = "stylesheet";
    link.href = "pages.css";
    link.onload = done;
    link.onerror = () => { behind = null; link.remove(); done(); };
    document.head.append(link);
  });
  return behind;
}

/** After an act: the banner first, and what the page takes from it. */
async function reload() {
  countedAt = 0;
  try {
    showProblems(await get("overview"));
    if (page?.refresh) return await page.refresh(seen);
  } catch (error) {
    failed(error, false);
    if (page?.refresh) return undefined;
  }
  return show(true);
}

/** A dialog is about the place where it was opened. One whose act is on its way, or that tells a secret, stays. */
function closeDialogs(all) {
  for (const dialog of document.querySelectorAll(all ? "dialog" : "dialog:not([data-secret], [data-sending])")) dialog.close();
}

function failed(error, isPage) {
  if (error instanceof Ended) return;
  if (error instanceof Refusal && error.status === 401) {
    leave(isSession() ? "Your session has ended, or was revoked. Sign in again: the same page opens." : "Your token is unknown, expired or revoked. Sign in with another one.");
  } else if (error instanceof Unreachable) {
    $("link").textContent = "✖ The server does not answer; trying again. What is shown may be old.";
  } else if (isPage) {
    fill($("view"), el("section", { class: "card" }, el("h1", {}, "This page can't be shown"), el("p", { class: "bad", role: "alert" }, `✖ ${error.message}`)));
  } else {
    $("link").textContent = `✖ ${error.message}`;
  }
}

function toAll() { $("all-problems")?.focus(); }

/** The banner that every page has. */
function showProblems(fleet) {
  if (fleet === seen) return;
  const isNew = JSON.stringify(fleet.problems) !== JSON.stringify(seen?.problems);
  seen = fleet;
  if (!isNew) return;
  const box = $("problems");
  box.hidden = fleet.problems.length === 0;
  box.className = fleet.problems.some((one) => one.severity === "error") ? "error" : "";
  const more = fleet.problems.length - overview.fewProblems;
  fill(box, el("ul", {}, overview.items(fleet.problems.slice(0, overview.fewProblems)),
    more > 0 ? el("li", {}, el("a", { href: "#/?all", id: "more-problems", click: toAll }, `${more} more on the overview`)) : null));
  tell(fleet.problems.length ? `${plural(fleet.problems.length, "problem")}${fleet.problems.length > 1 ? "; the first" : ""}: ${fleet.problems[0].detail}` : "No problems.");
}

/** The acts that wait for the approval of who is signed in, as a number beside the page's name. */
const counter = $("waiting-count");
let countedAt = 0;
let plannedThen = "";
function showWaiting({ acts }) {
  const mine = acts.filter((one) => one.approvals?.mayApprove).length;
  counter.hidden = mine === 0;
  fill(counter, el("span", { class: "hidden" }, ": "), mine, el("span", { class: "hidden" }, " for you"));
}

/** Due once a minute, and when an act was scheduled or ended. */
function isCountDue() {
  const planned = JSON.stringify(seen?.channels.map((one) => one.planned?.acts ?? 0));
  const isNew = planned !== plannedThen;
  plannedThen = planned;
  if (!isNew && Date.now() - countedAt < 60_000) return false;
  countedAt = Date.now();
  return true;
}

/** One request at a time: the overview for the banner, then what the page shows, in turns; in place of one, what waits. */
let isAsking = false;
async function tick() {
  if (!me() || document.hidden || isAsking) return;
  isAsking = true;
  // Under a dialog the page stays as it was decided upon; the banner goes on.
  const isAsked = document.querySelector("dialog[open]") !== null;
  const current = page;
  try {
    turn += 1;
    if (isCountDue()) showWaiting(await get("waiting"));
    else if (current?.poll && turn % 2 === 0 && !isAsked) {
      const asked = current.poll;
      const document = await get(asked);
      if (asked === "waiting") showWaiting(document);
      if (page === current && current.poll === asked) await current.update(document);
    } else {
      const fleet = await get("overview");
      showProblems(fleet);
      if (page === current && !isAsked) await current?.fleet?.(fleet);
    }
    if ($("link").textContent) {
      $("link").textContent = "";
      if (!page && !isAsked && route().isKnown) show();
    }
  } catch (error) {
    if (page === current) failed(error, false);
  } finally {
    isAsking = false;
  }
}

async function run() {
  for (;;) {
    await new Promise((done) => { setTimeout(done, pause * 1000); });
    keepAges();
    await tick();
  }
}

function leave(words) {
  signOut();
  closeDialogs(true);
  tell("");
  page = seen = null;
  $("link").textContent = "";
  $("nav").hidden = $("who").hidden = $("keys").hidden = $("problems").hidden = counter.hidden = true;
  fill($("problems"));
  fill($("who"));
  fill($("view"), signInView);
  $("refusal").textContent = words;
  offer();
  ($("sso-link") ?? $("token")).focus();
  document.title = "xcache console";
}

// The page's own form stays the same node: it is put back when somebody signs out.
const signInView = [...$("view").childNodes];

/** The provider, once it is known that there is one. Who comes back from it is where the link was pressed. */
let sso = null;
const door = $("sso");
function offer() {
  if (!sso) return;
  const place = /^#\/.{0,1000}$/.test(location.hash) ? `?return=${encodeURIComponent(location.hash)}` : "";
  door.hidden = false;
  fill(door, el("a", { id: "sso-link", href: `/auth/login${place}` }, `Sign in with ${sso.host}`), el("p", { class: "or quiet small" }, "or with a token"));
}

const limited = (one) => [one.app, one.channel, one.bundles && `bundles ${one.bundles}`].filter(Boolean).join(" ");

async function enter(who) {
  const all = grants();
  const limits = limited(who);
  fill($("who"), el("a", { href: "#/you", id: "you" }, who.name), all.length > 1 ? ` (${all.length} roles)` : ` (${who.scope}${limits ? ` in ${limits}` : ""})`,
    el("button", { type: "button", id: "sign-out", click: goOut }, "Sign out"));
  $("nav").hidden = $("who").hidden = $("keys").hidden = false;
  // Not needed to sign in; without them everything is reached by Tab.
  import("./keys.js").catch(() => { $("keys").hidden = true; });
  styled();
  countedAt = 0;
  showProblems(await get("overview"));
  await show();
  tick();
}

async function goOut() {
  try {
    await endSession();
    leave("");
  } catch (error) {
    if (!(error instanceof Ended)) $("link").textContent = `✖ You are still signed in: ${error.message}`;
  }
}

$("sign-in").addEventListener("submit", async (event) => {
  event.preventDefault();
  const field = $("token");
  $("refusal").textContent = "";
  try {
    const [who] = await Promise.all([signIn(field.value), loaded()]);
    field.value = "";
    await enter(who);
  } catch (error) {
    if (error instanceof Ended) return;
    leave(`✖ ${error.message}`);
  }
});

/** Who signed in with the provider is signed in after a reload, too. */
async function begin() {
  const mine = currentSession();
  try {
    sso = await provider();
    if (!sso || mine !== currentSession()) return;
    offer();
    if (!$("token").value) $("sso-link").focus();
    const [who] = await Promise.all([resume(), loaded()]);
    await enter(who);
  } catch (error) {
    // Nobody was signed in, or somebody did so by a token meanwhile.
    if (error instanceof Ended || error instanceof Refusal && error.status === 401) return;
    if (mine === currentSession() && sso) leave(`✖ ${error.message}`);
  }
}
$("skip").addEventListener("click", (event) => { event.preventDefault(); $("view").focus(); });
addEventListener("hashchange", () => { closeDialogs(false); if (me()) show(); else offer(); });
// Who comes back sees what is, not what was.
addEventListener("visibilitychange", () => { if (!document.hidden) tick(); });

// The theme is all that the browser keeps of the console, and only a choice that differs from the system's.
const theme = $("theme");
const themes = { get: () => { try { return localStorage.getItem("theme"); } catch { return null; } },
  set: (name) => { try { if (name) localStorage.setItem("theme", name); else localStorage.removeItem("theme"); } catch { /* Not kept, then. */ } } };
function wear(name) {
  if (name) document.documentElement.dataset.theme = name;
  else delete document.documentElement.dataset.theme;
}
theme.value = ["light", "dark"].includes(themes.get()) ? themes.get() : "";
wear(theme.value);
theme.addEventListener("change", () => { wear(theme.value); themes.set(theme.value); });

addEventListener("beforeunload", (event) => { if (document.querySelector("dialog:is([data-secret], [data-sending])")) event.preventDefault(); });
$("token").focus();
begin();
run();
