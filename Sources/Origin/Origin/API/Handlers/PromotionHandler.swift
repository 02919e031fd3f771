import HTTP
import Manifests
import OriginAPI
import Store
import System
import Values

/// `POST /apps/{app}/channels/{channel}/promote`: releases the content of another channel of the app here.
struct PromotionHandler: APIHandler {
  let context: RequestContext

  private var releases: ReleaseService { context.api.releases }

  func promote(_ body: PromotionRequest) throws -> Response {
    let names = try context.names
    try context.checkExists(unless: body.create)
    let (source, contents) = try source(body, names)
    let rewriting = try Self.rewriting(body)
    try Self.checkUsed(
      rewriting, contents, source, calls: body.withPrefetch == true ? prefetchURLs(body, source) : [])
    let input = try input(body, names, source, contents, rewriting)
    // What the answer adds to the outcome is worked out before the release is made: afterwards nothing may fail any more.
    let promotion = Promotion(
      source: source, input: input, left: try left(source, contents, names),
      warnings: try filesNaming(rewriting, contents), undone: try undone(input))
    if let time = try context.scheduled(body.schedule, dryRun: body.dryRun) {
      return try schedule(promotion, body, at: time)
    }
    if try context.waitsForApproval(input), let answer = try wait(promotion, body) { return answer }
    return try release(promotion, waits: body.now != true)
  }

  /// The release that a promotion is, and what its answer adds to the outcome.
  private struct Promotion {
    let source: ReleaseSource
    let input: ReleaseInput
    /// Bundles that were removed there and are still here.
    let left: [String]
    /// Files whose text names a host that is rewritten.
    let warnings: [String]
    /// The releases of each bundle that it undoes.
    let undone: [BundleName: [ReleaseStamp]]

    func details(prefetch: PrefetchOutcome?) -> PromotionDetails {
      PromotionDetails(
        from: source.channel.name, fromVersion: source.version, left: left, warnings: warnings,
        prefetch: prefetch)
    }

    /// What a release that was made undoes of each bundle.
    func takesBack(_ outcome: ReleaseOutcome) -> [RollbackDetails.Bundle] {
      outcome.bundles.compactMap { bundle in
        undone[bundle.name].map {
          .init(bundle: bundle.name.text, counts: bundle.counts, releases: $0)
        }
      }
    }
  }

  private func input(
    _ body: PromotionRequest, _ names: ChannelNames, _ source: ReleaseSource, _ contents: Contents,
    _ rewriting: URLRewriting
  ) throws -> ReleaseInput {
    var input = ReleaseInput(
      app: names.app, channel: names.channel, author: caller.name,
      message: try HumanText.checked(body.message, member: "message", .message) ?? "",
      bundles: try changes(contents, rewriting), ifVersion: try context.ifVersion(body.ifVersion),
      dryRun: body.dryRun == true || context.preview != nil)
    input.source = source
    input.address = request.address
    input.hosts = caller.hosts
    if caller.bundles != nil { input.candidatePrefetch = .refused }
    input.breakGlass = try ReleaseHandler.breakGlass(body.breakGlass)
    input.rollout = try RolloutHandler.audience(body.rollout)
    input.ifNoRollout = body.ifNoRollout ?? false
    input.statements = try context.statements(body.statements)
    input.prefetchStatement = try context.prefetchStatement(body.prefetchStatement, in: "prefetchStatement")
    for bundle in input.bundles { try caller.check(bundle: bundle.name) }
    if input.rollout != nil { try RolloutHandler(context: context).checkMayEnd() }
    guard !input.bundles.isEmpty else { throw Self.nothing(in: source) }
    if body.withPrefetch == true {
      try caller.checkReachesAllBundles()
      input.prefetch = try prefetch(body, source, rewriting)
    }
    return input
  }

  /// Has a promotion wait until others approve it; nil for one that changes nothing.
  private func wait(_ promotion: Promotion, _ body: PromotionRequest) throws -> Response? {
    var trial = promotion.input
    (trial.dryRun, trial.ifNoRollout) = (true, false)
    let outcome = try releases.release(trial, createsApp: false, by: caller)
    guard outcome.changed || outcome.rollout != nil || trial.prefetch != nil else { return nil }
    return try schedule(promotion, body, at: Moment(milliseconds: store.now))
  }

  /// Tries all but the act, and stores the request for later.
  private func schedule(_ promotion: Promotion, _ body: PromotionRequest, at time: Moment) throws -> Response
  {
    let (source, input) = (promotion.source, promotion.input)
    var trial = input
    (trial.dryRun, trial.ifNoRollout) = (true, false)
    _ = try context.channel()
    let outcome = try releases.release(trial, createsApp: false, by: caller)
    try outcome.checkSigned(input.app, input.channel)
    var body = body
    (body.schedule, body.create, body.dryRun) = (nil, false, nil)
    // A config can be that of a moment.
    let isMoment = try Self.isMoment(body.version)
    if input.prefetch == nil || !isMoment { body.version = source.version.text }
    // Who approves it sees this config.
    body.prefetchVersion = input.prefetch.map { ManifestVersion($0.source) }
    let what = source.bundle.map { "\($0) of " } ?? ""
    var later = try context.schedule(
      "promote",
      "promotion of \(what)version \(source.version) of \(source.channel.name)\(input.prefetch == nil ? "" : " with its prefetch config")",
      to: input.rollout, message: input.message, at: time, route: "promote",
      JSONValue(encoding: body).canonical)
    (later.obeysFreezes, later.isGated) = (input.breakGlass == nil, true)
    later.versions = [(channel: source.channel.id, version: source.version)]
    return try context.scheduling(later) {
      PromotionAnswer(
        ReleaseAnswer(outcome, deltasStored: false).scheduled(as: $0), promotion.details(prefetch: nil))
    }
  }

  /// Makes the release. Without deltas, devices download whole files; promoting needn't queue for them.
  /// - Parameter waits: whether it waits for its deltas.
  private func release(_ promotion: Promotion, waits: Bool) throws -> Response {
    let input = promotion.input
    let createsApp = caller.isUnrestrictedAdmin
    let (hasDeltas, cost) =
      waits || input.dryRun
      ? try releases.awaitCost(of: input, createsApp: createsApp, onWorker: context.isOnWorker) : (false, nil)
    let deltas = DeltasAtCommit(releases.deltas, wereAwaited: hasDeltas, isDryRun: input.dryRun)
    return try context.answering { outcome in
      var release = ReleaseAnswer(outcome, deltasStored: deltas.areStored(of: outcome))
      if input.dryRun {
        release.forecast = ReleaseForecast(outcome, cost)
        release.addTrust(of: outcome, in: input.channel)
      }
      var details = promotion.details(prefetch: outcome.prefetch)
      if outcome.changed {
        details.update = cost.map { TransferCost($0) }
        details.takesBack = promotion.takesBack(outcome)
      }
      return APIAnswer(PromotionAnswer(release, details), madeBy: outcome, dryRun: input.dryRun)
    } to: { record in
      try releases.release(input, createsApp: createsApp, by: caller, record: record)
    }
  }

  /// A rule under which there is nothing is misspelt: its URLs would be released as they are, and replace those that were meant.
  /// - Parameter calls: the pages and APIs of the prefetch config that is promoted, too.
  private static func checkUsed(
    _ rewriting: URLRewriting, _ contents: Contents, _ source: ReleaseSource, calls: [ResourceURL]
  ) throws {
    guard !contents.isEmpty,
      let idle = rewriting.idleRules(for: contents.values.flatMap(\.keys) + calls).first
    else { return }
    throw Problem(
      .conflict, "nothing-mapped",
      "no URL of channel \"\(source.channel.name)\" is under \(idle.from), so \"map\" (--map) wouldn't rewrite any by this rule. "
        + "Nothing was released")
  }

  /// The releases of each bundle that didn't come from the source, since the last one that did: promoting undoes them.
  private func undone(_ input: ReleaseInput) throws -> [BundleName: [ReleaseStamp]] {
    guard let source = input.source?.channel, let channel = try? store.channel(input.app, input.channel)
    else { return [:] }
    return try store.releases(of: channel, notFrom: source).filter { !$0.value.isEmpty }
  }

  private static func nothing(in source: ReleaseSource) -> Problem {
    guard let bundle = source.bundle else {
      return Problem(
        .conflict, "nothing-to-promote", "channel \"\(source.channel.name)\" holds nothing to promote")
    }
    return Problem(
      .conflict, "nothing-to-promote",
      """
      channel "\(source.channel.name)" holds nothing of bundle "\(bundle)"; promoting takes no bundle away, \
      `xcache unpublish --bundle \(bundle)` does
      """)
  }

  /// Bundles that were removed there and are still here. Promoting leaves them: whoever clears a test channel doesn't mean
  /// to clear the other one with the next promotion.
  private func left(_ source: ReleaseSource, _ contents: Contents, _ names: ChannelNames) throws
    -> [String]
  {
    if source.bundle != nil { return [] }
    let known = Set(try store.bundles(of: source.channel).map(\.name))
    // A dry run may name a channel that doesn't exist yet.
    guard let channel = try? store.channel(names.app, names.channel) else { return [] }
    let held = try store.bundles(of: channel).filter { $0.resources > 0 }
    return held.map(\.name).filter { known.contains($0) && contents[$0] == nil }.map(\.text)
  }

  /// Returns the pages and APIs of the prefetch config that is promoted with the resources.
  private func prefetchURLs(_ body: PromotionRequest, _ source: ReleaseSource) throws -> [ResourceURL] {
    let name = try VersionName.read(body.version, member: "version")
    let record = try store.prefetch(of: source.channel, while: source.version, as: name)
    let config = record.flatMap { try? JSONValue.parse($0.content) }
    let texts = (config?.array ?? []).flatMap { page in
      [page["url"]?.string] + (page["interfaces"]?.array ?? []).map { $0["api"]?.string }
    }
    return texts.compactMap { $0.flatMap { try? ResourceURL($0) } }
  }

  /// Returns the prefetch config that matches what is promoted, its URLs rewritten like the others.
  private func prefetch(_ body: PromotionRequest, _ source: ReleaseSource, _ rewriting: URLRewriting)
    throws -> PrefetchCarryOver
  {
    let name = try VersionName.read(body.version, member: "version")
    let record = try store.prefetch(of: source.channel, while: source.version, as: name)
    if let wanted = body.prefetchVersion, wanted.number != record?.version ?? 0 {
      throw Problem(
        .conflict, "prefetch-changed",
        "channel \"\(source.channel.name)\" had version \(wanted) of the prefetch config when this promotion was asked for, and has "
          + "\(record.map { "version \($0.version)" } ?? "none") now; nothing was released. Promote it again")
    }
    guard let record else { return PrefetchCarryOver(content: nil, source: 0, from: source.channel.name) }
    let config = (try? JSONValue.parse(record.content)) ?? []
    let rewritten: JSONValue
    do {
      rewritten = try rewriting.apply(toPrefetch: config)
    } catch {
      throw Problem.badRequest("a URL of the prefetch config can't be rewritten: \(error)")
    }
    let check = PrefetchCheck(rewritten)
    guard let checked = check.config else {
      throw Problem(
        .conflict, "prefetch-conflict",
        "rewritten by \"map\", the prefetch config can't be used: "
          + check.errors.map { "\($0.path): \($0.problem.message)" }.joined(separator: "\n"))
    }
    return PrefetchCarryOver(
      content: checked.json.canonical, source: record.version, from: source.channel.name)
  }

  private typealias Contents = [BundleName: [ResourceURL: ResourceContent]]

  private func source(_ body: PromotionRequest, _ names: ChannelNames) throws -> (ReleaseSource, Contents) {
    guard let from = try body.from.map({ try ChannelName($0) }) else {
      throw Problem.badRequest("\"from\" must be the channel whose content is promoted")
    }
    guard from != names.channel else {
      throw Problem.badRequest("a channel is promoted to another one, not to itself")
    }
    guard caller.allows(.read, app: names.app, channel: from) else {
      throw Problem(.forbidden, "scope", "\(caller.who) may not read channel \(from)")
    }
    let bundle = try body.bundle.map { try BundleName($0) }
    let name = try VersionName.read(body.version, member: "version")
    let channel = try store.channel(names.app, from)
    let version = try store.version(name ?? .number(channel.full.version), of: channel)
    let isEmpty = version == .none && name == nil
    return (
      ReleaseSource(channel: channel, version: version, bundle: bundle),
      isEmpty ? [:] : try store.contents(of: channel, at: version, bundle: bundle)
    )
  }

  private static func isMoment(_ version: String?) throws -> Bool {
    if case .moment = try VersionName.read(version, member: "version") { true } else { false }
  }

  private static func rewriting(_ body: PromotionRequest) throws -> URLRewriting {
    var rules: [URLRewriting.Rule] = []
    for rule in body.map ?? [] {
      guard let from = rule.from, let to = rule.to else {
        throw Problem.badRequest("\"map\" must be an array of rules, each with \"from\" and \"to\"")
      }
      do {
        rules.append(.init(from: try BaseURL(from), to: try BaseURL(to)))
      } catch {
        throw Problem.badRequest("\"map\": \(error)")
      }
    }
    return URLRewriting(rules)
  }

  /// Returns changes that make each bundle exactly what it is there, whatever it holds here.
  private func changes(_ contents: Contents, _ rewriting: URLRewriting) throws
    -> [BundleChange]
  {
    var changes: [BundleChange] = []
    for (name, held) in contents.sorted(by: { $0.key < $1.key }) {
      var set: [ResourceURL: ResourceContent] = [:]
      for (url, content) in held {
        let mapped: ResourceURL
        let said: ResourceContent
        do {
          mapped = try rewriting.apply(to: url)
          said = try rewriting.apply(to: content, of: url, to: mapped)
        } catch {
          throw Problem.badRequest("\(url) can't be rewritten: \(error)")
        }
        if let other = set.updateValue(said, forKey: mapped), other != said {
          throw Problem(.conflict, "url-conflict", "two URLs of bundle \"\(name)\" become \(mapped)")
        }
      }
      changes.append(BundleChange(name, .update(base: .none, set: set, remove: [])))
    }
    return changes
  }

  /// Returns the original URLs of files whose text contains a host that is rewritten: links in them aren't.
  private func filesNaming(_ rewriting: URLRewriting, _ contents: Contents) throws -> [String] {
    let hosts = Set(rewriting.rules.map(\.host)).map { Array($0.utf8) }
    if hosts.isEmpty { return [] }
    var seen: [SHA256: Bool] = [:]
    var named: Set<String> = []
    for (url, content) in contents.values.joined() where content.ctype.isCompressible {
      if seen[content.sha256] == nil {
        let blob = try store.open(content.sha256)
        seen[content.sha256] = try TextSearch(hosts).isFound(in: blob)
      }
      if seen[content.sha256] == true { named.insert(url.text) }
    }
    return named.sorted()
  }
}
