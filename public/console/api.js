// The publishing API, as every other client of it. The browser sends the cookie of a session, which no script can read: of who signed
// in with the provider, or of a token that was pasted. The token is in this module's memory, and nowhere else, until it has its session.
let token = "";
/** Whether there is a session for the token, and in words why not. */
let hasSession = false;
let whyNone = "";
let self = null;
/** Counts sign-ins and sign-outs: an answer to an earlier one is nobody's any more. */
let session = 0;
/** Pages in other tabs, which have the same cookie: told when it is another session's. */
export const tabs = new BroadcastChannel("xcache-session");
/** What was answered, by path, with its entity tag. */
const known = new Map();

export class Refusal extends Error {
  constructor(status, problem) {
    super(problem.detail ?? problem.title ?? `The server answered with the status ${status}.`);
    this.status = status;
    this.code = problem.code;
    this.problem = problem;
  }
}

export class Unreachable extends Error {
  constructor(words = "The server does not answer.") { super(words); }
}

/** Seconds that an answer may take; of what reads or deletes all of the store, and of a file. */
const patience = 15;
export const long = 600;
const fileSeconds = 60;

/** The answer came after its reader had signed out. It is shown nowhere. */
export class Ended extends Error {
  constructor() { super("You signed out."); }
}

export const currentSession = () => session;

/** `by`: what tells the origin who asks, `token`, `cookie` or `both`. */
async function ask(path, { by = token ? "token" : "cookie", ...options } = {}, seconds = patience) {
  const mine = session;
  const stop = new AbortController();
  const limit = setTimeout(() => stop.abort(), seconds * 1000);
  let answer;
  let text = "";
  try {
    answer = await fetch(path.startsWith("/") ? path : `/api/v1/${path}`, {
      ...options, signal: stop.signal, cache: "no-store", credentials: by === "token" ? "omit" : "same-origin", redirect: "error", referrerPolicy: "no-referrer",
      // The origin takes the session only with a field that no form and no other site can send.
      headers: { ...(by === "cookie" ? {} : { Authorization: `Bearer ${token}` }), ...(by === "token" ? {} : { "Xcache-Console": "1" }), ...options.headers },
    });
    text = await answer.text();
  } catch {
    if (mine !== session) throw new Ended();
    throw stop.signal.aborted ? new Unreachable(`The server did not answer within ${seconds} s.`) : new Unreachable();
  } finally {
    clearTimeout(limit);
  }
  if (mine !== session) throw new Ended();
  if (answer.status === 304) return { status: 304 };
  let document = {};
  try {
    document = text ? JSON.parse(text) : {};
  } catch {
    // A proxy's words.
    if (answer.ok) throw new Unreachable();
  }
  if (!answer.ok) throw new Refusal(answer.status, document);
  return { status: answer.status, document, tag: answer.headers.get("ETag") };
}

/** A document; the same object as long as it didn't change on the server. */
export async function get(path, seconds) {
  const held = known.get(path);
  const answer = await ask(path, { headers: held?.tag ? { "If-None-Match": held.tag } : {} }, seconds);
  // Something on the way answered: every document has members, and only what is held is unchanged.
  if (!(answer.status === 304 ? held : Object.keys(answer.document ?? {}).length)) throw new Unreachable();
  if (answer.status === 304) return held.document;
  known.delete(path);
  known.set(path, { tag: answer.tag, document: answer.document });
  if (known.size > 300) known.delete(known.keys().next().value);
  return answer.document;
}

/** Does something. A second request with the same key is the same act: it is answered as the first one was. */
export async function act(method, path, body, key, seconds) {
  const headers = { "Idempotency-Key": key };
  if (body !== undefined) headers["Content-Type"] = "application/json";
  return (await ask(path, { method, headers, body: body === undefined ? undefined : JSON.stringify(body) }, seconds)).document;
}

/** The preview of an act changes nothing and has no key. */
export async function preview(path, body, seconds) {
  return (await ask(path, {
    method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ ...body, dryRun: true }),
  }, seconds)).document;
}

/** A published file's bytes, from this origin whatever its download URL's host; without the token: files are public. */
export async function file(download) {
  const answer = await fetch(new URL(download).pathname, { credentials: "omit", redirect: "error", signal: AbortSignal.timeout(fileSeconds * 1000) });
  if (!answer.ok) throw new Error(`The file can't be read: status ${answer.status}.`);
  return answer.arrayBuffer();
}

/** A picture that the API has: the browser's own request for one would have no token. */
export async function picture(path) {
  const mine = session;
  const answer = await fetch(path, {
    credentials: token ? "omit" : "same-origin", redirect: "error", referrerPolicy: "no-referrer", signal: AbortSignal.timeout(fileSeconds * 1000),
    headers: token ? { Authorization: `Bearer ${token}` } : { "Xcache-Console": "1" },
  });
  if (mine !== session) throw new Ended();
  if (!answer.ok) throw new Error(`The picture can't be read: status ${answer.status}.`);
  return new Blob([await answer.arrayBuffer()], { type: "image/png" });
}

export function newKey() { return crypto.getRandomValues(new Uint8Array(18)).reduce((text, byte) => text + byte.toString(16).padStart(2, "0"), ""); }

export async function signIn(text) {
  signOut();
  // A token that no header can carry is no token.
  if (!/^[\x21-\x7e]+$/.test(text.trim())) throw new Error("This is not a token.");
  token = text.trim();
  const [who] = await Promise.all([get("token"), exchange()]);
  self = who;
  if (hasSession) settle();
  return self;
}

/** Asks for a session in the token's place. Where there is none, over plain http for one, the token stays in memory. */
async function exchange() {
  try {
    await ask("/auth/session", { method: "POST", by: "both" });
    hasSession = true;
    tabs.postMessage("signed in");
  } catch (error) {
    // Who signed out meanwhile has no use for it.
    if (error instanceof Ended) ask("/auth/logout", { method: "POST", by: "cookie" }).catch(() => {});
    else whyNone = error.message;
  }
}

/** Forgets the token once the browser has shown that it sends the cookie. */
async function settle() {
  try {
    self = (await ask("token", { by: "cookie" })).document;
    token = "";
  } catch (error) {
    if (error instanceof Ended) return;
    hasSession = false;
    whyNone = "This browser keeps no cookie.";
  }
}

/** How one signs in here: `{issuer, host}` of the provider, or null. The page asks for it while it loads. */
export async function provider() {
  const answer = await fetch("/auth/", { signal: AbortSignal.timeout(patience * 1000) });
  return (answer.ok && (await answer.json()).sso) || null;
}

/** Who signed in before, and still is. */
export async function resume() {
  self = await get("token");
  return self;
}

/** Ends a session at the server, too. A token without one is only forgotten. */
export async function endSession() {
  try {
    if (isSession() || hasSession) await ask("/auth/logout", { method: "POST", by: "cookie" });
  } catch (error) {
    // It was over.
    if (!(error instanceof Refusal && error.status === 401)) throw error;
  }
}

export function signOut() {
  session += 1;
  token = whyNone = "";
  hasSession = false;
  self = null;
  known.clear();
}

export const me = () => self;
/** Whether the browser's cookie says who asks: a reload keeps them signed in. */
export const isSession = () => self !== null && !token;
/** Why a token has no session, in words; empty if it has one. */
export const whyNoSession = () => whyNone;
/** Whether a person signed in with the provider, rather than with a token. */
export const isPerson = () => isSession() && self.issuer !== "xcache";

/** What one may do: scopes, each with its limits. */
export const grants = () => self?.grants ?? (self ? [self] : []);
const ranks = { read: 0, release: 1, publish: 2, admin: 3 };
const fits = (scope, app, channel) => (one) => ranks[one.scope] >= ranks[scope] && (!one.app || !app || one.app === app) && (!one.channel || !channel || one.channel === channel);

/** Why one may not do what takes a scope in a channel; empty where one may. The server decides, this only says so first. */
export function hindrance(scope, app, channel, isAboutAll = false) {
  if (!self) return "Sign in first.";
  const all = grants();
  const have = isPerson() ? "You have" : "Your token has";
  const here = all.filter(fits("read", isAboutAll ? "" : app, isAboutAll ? "" : channel));
  if (isAboutAll) {
    if (all.some((one) => ranks[one.scope] >= ranks[scope] && !one.app && !one.channel && !one.bundles) && !self.hosts) return "";
  } else if (all.some(fits(scope, app, channel))) return "";
  const highest = here.reduce((one, other) => (ranks[other.scope] > ranks[one] ? other.scope : one), "read");
  if (here.length && ranks[highest] < ranks[scope]) return `${have} the scope ${highest}${all.length > 1 && app ? ` in ${app} ${channel}` : ""}; this needs ${scope}.`;
  if (isAboutAll) return isPerson() ? "This needs the scope admin without limits." : "This needs an unrestricted admin token.";
  if (all.length > 1) return `${have} no rights in ${app} ${channel}.`;
  return `${isPerson() ? "Your role" : "Your token"} is for the ${self.app !== app ? `app ${self.app}` : `channel ${self.channel}`}.`;
}

/** The bundles that one is limited to in a channel, as a pattern; empty: all. */
export function bundleLimit(scope, app, channel) {
  const here = grants().filter(fits(scope, app, channel));
  return here.every((one) => one.bundles) ? here.map((one) => one.bundles).join(",") : "";
}

export const channelPath = (app, channel) => `apps/${encodeURIComponent(app)}/channels/${encodeURIComponent(channel)}`;
/** A part of an element's id: no two channels have the same. */
export const channelId = (app, channel) => `${encodeURIComponent(app)}/${encodeURIComponent(channel)}`;
export const channelLink = (page, app, channel, rest = "") => `#/${page}/${encodeURIComponent(app)}/${encodeURIComponent(channel)}${rest}`;
