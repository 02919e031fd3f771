import Manifests
import System
import Trust
import Values

/// Statements for what an app's channels hold.
package struct NewStatements: Sendable {
  package private(set) var releases: [Signed<ReleaseStatement>] = []
  package private(set) var prefetch: [Signed<PrefetchStatement>] = []

  private struct Content: Hashable {
    let bundle: BundleName
    let content: SHA256
  }

  /// Signs `holdings` by those of `signers` that the root names, one statement for each content of a bundle.
  ///
  /// - Parameters:
  ///   - all: what the channels hold besides, for the highest serials.
  ///   - before: the roots before this one that are known, lowest number first. A floor that a statement raised which was valid under one
  ///     of them stays, unless a root has named a lower one since: a key that is lost hasn't signed it in vain.
  ///   - now: milliseconds since 1970.
  /// - Throws: `notListed`, if none of them is named; what signers throw.
  package init(
    for holdings: Holdings, among all: Holdings, under root: TrustRoot,
    after before: [Signed<TrustRoot>] = [],
    by signers: [any StatementSigner], now: Int64
  ) throws(SigningError) {
    let floors = EarlierFloors(before, root)
    try sign(holdings, all, root, floors, signers, now)
    try signPrefetch(holdings, all, root, floors, signers, now)
  }

  private mutating func sign(
    _ holdings: Holdings, _ all: Holdings, _ root: TrustRoot, _ floors: EarlierFloors,
    _ signers: [any StatementSigner], _ now: Int64
  ) throws(SigningError) {
    let named = Set(root.grants.flatMap(\.signers.keys))
    let able = signers.filter { named.contains($0.key.id) }
    let groups = Dictionary(grouping: holdings.bundles) {
      Content(bundle: $0.live.bundle, content: $0.live.content)
    }
    if !groups.isEmpty, able.isEmpty, let first = signers.first { throw .notListed(first.key.id) }
    for (content, bundles) in groups.sorted(by: {
      ($0.key.bundle, $0.key.content) < ($1.key.bundle, $1.key.content)
    }) {
      let known = all.bundles.filter { $0.live.bundle == content.bundle }.compactMap(\.statement)
        .filter { Self.counts($0, root) }.map(\.document.serial)
      let floor =
        bundles.compactMap { bundle in
          bundle.statement.flatMap {
            Self.counts($0, root) ? $0.document.floor : floors.kept(of: bundle, $0)
          }
        }.max() ?? .zero
      // What was signed before stays as old as it was. An origin that shows files of before a fix, which devices refuse, gets no newer
      // statement for them.
      let vouched = bundles.compactMap { bundle in
        bundle.statement.flatMap {
          Self.counts($0, root) || floors.accepted(bundle, $0) ? $0.document.serial : nil
        }
      }.max()
      let serial =
        if let vouched, root.floors[content.bundle] == nil {
          max(vouched, floor)
        } else {
          Self.serial(now, above: known, floor: max(floor, root.floors[content.bundle] ?? .zero))
        }
      for channels in Self.parts(of: bundles.map(\.channel)) {
        var signed = try Self.envelope { () throws(TrustFormError) in
          try Signed(
            ReleaseStatement(
              app: root.app, environment: root.environment, bundle: content.bundle, channels: channels,
              content: content.content, serial: serial, floor: floor))
        }
        for signer in able { signed = try signed.signed(by: signer) }
        releases.append(signed)
      }
    }
  }

  private mutating func signPrefetch(
    _ holdings: Holdings, _ all: Holdings, _ root: TrustRoot, _ floors: EarlierFloors,
    _ signers: [any StatementSigner], _ now: Int64
  ) throws(SigningError) {
    // A channel can have a config that somebody else signs; what is missing is found out by the check.
    guard let signer = signers.first(where: { root.prefetch.contains($0.key.id) }) else { return }
    let known = all.prefetch.compactMap(\.statement).filter { Self.counts($0, root) }.map(\.document.serial)
    for (content, configs) in Dictionary(grouping: holdings.prefetch, by: \.content)
      .sorted(by: { $0.key < $1.key })
    {
      let floor =
        configs.compactMap { config in
          config.statement.flatMap {
            Self.counts($0, root) ? $0.document.floor : floors.kept(of: config, $0)
          }
        }.max() ?? .zero
      let serial = Self.serial(now, above: known, floor: max(floor, root.prefetchFloor ?? .zero))
      for channels in Self.parts(of: configs.map(\.channel)) {
        let signed = try Self.envelope { () throws(TrustFormError) in
          try Signed(
            PrefetchStatement(
              app: root.app, environment: root.environment, channels: channels, content: content,
              serial: serial, floor: floor))
        }
        prefetch.append(try signed.signed(by: signer))
      }
    }
  }

  /// Whether the keys that have signed a statement may still sign releases: an earlier serial is believed only of these.
  private static func counts(_ signed: Signed<ReleaseStatement>, _ root: TrustRoot) -> Bool {
    let named = Set(root.grants.flatMap(\.signers.keys))
    let signers = signed.signers(among: named, keys: root.keys, by: SystemVerifier())
    return root.grants.contains { $0.signers.isMet(by: signers) }
  }

  /// The same for a prefetch config's.
  private static func counts(_ signed: Signed<PrefetchStatement>, _ root: TrustRoot) -> Bool {
    !signed.signers(among: root.prefetch, keys: root.keys, by: SystemVerifier()).isEmpty
  }

  private static func serial(_ now: Int64, above known: [Serial], floor: Serial) -> Serial {
    let lowest = max(now, (known.max()?.number ?? 0) + 1, floor.number)
    return Serial(lowest) ?? .highest
  }

  private static func parts(of channels: [ChannelName]) -> [Set<ChannelName>] {
    let sorted = Set(channels).sorted()
    return stride(from: 0, to: sorted.count, by: ReleaseStatement.channelLimit).map {
      Set(sorted[$0..<min($0 + ReleaseStatement.channelLimit, sorted.count)])
    }
  }

  private static func envelope<Document>(_ make: () throws(TrustFormError) -> Signed<Document>)
    throws(SigningError) -> Signed<Document>
  {
    do {
      return try make()
    } catch {
      throw .form(error)
    }
  }
}

/// The floors of statements whose keys may sign no more, as far as they still hold.
private struct EarlierFloors {
  private let before: [Signed<TrustRoot>]
  private let root: TrustRoot

  init(_ before: [Signed<TrustRoot>], _ root: TrustRoot) {
    self.before = before
    self.root = root
  }

  /// Whether a root allowed a statement.
  func accepted(_ bundle: Holdings.Bundle, _ statement: Signed<ReleaseStatement>) -> Bool {
    before.contains {
      !$0.document.isOff && RootJudge($0).failure(of: bundle.live, statement, in: bundle.channel) == nil
    }
  }

  func kept(of bundle: Holdings.Bundle, _ statement: Signed<ReleaseStatement>) -> Serial? {
    kept(statement.document.floor) { root in
      root.failure(of: bundle.live, statement, in: bundle.channel) == nil
    } named: {
      $0.floors[bundle.live.bundle]
    }
  }

  func kept(of config: Holdings.Prefetch, _ statement: Signed<PrefetchStatement>) -> Serial? {
    kept(statement.document.floor) { root in
      root.failure(ofPrefetch: config.content, statement, in: config.channel) == nil
    } named: {
      $0.prefetchFloor
    }
  }

  /// Returns a floor if a root allowed it, and none after that has named a lower one: that is how floors are taken back which a
  /// thief has set.
  private func kept(
    _ floor: Serial, isValid: (RootJudge) -> Bool, named: (TrustRoot) -> Serial?
  ) -> Serial? {
    // Under one that is off, everything passes.
    guard let last = before.lastIndex(where: { !$0.document.isOff && isValid(RootJudge($0)) }) else {
      return nil
    }
    let since = before[(last + 1)...].map(\.document) + [root]
    return since.compactMap(named).allSatisfy { $0 >= floor } ? floor : nil
  }
}

extension Holdings {
  /// The same, with new statements where they are for a bundle's content and channel.
  package func taking(_ statements: NewStatements) -> Holdings {
    Holdings(
      bundles: bundles.map { bundle in
        let new = statements.releases.first {
          $0.document.bundle == bundle.live.bundle && $0.document.content == bundle.live.content
            && $0.document.channels.contains(bundle.channel)
        }
        return Bundle(
          channel: bundle.channel, live: bundle.live, isCandidate: bundle.isCandidate,
          statement: new ?? bundle.statement)
      },
      prefetch: prefetch.map { config in
        let new = statements.prefetch.first {
          $0.document.content == config.content && $0.document.channels.contains(config.channel)
        }
        return Prefetch(
          channel: config.channel, content: config.content, statement: new ?? config.statement)
      })
  }
}
