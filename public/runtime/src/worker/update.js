import { Fault, fault } from "../protocol/fault.js";
import { applyPatch, digestOf, readMap, versionNumber } from "../protocol/entries.js";
import { utf8 } from "../protocol/digests.js";
import { isObject } from "../protocol/json.js";
import { applyDelta, applyPack } from "../protocol/packs.js";
import { Turns, after } from "../protocol/turns.js";
import { matchKey, stemOf } from "../protocol/urls.js";
import { ask } from "./asking.js";
import { calm } from "./calm.js";
import { readClock } from "./clock.js";
import { counts, reaches, tells } from "./evidence.js";
import { check, fetchEntry, fromSite } from "./fetching.js";
import { Damage, isWorth, offerOf, openPages, takeFirst } from "./first.js";
import { healed } from "./healing.js";
import { fetchBytes, fetchJSON } from "./network.js";
import { isKilled, readPolicy } from "./policy.js";
import { pollPolicy, takes } from "./polling.js";
import { readRule } from "../protocol/rollouts.js";
import { readPrefetch } from "./prefetch.js";
import { decides, ended, goesBack, installs } from "./rollouts.js";
import { entriesBefore, givesUp, goesBack as returnsTo, leaves } from "./returning.js";
import { dropAside, endAside, sweep, writes } from "./room.js";
import { DAY, DOCUMENT_LIMIT, asksCacheAlone, isMetered, isWithin } from "./settings.js";
import { isFull, mayTry, ranFull, room } from "./quota.js";
import { asks, wants } from "./samples.js";
import { looksAtSite } from "./site.js";
import { Trust, configDigest, reasonOf } from "./trusting.js";

/** @typedef {import("../protocol/entries.js").Entry} Entry */
/** @typedef {import("./polling.js").Source} Source */
/** @typedef {import("./store.js").Manifest} Manifest */
/** @typedef {import("./runtime.js").Runtime} Runtime */
/** @typedef {{base: string, download: string, size: number}} Delta */
/**
 * What an update came to. `kind`: `early` (polled less than the interval ago), `nothing`, `patch`, `pack`, `whole`, `removed` (the
 * site has no worker any more), `returned` (the version before is back) or `failed`.
 * @typedef {{kind: string, source?: Source, from: string, to: string, fetched: number, copied: number, deltas: number, bytes: number,
 *   why?: string}} Report
 */
/** @typedef {{force?: boolean, metered?: boolean}} Wish */

/** What nobody waits for. */
const BACKGROUND = { priority: "low", tries: 4 };
/** Attempts at a pack in whose middle the worker was ended: its files alone come as far as they come. */
const MOST_BEGUN = 2;
/** Files that are fetched at once: pages have the line for themselves where they ask for something. */
const AT_ONCE = 2;
/** The members of the other documents that are read. */
const MEMBERS = {
  policy: new Set(["bypass", "bypassUntil", "intercept", "until", "version"]),
  prefetch: new Set(["config", "trust", "version"]),
  candidatePrefetch: new Set(["config", "trust", "version"]),
};
/** Files that fail before the rest isn't tried: what came needn't come again. */
const MOST_FAILED = 3;
/** What nobody but a developer's tools asks for; a game's level may end with ".map", too. */
const ON_DEMAND = /\.(?:[cm]?js|css|wasm)\.map$/;
/**
 * Whether a file isn't fetched before something asks for it.
 * @param {string} url
 * @param {Entry} entry
 */
const waits = (url, { lazy }) => lazy === true || ON_DEMAND.test(url);

/** Brings what is held to the newest manifest, one update after another. */
export class Updater {
  /**
   * @param {Runtime} runtime
   * @param {(report: Report) => Promise<void>} made called once for each update, however many wait for it
   */
  constructor(runtime, made) {
    this.runtime = runtime;
    this.made = made;
    /** @type {Promise<Report> | undefined} */
    this.running = undefined;
    /** @type {Update | undefined} the one that runs */
    this.current = undefined;
    /** @type {Promise<unknown>} looks at the site that are on their way: neither an update nor a poll waits for them */
    this.looking = Promise.resolve();
    /** Who may sign what comes, where the site was built with a root. */
    this.trust = runtime.settings.root ? new Trust(runtime) : undefined;
    /** @type {Promise<unknown>} the last switch, to a version or back from it: one after another */
    this.switching = Promise.resolve();
    /** @type {Report | undefined} what pages were told last */
    this.told = undefined;
  }

  /**
   * Tells pages of an update, once.
   * @param {Report} report
   */
  async tellsPages(report) {
    if (this.told === report) return;
    this.told = report;
    await this.made(report);
  }

  /**
   * @template Value
   * @param {() => Promise<Value>} act
   * @returns {Promise<Value>}
   */
  switches(act) {
    const result = this.switching.then(act);
    this.switching = result.catch(() => {});
    return result;
  }

  /**
   * Takes note of what is evidence of a rollout.
   * @param {import("./store.js").Page} [page] that has failed
   */
  counts(page) {
    return counts(this.runtime, { page });
  }

  /**
   * Takes note of a page that was counted as one that failed.
   * @param {import("./store.js").Page} page
   * @param {"page-failed" | "script-failed"} failure
   */
  fails(page, failure) {
    void asks(this.runtime, page, failure);
  }

  /** Tells the origin that the device went back, if a page has come up since, and it is there. */
  async tells() {
    const { runtime } = this;
    tells(runtime);
    const { isBack, left } = runtime.heal;
    if (isBack || !left) return;
    runtime.heal.left = undefined;
    await counts(runtime, { left });
  }

  /**
   * Goes back to the version before, where there is a way.
   * @param {import("./healing.js").Cause} cause
   * @param {string} url of the page that failed
   * @param {boolean} isCounted whether it is evidence of the candidate, once the version before has come up
   * @returns {Promise<boolean>} whether it did
   */
  async returns(cause, url, isCounted) {
    const { trust, runtime } = this;
    await trust?.begins();
    await this.counts();
    const { candidate } = runtime.manifest;
    const way = await this.switches(() => returnsTo(runtime, cause, url, trust, isCounted));
    if (!way) return false;
    // What the app itself says is certain.
    if (cause === "rejected") await counts(runtime, { left: candidate });
    await this.made({ kind: "returned", ...way, fetched: 0, copied: 0, deltas: 0, bytes: 0 });
    return true;
  }

  /**
   * @param {Wish} wish
   * @returns {Promise<Report>}
   */
  async update(wish) {
    void this.current?.beside(wish.force);
    // Whoever forces one wants an answer that is asked for now.
    while (this.running) {
      const report = await this.running;
      if (!wish.force) return report;
    }
    this.running = this.runs(wish);
    try {
      return await this.running;
    } finally {
      this.running = undefined;
    }
  }

  /** @param {Wish} wish */
  async runs(wish) {
    this.current = new Update(this.runtime, wish, this.trust, (act) => this.switches(act), (report) => this.tellsPages(report));
    const report = await this.current.run();
    this.current = undefined;
    if (report.source) this.looking = Promise.all([this.looking, this.looks(report)]);
    // Whoever waits for the report doesn't for pages.
    await Promise.race([Promise.all([this.tellsPages(report), this.looking]), after(1000)]);
    return report;
  }

  /** @param {Report} report */
  async looks(report) {
    if (!(await looksAtSite(this.runtime).catch(() => false))) return;
    this.runtime.isOver = true;
    report.kind = "removed";
    await this.made({ ...report, from: report.to });
  }
}

class Update {
  /**
   * @param {Runtime} runtime
   * @param {Wish} wish
   * @param {Trust | undefined} trust
   * @param {(act: () => Promise<void>) => Promise<void>} inTurn
   * @param {(report: Report) => Promise<void>} tellsPages
   */
  constructor(runtime, { force = false, metered = false }, trust, inTurn, tellsPages) {
    this.runtime = runtime;
    this.inTurn = inTurn;
    this.tellsPages = tellsPages;
    this.trust = trust;
    /** @type {import("../trust/check.js").Verdict | undefined} on the manifest that it goes to */
    this.verdict = undefined;
    /** Whether a head was asked for because a manifest came without one. */
    this.hasAskedHead = false;
    this.settings = runtime.settings;
    this.force = force;
    this.isMetered = metered || isMetered();
    this.turns = new Turns();
    this.polls = pollPolicy(this.settings, runtime.poll);
    /** What is fetched in the background waits for pages. */
    this.background = { ...BACKGROUND, calm: () => calm(runtime) };
    /** @type {unknown} of 10,000 batches, those that the origin asks for */
    this.share = 0;
    /** Whether the origin's answer had `edge`. */
    this.hasEdge = false;
    /** The version that it goes to, or is at. */
    this.next = "0";
    /** Whether whoever was asked gave an answer that could be used: files that don't come are no failure of the poll. */
    this.isAnswered = false;
    /** Whether it is at its downloads, or has ended; whether a poll beside them is on its way. */
    this.isPastPoll = false;
    this.isEnded = false;
    this.isBeside = false;
    /** @type {import("./asking.js").Following} */
    this.following = {
      isCandidate: false, mayTurn: true, decides: (rule) => this.decide(rule), ended: () => ended(runtime),
      goesBack: (rule, isIn) => goesBack(runtime, rule, isIn), skip: () => runtime.heal.skip,
    };
    /** @type {import("./store.js").Kept} what couldn't be written yet */
    this.late = {};
    /** @type {Source | undefined} that is asked */
    this.source = undefined;
    /** @type {Set<string>} URLs of lazy entries whose files follow the switch, as older ones are held */
    this.followers = new Set();
    /** @type {string | undefined} the candidate's prefetch config that was asked for in this poll */
    this.named = undefined;
    /** @type {Report} */
    this.report = { kind: "early", from: "0", to: "0", fetched: 0, copied: 0, deltas: 0, bytes: 0 };
  }

  get pause() {
    return this.turns.pause;
  }

  /** @returns {Promise<Report>} */
  async run() {
    const { runtime, report } = this;
    await runtime.loading;
    installs(runtime);
    await counts(runtime, {});
    const { isIn, rule } = runtime.rollout;
    this.following.isCandidate = isIn === true && rule?.version !== runtime.heal.skip;
    runtime.restless = 0;
    this.polls = pollPolicy(this.settings, runtime.poll);
    const held = runtime.manifest;
    report.from = report.to = this.next = held.version;
    const isCut = navigator.onLine === false;
    try {
      // Without a network there is nobody to ask, and no failure.
      if (runtime.isOver || (isCut && isWithin(DAY, Math.max(runtime.poll?.lastPoll ?? 0, runtime.cut), Date.now()))) return report;
      // A browser that says so for a day may be wrong.
      if (isCut) runtime.cut = Date.now();
      await this.trust?.begins();
      const source = this.polls.begin(Date.now(), this.force);
      if (source === undefined) {
        // What waits for a line that costs nothing waits for no poll.
        this.isPastPoll = true;
        if (runtime.backlog.size > 0 && !this.isMetered) await this.complete();
        return report;
      }
      report.source = source;
      // Before anything is asked: a worker that always ends in the middle polls no more often than others.
      if (!isCut) await this.savePoll();
      await this.from(source, held);
    } catch (error) {
      if (isCut && !this.isAnswered) {
        this.polls = pollPolicy(this.settings, runtime.poll);
        report.source = undefined;
        return report;
      }
      // An origin whose answers are all of no use must not keep devices from the copy.
      if (report.source && !this.isAnswered && error instanceof Fault) {
        this.polls.failed(report.source, Date.now(), Math.random());
      }
      report.kind = "failed";
      report.why = String(/** @type {any} */ (error)?.message ?? error);
      const { reason, isTold } = /** @type {any} */ (error);
      if (isFull(error)) this.late.full = await ranFull(runtime, this.next);
      if (!isTold) runtime.report(isFull(error) ? "storage" : reason ?? "manifest", "", this.next);
    } finally {
      this.isEnded = true;
      this.turns.end();
      // A poll is over, whatever became of it.
      if (report.source) runtime.poll = Object.assign(this.polls.saved, { asked: undefined });
      const { poll, rollout, files, tally } = runtime;
      await writes(runtime, { poll, rollout, used: files.used, tally: tally.batch, ...healed(runtime), ...this.late }).catch(() => {});
    }
    return report;
  }

  /** What was found out of whom to poll, and when; a store that hangs keeps no update. */
  savePoll() {
    const { runtime } = this;
    runtime.poll = this.polls.saved;
    return Promise.race([runtime.store.write({ poll: runtime.poll, rollout: runtime.rollout }).catch(() => {}), after(1000)]);
  }

  /**
   * @param {Source} source
   * @param {Manifest} held
   */
  async from(source, held) {
    const { runtime } = this;
    this.source = source;
    reaches(runtime, false);
    // Of a manifest that nobody has checked, no change is enough.
    const base = this.trust?.isUnchecked ? { ...held, version: "0" } : held;
    const data = await ask(this.settings, source, base, true, this.following, this.hearing(source));
    this.isPastPoll = true;
    this.share = source === "origin" ? data.reports : 0;
    this.countPoll(data, source, base);
    this.tell(held, false);
    reaches(runtime, source === "origin");
    wants(runtime, source, data);
    // Before an update that ends what would be told.
    tells(runtime);
    await counts(runtime, {});
    await this.take(data, source, base);
    await this.trust?.tellsStale(this.next);
  }

  /**
   * Polls beside the downloads, if a poll is due, and follows the other documents that the answer names: a kill switch waits for no slow
   * file. The manifest is left to the next update (docs/protocol.md §11, D-4).
   * @param {boolean} [force]
   */
  async beside(force) {
    const { runtime, polls } = this;
    if (!this.isPastPoll || this.isEnded || this.isBeside || runtime.isOver || navigator.onLine === false) return;
    const { asked } = polls.saved;
    // This update's own poll was answered: that its files aren't there yet is no failure.
    polls.saved.asked = undefined;
    const source = polls.begin(Date.now(), force);
    this.isBeside = source !== undefined;
    if (source) {
      await this.savePoll();
      try {
        // Whatever it decides of a rollout is left to the next update, too.
        const { isCandidate } = this.following;
        const following = { ...this.following, mayTurn: false, decides: async () => isCandidate, ended: () => {}, goesBack: () => false };
        const held = runtime.manifest;
        const data = await ask(this.settings, source, held, true, following, this.hearing(source));
        this.countPoll(data, source, held);
        wants(runtime, source, data);
        if (this.trust) await this.heeds(data, source, true).catch(() => {});
        polls.answered(source, data.interval);
      } catch {
        polls.failed(source, Date.now(), Math.random());
      }
      this.isBeside = false;
    }
    polls.saved.asked = asked;
    // What is kept is the next update's by then.
    if (source && !this.isEnded) await this.savePoll();
  }

  /**
   * What follows the other documents that the answers of one poll name, before their manifest is judged: the kill switch has to arrive in
   * any case. An answer that comes slowly is looked into again and again, and a number in it followed once. Where there is a root, prefetch
   * configs wait for the roots that an answer names.
   * @param {Source} source
   */
  hearing(source) {
    /** @type {Set<string>} */
    const begun = new Set();
    return async (/** @type {any} */ data, /** @type {import("./asking.js").Dated | undefined} */ dated) => {
      const { saved } = this.polls;
      if (dated) saved.clock = readClock(saved.clock, source, dated.server, dated.own);
      for (const kind of this.trust ? /** @type {const} */ (["policy"]) : /** @type {const} */ (["policy", "prefetch"])) {
        const name = `${kind} ${data[kind]}`;
        if (begun.has(name)) continue;
        begun.add(name);
        await this.follow(kind, data[kind], source);
      }
      await this.mayEndAside();
    };
  }

  /**
   * Decides by a rule, and follows the prefetch config that goes along with its candidate.
   * @param {any} rule as it came
   */
  async decide(rule) {
    const isIn = await decides(this.runtime, rule);
    const isNamed = this.named === rule.prefetch;
    if (isIn && this.source && rule.prefetch !== undefined && !isNamed) {
      this.named = rule.prefetch;
      if (!this.trust) await this.follow("candidatePrefetch", rule.prefetch, this.source);
    }
    return isIn;
  }

  /** With the kill switch, what was set aside ends. */
  async mayEndAside() {
    const { runtime } = this;
    if (!isKilled(runtime.policy, runtime.time())) return;
    endAside(runtime);
    await runtime.store.write({ aside: runtime.aside }).catch(() => {});
  }

  /**
   * Takes note of an answer once it is known that it can be used.
   * @param {Source} source
   * @param {any} data
   * @param {boolean} [isNews] whether it ends what failed before
   */
  answered(source, data, isNews = source === "origin" || (+data.version > +this.runtime.manifest.version && !this.isSkipped(data))) {
    this.isAnswered = true;
    this.polls.answered(source, data.interval, isNews);
    // What comes now may take longer than this worker's life.
    void this.savePoll();
  }

  /**
   * Whether an answer is about the version that was left.
   * @param {any} data
   */
  isSkipped({ version }) {
    return version === this.runtime.heal.skip;
  }

  // MARK: Documents

  /**
   * Fetches a document whose number in an answer is above that of the one held, and takes it only if it is the one that was named: a
   * cache in between may have an older one, with a switch that was thrown since. What fails is tried again at the next poll. A
   * candidate's prefetch config is the one that its rule names, whatever its number.
   * @param {"policy" | "prefetch" | "candidatePrefetch"} kind
   * @param {unknown} named
   * @param {Source} source
   */
  async follow(kind, named, source) {
    const { runtime, settings } = this;
    const number = versionNumber(named);
    const held = runtime[kind].number;
    if (kind === "candidatePrefetch" ? !(number > 0 && number !== held) : !(number > held)) return;
    const name = kind === "policy" ? "policy.json" : "prefetchConfig";
    const version = kind === "candidatePrefetch" ? number : "";
    const url = source === "origin" ? `${settings.server}/${name}?${settings.query}${version && `&version=${version}`}`
      : settings.mirror(kind === "policy" ? name : `${name}${version && `/${version}`}.json`);
    try {
      // What was a candidate's is the channel's once the rollout is completed.
      const isHere = kind === "prefetch" && number === runtime.candidatePrefetch.number;
      let text = "";
      const parse = (/** @type {string} */ one) => JSON.parse((text = one));
      const document = isHere ? runtime.candidateDocument : await fetchJSON(url, 8 << 20, MEMBERS[kind], undefined, undefined, parse);
      const read = kind === "policy" ? readPolicy(document) : readPrefetch(document);
      if (read?.number !== number) return;
      if (this.trust && kind !== "policy" && !isHere) document.data.content = await configDigest(text);
      if (this.trust && !(await this.passesAlone(kind, number, document.data))) return;
      // In force at once, whatever becomes of the store.
      Object.assign(runtime, { [kind]: read });
      if (kind === "candidatePrefetch") runtime.candidateDocument = document;
      this.late[kind] = document;
      // Beside downloads nothing makes way for it: what came of them would be lost, and the update's end isn't far.
      await (this.isPastPoll ? runtime.store.write({ [kind]: document }) : writes(runtime, { [kind]: document }));
      delete this.late[kind];
    } catch {}
  }

  // MARK: Trust

  /**
   * Goes up to the root that an answer names, also if nothing else is new, and then to the prefetch configs, which its keys may have signed.
   * @param {any} data
   * @param {Source} source
   * @param {boolean} [isBeside] whether the poll was one beside downloads, which is counted by itself
   */
  async heeds(data, source, isBeside = false) {
    if (data.root !== undefined && !(versionNumber(data.root) > 0)) fault("no number of a root");
    this.refuses(await this.trust?.roots(data.root, source), isBeside ? undefined : data, source);
    await this.follow("prefetch", data.prefetch, source);
    if (this.named !== undefined) await this.follow("candidatePrefetch", this.named, source);
  }

  /**
   * Takes nothing of an answer that fails a check. The poll itself was answered.
   * @param {string | undefined} failure
   * @param {any} data
   * @param {Source} source
   * @throws Fault
   */
  refuses(failure, data, source) {
    if (!failure) return;
    if (data) this.answered(source, data, false);
    throw new Fault(failure, reasonOf(failure));
  }

  /**
   * Whether a document may be taken that isn't a manifest, which says nothing of others.
   * @param {"policy" | "prefetch" | "candidatePrefetch"} kind
   * @param {number} version
   * @param {any} data
   */
  async passesAlone(kind, version, { content, trust }) {
    const check = /** @type {Trust} */ (this.trust);
    const failure = kind === "policy" ? (await check.allows(version)) ? undefined : "policy-old"
      : (await check.checks({ prefetch: { version, content, statement: trust } })).failure;
    if (failure) this.runtime.report(reasonOf(failure), "", this.next);
    return !failure;
  }

  /**
   * Whether a manifest may be taken. If not, this was all of it: it is of no use, or the whole one was asked for instead.
   * @param {Manifest} next
   * @param {any} data
   * @param {Source} source
   * @param {Manifest} held
   * @throws Fault
   */
  async passes(next, data, source, held) {
    const { runtime } = this;
    const trust = /** @type {Trust} */ (this.trust);
    const { head, releases } = data.trust ?? {};
    const check = () => trust.checks({ root: data.root, head, releases, manifest: next }, this.pause);
    // What a copy keeps of a candidate has no head.
    const asksFirst = head === undefined && !this.hasAskedHead && trust.needsHead(next);
    if (asksFirst) {
      this.hasAskedHead = true;
      this.refuses(await trust.head(source), data, source);
    }
    let verdict = await check();
    if (verdict.isCandidate && !asksFirst) {
      // Whether it still is one, and for whom, only the newest head says.
      this.refuses(await trust.head(source), data, source);
      verdict = await check();
    }
    const { failure, isCandidate } = verdict;
    if (failure && held.version !== "0" && /^(entry|release)/.test(failure)) {
      await this.takeWhole(data, source, held);
      return false;
    }
    this.refuses(failure, data, source);
    const rollout = trust.state.head?.head.candidate?.rollout;
    if (isCandidate && !(await decides(runtime, rollout))) {
      this.answered(source, data);
      this.report.kind = "nothing";
      return false;
    }
    // A root that is off leaves it to the answer.
    if (isCandidate !== undefined) data.rule = isCandidate ? readRule(rollout) : undefined;
    this.verdict = verdict;
    return true;
  }

  // MARK: Manifests

  /**
   * The same as a whole, whatever is held.
   * @param {any} data
   * @param {Source} source
   * @param {Manifest} held
   */
  async takeWhole(data, source, held) {
    const whole = await this.asksAgain(source, { ...held, version: "0" }, data);
    return this.take(whole, source, { version: "0", digest: "", map: held.map });
  }

  /**
   * @param {any} data
   * @param {Source} source
   * @param {Manifest} held
   * @returns {Promise<void>}
   */
  async take(data, source, held) {
    const { report, runtime } = this;
    report.kind = "nothing";
    if (source === "origin" && !data.update && data.version !== held.version && !this.isSkipped(data)) fault("another version");
    if (this.trust && data.update) this.next = data.version;
    if (this.trust) await this.heeds(data, source);
    // A copy leads to nothing older, also where what is held wasn't checked.
    const isOlder = source === "mirror" && +data.version < +runtime.manifest.version;
    if (!data.update || this.isSkipped(data) || !(data.goesBack || (takes(data, source, held) && !isOlder))) {
      this.answered(source, data);
      const failure = await this.trust?.daily(source);
      if (failure) runtime.report(reasonOf(failure), "", this.next);
      await (this.isMetered ? sweep(runtime) : this.complete());
      return;
    }
    this.next = data.version;
    if (!(await mayTry(runtime, data.version))) {
      this.answered(source, data);
      report.kind = "failed";
      report.why = `version ${data.version}: no room, tried before`;
      return;
    }
    if (!/^[0-9a-f]{64}$/.test(data.digest)) fault("no digest");
    if (data.pack) {
      const map = await this.pack(data, held);
      if (map) {
        await this.checkNames(map);
        const next = { version: data.version, digest: data.digest, map };
        if (this.trust && !(await this.passes(next, data, source, held))) return;
        this.answered(source, data);
        return this.switch(next, data);
      }
      // "A device that can't use a pack asks the same without `pack=1` at once; that isn't a new poll."
      return this.take(await this.asksAgain(source, held, data), source, held);
    }
    const map = await this.mapOf(data, held);
    if (!map && held.version === "0") fault("a patch that nobody asked for");
    if (!map) return this.takeWhole(data, source, held);
    report.kind = data.patch ? "patch" : "whole";
    const next = { version: data.version, digest: data.digest, map };
    await this.checkNames(map);
    if (this.trust && !(await this.passes(next, data, source, held))) return;
    this.answered(source, data);
    let wanted = await this.wanted(next, held);
    // A first version is better held in part than not at all: pages fetch the rest, as where bytes cost money.
    const isFirst = runtime.manifest.version === "0";
    let isTight = isFirst && (await this.isTight(wanted, next));
    try {
      if (isFirst && !isTight) wanted = await this.first(offerOf(data.first), wanted, next);
      if (this.isMetered || isTight) await this.keepAllCached(wanted);
      else await this.fetchAll(wanted, isObject(data.deltas) ? data.deltas : {}, next);
    } catch (error) {
      if (!isFirst || !isFull(error)) throw error;
      // Chromium says that there is room for 10 GB, whatever there is.
      isTight = true;
      const present = await runtime.files.present();
      for (const [url, { download }] of wanted) if (!present.has(download)) runtime.backlog.add(url);
    }
    if (isTight) {
      this.late.full = await ranFull(runtime, next.version);
      runtime.report("storage", "", next.version);
    }
    await this.switch(next, data);
  }

  /**
   * The same poll, without a pack.
   * @param {Source} source
   * @param {Manifest} held
   * @param {any} data
   */
  asksAgain(source, held, data) {
    return ask(this.settings, source, held, false, this.following, async () => {}, data);
  }

  /**
   * Keeps what the browser has of a version in its own cache, and puts the rest off.
   * @param {[string, Entry][]} wanted
   */
  async keepAllCached(wanted) {
    let left = (await room()) ?? Infinity;
    for (const [url, entry] of wanted) {
      try {
        if (entry.size <= left && (await this.keepsCached(url, entry))) {
          left -= entry.size;
          continue;
        }
      } catch (error) {
        if (!isFull(error)) throw error;
        left = 0;
      }
      this.runtime.backlog.add(url);
    }
  }

  /**
   * Whether the browser says that it has no room for what would be fetched.
   * @param {[string, Entry][]} wanted
   * @param {Manifest} next that they are of
   */
  async isTight(wanted, next) {
    const free = await room();
    if (free === undefined) return false;
    return (await this.fitting(wanted, next)).reduce((bytes, [, { size }]) => bytes + size, 0) > free;
  }

  /**
   * As many entries as the disk limit has room for.
   * @param {[string, Entry][]} wanted
   * @param {Manifest} next that they are of
   */
  async fitting(wanted, { map }) {
    // What is held of it stays: a download is no use.
    const present = await this.runtime.files.present();
    let left = this.settings.limit;
    for (const { download, size } of map.values()) if (present.has(download)) left -= size;
    return wanted.filter(([, { size }]) => (left -= size) >= 0);
  }

  /**
   * Keeps a file that the browser has in its own cache, which costs no byte of the line.
   * @param {string} url
   * @param {Entry} entry
   * @param {boolean} [mayAsk] whether the site may be asked, by browsers that do so
   */
  async keepsCached(url, entry, mayAsk = asksCacheAlone()) {
    const bytes = mayAsk ? await fromSite(this.settings, url, entry, this.pause, "only-if-cached") : undefined;
    if (bytes) {
      this.runtime.cached.add(url);
      await this.keep(entry, bytes);
    }
    return bytes !== undefined;
  }

  /**
   * The resourcemap that a patch or a whole answer leads to; undefined where a patch doesn't fit.
   * @param {any} data
   * @param {Manifest} held
   */
  async mapOf(data, held) {
    if (!data.patch) {
      const map = await readMap(data.resourcemap, this.pause);
      if ((await digestOf(map, this.pause)) !== data.digest) throw new Fault("a manifest with another digest", "patch");
      return map;
    }
    if (data.base !== held.version) return undefined;
    const map = await applyPatch(held.map, data.patch, this.pause);
    return (await digestOf(map, this.pause)) === data.digest ? map : undefined;
  }

  /**
   * What a first version lacks once the browser's own cache and its pack gave what they have; all of it, where no pack is worth it.
   * @param {import("./first.js").Offer | undefined} offer
   * @param {[string, Entry][]} wanted
   * @param {Manifest} next that they are of
   */
  async first(offer, wanted, next) {
    const { report, settings, pause } = this;
    if (!offer || (this.isMetered && offer.size > settings.meteredLimit) || this.hasBegun(offer.download) >= MOST_BEGUN) return wanted;
    if (!isWorth(offer, wanted)) return wanted;
    // A browser that asks the site for what its cache hasn't is asked for the pages that are open: whether they are of this version is
    // known by that.
    const open = asksCacheAlone() ? undefined : await openPages();
    /** @type {[string, Entry][]} */
    const others = [];
    for (const [url, entry] of wanted) {
      const isCached = (!open || (open.has(matchKey(url)) && !this.isMetered)) && (await this.keepsCached(url, entry, true));
      if (isCached) report.fetched += 1;
      else others.push([url, entry]);
    }
    const left = await this.keepsCopies(others, await this.holdings(next.map.values()));
    const fitting = await this.fitting(left, next);
    if (!isWorth(offer, fitting)) return left;
    /** @type {Set<string>} */
    const come = new Set();
    let isDamaged = false;
    try {
      await this.begins({ download: offer.download, count: this.hasBegun(offer.download) + 1 });
      await takeFirst(offer, fitting, {
        how: this.background, pause, came: (count) => (report.bytes += count),
        keep: async (entry, bytes) => {
          await this.keep(entry, bytes);
          report.fetched += 1;
          come.add(entry.download);
        },
      });
    } catch (error) {
      if (isFull(error)) throw error;
      // It stays what it is: what it brought is held, and the rest comes otherwise.
      isDamaged = error instanceof Damage;
      report.why = String(/** @type {any} */ (error).message);
    } finally {
      await this.begins(isDamaged ? { download: offer.download, count: MOST_BEGUN } : undefined);
    }
    return left.filter(([, { download }]) => !come.has(download));
  }

  /**
   * How often a pack was begun and left in its middle.
   * @param {string} download
   */
  hasBegun(download) {
    const { begun } = this.runtime;
    // A pack without a download is one of an answer that can't be used.
    return begun && begun.download === download ? begun.count : 0;
  }

  /**
   * The resourcemap that a pack leads to, with its files kept; undefined where it can't be used.
   * @param {any} data
   * @param {Manifest} held
   */
  async pack(data, held) {
    const { runtime, report } = this;
    const { download, size } = data.pack;
    if (data.base !== held.version || !Number.isSafeInteger(size) || size > DOCUMENT_LIMIT) return undefined;
    if (this.isMetered && size > this.settings.meteredLimit) return undefined;
    const count = this.hasBegun(download);
    if (count >= MOST_BEGUN) return undefined;
    try {
      await this.begins({ download, count: count + 1 });
      const bytes = await fetchBytes(download, { limit: size, ...this.background });
      report.bytes += bytes.length;
      const files = await this.holdings();
      const present = await runtime.files.present();
      /** @type {{digest: string, bytes: Uint8Array} | undefined} what was read last: records over one base follow each other */
      let last;
      const map = await applyPack(bytes, data, held, {
        pause: this.pause, limit: DOCUMENT_LIMIT,
        file: async (digest) => {
          if (last?.digest === digest) return last.bytes;
          for (const entry of files.get(digest) ?? []) {
            const bytes = await runtime.files.bytes(entry);
            if (!bytes) continue;
            last = { digest, bytes };
            return bytes;
          }
          return undefined;
        },
        keep: async (url, entry, bytes) => {
          report.fetched += 1;
          files.set(entry.sha256, [...(files.get(entry.sha256) ?? []), entry]);
          if (!present.has(entry.download) && this.settings.allows(url)) await this.keep(entry, bytes);
        },
      });
      report.kind = "pack";
      return map;
    } catch (error) {
      if (isFull(error)) throw error;
      report.why = String(/** @type {any} */ (error).message);
      return undefined;
    } finally {
      await this.begins(undefined);
    }
  }

  /**
   * Takes note of the pack that is on its way: a worker that ends in its middle leaves it.
   * @param {Runtime["begun"]} begun
   */
  begins(begun) {
    this.runtime.begun = begun;
    return this.runtime.store.write({ begun }).catch(() => {});
  }

  /**
   * The entries whose files may be held, by SHA-256: those of the manifest, and what was set aside.
   * @param {Iterable<Entry>} [more] entries of the next manifest
   */
  async holdings(more = []) {
    const { runtime } = this;
    /** @type {Map<string, Entry[]>} */
    const found = new Map();
    const present = await runtime.files.present();
    const left = [...runtime.aside.values()].flat().map(({ entry }) => entry);
    for (const entry of [...runtime.manifest.map.values(), ...left, ...entriesBefore(runtime), ...more]) {
      if (present.has(entry.download)) found.set(entry.sha256, [...(found.get(entry.sha256) ?? []), entry]);
    }
    return found;
  }

  /**
   * The entries of a manifest that changed and aren't held.
   * @param {Manifest} next
   * @param {Manifest} held
   * @returns {Promise<[string, Entry][]>}
   */
  async wanted(next, held) {
    const present = await this.runtime.files.present();
    // A browser that emptied the files alone took all of them.
    const isWiped = present.size === 0;
    /** @type {[string, Entry][]} */
    const wanted = [];
    for (const [url, entry] of next.map) {
      const before = held.map.get(url);
      const isNew = isWiped || before?.download !== entry.download || before.lazy;
      if (isNew && !present.has(entry.download) && this.settings.allows(url) && !waits(url, entry)) wanted.push([url, entry]);
      await this.pause();
    }
    return wanted;
  }

  /**
   * Refuses files that some device couldn't hold, whose file system goes by the names of downloads (docs/protocol.md §11, D-22 and D-23).
   * @param {import("../protocol/entries.js").Resourcemap} map
   */
  async checkNames(map) {
    /** @type {Map<string, string>} */
    const names = new Map();
    for (const [url, { download, sha256 }] of map) {
      await this.pause();
      if (!this.settings.allows(url)) continue;
      let name = "";
      try {
        name = decodeURIComponent(new URL(download).pathname.split("/").pop() ?? "");
      } catch {}
      if (!name || /^\.\.?$|[/\0]/.test(name) || utf8(name).length > 255) fault(`a download without a name: ${url}`);
      if ((names.get(name) ?? sha256) !== sha256) fault(`two files of one name: ${url}`);
      names.set(name, sha256);
    }
  }

  // MARK: Files

  /**
   * Fetches entries, as many as the disk limit has room for: others come when a page asks for them.
   * @param {[string, Entry][]} wanted
   * @param {{[url: string]: Delta}} deltas
   * @param {Manifest} next that they are of
   */
  async fetchAll(wanted, deltas, next) {
    const { runtime } = this;
    const files = await this.holdings();
    const queue = await this.fitting(wanted, next);
    /** @type {unknown[]} */
    const failures = [];
    const work = async () => {
      for (let next; (next = queue.shift()); ) {
        const [url, entry] = next;
        await calm(runtime);
        try {
          await this.keep(entry, await this.fileOf(url, entry, deltas[url], files));
        } catch (error) {
          // A lazy file that nobody has waits for whoever asks for it.
          if (entry.lazy && /** @type {any} */ (error).isFinal) runtime.backlog.delete(url);
          else if (failures.push(error) >= MOST_FAILED || isFull(error)) queue.length = 0;
        }
        await this.pause();
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, work));
    if (failures.length > 0) throw failures.find(isFull) ?? failures[0];
  }

  /**
   * Keeps what is held by another name.
   * @param {[string, Entry][]} wanted
   * @param {Map<string, Entry[]>} files that are held, by SHA-256
   * @param {(entry: Entry, bytes: Uint8Array) => Promise<void>} [keep]
   * @returns {Promise<[string, Entry][]>} the others
   */
  async keepsCopies(wanted, files, keep = (entry, bytes) => this.keep(entry, bytes)) {
    /** @type {[string, Entry][]} */
    const left = [];
    for (const [url, entry] of wanted) {
      await this.pause();
      const bytes = await this.copyOf(entry, files);
      if (!bytes) left.push([url, entry]);
      else {
        this.report.copied += 1;
        await keep(entry, bytes);
      }
    }
    return left;
  }

  /**
   * @param {Entry} entry
   * @param {Map<string, Entry[]>} files that are held, by SHA-256
   */
  async copyOf({ sha256 }, files) {
    for (const same of files.get(sha256) ?? []) {
      const bytes = await this.runtime.files.bytes(same);
      if (bytes) return bytes;
    }
    return undefined;
  }

  /**
   * An entry's file: a copy of what is held, by a delta, or downloaded.
   * @param {string} url
   * @param {Entry} entry
   * @param {Delta | undefined} delta
   * @param {Map<string, Entry[]>} files
   */
  async fileOf(url, entry, delta, files) {
    const { runtime, report } = this;
    const copy = await this.copyOf(entry, files);
    if (copy) {
      report.copied += 1;
      return copy;
    }
    // A page that asks for it has it on its way.
    const arriving = runtime.files.arriving.get(entry.download);
    if (arriving) return arriving;
    report.fetched += 1;
    // What the page that opened it has loaded is in the browser's cache. A browser that asks the site for the rest does so once.
    const mayAsk = asksCacheAlone() || report.from === "0";
    const cached = mayAsk ? await fromSite(this.settings, url, entry, this.pause, "only-if-cached") : undefined;
    if (cached) {
      runtime.cached.add(url);
      return cached;
    }
    const [base] = (delta && files.get(delta.base)) ?? [];
    if (delta && base) {
      try {
        const coded = await fetchBytes(delta.download, { limit: delta.size, ...this.background, tries: 1 });
        report.bytes += coded.length;
        const over = (await runtime.files.bytes(base)) ?? fault("no base");
        const bytes = await applyDelta(coded, over, { pause: this.pause, limit: entry.size });
        await check(entry, bytes, this.pause);
        report.deltas += 1;
        return bytes;
      } catch {
        // "Any fault of a delta costs one plain download."
      }
    }
    const bytes = await fetchEntry(entry, this.pause, this.background).catch(async (error) => {
      runtime.report(error.reason ?? "download", url, this.next);
      // The site has it, where it is at this version.
      const own = await fromSite(this.settings, url, entry, this.pause, "no-cache");
      if (own) return own;
      throw Object.assign(error, { isTold: true });
    });
    report.bytes += bytes.length;
    return bytes;
  }

  /**
   * @param {Entry} entry
   * @param {Uint8Array} bytes
   */
  async keep(entry, bytes) {
    const { files } = this.runtime;
    try {
      await files.keep(entry, bytes);
    } catch (error) {
      if (!isFull(error)) throw error;
      // "Set-aside files go first when the disk limit is reached."
      await dropAside(this.runtime, 0);
      await files.keep(entry, bytes).catch(async (again) => {
        if (!isFull(again) || !this.runtime.before) throw again;
        await givesUp(this.runtime);
        await files.keep(entry, bytes);
      });
    }
  }

  /** Fetches what an earlier update left for a line that costs nothing, or the browser took away as a whole. */
  async complete() {
    const { runtime } = this;
    const { map } = runtime.manifest;
    if (!(await mayTry(runtime, runtime.manifest.version))) return sweep(runtime);
    const present = await runtime.files.present();
    const urls = present.size === 0 ? [...map].filter(([url, entry]) => !waits(url, entry)).map(([url]) => url) : [...runtime.backlog];
    const wanted = urls.flatMap((url) => {
      const entry = map.get(url);
      return entry && this.settings.allows(url) && !present.has(entry.download) ? [/** @type {[string, Entry]} */ ([url, entry])] : [];
    });
    if (wanted.length > 0 && (await this.isTight(wanted, runtime.manifest))) {
      this.late.full = await ranFull(runtime, runtime.manifest.version);
      return sweep(runtime);
    }
    if (wanted.length > 0) await this.fetchAll(wanted, {}, runtime.manifest);
    if (runtime.backlog.size > 0) {
      runtime.backlog = new Set();
      await runtime.store.write({ backlog: runtime.backlog });
    }
    await sweep(runtime);
  }

  // MARK: The switch

  /**
   * Puts a manifest in the place of the one held, in one transaction.
   * @param {Manifest} next
   * @param {any} data
   */
  async switch(next, data) {
    const { runtime } = this;
    await this.lazy(next);
    await this.inTurn(() => this.switchNow(next, data));
    await this.turns.yield();
    const foreign = [...next.map.keys()].find((url) => !this.settings.allows(url));
    if (foreign) runtime.report("manifest", foreign, next.version);
    // From here on the update is made: what is left to do is done at the next one, too.
    await sweep(runtime).catch(() => {});
    if (this.followers.size === 0 || this.isMetered) return;
    // Pages needn't wait for what nothing may ask for.
    await Promise.race([this.tellsPages(this.report), after(1000)]);
    await this.complete().catch(async (error) => {
      if (isFull(error)) this.late.full = await ranFull(runtime, next.version);
    });
  }

  /**
   * Keeps files of lazy entries that are held by another name, and takes note of those that changed and whose file before is held.
   * @param {Manifest} next
   */
  async lazy(next) {
    const { runtime, settings } = this;
    const { files, manifest } = runtime;
    const lazy = [...next.map].filter(([url, entry]) => entry.lazy && settings.allows(url));
    if (lazy.length === 0) return;
    const present = await files.present();
    const missing = lazy.filter(([, { download }]) => !present.has(download));
    // Where there is no room for a copy, it is fetched when a page asks for it.
    const keep = (/** @type {Entry} */ entry, /** @type {Uint8Array} */ bytes) => files.keep(entry, bytes).catch(() => {});
    const left = await this.keepsCopies(missing, await this.holdings(next.map.values()), keep);
    for (const [url] of left) if (present.has(manifest.map.get(url)?.download ?? "")) this.followers.add(url);
  }

  /**
   * @param {Manifest} next
   * @param {any} data
   */
  async switchNow(next, data) {
    const { runtime, report } = this;
    if (data.rule?.version === next.version) next.candidate = data.rule.seed;
    const now = Date.now();
    const before = runtime.manifest;
    /** @type {typeof runtime.aside} */
    const aside = new Map([...runtime.aside].map(([key, list]) => [key, [...list]]));
    for (const [url, entry] of before.map) {
      await this.pause();
      if (next.map.get(url)?.download === entry.download) continue;
      const key = matchKey(url);
      aside.set(key, [...(aside.get(key) ?? []), { entry, last: +before.version, at: now }]);
    }
    const rollback = versionNumber(data.rollback) || 0;
    // What waits and is lazy now waits until it is asked for.
    const isLeft = (/** @type {string} */ url) => next.map.has(url) && (!next.map.get(url)?.lazy || before.map.get(url)?.lazy);
    const backlog = new Set([...[...runtime.backlog].filter(isLeft), ...this.followers]);
    const { skip, spared } = runtime.heal;
    // What is above the version that was left ends that.
    const back = await leaves(runtime, next, rollback, this.pause);
    const heal = { spared, skip: skip !== undefined && +next.version < +skip ? skip : undefined, isTrial: back !== undefined };
    this.tell(before, true);
    // To write a large manifest, and to look through it, takes a while each.
    await this.turns.yield();
    const members = { manifest: next, aside, backlog, rollback, health: new Map(), before: back, heal };
    // What fills the store of a first version goes before its manifest doesn't fit: no page has it yet.
    const write = (/** @type {import("./store.js").Kept} */ more) =>
      before.version === "0" ? writes(runtime, { ...members, ...more }) : runtime.store.write({ ...members, ...more });
    await (this.trust && this.verdict ? this.trust.switches(next, this.verdict, data.trust?.releases, write, this.pause) : write({}));
    runtime.hold(next);
    Object.assign(runtime, { rollback, aside, backlog, heal, before: back, health: new Map() });
    report.to = next.version;
    this.follows(before, next);
  }

  /**
   * Takes note of new scripts in the place of those that pages ran, whose names have another hash: an open page has them compiled.
   * @param {Manifest} before
   * @param {Manifest} next
   */
  follows(before, next) {
    const { runtime } = this;
    const run = new Set();
    for (const [url, { download }] of before.map) if (runtime.files.used.has(download)) run.add(stemOf(url));
    for (const [url, entry] of next.map) if (!before.map.has(url) && run.has(stemOf(url))) runtime.compiles(entry, url);
  }

  /**
   * Counts a poll that the origin doesn't see, since a shared cache answers in its place; what asks once more is part of the same poll.
   * It is in the batch, and in the note that an update ends with.
   * @param {any} data
   * @param {Source} source
   * @param {Manifest} held as the poll named it
   */
  countPoll({ edge }, source, { version }) {
    const { manifest, tally } = this.runtime;
    // A version that isn't held any more has told its batch.
    const isHeld = version !== "0" && version === manifest.version;
    if (source !== "origin") return;
    this.hasEdge = typeof edge === "number";
    if (isHeld && this.hasEdge) tally.add("polls");
  }

  /**
   * Tells the origin what happened while a version was held.
   * @param {Manifest} held
   * @param {boolean} isLast
   */
  tell({ version }, isLast) {
    const batch = this.runtime.tally.take(version, { share: this.share, isLast, now: Date.now(), countsPolls: this.hasEdge });
    if (batch) this.runtime.post(batch);
  }
}
