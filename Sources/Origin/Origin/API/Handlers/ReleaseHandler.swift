import HTTP
import Manifests
import OriginAPI
import Store
import System
import Trust
import Values

/// `POST /apps/{app}/channels/{channel}/releases`: the last step of `publish` and `unpublish`.
struct ReleaseHandler: APIHandler {
  let context: RequestContext

  private var releases: ReleaseService { context.api.releases }

  func release(_ body: ReleaseDocument) throws -> Response {
    let options = try body.options()
    let plan = try body.decodeMembers(as: PlanReference.self).plan.map(name(of:))
    var input = try input(bundles(body, plan), options, body.statements)
    try context.checkExists(unless: options.create)
    // Only an unrestricted admin's release creates an app: a misspelt name must not.
    let createsApp = mayCreate(input)
    input.allowedSecrets = try SecretGate(store).check(
      releases.arrivals(of: input, createsApp: createsApp), allowed: options.allowSecrets ?? [])
    if input.rollout != nil { try RolloutHandler(context: context).checkMayEnd() }
    let time = try context.scheduled(options.schedule, dryRun: options.dryRun)
    if options.awaitSignatures == true, !input.dryRun, let answer = try awaitSignatures(input, options, time)
    {
      return answer
    }
    if let time { return try schedule(input, options, at: time, try trial(of: input)) }
    if try context.waitsForApproval(input) {
      let outcome = try trial(of: input)
      // Nothing has to be approved of a release that changes nothing.
      if outcome.changed || outcome.rollout != nil {
        return try schedule(input, options, at: Moment(milliseconds: store.now), outcome)
      }
    }
    var hasDeltas = false
    if !input.dryRun, options.now != true {
      let onWorker = context.isOnWorker
      guard let isReady = try releases.awaitDeltas(input, createsApp: createsApp, onWorker: onWorker) else {
        var problem = Problem(
          .serviceUnavailable, "busy", "other releases are waiting for their deltas; try again in a moment")
        problem.retryAfter = 5
        throw problem
      }
      hasDeltas = isReady
    }
    let deltas = DeltasAtCommit(releases.deltas, wereAwaited: hasDeltas, isDryRun: input.dryRun)
    // The cost of files that are yet to be sent is reported by their preparation.
    let forecast =
      input.dryRun && input.sendsNothing ? try releases.forecast(of: input, createsApp: createsApp) : nil
    let answer = try context.answering { [input] outcome in
      var answer = ReleaseAnswer(outcome, deltasStored: deltas.areStored(of: outcome))
      if input.dryRun, input.sendsNothing { answer.forecast = ReleaseForecast(outcome, forecast) }
      if input.dryRun { answer.addTrust(of: outcome, in: input.channel) }
      return APIAnswer(answer, madeBy: outcome, dryRun: input.dryRun)
    } to: { record in
      try releases.release(input, createsApp: createsApp, by: caller, record: record)
    }
    if let plan, !input.dryRun { context.api.plans.drop(plan) }
    return answer
  }

  /// Tries all of a release that is to be made later but the release itself.
  private func trial(of input: ReleaseInput) throws -> ReleaseOutcome {
    var trial = input
    (trial.dryRun, trial.ifNoRollout) = (true, false)
    let outcome = try releases.release(trial, createsApp: false, by: caller)
    guard outcome.missing.isEmpty else { throw StoreError.missingBlobs(outcome.missing) }
    return outcome
  }

  /// Records a release that waits for signatures, if nothing but these is missing, and each of its bundles has one; else nil.
  private func awaitSignatures(_ input: ReleaseInput, _ options: ReleaseOptions, _ time: Moment?) throws
    -> Response?
  {
    // Only a channel that is there has a root that asks for signatures.
    guard (try? store.channel(input.app, input.channel)) != nil else { return nil }
    let outcome = try trial(of: input)
    let lacking = outcome.trust.filter { $0.problem != nil }
    guard !lacking.isEmpty, lacking.allSatisfy({ $0.problem == .releaseKey && !$0.signers.isEmpty }) else {
      return nil
    }
    return try schedule(
      input, options, at: time ?? Moment(milliseconds: store.now), outcome,
      awaiting: outcome.trust.compactMap(\.statement))
  }

  /// Records a release that is to be made later.
  /// - Parameters:
  ///   - outcome: what it would do now.
  ///   - awaited: its statements, if these have too few signatures.
  private func schedule(
    _ input: ReleaseInput, _ options: ReleaseOptions, at time: Moment, _ outcome: ReleaseOutcome,
    awaiting awaited: [Signed<ReleaseStatement>] = []
  ) throws -> Response {
    let channel = try context.channel()
    var options = options
    (options.schedule, options.create, options.awaitSignatures) = (nil, false, nil)
    options.dryRun = nil
    if awaited.isEmpty {
      try outcome.checkSigned(input.app, input.channel)
    } else {
      // They are added with the last signature. By then the cost may be another.
      (options.statements, options.replaces) = (nil, nil)
    }
    let act = input.sendsNothing ? "unpublish" : "publish"
    let names = input.bundles.map(\.name.text).joined(separator: ", ")
    let request = ReleaseRequest(changes: input.bundles.map { .init($0) }, options: options)
    var later = try context.schedule(
      act, "\(act) of \(names)", to: input.rollout, message: input.message, at: time, route: "releases",
      request.json)
    (later.obeysFreezes, later.isGated) = (input.breakGlass == nil, true)
    later.awaited = awaited
    for bundle in input.bundles {
      guard case .update(let base, let set, _) = bundle.change else { continue }
      later.contents += set.map { (url: $0.key, content: $0.value) }
      later.versions.append((channel: channel.id, version: base))
    }
    return try context.scheduling(later) { ReleaseAnswer(outcome, deltasStored: false).scheduled(as: $0) }
  }

  /// Returns the change to each bundle: from the document, or from the preparation that it names.
  private func bundles(_ body: ReleaseDocument, _ plan: PlanCache.Name?) throws -> [BundleChange] {
    guard let plan else {
      guard let bundles = body.bundles else { throw ReleaseDocument.noBundles }
      return bundles
    }
    guard body.bundles == nil else {
      throw Problem.badRequest("a release needs either \"bundles\" or \"plan\", not both")
    }
    guard let bundles = context.api.plans.plan(plan) else {
      throw Problem(
        .notFound, "unknown-plan", "no preparation with the plan \(plan.sha256) is known; send \"bundles\"")
    }
    for bundle in bundles { try caller.check(bundle: bundle.name) }
    return bundles
  }

  private func name(of sha256: SHA256) throws(Problem) -> PlanCache.Name {
    let names = try context.names
    return PlanCache.Name(token: caller.id, app: names.app, channel: names.channel, sha256: sha256)
  }

  /// `POST …/preparations`: begins to make a release's deltas or, with `id` alone, reports their progress.
  func prepare(_ body: ReleaseDocument) throws -> Response {
    if let id = try body.decodeMembers(as: PreparationRequest.self).id { return try preparation(id) }
    let bundles = try bundles(body, nil)
    let input = try input(bundles, body.options(), body.statements)
    let createsApp = mayCreate(input)
    let preparation = try releases.prepare(input, createsApp: createsApp)
    preparation.open(to: try context.requester)
    let contents = try contents(of: input, createsApp: createsApp)
    guard let sha256 = context.body, try context.api.plans.keep(bundles, as: name(of: sha256)) else {
      return try self.preparation(preparation.id, contents: contents)
    }
    return try self.preparation(preparation.id, plan: sha256, contents: contents)
  }

  /// Answers with the progress of a planned release's deltas and cost. `plan` is the digest of the preparation's document,
  /// if that is kept; `contents` is what would be signed.
  private func preparation(_ id: String, plan: SHA256? = nil, contents: [PlannedContent]? = nil) throws
    -> Response
  {
    let deltas = context.api.deltas
    guard let preparation = deltas.preparation(id, for: try context.requester) else {
      throw Problem(.notFound, "unknown-preparation", "no release is prepared under \(id); send it again")
    }
    var answer = PreparationAnswer(preparation, late: deltas.isLate(preparation))
    answer.plan = plan
    answer.base = preparation.base
    answer.contents = contents
    return .json(answer)
  }

  /// Returns what a release would leave to be signed; nil in an app without a root.
  private func contents(of input: ReleaseInput, createsApp: Bool) throws -> [PlannedContent]? {
    // The app may not exist yet.
    guard let trust = try? store.trust(of: input.app), !trust.inForce.isOff else { return nil }
    var trial = input
    trial.dryRun = true
    return try releases.release(trial, createsApp: createsApp, by: caller).trust.map { PlannedContent($0) }
  }

  private func mayCreate(_ input: ReleaseInput) -> Bool {
    caller.isUnrestrictedAdmin && !input.sendsNothing
  }

  private func input(
    _ bundles: [BundleChange], _ options: ReleaseOptions, _ statements: [Signed<ReleaseStatement>]?
  ) throws -> ReleaseInput {
    let names = try context.names
    var input = ReleaseInput(
      app: names.app, channel: names.channel, author: caller.name,
      message: try HumanText.checked(options.message, member: "message", .message) ?? "", bundles: bundles,
      ifVersion: try context.ifVersion(options.ifVersion),
      dryRun: options.dryRun == true || context.preview != nil)
    input.replaces = options.replaces
    input.address = request.address
    input.hosts = caller.hosts
    if caller.bundles != nil { input.candidatePrefetch = .refused }
    input.breakGlass = try Self.breakGlass(options.breakGlass)
    input.rollout = try RolloutHandler.audience(options.rollout)
    input.ifNoRollout = options.ifNoRollout ?? false
    input.statements = statements ?? []
    return input
  }

  /// Returns the reason for a release although the channel is frozen.
  static func breakGlass(_ text: String?) throws(Problem) -> String? {
    let reason = try HumanText.checked(text, member: "breakGlass", .message)
    if reason?.isEmpty == true {
      throw .badRequest("\"breakGlass\" must be the reason for a release into a frozen channel")
    }
    return reason
  }
}

extension RequestContext {
  /// Whether a release has to wait until others approve it, as far as is known before it is made.
  func waitsForApproval(_ input: ReleaseInput) throws -> Bool {
    guard run == nil, !input.dryRun, let channel = try? store.channel(input.app, input.channel) else {
      return false
    }
    return try store.protection(of: channel) != nil
  }

  /// Refuses a release to a channel that doesn't exist, with the nearest name that does, if its request doesn't want to create
  /// one.
  func checkExists(unless create: Bool?) throws {
    if create != false { return }
    let names = try names
    let known = try KnownNames(store, readableBy: caller)
    if known.has(names) { return }
    let channels = known.channels(of: names.app)
    let isApp = channels.isEmpty
    let (word, all) = isApp ? (names.app.text, known.apps) : (names.channel.text, channels)
    let nearest = Spelling.nearest(to: word, among: all)
    let there = all.prefix(5).joined(separator: ", ")
    let words =
      isApp
      ? "there is no app \"\(names.app)\"" : "app \"\(names.app)\" has no channel \"\(names.channel)\""
    let hint = nearest.map { "; did you mean \($0)?" } ?? (there.isEmpty ? "." : "; there is \(there).")
    let create =
      caller.isUnrestrictedAdmin
      ? "To create it, add --create" : "An admin token that isn't limited creates it, with --create"
    throw Problem(
      .conflict, isApp ? "unknown-app" : "unknown-channel", "\(words)\(hint) Nothing was released. \(create)")
  }

  /// The caller, to which its preparations are open.
  var requester: Preparation.Requester {
    get throws(Problem) {
      let names = try names
      return Preparation.Requester(
        app: names.app, channel: names.channel, token: caller.id, rights: caller.rights)
    }
  }
}

extension APIAnswer {
  /// The answer to an act that makes a release: 201 if there is a new version.
  init(_ value: some Encodable, madeBy outcome: ReleaseOutcome, dryRun: Bool) {
    self.init(value, outcome.changed && !dryRun ? .created : .ok)
  }
}

extension ReleaseAnswer {
  init(_ outcome: ReleaseOutcome, deltasStored: Bool) {
    self.init(
      isChanged: outcome.changed, version: outcome.version, previous: outcome.previous,
      at: Moment(milliseconds: outcome.at), counts: outcome.counts,
      bundles: outcome.bundles.map { Bundle($0) },
      newBytes: outcome.newBytes, resources: outcome.resources, bytes: outcome.bytes,
      createdApp: outcome.createdApp, createdChannel: outcome.createdChannel, missing: outcome.missing,
      deltasStored: deltasStored, receipt: outcome.receipt?.text)
    freeze = outcome.freeze
    rollout = outcome.rollout.map { RolloutChangeInfo($0) }
    sameAsHalted = outcome.sameAsHalted.map { RolloutInfo($0) }
    headProblem = outcome.headProblem?.rawValue
  }
}

extension ReleaseAnswer {
  /// Adds to a dry run's answer what the release would leave to be signed, and what isn't yet, in a channel with a root.
  mutating func addTrust(of outcome: ReleaseOutcome, in channel: ChannelName) {
    guard !outcome.trust.isEmpty else { return }
    contents = outcome.trust.map { PlannedContent($0) }
    let unsigned = outcome.trust.compactMap { UnsignedContent($0, in: channel) }
    if !unsigned.isEmpty { self.unsigned = unsigned }
  }
}

extension ReleaseOutcome {
  /// Refuses what was tried in a dry run, and would be refused when it is made.
  /// - Throws: `unsigned`
  func checkSigned(_ app: AppName, _ channel: ChannelName) throws(StoreError) {
    let unsigned = trust.unsigned(in: channel)
    if !unsigned.isEmpty { throw .unsigned(app, unsigned) }
  }
}

extension PlannedContent {
  fileprivate init(_ bundle: BundleTrust) { self.init(bundle: bundle.bundle, content: bundle.content) }
}

extension UnsignedContent {
  /// Nil for a bundle that devices take.
  fileprivate init?(_ bundle: BundleTrust, in channel: ChannelName) {
    guard let problem = bundle.problem else { return nil }
    self.init(
      bundle: bundle.bundle, channel: channel, content: bundle.content, problem: problem.rawValue)
  }
}

extension ReleaseInput {
  /// Whether bundles are only removed.
  fileprivate var sendsNothing: Bool {
    !bundles.contains { if case .update = $0.change { true } else { false } }
  }
}

extension ReleaseRequest.Change {
  fileprivate init(_ change: BundleChange) {
    switch change.change {
    case .unpublish: self = .unpublish(change.name)
    case .update(let base, let set, let remove):
      let contents = set.sorted { $0.key < $1.key }.map { (url: $0.key, content: $0.value) }
      self = .update(change.name, base: base, set: contents, remove: remove.map(\.text).sorted())
    }
  }
}

extension ReleaseForecast {
  /// The forecast of a dry run; nil if it would change nothing.
  init?(_ outcome: ReleaseOutcome, _ update: UpdateCost?) {
    guard outcome.changed else { return nil }
    self.init(files: outcome.planned.map { File($0) }, update: update.map { TransferCost($0) })
  }
}

extension ReleaseForecast.File {
  fileprivate init(_ planned: PlannedChange) {
    self.init(
      url: planned.url.text, change: planned.old == nil ? .added : planned.new == nil ? .removed : .changed,
      size: planned.new ?? planned.old ?? 0, was: planned.new == nil ? nil : planned.old)
  }
}

extension ReleaseAnswer.Bundle {
  fileprivate init(_ bundle: ReleaseOutcome.Bundle) {
    self.init(
      bundle: bundle.name.text, counts: bundle.counts,
      replaced: bundle.replaced)
  }
}

extension PreparationAnswer {
  /// The state of a preparation; `late` is whether the release no longer waits for it.
  fileprivate init(_ preparation: Preparation, late: Bool) {
    let status = preparation.status
    var costs = Costs()
    costs.new = status.costs[0].map { TransferCost($0) }
    costs.last1 = status.costs[1].map { TransferCost($0) }
    costs.last2 = status.costs[2].map { TransferCost($0) }
    costs.last5 = status.costs[5].map { TransferCost($0) }
    self.init(
      id: preparation.id, ready: status.isReady, done: status.isDone, late: late,
      milliseconds: Int64((status.readyAfter ?? preparation.seconds) * 1000), files: status.files,
      filesDone: status.filesDone, deltas: status.deltas, cost: costs)
  }
}

extension TransferCost {
  init(_ cost: UpdateCost) {
    self.init(
      files: cost.files, deltas: cost.deltas, bytes: cost.bytes, plainBytes: cost.plainBytes,
      answer: cost.answer, pack: cost.pack, unpackedBytes: cost.unpacked.bytes, requests: cost.requests)
    if cost.lazyFiles > 0 { lazy = LazyFiles(files: cost.lazyFiles, bytes: cost.lazyBytes) }
  }
}
