import { sha256, utf8 } from "../protocol/digests.js";
import { versionNumber } from "../protocol/entries.js";
import { Fault } from "../protocol/fault.js";
import { canonical } from "../protocol/json.js";
import { after } from "../protocol/turns.js";
import { fetchBytes } from "./network.js";
import { NO_PREFETCH } from "./prefetch.js";
import { writes } from "./room.js";
import { DAY, isWithin } from "./settings.js";

/** @typedef {import("./polling.js").Source} Source */
/** @typedef {import("./runtime.js").Runtime} Runtime */
/** @typedef {import("./store.js").Manifest} Manifest */
/** @typedef {import("../trust/check.js").Offer} Offer */
/** @typedef {import("../trust/check.js").Verdict} Verdict */
/** @typedef {typeof import("../trust/check.js") & typeof import("../trust/documents.js")} Tools */
/**
 * What is kept of it: the state of the check; `version`, `digest`: the manifest whose statements these are; `asked`: when a head was last asked
 * for by itself; `told`: when a stale one was last reported.
 * @typedef {import("../trust/check.js").State & {version?: string, digest?: string, asked?: number, told?: number}} Trusted
 */

/** Bytes of an envelope. */
const ENVELOPE = 98_304;

/** What an app's root lets a device take (docs/protocol.md §14). What decides it is xcache-sw-trust.js, which only sites with a root have. */
export class Trust {
  /** @param {Runtime} runtime */
  constructor(runtime) {
    this.runtime = runtime;
    /** @type {Tools} */
    this.tools = /** @type {any} */ (self).xcacheTrust;
    this.builtIn = this.tools.read("root", runtime.settings.root);
    // Whoever waits for it is told.
    this.builtIn.catch(() => {});
    /** @type {any} what was kept, and is known to be what it should be */
    this.known = undefined;
    /** @type {Promise<unknown>} the last change of the state: a poll beside downloads must not undo what their update found, nor it */
    this.last = Promise.resolve();
  }

  /** @returns {Trusted} */
  get state() {
    return /** @type {Trusted} */ (this.runtime.trust);
  }

  /**
   * Changes the state once no other change is on its way.
   * @template Value
   * @param {() => Promise<Value>} act
   * @returns {Promise<Value>}
   */
  inTurn(act) {
    const result = this.last.then(act);
    this.last = result.catch(() => {});
    return result;
  }

  /** Goes on with what was kept, or begins anew. */
  begins() {
    return this.inTurn(() => this.beginning());
  }

  async beginning() {
    const { runtime } = this;
    const builtIn = await this.builtIn;
    const kept = this.known === runtime.trust ? this.known : await this.readable(runtime.trust).catch(() => undefined);
    const state = await this.tools.started(builtIn, kept && this.proved(kept));
    const isNews = state !== kept;
    runtime.trust = state;
    // The statements of what is held now aren't these.
    if (this.isUnchecked) runtime.trust = { ...state, releases: new Map() };
    this.known = runtime.trust;
    if (!isNews) return;
    // A config that was taken without a check, or nobody knows how, counts for nothing.
    if (!kept) Object.assign(runtime, { prefetch: NO_PREFETCH, candidatePrefetch: NO_PREFETCH, candidateDocument: undefined });
    const others = kept ? {} : { prefetch: undefined, candidatePrefetch: undefined };
    // It is kept again with whatever it allows; a store that hangs keeps no kill switch away.
    await Promise.race([runtime.store.write({ trust: runtime.trust, ...others }).catch(() => {}), after(1000)]);
  }

  /** Whether the manifest that is held wasn't checked, so that the next one has to come as a whole. */
  get isUnchecked() {
    const { version, digest } = this.runtime.manifest;
    return version !== "0" && (this.state.version !== version || this.state.digest !== digest);
  }

  /**
   * What was kept, as far as it is what it should be: a browser may damage it.
   * @param {any} kept
   */
  async readable(kept) {
    const { readPayload } = this.tools;
    const { root, head, floors, prefetchFloor, releases } = kept;
    await readPayload("root", utf8(canonical(root)));
    if (head) await readPayload("head", utf8(canonical(head.head)));
    const isRight = [...floors.values(), prefetchFloor].every(Number.isSafeInteger) && (!head || Array.isArray(head.signers));
    for (const { statement, signers, leaves } of releases.values()) {
      await readPayload("release", utf8(canonical(statement)));
      if (!Array.isArray(signers) || !Number.isSafeInteger(leaves)) return undefined;
    }
    return isRight ? kept : undefined;
  }

  /**
   * Takes note that the version that is held has proved itself, if a page from it came up.
   * @param {Trusted} state
   * @returns {Trusted}
   */
  proved(state) {
    const { proved, settings } = this.runtime;
    return proved !== undefined && proved === state.digest ? this.tools.proved(state, settings.channel) : state;
  }

  /**
   * Checks an offer, and keeps what that changes before anybody goes by it.
   * @param {Offer} offer
   * @param {() => Promise<unknown>} [pause]
   * @returns {Promise<Verdict>}
   */
  checks(offer, pause = async () => {}) {
    return this.inTurn(async () => {
      const verdict = await this.tools.check(offer, this.state, this.runtime.settings.channel, pause);
      if (verdict.state !== this.state) await this.keeps(verdict.state);
      return verdict;
    });
  }

  /**
   * Whether a policy may be taken, which waits for nothing else.
   * @param {number} policy its version
   */
  async allows(policy) {
    return !(await this.tools.check({ policy }, this.state, this.runtime.settings.channel, async () => {})).failure;
  }

  /** @param {Trusted} state */
  async keeps(state) {
    await writes(this.runtime, { trust: state });
    this.known = this.runtime.trust = state;
  }

  /**
   * Takes note of when something was done.
   * @param {{asked?: number, told?: number}} times
   */
  notes(times) {
    return this.inTurn(() => this.keeps({ ...this.state, ...times }));
  }

  /**
   * Keeps what a verdict allows, with the switch to its manifest.
   * @param {Manifest} next
   * @param {Verdict} verdict
   * @param {any[] | undefined} statements that came with it
   * @param {(members: import("./store.js").Kept) => Promise<void>} write
   * @param {() => Promise<unknown>} [pause]
   * @throws Fault, if it may not be taken any more
   */
  switches(next, { releases, state }, statements, write, pause = async () => {}) {
    return this.inTurn(async () => {
      const { version, digest } = next;
      const now = this.proved(this.state);
      // Root or floors may be others by now: a page may have proved the version before.
      if (now !== state) {
        const again = await this.tools.check({ releases: statements, manifest: next }, now, this.runtime.settings.channel, pause);
        if (again.failure) throw new Fault(again.failure, reasonOf(again.failure));
        ({ releases } = again);
      }
      const trust = { ...now, releases: releases ?? new Map(), version, digest };
      await write({ trust });
      this.known = this.runtime.trust = trust;
    });
  }

  /**
   * Keeps the statements of the version before, with the way back to it: no head names it any more, and all else has to be right as it is now.
   * @param {Manifest} next
   * @param {Map<string, any> | undefined} releases
   * @param {(members: import("./store.js").Kept) => Promise<void>} write
   * @returns {Promise<boolean>} whether it may be taken
   */
  returns(next, releases, write) {
    return this.inTurn(async () => {
      const { state } = this;
      const { version, digest, map } = next;
      const held = { ...state, releases: releases ?? new Map(), version, digest };
      if (!state.root.off && !(await this.tools.holds(map, held, this.runtime.settings.channel))) return false;
      await write({ trust: held });
      this.known = this.runtime.trust = held;
      return true;
    });
  }

  // MARK: Roots and heads

  /**
   * @param {string} document
   * @param {Source} source
   * @returns {Promise<Uint8Array | undefined>} an envelope
   */
  fetched(document, source) {
    const { settings } = this.runtime;
    const url = settings.mirror(document, source === "origin" ? settings.server : settings.fallback);
    return fetchBytes(url, { limit: ENVELOPE, isDocument: true }).catch(() => undefined);
  }

  /**
   * Goes from root to root up to the one that an answer names.
   * @param {unknown} number
   * @param {Source} source
   * @returns {Promise<string | undefined>} the check that failed
   */
  async roots(number, source) {
    while (versionNumber(number) > +this.state.root.number) {
      const data = await this.fetched(`root/${+this.state.root.number + 1}.json`, source);
      if (!data) return "root-missing";
      const { failure } = await this.checks({ roots: [data] });
      if (failure) return failure;
    }
    return undefined;
  }

  /**
   * Asks for the newest head.
   * @param {Source} source
   * @returns {Promise<string | undefined>} the check that failed
   */
  async head(source) {
    const data = await this.fetched("head.json", source);
    return data ? (await this.checks({ head: data })).failure : "head-missing";
  }

  /**
   * Whether a manifest that comes without a head is none of the stored one's.
   * @param {Manifest} next
   */
  needsHead({ version, digest }) {
    const { root, head } = this.state;
    const { candidate, ...full } = head?.head ?? {};
    const isKnown = (full.version === version && full.digest === digest) ||
      (candidate?.rollout.version === version && candidate.digest === digest);
    return !root.off && !isKnown;
  }

  /**
   * Asks for the newest head where the one that is held is of yesterday.
   * @param {Source} source
   * @returns {Promise<string | undefined>} the check that failed
   */
  async daily(source) {
    const { root, head, asked = 0 } = this.state;
    const now = this.runtime.time();
    if (root.off || !head || now - head.head.at <= DAY || isWithin(DAY, asked, now)) return undefined;
    await this.notes({ asked: now });
    return this.head(source);
  }

  /**
   * Tells the origin of a head that has expired, once a day.
   * @param {string} version
   */
  async tellsStale(version) {
    const now = this.runtime.time();
    if (version === "0" || !this.tools.isStale(this.state, now) || isWithin(DAY, this.state.told ?? 0, now)) return;
    await this.notes({ told: now });
    this.runtime.post({ reason: "trust-stale", url: "", version });
  }
}

/**
 * The reason that is reported for a check that failed.
 * @param {string} failure
 */
export function reasonOf(failure) {
  const [part, what] = failure.split("-");
  return `trust-${part !== "release" ? part : /key|scope/.test(what) ? "scope" : what === "floor" ? what : "content"}`;
}

/**
 * The digest of a prefetch config, in which numbers are as they were written: JSON.parse forgets that.
 * @param {string} text of its document
 */
export function configDigest(text) {
  // No text of the document's begins like this.
  const mark = crypto.randomUUID();
  const marked = text.replace(/("[^"\\]*(?:\\.[^"\\]*)*")|-?\d[\d.eE+-]*/g, (part, string) => string ?? `"${mark}${part}"`);
  const written = canonical(JSON.parse(marked).data.config);
  return sha256(utf8(written.replace(new RegExp(`"${mark}([^"]*)"`, "g"), "$1")));
}
