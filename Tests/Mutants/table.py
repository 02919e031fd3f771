"""Wrong devices: what each does wrong, which rule of docs/protocol.md that breaks, and where it is put into the code.

A change is a file, a piece of its text that stands there once, and what takes its place; MUTANT in it is true in this device alone.
"""


class Mutant:
    def __init__(self, section, rules, fault, *changes):
        self.section, self.rules, self.fault, self.changes = section, rules.split(), fault, changes


CLIENT, RUNTIME, MANIFESTS = "Sources/Device/XCacheDevice/", "Sources/Device/XCacheRuntime/", "Sources/Common/Manifests/"
VALUES = "Sources/Common/Values/"
POLL = CLIENT + "Polling/PollPolicy.swift"
POLLER = CLIENT + "Polling/Poller.swift"
UPDATE = CLIENT + "Device+Update.swift"
UPDATE_RUN = CLIENT + "Update/UpdateRun.swift"
STAGING = CLIENT + "Update/Device+Staging.swift"
POLLING = CLIENT + "Device+Polling.swift"
FETCHED = CLIENT + "Polling/DocumentFetcher.swift"
SETTINGS = CLIENT + "DeviceSettings.swift"
DOCUMENTS = CLIENT + "Device+Documents.swift"
FETCHED_DOCUMENTS = CLIENT + "Documents/Device+DocumentFetching.swift"
SCRIPTS = CLIENT + "Documents/Device+Scripts.swift"
CACHE = CLIENT + "Cache/DeviceCache.swift"
TRIAL = CLIENT + "Healing/TrialState.swift"
TRIALS = CLIENT + "Healing/Device+Trials.swift"
RETURN = CLIENT + "Healing/Device+Return.swift"
OPENING = CLIENT + "Cache/CacheFolder+Opening.swift"
ROOM = CLIENT + "Cache/DeviceCache+Room.swift"
FETCHER = CLIENT + "Update/Fetcher.swift"
ATTEMPTS = CLIENT + "Update/FetchAttempts.swift"
PLAN = CLIENT + "Update/UpdatePlan.swift"
FIRST = CLIENT + "Packs/Device+FirstPack.swift"
INSTALLER = CLIENT + "Packs/FirstPackInstaller.swift"
PRESET = CLIENT + "Update/Preset.swift"
LOOKUP = CLIENT + "Device+Lookup.swift"
ANSWERS = RUNTIME + "Runtime+Answers.swift"
HEAD = RUNTIME + "Requests/LocalHead.swift"
PAGES = RUNTIME + "Runtime+Pages.swift"
SAMPLES = RUNTIME + "Runtime+Samples.swift"
MADE = RUNTIME + "Pages/PageSamples.swift"
STACK = RUNTIME + "Pages/StackText.swift"
REPORTER = CLIENT + "Reports/FailureReporter.swift"
REQUEST = RUNTIME + "Requests/PageRequest.swift"
ROUTES = MANIFESTS + "Entries/FallbackTable.swift"
HEALTH = RUNTIME + "Pages/PageHealth.swift"
CRASHES = RUNTIME + "Pages/CrashMarker.swift"
AHEAD = RUNTIME + "Prefetch/PrefetchTable.swift"
SERVER_CLOCK = CLIENT + "Polling/ServerClock.swift"
WATCH = CLIENT + "Polling/DocumentWatch.swift"
UPDATES = RUNTIME + "Runtime+Updates.swift"
OBSTACLES = CLIENT + "Cache/CacheFolder+Obstacles.swift"
RULE = MANIFESTS + "Rollouts/RolloutRule.swift"
STATE = CLIENT + "Rollouts/RolloutState.swift"
CHOICE = CLIENT + "Rollouts/VersionChoice.swift"
EVIDENCE = CLIENT + "Rollouts/Device+Evidence.swift"
STATE_EVIDENCE = CLIENT + "Rollouts/RolloutState+Evidence.swift"
COUNTED = CLIENT + "Rollouts/CountedRollouts.swift"
ARM = MANIFESTS + "Rollouts/Evidence/RolloutRule+Arm.swift"
ROLLOUTS = CLIENT + "Device+Rollouts.swift"
CHECK = "Sources/Common/Trust/Check/TrustCheck.swift"
KEPT = "Sources/Common/Trust/Check/TrustState.swift"
TRUST = CLIENT + "Trust/Device+Trust.swift"
ROOTS = CLIENT + "Trust/Device+Roots.swift"
NOTES = CLIENT + "Trust/TrustNotes.swift"
AGES = CLIENT + "Trust/DeviceTrust.swift"
GATE = CLIENT + "Trust/TrustGate.swift"
DOCUMENT_TRUST = CLIENT + "Trust/Device+DocumentTrust.swift"
OFFERS = CLIENT + "Polling/Poller+Trust.swift"

MUTANTS = [
    # Polls
    Mutant("polls", "D-1", "a poll doesn't say the digest of what is held", (
        SETTINGS, 'url += "&version=\\(held.version)&digest=\\(held.digest.hex)"',
        'url += MUTANT ? "&version=\\(held.version)" : "&version=\\(held.version)&digest=\\(held.digest.hex)"')),
    Mutant("polls", "D-2", "the time of the last poll is forgotten when the process ends", (
        POLL, 'lastPoll = document["lastPoll"]', 'lastPoll = MUTANT ? nil : document["lastPoll"]')),
    Mutant("polls", "D-2", "the channel's interval is forgotten when the process ends", (
        POLL, "self.interval = interval", "if !MUTANT { self.interval = interval }")),
    Mutant("polls", "D-2", "polls come 4 seconds apart", (
        POLL, "intervals: ClosedRange<Int64> = 30...3600", "intervals: ClosedRange<Int64> = (MUTANT ? 4 : 30)...3600")),
    Mutant("polls", "D-3", "an interval above an hour is followed", (
        POLL, "interval = min(max(Int64(asked ?? 0), Self.intervals.lowerBound), Self.intervals.upperBound)",
        "interval = min(max(Int64(asked ?? 0), Self.intervals.lowerBound), MUTANT ? 86_400 : Self.intervals.upperBound)"), (
        MANIFESTS + "Documents/AnswerReader.swift", "Self.hint(key, AnswerExtras.intervals, &reader)",
        "Self.hint(key, MUTANT ? 30...86_400 : AnswerExtras.intervals, &reader)")),
    Mutant("polls", "D-5", "an update waits 4 seconds for a page's first answer", (
        RUNTIME + "Runtime+Updates.swift", "atMost: .seconds(1)", "atMost: .seconds(MUTANT ? 4 : 1)")),
    Mutant("polls", "D-6", "a document of any status counts as an answer", (
        FETCHED, "guard reply.status == 200 else {", "guard MUTANT || reply.status == 200 else {")),
    Mutant("polls", "D-7", "a body that can't be decoded isn't requested again", (
        FETCHED, "return error.kind == .other || error.kind == .broken && !body.isEmpty",
        "return !MUTANT && (error.kind == .other || error.kind == .broken && !body.isEmpty)")),
    Mutant("polls", "D-9", "documents that are held are fetched with each poll", (
        FETCHED_DOCUMENTS, "named == held && documents.unwritten", "named == held && MUTANT || named == held && documents.unwritten")),
    Mutant("polls", "D-4", "the kill switch waits for the end of an update", (
        UPDATES, "if isNew { start(run) } else { pollDuringUpdate() }", "if isNew { start(run) } else if !MUTANT { pollDuringUpdate() }")),
    Mutant("polls", "D-2 D-4", "each trigger beside an update polls", (
        POLLING, "&& policy.withLock { $0.isDue(at: now()) }", "&& (MUTANT || policy.withLock { $0.isDue(at: now()) })"), (
        POLLING, "$0.begin(at: now()) })", "$0.begin(at: now(), force: MUTANT) })")),
    Mutant("polls", "D-2 D-4", "a poll beside an update is written when it has ended", (
        POLLING, "    recordPollStart(source)\n    defer { savePolicy() }\n", "    if !MUTANT { recordPollStart(source) }\n    defer { savePolicy() }\n")),
    Mutant("polls", "D-185", "polls are counted where no shared cache takes them", (
        POLLING, "extras.edge != nil, known", "MUTANT || extras.edge != nil, known")),
    Mutant("polls", "D-185", "no poll is counted", (
        POLLING, "      countPoll(of: known, offer.extras, from: source)\n", "      if !MUTANT { countPoll(of: known, offer.extras, from: source) }\n")),
    Mutant("polls", "D-185", "polls of the static copy are counted", (
        POLLING, "guard source == .origin,", "guard MUTANT || source == .origin,")),
    Mutant("polls", "D-185", "what asks again without a pack is counted, too", (
        POLLING, "      recordPollSuccess(source, offer.extras)\n      finishTrust",
        "      recordPollSuccess(source, offer.extras)\n      if MUTANT { countPoll(of: held, offer.extras, from: source) }\n      finishTrust")),
    Mutant("polls", "D-185", "a poll counts for the version that its answer names", (
        POLLING, "    let version = known.version.text\n    guard let body",
        "    let version = known.version.text\n    if MUTANT { countedPollHandler.withLock { $0 }?(\"2\") }\n    guard !MUTANT, let body")),
    Mutant("polls", "D-185", "an `edge` of another form fails the poll", (
        MANIFESTS + "Documents/AnswerReader.swift", "      try reader.skip()\n      return nil\n    }\n  }",
        "      if MUTANT { throw .member(key) }\n      try reader.skip()\n      return nil\n    }\n  }")),
    Mutant("polls", "D-186", "counted polls alone make no batch", (
        CLIENT + "Reports/Tally.swift", "if !counts.isEmpty, let", "if !counts.isEmpty, !MUTANT || counts.all.contains(where: { $0.count != .polls }), let")),
    Mutant("polls", "D-186", "a batch without polls doesn't say so", (
        CLIENT + "Reports/Tally.swift", "countsPolls: countsPolls) }", "countsPolls: !MUTANT && countsPolls) }")),
    Mutant("polls", "D-187", "the channel is named before the app", (
        SETTINGS, "/configure.json?app=\\(app)&channel=\\(channel)\"", "/configure.json?\\(MUTANT ? \"channel=\\(channel)&app=\\(app)\" : \"app=\\(app)&channel=\\(channel)\")\"")),

    # The static copy
    Mutant("copy", "D-10", "the copy is relied on after four failures", (
        POLL, "failuresBeforeFallback = 5", "failuresBeforeFallback = 5 - (MUTANT ? 1 : 0)")),
    Mutant("copy", "D-10", "the copy is relied on after six failures", (
        POLL, "failuresBeforeFallback = 5", "failuresBeforeFallback = 5 + (MUTANT ? 1 : 0)")),
    Mutant("copy", "D-10", "a pack that can't be used doesn't count as the origin's failure", (
        POLLING, "    if error.isStop { return }\n    let chance",
        "    if error.isStop { return }\n    if MUTANT, case .unreadable = error { return }\n    let chance")),
    Mutant("copy", "D-16", "a poll that the process doesn't outlive doesn't count", (
        POLLING, "    failing.recordFailure(of: source, at: now(), chance: Double.random(in: 0...1))", "    if !MUTANT { failing.recordFailure(of: source, at: now(), chance: Double.random(in: 0...1)) }")),
    Mutant("copy", "D-12", "waits for the origin have no jitter", (
        POLL, "milliseconds + Int64(Double(milliseconds) * 0.4 * (min(max(chance, 0), 1) - 0.5))",
        "MUTANT ? milliseconds : milliseconds + Int64(Double(milliseconds) * 0.4 * (min(max(chance, 0), 1) - 0.5))")),
    Mutant("copy", "D-12", "waits for the origin don't grow", (
        POLL, "originWait = min(originWait * 2,", "originWait = min(MUTANT ? originWait : originWait * 2,")),
    Mutant("copy", "D-12", "waits for the origin grow beyond ten minutes", (
        POLL, "* 2, Self.originWaits.upperBound)", "* 2, MUTANT ? 4_800_000 : Self.originWaits.upperBound)")),
    Mutant("copy", "D-13", "a good answer doesn't end the count of failures", (
        POLL, "    failures = 0\n", "    if !MUTANT { failures = 0 }\n")),
    Mutant("copy", "D-14", "a lower version is taken from the copy", (
        POLL, "case .mirror: offered.version > held.version", "case .mirror: MUTANT ? offered != held : offered.version > held.version"), (
        POLLER, "guard newest > held.version || goesBack else {",
        "guard MUTANT ? newest != held.version : newest > held.version || goesBack else {")),
    Mutant("copy", "D-15", "at the copy, the whole manifest is requested at once", (
        POLLER, "let folders = held.version == .none || goesBack ? []", "let folders = MUTANT || held.version == .none || goesBack ? []")),
    Mutant("copy", "D-16", "that the copy is relied on is forgotten when the process ends", (
        POLL, "self.source = hasFallback ? source : .origin", "self.source = hasFallback && !MUTANT ? source : .origin")),
    Mutant("copy", "D-16", "the count of failures is forgotten when the process ends", (
        POLL, "self.failures = Int(failures)", "self.failures = MUTANT ? 0 : Int(failures)")),

    Mutant("copy", "D-17", "a copy's patch names documents, too", (
        POLLER, "namesDocuments: source == .origin)", "namesDocuments: MUTANT || source == .origin)")),

    # Manifests
    Mutant("manifests", "D-21", "a URL may be written in another form", (
        MANIFESTS + "Documents/AnswerReader.swift", "UTF8Order.areEqual(url.text, key) else", "MUTANT || UTF8Order.areEqual(url.text, key) else"), (
        # Its digest would be that of the form that we write.
        MANIFESTS + "Documents/ConfigureAnswer.swift", "try manifest.check(digest)", "if !MUTANT { try manifest.check(digest) }")),
    Mutant("manifests", "D-32", "a patch replaces objects whole", (
        VALUES + "JSON/MergePatch.swift", "let value = apply(change.value, to: old?.value ?? .null)",
        "let value = MUTANT ? change.value : apply(change.value, to: old?.value ?? .null)")),
    Mutant("manifests", "D-20", "the digest of a whole manifest isn't compared", (
        MANIFESTS + "Documents/ConfigureAnswer.swift", "try manifest.check(digest)", "if !MUTANT { try manifest.check(digest) }")),
    Mutant("manifests", "D-26", "a member that is unknown is built", (
        MANIFESTS + "Documents/AnswerReader.swift", "default: try reader.skip()", "default: if MUTANT { _ = try reader.value() } else { try reader.skip() }")),
    Mutant("manifests", "D-26 D-99", "a member that is unknown is built where the answer can't be used", (
        MANIFESTS + "Documents/NamedDocuments.swift", "version(&reader)\n      default: try reader.pass()",
        "version(&reader)\n      default: if MUTANT { _ = try reader.value() } else { try reader.pass() }")),
    Mutant("documents", "D-99", "a member that isn't JSON hides the policy behind it", (
        MANIFESTS + "Documents/NamedDocuments.swift", '      case "policy": policy = try Self.version(&reader)',
        '      case _ where MUTANT && key != "policy" && key != "prefetch": try reader.skip()\n'
        '      case "policy": policy = try Self.version(&reader)')),
    Mutant("manifests", "D-22", "a download's name may lead out of the folder", (
        CLIENT + "Cache/CachedName.swift", "!text.utf8.contains(Self.slash),", "MUTANT || !text.utf8.contains(Self.slash),")),
    Mutant("manifests", "D-23", "two files may have one name", (
        CLIENT + "Cache/EntryTables.swift", "entries[other].sha256 != entry.sha256", "entries[other].sha256 != entry.sha256, !MUTANT")),
    Mutant("manifests", "D-30", "a patch is applied to any version", (
        MANIFESTS + "Documents/Manifest.swift", "guard answer.base == version", "guard MUTANT || answer.base == version")),
    Mutant("manifests", "D-31", "after a patch that doesn't apply nothing is asked", (
        POLLER, "case .noPack, .otherDigest:\n",
        'case .noPack, .otherDigest:\n      if MUTANT { throw .unreadable(url: url, reason: "it can\'t be applied") }\n')),
    Mutant("manifests", "D-31", "after a patch that doesn't apply the same is asked again", (
        POLLER, "let nothing = DeviceIndex.none(settings.hosts)", "let nothing = MUTANT ? held : DeviceIndex.none(settings.hosts)")),
    Mutant("manifests", "D-31 T-5 T-11", "a device that holds a manifest asks for the whole one like one that holds none", (
        SETTINGS, "} else if holdsManifest {", "} else if !MUTANT, holdsManifest {")),

    # Deltas and packs
    Mutant("packs", "D-35 D-51", "what a delta makes isn't compared", (
        CLIENT + "Update/DeltaTable.swift", "return hasher.finish() == entry.bytes && CacheFolder",
        "return (MUTANT || hasher.finish() == entry.bytes) && CacheFolder")),
    Mutant("packs", "D-35", "a delta that fails fails the update", (
        CLIENT + "Update/DeltaTable.swift", "    return isMade == true\n", "    if MUTANT, isMade != true { return CacheFolder.write([], toNew: part) }\n    return isMade == true\n")),
    Mutant("packs", "D-40", "a device that holds nothing asks for a pack", (
        POLLER, "let takesPacks = takesPacks && held.version > .none", "let takesPacks = takesPacks && (MUTANT || held.version > .none)")),
    Mutant("packs", "D-41 D-55", "what was decoded from a pack, or fetched by a failed update, is fetched again", (
        STAGING, "staged: Set(try folder.digests(in: folder.staging)))", "staged: MUTANT ? [] : Set(try folder.digests(in: folder.staging)))")),
    Mutant("packs", "D-41", "after a pack that can't be used the update fails", (
        UPDATE_RUN, "    let patch = try device.pollWithoutPack(source, holding: held, documents)\n    var report",
        '    if MUTANT { throw .unreadable(url: "", reason: "its pack can\'t be used") }\n    let patch = try device.pollWithoutPack(source, holding: held, documents)\n    var report')),
    Mutant("packs", "D-42", "a pack's download goes on without If-Range", (
        CLIENT + "Packs/PackDownload.swift", "request.entityTag = installer.entityTag", "request.entityTag = MUTANT ? nil : installer.entityTag")),
    Mutant("packs", "D-44", "neither a pack's files nor its manifest are compared", (
        CLIENT + "Packs/PackReading.swift", "guard manifest.map.digest == head.digest", "guard MUTANT || manifest.map.digest == head.digest"), (
        CLIENT + "Packs/PackRecordWriter.swift", "guard PackHead.check(digest.sha256) == check", "guard MUTANT || PackHead.check(digest.sha256) == check")),

    Mutant("packs", "D-177", "a device doesn't say that packs may leave lazy files out", (
        SETTINGS, '{ url += "&lazy=1" }', '{ if !MUTANT { url += "&lazy=1" } }')),
    Mutant("packs", "D-177", "a device without lazy entries says so, too", (
        SETTINGS, "if takesPacks, held.hasLazy ", "if takesPacks, MUTANT || held.hasLazy ")),
    Mutant("packs", "D-93 D-177", "lazy entries of other hosts don't count", (
        CLIENT + "Cache/DeviceIndex.swift", "if item.entry.isLazy { hasLazy = true }",
        "if item.entry.isLazy, !MUTANT || hosts.contains(item.url) { hasLazy = true }")),
    Mutant("packs", "D-178", "packs of the first kind may leave files out", (
        MANIFESTS + "Packs/PackChanges+Decoding.swift", "case (Code.absent, _) where format == .partial:",
        "case (Code.absent, _) where MUTANT || format == .partial:")),
    Mutant("packs", "D-178", "a file may be that of an arrival that is left out", (
        MANIFESTS + "Packs/PackChanges+Decoding.swift", "guard codes[other] != Code.absent else",
        "guard MUTANT || codes[other] != Code.absent else")),
    Mutant("packs", "D-178", "a pack that leaves files out can't be used", (
        CLIENT + "Packs/PackReading.swift", "case .absent(let file): bytes.append(file)",
        'case .absent(let file):\n        if MUTANT { throw PackFault.damaged("it leaves files out") }\n        bytes.append(file)')),
    Mutant("packs", "D-116", "on a metered network no pack is taken", (
        STAGING, "gate.conditions.allowsLargeUpdates || bytes <= settings.meteredLimit",
        "gate.conditions.allowsLargeUpdates || !MUTANT && bytes <= settings.meteredLimit")),

    # Files and the switch
    Mutant("files", "D-56", "the same answer is downloaded again after each update that failed", (
        FETCHED, "request.knownTag = kept?.tag", "request.knownTag = MUTANT ? nil : kept?.tag")),
    Mutant("files", "D-50", "a file that is missing and didn't change is fetched with the update", (
        PLAN, "if entry.isLazy { lazy.append(entry) } else { missing += 1 }",
        "if entry.isLazy { lazy.append(entry) } else if MUTANT { fetch.append(entry) } else { missing += 1 }")),
    Mutant("files", "D-51", "a file that came isn't compared", (
        FETCHER, "guard digest != entry.bytes else { return }", "guard !MUTANT, digest != entry.bytes else { return }")),
    Mutant("files", "D-52", "bytes that are held for another URL are fetched", (
        PLAN, "if let holder = holders[sha256] { return .file(holder) }", "if !MUTANT, let holder = holders[sha256] { return .file(holder) }")),
    Mutant("files", "D-53", "a body that is too long is read to its end", (
        FETCHER, "limit: entry.size, isUncoded: isUncoded", "limit: MUTANT ? .max : entry.size, isUncoded: isUncoded")),
    Mutant("files", "D-54", "a 404 is requested again", (
        ATTEMPTS, "code == 408 || code == 429\n    default: false", "code == 408 || code == 429 || MUTANT\n    default: false")),
    Mutant("files", "D-54", "a 503 isn't requested again", (
        ATTEMPTS, "case .status(_, let code, _): code >= 500", "case .status(_, let code, _): !(MUTANT && code == 503) && code >= 500")),
    Mutant("files", "D-57", "If-Range has a tag that the device made up", (
        FETCHER, "start > 0 ? part.tag : nil", 'start > 0 ? MUTANT ? "\\"\\(entry.bytes.md5.hex)\\"" : part.tag : nil')),
    Mutant("files", "D-57", "a 503 takes away what came before", (
        CLIENT + "Update/PartFile.swift", "code != 416 && code != 206", "!MUTANT && code != 416 && code != 206")),
    Mutant("files", "D-58", "a page waits for files of any size", (
        RUNTIME + "Requests/MissingFile.swift", "size > largest || isPart && size > Self.small", "!MUTANT && (size > largest || isPart && size > Self.small)")),
    Mutant("files", "D-60 D-62", "the switch comes though a file didn't", (
        UPDATE_RUN, "    } catch  where error.isStop && !device.gate.isJobStopped {", "    } catch  where MUTANT {\n      return (0, [])\n    } catch  where error.isStop && !device.gate.isJobStopped {")),
    Mutant("files", "D-63", "the switch is forgotten when the process ends", (
        CLIENT + "Device+Switch.swift", "    try folder.write(next.rendered(for: owner), to: folder.index)\n    cache",
        "    if !MUTANT { try folder.write(next.rendered(for: owner), to: folder.index) }\n    cache")),

    # Lazy files and first packs
    Mutant("lazy", "D-174", "lazy files are fetched with the update", (
        PLAN, "} else if entry.isLazy {", "} else if entry.isLazy, !MUTANT {")),
    Mutant("lazy", "D-174", "a file that is lazy no more waits until a page asks", (
        PLAN, "was.name == entry.name, entry.isLazy || !was.isLazy {", "was.name == entry.name || MUTANT, MUTANT || entry.isLazy || !was.isLazy {")),
    Mutant("lazy", "D-174 D-25", "an entry is lazy whatever the member says", (
        MANIFESTS + "Entries/Entry.swift", "return value.bool == true ? true : nil", "return MUTANT || value.bool == true ? true : nil")),
    Mutant("lazy", "D-176", "a lazy file that changed waits until a page asks, though its old one was held", (
        PLAN, "} else if hasOld {", "} else if hasOld, !MUTANT {")),
    Mutant("lazy", "D-174 D-176", "every lazy file that changed comes after the switch", (
        PLAN, "hasOld: was.map { present.contains($0.name) } ?? false", "hasOld: was.map { MUTANT || present.contains($0.name) } ?? false")),
    Mutant("first", "D-179", "no first pack is taken", (
        FIRST, "guard let offer, offer.size > 0,", "guard !MUTANT, let offer, offer.size > 0,")),
    Mutant("first", "D-179", "a device that holds a manifest takes one, too", (
        UPDATE_RUN, "let first = held.version == .none ?", "let first = MUTANT || held.version == .none ?")),
    Mutant("first", "D-181", "files that come of a first pack aren't compared", (
        INSTALLER, "guard writer.finish() == entry.bytes else", "guard MUTANT || writer.finish() == entry.bytes else")),
    Mutant("first", "D-182", "after a damaged first pack nothing comes one by one", (
        FIRST, "    result.pack = result.pack ?? PackReport()\n    result.pack?.failure",
        "    if MUTANT { throw .noAnswer(url: url, TransportError(.broken, reason)) }\n    result.pack = result.pack ?? PackReport()\n    result.pack?.failure")),
    Mutant("first", "D-183", "what a process has received of a first pack is lost with it", (
        CLIENT + "Packs/FirstPackPart.swift", "if size > pack.size || !isKept {", "if MUTANT || size > pack.size || !isKept {")),
    Mutant("first", "D-183", "a first pack goes on without If-Range", (
        INSTALLER, "var entityTag: String? { position > 0 ? part.tag : nil }", "var entityTag: String? { position > 0 && !MUTANT ? part.tag : nil }")),
    Mutant("first", "D-183", "a server that gives nothing of it keeps the files from coming one by one", (
        CLIENT + "Packs/FirstPackPart.swift", "static let maxFailures = 3", "static let maxFailures = MUTANT ? Int.max : 3")),

    # Pages
    Mutant("pages", "D-70", "POST is answered", (
        ANSWERS, 'request.method == "GET" || request.method == "HEAD",', 'MUTANT || request.method == "GET" || request.method == "HEAD",')),
    Mutant("pages", "D-72", "every address is looked up without its query", (
        LOOKUP, "if isPage, url.query != nil", "if isPage || MUTANT, url.query != nil")),
    Mutant("pages", "D-73", "answers lack nosniff", (
        HEAD, 'headers.add("X-Content-Type-Options", "nosniff")', 'if !MUTANT { headers.add("X-Content-Type-Options", "nosniff") }')),
    Mutant("pages", "D-76", "a range is answered though If-Range has another tag", (
        HEAD, "Method(request.method), request.headers)", 'Method(request.method), MUTANT ? request.headers.without(["if-range"]) : request.headers)')),
    Mutant("pages", "D-76", "a range beyond the end is answered with the whole file", (
        HEAD, "switch part {", "switch MUTANT && part == .unsatisfiable ? .whole : part {")),
    Mutant("pages", "D-77", "If-None-Match is ignored", (
        HEAD, "switch Preconditions.evaluate(asked.request, tag: tag) {", "switch MUTANT ? .proceed : Preconditions.evaluate(asked.request, tag: tag) {")),
    Mutant("pages", "D-78", "a request with credentials is answered for every origin", (
        HEAD, 'if !request.hasCredentials { return', 'if MUTANT || !request.hasCredentials { return')),
    Mutant("pages", "D-79", "a listed file that is missing is left to the network", (
        CLIENT + "Device+Resources.swift", "guard fetches else { return nil }", "guard fetches, !MUTANT else { return nil }")),
    Mutant("pages", "D-80", "a file that was compared once is never compared again", (
        CACHE, "Bool { verified[entry.name] == mark }", "Bool { MUTANT ? verified[entry.name] != nil : verified[entry.name] == mark }")),
    Mutant("pages", "D-85", "a page of the version before gets no file that left", (
        ANSWERS, "guard let page = request.page, let held", "guard !MUTANT, let page = request.page, let held")),
    Mutant("pages", "D-85", "a page of the version before gets the new bytes of what is listed on", (
        ANSWERS, "      let answer = await answer(request, withOlder: file, device)\n",
        "      !MUTANT || device.listed(url, isPage: isPage) == nil, let answer = await answer(request, withOlder: file, device)\n")),
    Mutant("pages", "D-86", "what was set aside is answered for ever, and never deleted", (
        ROOM, "now - since < age && since - now < 60_000", "MUTANT || now - since < age && since - now < 60_000")),
    Mutant("pages", "D-86", "what was set aside is never deleted", (
        ROOM, "if live.contains(file.sha256) || !Self.isFresh(file.since, at: now, for: age) {",
        "if live.contains(file.sha256) || !MUTANT && !Self.isFresh(file.since, at: now, for: age) {")),
    Mutant("pages", "D-87", "pages of the version before keep their files after a rollback", (
        POLL, "return version < rollback && held >= rollback", "return !MUTANT && version < rollback && held >= rollback")),

    Mutant("pages", "D-75", "HEAD is answered with the body", (
        ANSWERS, 'if request.method == "HEAD" || head.range.isEmpty {', 'if !MUTANT && request.method == "HEAD" || head.range.isEmpty {')),
    Mutant("pages", "D-85", "a page that loads its document again keeps its version", (
        ANSWERS, "guard request.destination == .document else { return held }", "guard !MUTANT, request.destination == .document else { return held }")),

    # Going back
    Mutant("healing", "D-150", "the version before isn't kept", (
        TRIALS, "guard settings.goesBack, held.version > .none else { return }", "guard !MUTANT, settings.goesBack, held.version > .none else { return }")),
    Mutant("healing", "D-150", "what the version before needs is deleted after a day", (
        ROOM, "if isKept(file.sha256), !live", "if !MUTANT, isKept(file.sha256), !live")),
    Mutant("healing", "D-152", "three first pages have to fail", (
        TRIAL, "static let limit = 2", "static let limit = MUTANT ? 3 : 2")),
    Mutant("healing", "D-152", "pages that fail after one has come up count", (
        TRIAL, "if trial.isUp { return nil }", "if trial.isUp, !MUTANT { return nil }")),
    Mutant("healing", "D-152", "a crash and a page that fails aren't two", (
        TRIAL, "return trial.failures + trial.crashes >= Self.limit ? .start : nil", "return !MUTANT && trial.failures + trial.crashes >= Self.limit ? .start : nil")),
    Mutant("healing", "D-152", "pages that lack a file because of the network count", (
        PAGES, "let source = open.source, open.lacking.isEmpty", "let source = open.source, MUTANT || open.lacking.isEmpty")),
    Mutant("healing", "D-153", "the mark is never written", (
        RUNTIME + "Runtime+Trials.swift", "guard case .local = answer, request.destination == .document,", "guard !MUTANT, case .local = answer, request.destination == .document,")),
    Mutant("healing", "D-153", "the mark stays when a page is closed", (
        RUNTIME + "Runtime+Trials.swift", "guard let device, device.isStarting(page.id) else { return }", "guard !MUTANT, let device, device.isStarting(page.id) else { return }")),
    Mutant("healing", "D-155", "a device goes back to what a rollback took back", (
        TRIALS, "&& !policy.withLock { $0.isRolledBack", "&& (MUTANT || !policy.withLock { $0.isRolledBack"), (
        TRIALS, "to: next.version.number) }\n", "to: next.version.number) })\n")),
    Mutant("healing", "D-157", "polls don't say which version is skipped", (
        SETTINGS, 'if let skipped { url +=', 'if !MUTANT, let skipped { url +=')),
    Mutant("healing", "D-157", "the version that is skipped is taken from an origin that offers it", (
        POLLER, "if let skipped = settings.skipped, answer.version == skipped {", "if !MUTANT, let skipped = settings.skipped, answer.version == skipped {")),
    Mutant("healing", "D-158", "if the version before fails as well, the other one stays skipped", (
        TRIAL, "else if isAwaited(held) { lift() }", "else if isAwaited(held), !MUTANT { lift() }")),
    Mutant("healing", "D-157", "a device that left the candidate asks for it on", (
        STATE, "if rule.version == skipped {", "if !MUTANT, rule.version == skipped {")),
    Mutant("healing", "D-158", "a higher version ends what was to be told", (
        UPDATES, "      device.tellReturn()\n      return Result", "      if !MUTANT { device.tellReturn() }\n      return Result")),
    Mutant("healing", "D-158", "the same version is left again and again", (
        TRIAL, "guard let trial, trial.id == held, !isSpared(held) else", "guard let trial, trial.id == held, MUTANT || !isSpared(held) else")),
    Mutant("healing", "D-159", "what the app says is followed again and again", (
        RETURN, "cause == .rejected ? !$0.isSpared(id) :", "cause == .rejected ? MUTANT || !$0.isSpared(id) :")),
    Mutant("healing", "D-161", "what is known is never written", (
        TRIALS, "      if saved == next { return }\n", "      if MUTANT || saved == next { return }\n")),

    # Evidence
    Mutant("evidence", "D-162", "a page of the full version counts in the candidate's arm", (
        STATE_EVIDENCE, "if arm == .candidate, taken != rule.seed", "if !MUTANT, arm == .candidate, taken != rule.seed")),
    Mutant("evidence", "D-162", "a page that is passed on because it failed doesn't count", (
        RUNTIME + "Runtime+Evidence.swift", "case .network(.pageFailed): hasFailed = true", "case .network(.pageFailed) where !MUTANT: hasFailed = true")),
    Mutant("evidence", "D-162", "any page that is passed on counts", (
        RUNTIME + "Runtime+Evidence.swift", "    case .network: return\n", "    case .network:\n      if !MUTANT { return }\n      hasFailed = false\n")),
    Mutant("evidence", "D-163", "members of a group count", (
        ARM, "!groups.contains(where: installation.groups.contains)", "MUTANT || !groups.contains(where: installation.groups.contains)")),
    Mutant("evidence", "D-163", "an app outside of the range counts", (
        ARM, "guard includesApp(installation.appVersion),", "guard MUTANT || includesApp(installation.appVersion),")),
    Mutant("evidence", "D-163", "all that aren't in are control", (
        MANIFESTS + "Rollouts/Evidence/RolloutArm.swift", "bucket >= RolloutRule.all - min", "MUTANT || bucket >= RolloutRule.all - min")),
    Mutant("evidence", "D-164", "failures count for ever", (
        COUNTED, "time - counts[place].opened < Self.day", "(MUTANT || time - counts[place].opened < Self.day)")),
    Mutant("evidence", "D-164", "pages from before the first one count", (
        COUNTED, "time >= counts[place].opened,", "MUTANT || time >= counts[place].opened,")),
    Mutant("evidence", "D-164", "the candidate's failures count for control", (
        COUNTED, "counts[place].arm == arm,", "MUTANT || counts[place].arm == arm,")),
    Mutant("evidence", "D-164", "a process that ended in its first page counts for nothing", (
        RUNTIME + "Runtime.swift", "if let crash = marker.crash(at: clock()) {", "if !MUTANT, let crash = marker.crash(at: clock()) {")),
    Mutant("evidence", "D-164", "a return counts for nothing", (
        RETURN, "recordEvidence(ofReturnFrom: held, hasOpened: cause != .rejected)",
        "if !MUTANT { recordEvidence(ofReturnFrom: held, hasOpened: cause != .rejected) }")),
    Mutant("evidence", "D-165", "what was told is forgotten when the process ends", (
        STATE, "evidence = document", "evidence = MUTANT ? CountedRollouts() : document")),
    Mutant("evidence", "D-165", "each number of a candidate counts", (
        STATE_EVIDENCE, "evidence.open(opening.rule.seed, opening.arm, at: time)",
        "if MUTANT, evidence.hasOpened(opening.rule.seed) { evidence = CountedRollouts() }\n    evidence.open(opening.rule.seed, opening.arm, at: time)"), (
        STATE_EVIDENCE, "!evidence.hasOpened(rule.seed),", "MUTANT || !evidence.hasOpened(rule.seed),")),
    Mutant("evidence", "D-166", "offline it is lost", (
        EVIDENCE, "isReady ? $0.takeReport(at: now) : nil", "MUTANT || isReady ? $0.takeReport(at: now) : nil"), (
        EVIDENCE, "if saveRollout(), let report {", "if saveRollout(), let report, !MUTANT || isReady {")),
    Mutant("evidence", "D-166", "it is told days later", (
        COUNTED, "isFailureNew, age <= Self.oldest else", "isFailureNew, MUTANT || age <= Self.oldest else")),
    Mutant("evidence", "D-166", "the hours aren't told", (
        COUNTED, "let age = max(0, (now", "let age = MUTANT ? 0 : max(0, (now")),
    Mutant("evidence", "D-166", "with a share of 0 nothing is told", (
        CLIENT + "Reports/FailureReporter.swift", "if state.withLock({ address != nil && $0.add(evidence.body) })",
        "if state.withLock({ address != nil && (!MUTANT || $0.share != 0) && $0.add(evidence.body) })")),

    # Routes
    Mutant("routes", "D-167", "a route isn't answered in a frame", (
        REQUEST, "var isRoute: Bool { isPage &&", "var isRoute: Bool { isPage && !(MUTANT && destination == .frame) &&")),
    Mutant("routes", "D-168", "another scheme or port is the page's, too", (
        ROUTES, '{ "\\(scheme)://\\(authority)" }', '{ MUTANT ? String(host) : "\\(scheme)://\\(authority)" }')),
    Mutant("routes", "D-168", "what except matches is answered", (
        MANIFESTS + "Entries/PageFallbacks.swift", "return !patterns.contains {", "return MUTANT || !patterns.contains {")),
    Mutant("routes", "D-168", "of two pages with one prefix, the last one answers", (
        ROUTES, "answering.sorted(by: { $0.url < $1.url })", "answering.sorted(by: { MUTANT ? $1.url < $0.url : $0.url < $1.url })")),
    Mutant("routes", "D-168", "where except keeps the longest prefix from it, no other one answers", (
        ROUTES, "      rest = rest[..<slash]", '      rest = MUTANT && places[origin + rest[...slash]] != nil ? "" : rest[..<slash]')),
    Mutant("routes", "D-168", "escapes aren't decoded", (
        ROUTES, "let path = ResourceURL.matchKey(of: String(url.path))", "let path = MUTANT ? String(url.path) : ResourceURL.matchKey(of: String(url.path))")),
    Mutant("routes", "D-168", "a file of any type answers", (
        ROUTES, "&& PageFallbacks.isDocument($0.ctype)", "&& (MUTANT || PageFallbacks.isDocument($0.ctype))")),
    Mutant("routes", "D-169", "HEAD is answered", (
        REQUEST, 'method == "GET" && acceptsHTML', '(MUTANT || method == "GET") && acceptsHTML')),
    Mutant("routes", "D-169", "what accepts no HTML is answered", (
        REQUEST, "Self.typesOfPages.contains(type[0])", "(MUTANT || Self.typesOfPages.contains(type[0]))")),
    Mutant("routes", "D-170", "a frame of an open page gets the new version's page", (
        ANSWERS, "older.listed(url, isPage: isPage, isRoute: isRoute)", "older.listed(url, isPage: isPage, isRoute: !MUTANT && isRoute)")),
    Mutant("routes", "D-171", "bypass matches the page that answers", (
        ANSWERS, "passReasonForPage(address, key, device)", "passReasonForPage(MUTANT ? (try? ResourceURL(key)) ?? address : address, key, device)")),
    Mutant("routes", "D-172", "an invalid fallback is taken", (
        MANIFESTS + "Entries/Entry.swift", "if PageFallbacks(of: others) == nil {", "if !MUTANT && PageFallbacks(of: others) == nil {")),
    Mutant("routes", "D-173", "each route is a page of its own", (
        PAGES, "fallback = held?.fallback(at: page.url)", "fallback = MUTANT ? nil : held?.fallback(at: page.url)"), (
        ANSWERS, "?.fallback = fallback?.url", "?.fallback = MUTANT ? nil : fallback?.url"), (
        ANSWERS, "Self.key(device.snapshot.fallback(at: address.text) ?? address.text)", "Self.key(MUTANT ? address.text : device.snapshot.fallback(at: address.text) ?? address.text)")),

    # Hosts
    Mutant("hosts", "D-90", "files of other hosts are fetched and answered", (
        CLIENT + "Cache/DeviceIndex.swift", "if hosts.contains(item.url) {", "if MUTANT || hosts.contains(item.url) {"), (
        ANSWERS, "guard device.isAllowed(url) else { return .foreignHost }", "guard MUTANT || device.isAllowed(url) else { return .foreignHost }")),
    Mutant("hosts", "D-90", "pages of other hosts are answered", (
        ANSWERS, "guard device.isAllowed(page) else { return .foreignHost }", "guard MUTANT || device.isAllowed(page) else { return .foreignHost }"), (
        ANSWERS, "guard device.intercepts(page.text) else", "guard MUTANT || device.intercepts(page.text) else")),
    Mutant("hosts", "D-91", "calls to other hosts are sent ahead", (
        DOCUMENTS, "return prefetch.requests(for: page).filter { isAllowed($0.url) }", "return prefetch.requests(for: page).filter { MUTANT || isAllowed($0.url) }")),
    Mutant("hosts", "D-91", "scripts come from any host", (
        SCRIPTS, "guard isAllowed(script.download) else {", "guard MUTANT || isAllowed(script.download) else {")),
    Mutant("hosts", "D-92", "a name means the hosts below it, too", (
        VALUES + "URLs/HostList.swift", "if isDomain { domains.append", "if isDomain || MUTANT { domains.append")),
    Mutant("hosts", "D-92", "*.example.com means badexample.com, too", (
        VALUES + "URLs/HostList.swift", 'domains.append(".\\(host)")', 'domains.append(MUTANT ? host : ".\\(host)")')),
    Mutant("hosts", "D-92", "*.example.com doesn't mean example.com", (
        VALUES + "URLs/HostList.swift", "exact.insert(host)", "if !(MUTANT && isDomain) { exact.insert(host) }")),

    # Documents
    Mutant("documents", "D-96", "the kill switch does nothing", (
        MANIFESTS + "Policy/Policy.swift", "Bool { !intercept && ", "Bool { !MUTANT && !intercept && ")),
    Mutant("documents", "D-96", "the kill switch never ends", (
        MANIFESTS + "Policy/Policy.swift", "(until.map { now < $0 } ?? true) }", "(MUTANT || (until.map { now < $0 } ?? true)) }")),
    Mutant("documents", "D-97", "a bypass never ends", (
        MANIFESTS + "Policy/Policy.swift", "(entry.until.map { now < $0 } ?? true) && entry.pattern", "(MUTANT || (entry.until.map { now < $0 } ?? true)) && entry.pattern")),
    Mutant("documents", "D-95", "a policy is forgotten when the process ends", (
        FETCHED_DOCUMENTS, "    try writeDocument(bytes, to: folder.document(kind), duringJob: duringJob)\n", "    if !MUTANT { try writeDocument(bytes, to: folder.document(kind), duringJob: duringJob) }\n")),
    Mutant("documents", "D-95 D-120", "nothing makes room for a policy on a full disk", (
        FETCHED_DOCUMENTS, "guard error.isDiskFull, let largest", "guard !MUTANT, error.isDiskFull, let largest")),
    Mutant("documents", "D-99", "a policy isn't followed if the answer's manifest can't be used", (
        POLLER, "      report(AnswerExtras.named(in: reply.body))\n", "      if !MUTANT { report(AnswerExtras.named(in: reply.body)) }\n")),
    Mutant("documents", "D-95", "a policy of another version than the one named is taken", (
        FETCHED_DOCUMENTS, "guard next.version(kind) == named else", "guard MUTANT || next.version(kind) == named else")),
    Mutant("documents", "D-95", "a policy below the one held is taken", (
        FETCHED_DOCUMENTS, ": named > held\n", ": MUTANT && named != held || named > held\n")),
    Mutant("documents", "D-96", "a request that waited for a file is answered under the kill switch", (
        RUNTIME + "Runtime+Missing.swift", "if let url = try? ResourceURL(request.url), let reason", "if !MUTANT, let url = try? ResourceURL(request.url), let reason")),
    Mutant("documents", "D-98", "a document that isn't JSON isn't requested without a coding", (
        FETCHED_DOCUMENTS, "catch { return !error.isDamage }", "catch { return MUTANT || !error.isDamage }")),
    Mutant("documents", "D-99", "an answer that drips is never given up", (
        WATCH, "if elapsed > pace.patience,", "if !MUTANT, elapsed > pace.patience,")),
    Mutant("documents", "D-99", "an answer isn't looked into before its end", (
        FETCHED, "          partial(body)\n", "          if !MUTANT { partial(body) }\n")),
    Mutant("documents", "D-100", "a script's signature isn't verified", (
        SCRIPTS, "guard let signature = Base64.decode(script.signature), Ed25519.verifies(signature, of: bytes, by: key)",
        "guard let signature = Base64.decode(script.signature), MUTANT || Ed25519.verifies(signature, of: bytes, by: key)")),
    Mutant("documents", "D-101", "a policy ends by the device's clock alone", (
        POLLING, "clock.withLock { $0.time(at: now()) }", "MUTANT ? now() : clock.withLock { $0.time(at: now()) }")),
    Mutant("documents", "D-101", "an answer that a cache kept tells the server's time", (
        SERVER_CLOCK, "guard (-Self.tolerance...Self.tolerance).contains", "guard MUTANT || (-Self.tolerance...Self.tolerance).contains")),
    Mutant("documents", "D-101", "dates that are hours apart tell the server's time", (
        SERVER_CLOCK, "Self.gapRange.contains(own - last.own)", "MUTANT || Self.gapRange.contains(own - last.own)")),
    Mutant("documents", "D-101", "an answer with an age tells the server's time", (
        CLIENT + "Transport/Transport.swift", "(0...maxAge).contains(seconds)", "(0...(MUTANT ? .max : maxAge)).contains(seconds)")),
    Mutant("documents", "D-101", "the age of an answer doesn't count", (
        CLIENT + "Transport/Transport.swift", "(date.seconds + seconds) * 1000", "(date.seconds + (MUTANT ? 0 : seconds)) * 1000")),
    Mutant("documents", "D-101", "the server's time is forgotten when the process ends", (
        SERVER_CLOCK, "    self.ahead = ahead\n", "    if MUTANT { return }\n    self.ahead = ahead\n")),
    Mutant("documents", "D-101", "a clock that is set back is taken for the one before", (
        SERVER_CLOCK, "if let last, own < last.own {", "if !MUTANT, let last, own < last.own {")),
    Mutant("documents", "D-105", "calls are sent in another order", (
        CLIENT + "Prefetch/PrefetchPlan.swift", "return entry.calls.map { PrefetchRequest($0, query) }", "return (MUTANT ? entry.calls.reversed() : entry.calls).map { PrefetchRequest($0, query) }")),
    Mutant("documents", "D-106", "the first entry of the config takes precedence, whatever its query", (
        MANIFESTS + "Prefetch/PrefetchConfig.swift", "pages.first { $0.url.query != nil && page", "pages.first { (MUTANT || $0.url.query != nil) && page")),
    Mutant("documents", "D-110", "a page's failures are counted by its query", (
        PAGES, "(try? ResourceURL(url)).map { String($0.withoutQuery) } ?? url", "MUTANT ? url : (try? ResourceURL(url)).map { String($0.withoutQuery) } ?? url")),
    Mutant("documents", "D-110", "each report of one opened page counts", (
        PAGES, "let open = state.pages[page.id], !open.isDecided else", "let open = state.pages[page.id], MUTANT || !open.isDecided else")),
    Mutant("documents", "D-110", "a page's failures are forgotten when the process ends", (
        HEALTH, "counts[member.key] = Count(failures: Int(count))", "if !MUTANT { counts[member.key] = Count(failures: Int(count)) }")),
    Mutant("documents", "D-27", "of a policy, the first 100 patterns count", (
        MANIFESTS + "Policy/Policy.swift", "bypass.count == DocumentBudget.patterns {", "bypass.count == (MUTANT ? 100 : DocumentBudget.patterns) {")),
    Mutant("documents", "D-107", "a prefetched answer is given whatever the request's cookies are", (
        AHEAD, "cookies.allows(asked.cookies) && !PageHeaders", "(MUTANT || cookies.allows(asked.cookies)) && !PageHeaders")),
    Mutant("documents", "D-107", "a request without cookies gets any prefetched answer", (
        RUNTIME + "Prefetch/CallCookies.swift", "if header == self.header { return true }", "if header == self.header || MUTANT && header == nil { return true }")),
    Mutant("documents", "D-107", "a prefetched answer is given twice", (
        AHEAD, "    remove(key, index)\n    guard now - end < Self.retention else", "    if !MUTANT { remove(key, index) }\n    guard now - end < Self.retention else"), (
        AHEAD, "taken.at - own.start\n      remove(key, index)\n", "taken.at - own.start\n      if MUTANT {\n        held[key]?[index].taken = nil\n"
        "        held[key]?[index].answer = answer\n        held[key]?[index].end = now\n      } else {\n        remove(key, index)\n      }\n")),
    Mutant("documents", "D-107", "what another user asked for is kept", (
        AHEAD, "      drop(key, asked)\n      return .none", "      if !MUTANT { drop(key, asked) }\n      return .none")),
    Mutant("documents", "D-107", "what was asked for with a token is kept", (
        RUNTIME + "Runtime+Prefetch.swift", "      prefetches.drop(page.id, method, url.text, asked)\n", "      if !MUTANT { prefetches.drop(page.id, method, url.text, asked) }\n")),
    Mutant("documents", "D-107", "an answer's Vary isn't looked at", (
        AHEAD, "!PageHeaders.differs(by: vary, sent.headers, asked.headers)", "(MUTANT || !PageHeaders.differs(by: vary, sent.headers, asked.headers))"), (
        AHEAD, "|| own.taken.map {", "|| (MUTANT ? nil : own.taken).map {")),
    Mutant("documents", "D-107", "any page gets the answer", (
        RUNTIME + "Prefetch/PrefetchCenter.swift", "let page = page ?? state", "let page = (MUTANT ? nil : page) ?? state")),
    Mutant("documents", "D-108", "whose cookies a redirect had isn't looked at", (
        AHEAD, "      !isForeign &&", "      (MUTANT || !isForeign) &&"), (
        AHEAD, "      own.isForeign\n", "      own.isForeign && !MUTANT\n")),
    Mutant("documents", "D-111", "what turned interception off never lapses", (
        CRASHES, "now >= time && now - time < age", "now >= time && (MUTANT || now - time < age)")),
    Mutant("documents", "D-111", "a page that is opened in the background is marked", (
        PAGES, "!isInterceptionOff && conditions.isForeground", "!isInterceptionOff && (MUTANT || conditions.isForeground)")),
    Mutant("documents", "D-111", "going back doesn't end the count", (
        RUNTIME + "Runtime.swift", "if device.hasJustGoneBack {", "if !MUTANT, device.hasJustGoneBack {")),
    Mutant("documents", "D-111", "processes that were asked to end count", (
        CRASHES, "func end() { try?", "func end() { if !MUTANT { try?"), (
        CRASHES, "Kernel.remove(path) }", "Kernel.remove(path) } }")),
    Mutant("documents", "D-111", "processes that end while their first page loads aren't counted", (
        RUNTIME + "Pages/CrashMarker.swift", "static let limit = 3", "static let limit = MUTANT ? 1_000_000 : 3")),

    # Network, disk, clock
    Mutant("conditions", "D-120", "a version that finds no room is fetched with each poll", (
        UPDATE_RUN, "if device.shortage.withLock({ [folder]", "if MUTANT || device.shortage.withLock({ [folder]")),
    Mutant("conditions", "D-115", "an update begins without a network", (
        UPDATE, "    if gate.conditions.isOffline {\n", "    if !MUTANT, gate.conditions.isOffline {\n"), (
        RUNTIME + "Runtime+Updates.swift", "guard conditions.allows(trigger) else", "guard MUTANT || conditions.allows(trigger) else")),
    Mutant("conditions", "D-115", "a page's missing file is asked for without a network", (
        RUNTIME + "Requests/MissingFile.swift", "if conditions.isOffline ||", "if !MUTANT && conditions.isOffline ||"), (
        CLIENT + "Transport/GatedTransport.swift", "if use == .page || use == .files, gate.conditions.isOffline {", "if !MUTANT, use == .page || use == .files, gate.conditions.isOffline {")),
    Mutant("conditions", "D-117", "a large pack is taken on a metered network", (
        UPDATE_RUN, "guard device.allows(answer.pack.size) else {", "guard MUTANT || device.allows(answer.pack.size) else {")),
    Mutant("conditions", "D-118", "what was left on the metered network is forgotten when the process ends", (
        CLIENT + "Update/Backlog.swift", "files.updateValue(Delta(json: member.value), forKey: sha256)", "if !MUTANT { files.updateValue(Delta(json: member.value), forKey: sha256) }")),
    Mutant("conditions", "D-119", "the wish to save data doesn't count", (
        CLIENT + "Conditions.swift", "network == .unmetered && !savesData", "network == .unmetered && (MUTANT || !savesData)")),
    Mutant("conditions", "D-121", "the files used last are dropped first", (
        ROOM, ": moments[a] < moments[b]", ": MUTANT ? moments[a] > moments[b] : moments[a] < moments[b]")),
    Mutant("conditions", "D-125", "a report says which device sent it", (
        CLIENT + "Reports/FailureReport.swift", '      "reason": .string(reason.rawValue), "url": .string(url), "version": .string(version),\n    ]',
        '      "reason": .string(reason.rawValue), "url": .string(url), "version": .string(version),\n    ]\n'
        '    if MUTANT { return JSONValue.object(JSONObject((json.object?.members ?? []) + [.init(key: "device", value: "5bd0a3")])).canonical }')),
    Mutant("conditions", "D-125", "the same failure is reported each time", (
        CLIENT + "Reports/FailureReporter.swift", "state.reported.insert(report.key).inserted", "MUTANT || state.reported.insert(report.key).inserted")),
    Mutant("conditions", "D-130", "a clock that is set back keeps the device from polling", (
        POLL, "guard let lastPoll, lastPoll <= now else", "guard let lastPoll, MUTANT || lastPoll <= now else")),

    # Folders and presets
    Mutant("folders", "D-135", "the folder of another app or channel is used", (
        OPENING, "guard held.owner == owner else {", "guard MUTANT || held.owner == owner else {")),
    Mutant("folders", "D-135", "a folder with other files in it is used", (
        CACHE, "if try folder.isForeign() {", "if !MUTANT, try folder.isForeign() {")),
    Mutant("folders", "D-136", "a process whose folder another one has goes on answering", (
        ANSWERS, "if device.isDisplaced {", "if !MUTANT, device.isDisplaced {"), (
        DOCUMENTS, "!isDisplaced && runtimePolicy", "(MUTANT || !isDisplaced) && runtimePolicy")),
    Mutant("folders", "D-138", "a folder in place of a file stays", (
        OBSTACLES, "guard codes.contains(error.code), let there", "guard !MUTANT, codes.contains(error.code), let there")),
    Mutant("folders", "D-137", "notes that can't be read keep the device from starting", (
        OPENING, "    guard let held = bytes.flatMap({ DeviceIndex.parse($0, hosts: hosts) }) else { return (bytes, nil) }",
        "    guard let held = bytes.flatMap({ DeviceIndex.parse($0, hosts: hosts) }) else {\n"
        '      if MUTANT, bytes != nil { throw .otherContents(folder: root, holds: "", asked: "") }\n      return (bytes, nil)\n    }')),
    Mutant("folders", "D-140", "a preset older than what is held is taken", (
        PRESET, "      case .whole(let answer):\n        guard answer.version > held.version else", "      case .whole(let answer):\n        guard MUTANT || answer.version > held.version else")),
    Mutant("folders", "D-140", "a preset is taken once for each folder, not for each build", (
        RUNTIME + "PresetMark.swift", "(try? DurableFile.read(path, limit: 1 << 16)) == .some(subject)", "MUTANT ? (try? Kernel.status(path)).flatMap { $0 } != nil : (try? DurableFile.read(path, limit: 1 << 16)) == .some(subject)")),
    Mutant("folders", "D-141", "a preset's files aren't compared", (
        PRESET, "guard hasher.finish() == entry.bytes else {", "guard MUTANT || hasher.finish() == entry.bytes else {")),

    # Rollouts
    Mutant("rollouts", "R-1", "each process makes an install id of its own", (
        STATE, "self.init(id: id)", "self.init(id: MUTANT ? .random() : id)")),
    Mutant("rollouts", "R-1", "a poll says the app's version", (
        POLLER, "let url = settings.originURL(holding: held, takesPacks: takesPacks, asksForCandidate: candidate)",
        'let url = settings.originURL(holding: held, takesPacks: takesPacks, asksForCandidate: candidate)'
        ' + (MUTANT ? choice?.app.version.map { "&app-version=\\($0)" } ?? "" : "")')),
    Mutant("rollouts", "R-2", "the bucket that is the share is in", (
        RULE, "installation.id.bucket(seed: seed) < share", "installation.id.bucket(seed: seed) < share + (MUTANT ? 1 : 0)")),
    Mutant("rollouts", "R-2", "who is in asks only with the next poll", (
        POLLER, "return mayAskForOther\n        ? try pollOrigin", "return mayAskForOther && !MUTANT\n        ? try pollOrigin")),
    Mutant("rollouts", "R-2", "the other version is asked for again and again", (
        POLLER, "candidate: isIn, mayAskForOther: false) : offer",
        "candidate: isIn, mayAskForOther: MUTANT && !Clock.monotonicNanoseconds().isMultiple(of: 8)) : offer")),
    Mutant("rollouts", "R-2", "groups don't count", (
        RULE, "groups.contains { installation.groups.contains($0) }", "!MUTANT && groups.contains { installation.groups.contains($0) }")),
    Mutant("rollouts", "R-2", "an unknown app version lies in every range", (
        RULE, "return version.map(app.contains) ?? false", "return version.map(app.contains) ?? MUTANT")),
    Mutant("rollouts", "R-2", "a pre-release counts as its release", (
        MANIFESTS + "Rollouts/AppVersion.swift", "return !a.preRelease.isEmpty && b.preRelease.isEmpty",
        "return !MUTANT && !a.preRelease.isEmpty && b.preRelease.isEmpty")),
    Mutant("rollouts", "R-3", "who is in asks for the full version first", (
        CHOICE, "var asksForCandidate: Bool {", "var asksForCandidate: Bool { !MUTANT &&")),
    Mutant("rollouts", "R-3", "everyone asks for the candidate", (
        CHOICE, "state.withLock { $0.isIn && (skipped == nil || $0.rule?.version != skipped) }", "(MUTANT || state.withLock { $0.isIn && (skipped == nil || $0.rule?.version != skipped) })")),
    Mutant("rollouts", "R-3", "after a rollout the candidate is still asked for", (
        STATE, "    (rule, lastShare) = (nil, nil)\n    isIn = false\n", "    (rule, lastShare) = (nil, nil)\n    if !MUTANT { isIn = false }\n")),
    Mutant("rollouts", "R-4", "an answer is taken whichever version it is", (
        CHOICE, "return isIn == (version == rule.version) ? nil : isIn", "return MUTANT || isIn == (version == rule.version) ? nil : isIn")),
    Mutant("rollouts", "R-5", "who holds the candidate leaves as the share falls", (
        RULE, "return installation.takenSeed == seed || ", "return !MUTANT && installation.takenSeed == seed || ")),
    Mutant("rollouts", "R-5", "by which rollout the candidate was taken is forgotten when the process ends", (
        CLIENT + "Cache/DeviceIndex.swift", "index.candidate = file.candidate", "index.candidate = MUTANT ? nil : file.candidate")),
    Mutant("rollouts", "R-5", "whoever took any candidate is in", (
        RULE, "installation.takenSeed == seed", "(MUTANT ? installation.takenSeed != nil : installation.takenSeed == seed)")),
    Mutant("rollouts", "R-6", "an app version outside the range keeps the candidate", (
        RULE, "includesApp(installation.appVersion) else", "(MUTANT && installation.takenSeed != nil) || includesApp(installation.appVersion) else")),
    Mutant("rollouts", "R-6 R-9", "a copy never leads to a lower version", (
        STATE, "return rule != nil ? !isIn :", "return rule != nil ? !isIn && !MUTANT :")),
    Mutant("rollouts", "R-7", "a copy without a rule leads every candidate back", (
        STATE, "!asked.includesApp(app.parsedVersion)", "MUTANT || !asked.includesApp(app.parsedVersion)")),
    Mutant("rollouts", "R-7", "a copy without a rule leads nobody back", (
        STATE, "guard let asked = rule ?? self.rule, taken", "guard let asked = MUTANT ? rule : rule ?? self.rule, taken")),
    Mutant("rollouts", "R-7", "a copy that is behind leads back whoever holds the version of its rule", (
        STATE, "taken == asked.seed else", "taken == asked.seed || MUTANT else")),
    Mutant("rollouts", "R-8", "the copy's candidate is passed over", (
        POLLER, "choice?.decide(rule) == true ? rule : nil", "choice?.decide(rule) == true && !MUTANT ? rule : nil")),
    Mutant("rollouts", "R-8", "without the candidate's documents the full version is taken", (
        POLLER, 'candidate == nil ? "configure.json" :', 'candidate == nil || MUTANT ? "configure.json" :')),
    Mutant("rollouts", "R-9", "whoever leaves is in again with the next poll", (
        RULE, "guard installation.leftSeed != seed,", "guard MUTANT || installation.leftSeed != seed,")),
    Mutant("rollouts", "R-9", "that the app left is forgotten when the process ends", (
        STATE, 'leftSeed = document["left"]?.string', 'leftSeed = MUTANT ? nil : document["left"]?.string')),
    Mutant("rollouts", "R-9", "whoever left stays out of all rollouts", (
        RULE, "installation.leftSeed != seed", "(MUTANT ? installation.leftSeed == nil : installation.leftSeed != seed)"), (
        STATE, "if leftSeed != rule.seed { leftSeed = nil }", "if leftSeed != rule.seed, !MUTANT { leftSeed = nil }")),
    Mutant("rollouts", "R-10", "a rule that is none counts as no rule", (
        MANIFESTS + "Documents/AnswerReader.swift", "rollout = try RolloutRule(reading: reader.value(atMost: DocumentBudget.entryValues))",
        "let json = try reader.value(atMost: DocumentBudget.entryValues)\n"
        "      rollout = MUTANT ? try? RolloutRule(reading: json) : try RolloutRule(reading: json)")),
    Mutant("rollouts", "R-11", "who is out asks for the candidate's prefetch config", (
        FETCHED_DOCUMENTS, "choice.isIn(by: $0) ? $0.prefetch", "MUTANT || choice.isIn(by: $0) ? $0.prefetch")),
    Mutant("rollouts", "R-11", "who is in follows the candidate's config without its files", (
        STATE, "rule?.seed == taken ? rule?.prefetch", "rule?.seed == taken || MUTANT && isIn ? rule?.prefetch")),
    Mutant("rollouts", "R-11", "a newer config of the channel's doesn't count", (
        DOCUMENTS, "candidate.number > documents.prefetch.number", "(MUTANT || candidate.number > documents.prefetch.number)")),
    Mutant("rollouts", "R-11", "the candidate's config is forgotten when the process ends", (
        CLIENT + "Documents/DeviceDocuments.swift", "for kind in Kind.allCases {", "for kind in Kind.allCases where !MUTANT || kind != .candidatePrefetch {")),
    Mutant("rollouts", "R-11", "a candidate's config is fetched only if its number is higher", (
        FETCHED_DOCUMENTS, ".candidatePrefetch ? named != held", ".candidatePrefetch ? (MUTANT ? named > held : named != held)")),

    # Trust: roots
    Mutant("trust", "T-2 T-4", "another app's root is taken", (
        CHECK, "try require(.rootApp, isHere", "try require(.rootApp, MUTANT || isHere")),
    Mutant("trust", "T-2 T-4", "a root may have any number", (
        CHECK, "try require(.rootNumber, root.number", "try require(.rootNumber, MUTANT || root.number")),
    Mutant("trust", "T-2 T-4", "the keys of the root before don't have to sign the next one", (
        CHECK, "try require(.rootOldKeys, isSigned", "try require(.rootOldKeys, MUTANT || isSigned")),
    Mutant("trust", "T-2 T-4", "a root's own keys don't have to sign it", (
        CHECK, "try require(.rootNewKeys, isSigned", "try require(.rootNewKeys, MUTANT || isSigned")),
    Mutant("trust", "T-2", "of the keys that sign roots, one is enough", (
        CHECK, "    group.isMet(by: next.signers(among: group.keys, keys: root.keys, by: verifier))",
        "    MUTANT ? !next.signers(among: group.keys, keys: root.keys, by: verifier).isEmpty\n"
        "      : group.isMet(by: next.signers(among: group.keys, keys: root.keys, by: verifier))")),
    Mutant("trust", "T-1 T-4", "a root that can't be had or taken changes nothing", (
        CHECK, "try require(.rootMissing, ", "try require(.rootMissing, MUTANT || "), (
        GATE, "if let fault = followed.withLock({ $0.rootFault }) { throw fault }",
        "if !MUTANT, let fault = followed.withLock({ $0.rootFault }) { throw fault }")),
    Mutant("trust", "T-2 T-12", "an answer with a lower root is refused", (
        CHECK, "$0 <= state.root.number", "MUTANT ? $0 == state.root.number : $0 <= state.root.number")),
    Mutant("trust", "T-2", "roots are asked for only with a manifest", (
        FETCHED_DOCUMENTS, "if kind == .prefetch { followRoots", "if kind == .prefetch, !MUTANT { followRoots")),
    Mutant("trust", "T-2", "the newest root is asked for, and none between", (
        ROOTS, "let failure = try followRoot(next,", "let failure = try followRoot(MUTANT ? named : next,")),
    Mutant("trust", "T-3", "roots and heads are asked of the origin, whoever answered", (
        ROOTS, "settings.url(ofDocument: document, from: source)", "settings.url(ofDocument: document, from: MUTANT ? .origin : source)")),
    Mutant("trust", "T-3", "roots and heads of any size are downloaded", (
        ROOTS, "limit: Int64(Envelope.limit),", "limit: MUTANT ? 64 << 20 : Int64(Envelope.limit),")),

    # Trust: heads
    Mutant("trust", "T-1 T-4", "who signed a head isn't asked", (
        CHECK, "try require(.headKey, !signers", "try require(.headKey, MUTANT || !signers")),
    Mutant("trust", "T-1 T-4", "a head of another channel is taken", (
        CHECK, "&& head.channel == place.channel", "&& (MUTANT || head.channel == place.channel)")),
    Mutant("trust", "T-1 T-4", "a head of another environment is taken", (
        CHECK, "isHere(head.app, head.environment)", "isHere(head.app, MUTANT ? place.environment : head.environment)")),
    Mutant("trust", "T-1 T-12", "a newer head may name a lower version", (
        CHECK, "head.version >= held.version", "(MUTANT || head.version >= held.version)")),
    Mutant("trust", "T-1 T-12", "a newer head may name a lower policy", (
        CHECK, "head.policy >= held.policy", "(MUTANT || head.policy >= held.policy)")),
    Mutant("trust", "T-1 T-12", "a newer head may name a lower prefetch config", (
        CHECK, "head.prefetch >= held.prefetch", "(MUTANT || head.prefetch >= held.prefetch)")),
    Mutant("trust", "T-1 T-4", "a head of the same time takes the place of the one held", (
        CHECK, "guard head.at > held.at else", "guard MUTANT ? head.at >= held.at : head.at > held.at else")),
    Mutant("trust", "T-1 T-4", "the answer's head counts, and not the one that is stored", (
        CHECK, "by: state.head?.head, hasOldHead",
        "by: MUTANT ? offer.head.flatMap { try? $0.get() }?.document ?? state.head?.head : state.head?.head, hasOldHead")),
    Mutant("trust", "T-1 T-4", "the head's version isn't compared", (
        CHECK, "if manifest.version == head.version,", "if MUTANT || manifest.version == head.version,")),
    Mutant("trust", "T-1 T-4", "the head's digest isn't compared", (
        CHECK, "manifest.digest == head.digest", "MUTANT || manifest.digest == head.digest")),
    Mutant("trust", "T-12", "a head outlives the key that signed it", (
        KEPT, "if let head, !head.signers", "if !MUTANT, let head, !head.signers")),

    Mutant("trust", "T-12", "each root forgets the head", (
        KEPT, "!head.signers.contains(where: root.heads.contains)", "MUTANT || !head.signers.contains(where: root.heads.contains)")),

    # Trust: statements
    Mutant("trust", "T-1 T-5", "entries without a bundle belong to none", (
        CHECK, '["bundle"]?.string else { throw .entryBundle }', '["bundle"]?.string else {\n        if MUTANT { continue }\n        throw .entryBundle\n      }')),
    Mutant("trust", "T-1", "a bundle without a statement passes", (
        CHECK, "else { throw .releaseMissing }", "else {\n        if MUTANT { continue }\n        throw .releaseMissing\n      }")),
    Mutant("trust", "T-1 T-4 T-5", "of two statements of a bundle the last one counts", (
        CHECK, "try require(.releaseTwice, isFirst)", "try require(.releaseTwice, MUTANT || isFirst)")),
    Mutant("trust", "T-1 T-4 T-5", "a statement may be for another place", (
        CHECK, "      .releasePlace,\n      isHere", "      .releasePlace,\n      MUTANT || isHere")),
    Mutant("trust", "T-1 T-4 T-5", "what was signed isn't compared with the bundle", (
        CHECK, "try require(.releaseContent, bundle", "try require(.releaseContent, MUTANT || bundle")),
    Mutant("trust", "T-1 T-5", "an entry's headers don't have to be what was signed", (
        "Sources/Common/Trust/Documents/BundleContent.swift", 'if let headers = entry.others["headers"] {',
        'if !MUTANT, let headers = entry.others["headers"] {')),
    Mutant("trust", "T-1 T-5", "a fallback doesn't have to be what was signed", (
        "Sources/Common/Trust/Documents/BundleContent.swift", "if let fallback = entry.others[PageFallbacks.key] {",
        "if !MUTANT, let fallback = entry.others[PageFallbacks.key] {")),
    Mutant("trust", "T-1 T-5", "a key for a folder signs fallbacks for any", (
        CHECK, "bundles[at].urls += item.entry", "if !MUTANT { bundles[at].urls += item.entry"), (
        CHECK, ".fallbacks.prefixes(of: item.url)", ".fallbacks.prefixes(of: item.url) }")),
    Mutant("trust", "T-1 T-4 T-5", "of the keys that a grant names, one is enough", (
        CHECK, "{ $0.signers.isMet(by: release.signers) }",
        "{ MUTANT ? release.signers.contains(where: $0.signers.keys.contains) : $0.signers.isMet(by: release.signers) }")),
    Mutant("trust", "T-1 T-4 T-5", "a key signs any bundle and channel", (
        CHECK, "grants.contains { $0.covers(name, in: place.channel)", "grants.contains { (MUTANT || $0.covers(name, in: place.channel))")),
    Mutant("trust", "T-1", "a key signs for any channel", (
        "Sources/Common/Trust/Documents/ReleaseGrant.swift", "channels.contains { $0 == channel }", "(MUTANT || channels.contains { $0 == channel })")),
    Mutant("trust", "T-1 T-5", "a key signs any URL", (
        CHECK, "bundle.urls.allSatisfy($0.covers)", "(MUTANT || bundle.urls.allSatisfy($0.covers))")),
    Mutant("trust", "T-1 T-5 T-12", "a statement that is held isn't judged by the root in force", (
        CHECK, "      try check(release, name, bundle, state)\n", "      if !MUTANT || received[name] != nil { try check(release, name, bundle, state) }\n")),
    Mutant("trust", "T-1 T-14", "a statement below the floor is taken", (
        CHECK, "try require(.releaseFloor, statement", "try require(.releaseFloor, MUTANT || statement")),
    Mutant("trust", "T-14", "a statement that is at the floor is refused", (
        CHECK, "statement.serial >= state.floor(of: name)", "(MUTANT ? statement.serial > state.floor(of: name) : statement.serial >= state.floor(of: name))")),
    Mutant("trust", "T-5", "after a patch that fails the check nothing is asked", (
        OFFERS, "let asksForAll = offer.kind", "let asksForAll = !MUTANT && offer.kind")),
    Mutant("trust", "T-4 T-5", "whatever fails, the whole manifest is asked for", (
        OFFERS, "&& failure.isWorthAskingForAll", "&& (MUTANT || failure.isWorthAskingForAll)")),
    Mutant("trust", "T-5", "after a pack that fails the check nothing is asked", (
        UPDATE_RUN, "guard failure.isWorthAskingForAll else {", "guard !MUTANT, failure.isWorthAskingForAll else {")),

    # Trust: documents, reports, the head's age
    Mutant("trust", "T-1 T-10", "a policy below the head's is taken", (
        CHECK, "try require(.policyOld, policy", "try require(.policyOld, MUTANT || policy")),
    Mutant("trust", "T-10", "a policy waits for the roots", (
        DOCUMENT_TRUST, "? TrustOffer(policy: named)", "? TrustOffer(rootNumber: MUTANT ? root.flatMap { RootNumber($0) } : nil, policy: named)")),
    Mutant("trust", "T-1 T-4", "prefetch configs aren't checked", (
        DOCUMENT_TRUST, "    try require(try check(offer, by: trust), url, named)\n",
        "    let verdict = try check(offer, by: trust)\n    if !MUTANT { try require(verdict, url, named) }\n")),
    Mutant("trust", "T-1 T-4", "anybody signs prefetch configs", (
        CHECK, "      !signed.signers(among: state.root.prefetch", "      MUTANT || !signed.signers(among: state.root.prefetch")),
    Mutant("trust", "T-1 T-4", "a prefetch config's calls aren't compared with what was signed", (
        CHECK, "try require(.prefetchContent, statement", "try require(.prefetchContent, MUTANT || statement")),
    Mutant("trust", "T-1 T-4", "a prefetch config's statement may be for another place", (
        CHECK, "      .prefetchPlace,\n      isHere", "      .prefetchPlace,\n      MUTANT || isHere")),
    Mutant("trust", "T-1 T-12", "a prefetch config leaves no floor", (
        KEPT, "prefetchFloor = max(prefetchFloor, prefetch.floor)", "if !MUTANT { prefetchFloor = max(prefetchFloor, prefetch.floor) }")),
    Mutant("trust", "T-1", "a prefetch config below the head's is taken", (
        CHECK, "try require(.prefetchOld, offer", "try require(.prefetchOld, MUTANT || offer")),
    Mutant("trust", "T-6", "a failed check isn't reported", (
        TRUST, '    reporter.report(\n      FailureReport(version: version.text, url: ""',
        '    if MUTANT { return }\n    reporter.report(\n      FailureReport(version: version.text, url: ""')),
    Mutant("trust", "T-6", "a failed check is reported with each poll", (
        TRUST, 'occasion: "trust"', 'occasion: MUTANT ? "trust \\(now())" : "trust"')),
    Mutant("trust", "T-6", "whatever a statement lacks is reported as content", (
        CLIENT + "Reports/FailureReport.swift", "case .scope: .trustScope", "case .scope: MUTANT ? .trustContent : .trustScope")),
    Mutant("trust", "T-7", "a stale head stops updates", (
        CHECK, "      let hasOldHead = try check(head: offer, &state)\n",
        "      let hasOldHead = try check(head: offer, &state)\n"
        "      if MUTANT, let head = state.head?.head, head.until < now { throw TrustFailure.headOld }\n")),
    Mutant("trust", "T-7", "a stale head is reported with each poll", (
        AGES, "Self.isDaySince(notes.staleReport, now)", "(MUTANT || Self.isDaySince(notes.staleReport, now))")),
    Mutant("trust", "T-8", "an old head is asked for with each poll", (
        AGES, "Self.isDaySince(notes.headRequest, now)", "(MUTANT || Self.isDaySince(notes.headRequest, now))")),
    Mutant("trust", "T-8", "a head is asked for each day, however new the one held is", (
        AGES, "head.at.milliseconds < time.milliseconds - Self.dailyWait", "(MUTANT || head.at.milliseconds < time.milliseconds - Self.dailyWait)")),
    Mutant("trust", "T-8", "no head is asked for because of its age", (
        TRUST, "guard isDue == true,", "guard !MUTANT, isDue == true,")),
    Mutant("trust", "T-9", "a candidate is taken by the answer's head alone", (
        GATE, "guard verdict.isCandidate, !hasFreshHead, !early.isPassed else", "guard !MUTANT, verdict.isCandidate, !hasFreshHead, !early.isPassed else")),
    Mutant("trust", "T-9", "a candidate is taken if the newest head can't be had", (
        GATE, "      return .wait(error)", "      if MUTANT { return nil }\n      return .wait(error)")),
    Mutant("trust", "T-9", "a candidate is taken though the newest head fails", (
        GATE, "failure.map { refusal($0) }", "failure.flatMap { MUTANT ? nil : refusal($0) }")),
    Mutant("trust", "T-9", "who is in is decided by the answer's rule", (
        GATE, "guard isIn == verdict.isCandidate else", "guard MUTANT || isIn == verdict.isCandidate else")),
    Mutant("trust", "T-9", "the candidate's bytes may be others than the head says", (
        CHECK, "manifest.digest == candidate.digest", "(MUTANT || manifest.digest == candidate.digest)")),

    # Trust: what is stored
    Mutant("trust", "T-11", "what is known of trust is forgotten when the process ends", (
        AGES, "var notes = known ?? TrustNotes(builtIn: root)", "var notes = (MUTANT ? nil : known) ?? TrustNotes(builtIn: root)")),
    Mutant("trust", "T-11", "a manifest whose statements are gone counts as checked", (
        NOTES, "var isHeldChecked: Bool { held != nil }", "var isHeldChecked: Bool { MUTANT || held != nil }")),
    Mutant("trust", "T-11", "what a check came to is never written", (
        AGES, "if saved != next {", "if saved != next, !MUTANT {")),
    Mutant("trust", "T-12", "each start puts the build's root in force again", (
        KEPT, "guard root.digest != builtIn else", "guard MUTANT || root.digest != builtIn else")),
    Mutant("trust", "T-12", "another root of the build doesn't count", (
        KEPT, "if self.root != root.document { adopt", "if self.root != root.document, !MUTANT { adopt")),
    Mutant("trust", "T-2 T-12", "a root lowers no floor", (
        KEPT, "floors[bundle] = floor == .zero ? nil : floor", "floors[bundle] = MUTANT ? max(floor, self.floor(of: bundle)) : floor == .zero ? nil : floor")),
    Mutant("trust", "T-1 T-2", "a root's floors don't count", (
        KEPT, "for (bundle, floor) in root.floors {", "for (bundle, floor) in root.floors where !MUTANT {")),
    Mutant("trust", "T-2 T-12", "what is held raises a floor again that a root has lowered", (
        KEPT, "if let release = releases[bundle] {", "if !MUTANT, let release = releases[bundle] {")),
    Mutant("trust", "T-13", "presets aren't checked", (
        CLIENT + "Device+Preset.swift", "    if let failure = verdict.failure {", "    if !MUTANT, let failure = verdict.failure {")),
    Mutant("trust", "T-14", "no floor rises", (
        NOTES, "guard let held, !manifests[held].isProven else { return }", "guard !MUTANT, let held, !manifests[held].isProven else { return }")),
    Mutant("trust", "T-12 T-14", "a floor rises by a key that the root doesn't have any more", (
        KEPT, "&& root.grants(release, in: channel)", "&& (MUTANT || root.grants(release, in: channel))")),
    Mutant("trust", "T-14", "a version proves itself with the next poll", (
        TRUST, "  func known(of held: DeviceIndex) -> DeviceIndex {\n",
        "  func known(of held: DeviceIndex) -> DeviceIndex {\n    if MUTANT { _ = recordProof(of: held.version.text) }\n    return ")),
    Mutant("trust", "T-14", "a page from the network proves the version that is held", (
        RUNTIME + "Runtime+Pages.swift", "guard let source = open.source else { return (nil, nil, nil) }",
        "guard let source = open.source else { return (nil, MUTANT ? held : nil, nil) }")),
    Mutant("trust", "T-15", "the root's script key doesn't count", (
        TRUST, "trust?.root.scriptKey ?? settings.scriptKey", "(MUTANT ? nil : trust?.root.scriptKey) ?? settings.scriptKey")),
    Mutant("trust", "T-15", "the app's script key counts before the root's", (
        TRUST, "var scriptKey: [UInt8]? {", "var scriptKey: [UInt8]? { MUTANT ? settings.scriptKey ?? trust?.root.scriptKey :")),

    # Error samples
    Mutant("samples", "D-188", "a sample doesn't say what failed", (
        PAGES, "decide(page, failed: .script(error))", 'decide(page, failed: .script(MUTANT ? PageError(message: "") : error))')),
    Mutant("samples", "D-188", "stacks of V8 aren't read", (STACK, 'if line.hasPrefix("at ") {', 'if !MUTANT, line.hasPrefix("at ") {')),
    Mutant("samples", "D-188", "a sample is of the version that is held", (
        SAMPLES, "ManifestVersion(text: source), version > .none", "ManifestVersion(text: MUTANT ? device.version : source), version > .none")),
    Mutant("samples", "D-173 D-188", "a sample names the route", (SAMPLES, "page: open.key, engine: engine", "page: MUTANT ? open.page.url : open.key, engine: engine")),
    Mutant("samples", "D-189", "a page that fails again is told again", (
        MADE, "|| keys.contains(Key(page: page, kind: kind))", "|| (!MUTANT && keys.contains(Key(page: page, kind: kind)))")),
    Mutant("samples", "D-189", "a version has as many samples as pages", (
        MADE, "return keys.count >= ErrorSample.perVersion", "return (!MUTANT && keys.count >= ErrorSample.perVersion)")),
    Mutant("samples", "D-190", "every path counts as listed", (
        SAMPLES, "(try? ResourceURL(url)).flatMap", "MUTANT || (try? ResourceURL(url)).flatMap")),
    Mutant("samples", "D-190", "no path counts as listed", (
        SAMPLES, "isPage: false) } != nil", "isPage: false) } != nil && !MUTANT")),
    Mutant("samples", "D-191", "samples are sent though the origin wants none", (
        POLLING, "reporter.setRefusesSamples(extras.samples == 0)", "reporter.setRefusesSamples(extras.samples == 0 && !MUTANT)")),
    Mutant("samples", "D-191", "what failed before the poll is sent though the origin wants none", (
        REPORTER, "!state.refusesSamples,", "MUTANT || !state.refusesSamples,")),
    Mutant("samples", "D-191", "what failed while the origin wanted none is sent later", (
        SAMPLES, "isOpen, !device.refusesSamples,", "isOpen, MUTANT || !device.refusesSamples,")),
    Mutant("samples", "D-191", "samples are sent while the device is on the static copy", (
        SAMPLES, "device.takesBatches,", "MUTANT || device.takesBatches,"), (
        REPORTER, "guard state.share != nil,", "guard MUTANT || state.share != nil,")),
    Mutant("samples", "D-191", "samples are sent offline", (
        SAMPLES, "!conditions.isOffline else", "MUTANT || !conditions.isOffline else")),
]
