import Manifests
import OriginAPI
import OriginClient
import System
import Trust
import Values

// Promoting in an app with a root. Most promotions need no key: the statements name both channels.
extension Publisher {
  /// Makes a promotion. What the origin says isn't signed for that channel is signed here, if there is a key: the content is the one
  /// that a valid statement signs for another channel, or that one with its URLs rewritten.
  ///
  /// - Returns: the answer, and what was signed.
  /// - Throws: `PublishError`.
  package func promote(
    _ request: PromotionRequest, to channel: ChannelAddress, _ options: SigningOptions
  ) throws(PublishError) -> (
    answer: OriginAnswer<PromotionAnswer>, statements: [Signed<ReleaseStatement>]
  ) {
    var (request, options) = (request, options)
    options.isRollout = request.rollout != nil
    var statements: [Signed<ReleaseStatement>] = []
    func sign(only bundles: Set<BundleName>?, ifSplit: Bool = false) throws(PublishError) {
      statements = try self.statements(for: &request, to: channel, only: bundles, ifSplit: ifSplit, options)
      if request.dryRun == true { statements = [] }
      request.statements = statements.isEmpty ? nil : statements.map(\.envelope.json)
    }
    if options.isDemanding { try sign(only: nil) }
    while true {
      do {
        return (try ask(request, to: channel), statements)
      } catch {
        // Each is asked for once: what is refused again is refused.
        if options.canSign, request.statements == nil, let bundles = error.unsignedBundles {
          try sign(only: bundles)
          if request.statements == nil { throw error }
        } else if options.canSign, request.statements == nil, options.isRollout, error.splitsRollout {
          // A statement that was signed elsewhere leaves a floor above the full version here: it is signed here without.
          try sign(only: nil, ifSplit: true)
          if request.statements == nil { throw error }
        } else if options.signers != nil, request.prefetchStatement == nil, request.withPrefetch == true,
          error.isUnsigned
        {
          request.prefetchStatement = try prefetchStatement(for: request, to: channel, options)?.envelope.json
          if request.prefetchStatement == nil { throw error }
        } else {
          throw error
        }
      }
    }
  }

  private func ask(_ request: PromotionRequest, to channel: ChannelAddress) throws(PublishError)
    -> OriginAnswer<PromotionAnswer>
  {
    try PublishError.asking { () throws(OriginError) in try api.promote(request, to: channel) }
  }

  /// Returns the statements for what a promotion brings, and holds the request to the version that they are of.
  /// - Parameters:
  ///   - only: the bundles to sign; nil: all that change.
  ///   - ifSplit: whether to sign only what has a statement that splits the rollout.
  private func statements(
    for request: inout PromotionRequest, to channel: ChannelAddress, only: Set<BundleName>?,
    ifSplit: Bool, _ options: SigningOptions
  ) throws(PublishError) -> [Signed<ReleaseStatement>] {
    guard let trust = try trust(of: channel.app, options), !trust.root.isOff else {
      progress(.notSigned(channel.app))
      return []
    }
    var trial = request
    (trial.dryRun, trial.schedule) = (true, nil)
    // What becomes of each bundle is the same, and isn't refused.
    if ifSplit { trial.rollout = nil }
    let plan = try ask(trial, to: channel).value
    let contents = (plan.release.contents ?? []).filter { planned in
      only?.contains(planned.bundle) ?? true
        && (!ifSplit || trust.above(planned.bundle, planned.content, in: channel.channel, options) != nil)
    }
    if contents.isEmpty { return [] }
    request.version = plan.fromVersion.text
    let items = try items(of: plan.fromVersion, in: ChannelAddress(channel.app, plan.from))
    let rewriting = request.rewriting
    let isDryRun = request.dryRun == true
    return try PublishError.signing { () throws(TrustFault) in
      var signed: [Signed<ReleaseStatement>] = []
      for planned in contents {
        let bundle = PromotedBundle(
          items[planned.bundle] ?? LiveBundle(planned.bundle, items: []), rewriting)
        guard trust.isSigned(bundle.before, of: bundle.name) else {
          throw .unverified(bundle.name, plan.from, plan.fromVersion)
        }
        guard bundle.after == planned.content else { throw .contentDiffers(bundle.name, []) }
        let statement = try trust.sign(
          bundle.name, bundle.after, vouched: bundle.before, urls: bundle.urls, in: channel.channel, options,
          isDryRun: isDryRun)
        signed.append(statement)
      }
      return signed
    }
  }

  /// Returns the statement for the prefetch config that comes along, which is the source's newest one, or that one with its URLs
  /// rewritten; nil if that isn't what a valid statement signs, or another version is promoted.
  private func prefetchStatement(
    for request: PromotionRequest, to channel: ChannelAddress, _ options: SigningOptions
  ) throws(PublishError) -> Signed<PrefetchStatement>? {
    guard request.version == nil || request.statements != nil,
      let from = request.from.flatMap({ try? ChannelName($0) }),
      let trust = try trust(of: channel.app, options)
    else { return nil }
    let held = try PublishError.asking { () throws(OriginError) in
      try api.prefetch(of: ChannelAddress(channel.app, from)).value.config
    }
    guard let held, trust.isSigned(prefetch: SHA256.of(held.canonical)),
      let moved = try? request.rewriting.apply(toPrefetch: held),
      let content = PrefetchCheck(moved).config?.json.canonical
    else { return nil }
    return try sign(prefetch: content, in: channel, trust, options)
  }

  /// Returns what each bundle holds in a version of a channel with a root.
  private func items(of version: ManifestVersion, in channel: ChannelAddress) throws(PublishError)
    -> [BundleName: LiveBundle]
  {
    try PublishError.asking { () throws(OriginError) in
      let manifest = try api.manifest(version.text, of: channel)
      return try api.reading { () throws(JSONError) in try LiveBundle.bundles(of: manifest) }
    }
  }
}

/// A bundle that is promoted: what it is in the source, and what it becomes.
private struct PromotedBundle {
  let name: BundleName
  /// The digest of what was signed in the source.
  let before: SHA256
  /// The digest of what is to be signed.
  let after: SHA256
  let urls: [ResourceURL]

  init(_ source: LiveBundle, _ rewriting: URLRewriting) {
    name = source.bundle
    before = source.content
    var moved: [ResourceURL: ManifestItem] = [:]
    // The origin refuses a URL that can't be rewritten, and two that become one unless their files are the same.
    for item in source.items {
      guard let item = item.moved(by: rewriting) else { continue }
      moved[item.url] = item
    }
    urls = moved.values.flatMap(\.places).sorted()
    after = LiveBundle(name, items: moved.values.sorted { $0.url < $1.url }).content
  }
}

extension PublisherTrust {
  /// Signs one bundle; in a dry run it only checks that the key may.
  fileprivate func sign(
    _ bundle: BundleName, _ content: SHA256, vouched: SHA256, urls: [ResourceURL], in channel: ChannelName,
    _ options: SigningOptions, isDryRun: Bool
  ) throws(TrustFault) -> Signed<ReleaseStatement> {
    let statement: Signed<ReleaseStatement>
    if let given = options.given.first(where: { $0.document.bundle == bundle }) {
      guard given.document.content == content else { throw .otherContent(bundle) }
      statement = given
    } else {
      statement = try Signed(
        unsigned: self.statement(
          of: bundle, content, in: channel, options, vouched: vouched, now: Clock.unixMilliseconds()))
    }
    let signers = try options.signers(under: root)
    let own = signers.map(\.key.id)
    do throws(TrustFault) {
      try check(
        bundle, urls: urls, in: statement.document.channels,
        by: own + statement.releaseSigners(root).filter { !own.contains($0) })
    } catch {
      guard case .tooFewSignatures(let bundle, let channel, let has, let needed) = error else { throw error }
      throw .tooFewToPromote(bundle, to: channel, has: has, needed: needed)
    }
    return isDryRun ? statement : try statement.signed(with: signers)
  }
}

extension PromotionRequest {
  /// How its URLs are rewritten.
  fileprivate var rewriting: URLRewriting {
    URLRewriting(
      (map ?? []).compactMap { rule in
        guard let from = rule.from.flatMap({ try? BaseURL($0) }),
          let to = rule.to.flatMap({ try? BaseURL($0) })
        else { return nil }
        return URLRewriting.Rule(from: from, to: to)
      })
  }
}

extension PublishError {
  /// Whether the origin refuses a rollout since devices couldn't go from one of its versions to the other.
  fileprivate var splitsRollout: Bool {
    if case .origin(.refused(let problem)) = self { problem.code == "rollout-floor" } else { false }
  }

  /// Whether the origin refuses something that isn't signed.
  var isUnsigned: Bool {
    if case .origin(.refused(let problem)) = self { problem.code == "unsigned" } else { false }
  }

  /// The bundles that the origin refuses since no statement covers them; nil for any other error.
  fileprivate var unsignedBundles: Set<BundleName>? {
    guard case .origin(.refused(let problem)) = self, problem.code == "unsigned",
      let list = problem.members["bundles"]?.array
    else { return nil }
    return Set(list.compactMap { $0["bundle"]?.string.flatMap { try? BundleName($0) } })
  }
}
