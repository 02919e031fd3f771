import { currentSession, endSession, Ended, get, grants, isSession, me, provider, Refusal, resume, signIn, signOut, tabs, Unreachable } from "./api.js";
import { el, fill, keepAges, plural, tell } from "./dom.js";

const $ = (id) => document.getElementById(id);
/** Seconds between two requests of a page that nobody touches. */
const pause = 5;

/** What every page behind the sign-in needs, loaded once somebody has signed in: the overview's module, and its style. */
let overview = null;
const loaded = async () => { [overview] = await Promise.all([import("./overview.js"), style("view.css")]); };

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
  if (seen) showProblems(seen);
  if (!isKnown) {
    blank(`There is no such page; the console has nothing at \`${location.hash.slice(0, 200)}\``);
    return;
  }
  // Not by `fill`: the focus comes with the page itself.
  if (!keepsPlace) $("view").replaceChildren(el("p", { class: "quiet" }, "Loading …"));
  try {
    const [module] = await Promise.all([pages[name](), name && styled()]);
    const made = await module.open({ name, names, query, overview: seen, reload, signOut: goOut });
    // Somebody went on meanwhile.
    if (place !== mine || session !== currentSession()) return;
    page = made;
    fill($("view"), made.node);
    entitle(made.title, keepsPlace);
    if (!keepsPlace) made.shown?.();
    $("link").textContent = "";
  } catch (error) {
    if (place === mine && session === currentSession()) failed(error, true);
  }
}

/** Says where one is: to the browser's tabs, and by the focus to who listens. */
function entitle(title, keepsPlace = false) {
  document.title = `${title} – xcache console`;
  $("view").setAttribute("aria-label", title);
  if (keepsPlace) return;
  $("view").focus({ preventScroll: true });
  scrollTo(0, 0);
}

/** Styles of what isn't in the first view, by their names. Without them, all is there to read. */
const styles = new Map();
function style(name) {
  if (!styles.has(name)) {
    styles.set(name, new Promise((done) => {
      const link = document.createElement("link");
      link.rel = "stylesheet";
      link.href = name;
      link.onload = done;
      link.onerror = () => { styles.delete(name); link.remove(); done(); };
      document.head.append(link);
    }));
  }
  return styles.get(name);
}

/** The style of what is behind the overview; after the one that all pages have. */
const styled = async () => { await style("view.css"); await style("pages.css"); };

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
    warn("The server does not answer; trying again. What is shown may be old.");
  } else if (isPage) {
    blank(error.status === 404 ? error.message : `This page can't be shown; ${error.message}`, error.status === 404 ? "quiet" : "bad");
  } else {
    warn(error.message);
  }
}

/** In a page's place: why there is none. */
function blank(text, kind) {
  $("view").replaceChildren(overview.blank(text, kind, route()));
  entitle($("view").querySelector("h1").textContent);
}

/** Above every page; said once, though the request fails at every turn. */
function warn(words) {
  if ($("link").textContent !== `✖ ${words}`) fill($("link"), `✖ ${words}`);
}

/** The banner that every page has: what nobody has acknowledged, that of the page's own channel first. All of it is on the overview, at `?all`. */
let told = "";
let banner = "";
function showProblems(fleet) {
  seen = fleet;
  const { name, isKnown, names, query } = route();
  const all = overview.pressing(fleet.problems, name ? names : []);
  const isWhole = !name && query.has("all");
  // One line where failures are what the page is about, or where there is no page.
  const most = !isKnown || name === "failures" ? 0 : name ? 2 : 5;
  // A line for one more would take as much room as that one.
  const few = isWhole || most && all.length === most + 1 ? all.length : most;
  const shown = JSON.stringify([all, few]);
  if (banner === shown) return;
  banner = shown;
  const box = $("problems");
  box.hidden = all.length === 0;
  box.className = `${most ? "" : "thin "}${all.some((one) => one.severity === "error") ? "error" : ""}`;
  const more = all.length - few;
  fill(box, el("ul", {}, !most ? overview.inShort(all) : overview.items(all.slice(0, few), reload),
    most && more > 0 || isWhole && all.length > most + 1 ? el("li", { class: "more" }, el("a", { href: isWhole ? "#/" : "#/?all", id: "more-problems" }, isWhole ? "Fewer" : plural(more, "more problem"))) : null));
  // Figures in it change as devices report; what is wrong stays the same.
  const words = all.map(({ app, channel, code, severity }) => [app, channel, code, severity].join()).sort().join();
  if (words !== told) tell(all.length ? `${plural(all.length, "problem")}${all.length > 1 ? "; the first" : ""}: ${all[0].detail}` : "No problems.");
  told = words;
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
  banner = told = "";
  $("link").textContent = "";
  $("nav").hidden = $("who").hidden = $("keys").hidden = $("find").hidden = $("problems").hidden = counter.hidden = true;
  fill($("problems"));
  fill($("who"));
  fill($("view"), signInView);
  fill($("refusal"), words);
  offer();
  ($("sso-link") ?? $("token")).focus();
  document.title = "xcache console";
  $("view").removeAttribute("aria-label");
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
  fill($("who"), el("a", { href: "#/you", id: "you", title: all.length > 1 ? `${all.length} roles` : `${who.scope}${limits ? ` in ${limits}` : ""}` }, who.name),
    el("button", { type: "button", id: "sign-out", class: "plain", click: goOut }, "Sign out"));
  $("nav").hidden = $("who").hidden = $("keys").hidden = $("find").hidden = false;
  // Not needed to sign in; without them everything is reached by Tab.
  import("./keys.js").catch(() => { $("keys").hidden = true; });
  countedAt = 0;
  const [fleet] = await Promise.all([get("overview"), loaded()]);
  showProblems(fleet);
  await show();
  styled();
  tick();
}

async function goOut() {
  try {
    await endSession();
    leave("");
  } catch (error) {
    if (!(error instanceof Ended)) warn(`You are still signed in: ${error.message}`);
  }
}

$("sign-in").addEventListener("submit", async (event) => {
  event.preventDefault();
  const field = $("token");
  $("refusal").textContent = "";
  try {
    const who = await signIn(field.value);
    field.value = "";
    await enter(who);
  } catch (error) {
    if (error instanceof Ended) return;
    // The page says that nobody is signed in: no cookie says otherwise after a reload.
    endSession().catch(() => {});
    leave(`✖ ${error.message}`);
  }
});

/** Who has a session is signed in after a reload, too. */
async function begin() {
  const mine = currentSession();
  provider().then((found) => {
    sso = found;
    if (me()) return;
    offer();
    if (sso && !$("token").value) $("sso-link").focus();
  }).catch(() => {});
  try {
    await enter(await resume());
  } catch (error) {
    // Nobody was signed in, or somebody did so by a token meanwhile.
    if (error instanceof Ended || error instanceof Refusal && error.status === 401) return;
    if (mine === currentSession()) leave(`✖ ${error.message}`);
  }
}
$("skip").addEventListener("click", (event) => { event.preventDefault(); $("view").focus(); });
addEventListener("hashchange", () => { closeDialogs(false); if (me()) show(); else offer(); });
// The cookie is that of whoever signed in last, in whatever tab.
tabs.addEventListener("message", () => {
  if (!isSession()) return;
  leave("");
  begin();
});
// Who comes back sees what is, not what was.
addEventListener("visibilitychange", () => { if (!document.hidden) tick(); });

// The browser keeps a theme that differs from the system's, and that the keys are off (keys.js); nothing else.
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
$("where").textContent = `Origin ${location.host}`;
$("token").focus();
begin();
run();
