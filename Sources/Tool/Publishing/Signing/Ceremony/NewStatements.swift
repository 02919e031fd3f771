import Manifests
import System
import Trust
import Values

/// Statements for what an app's channels hold.
package struct NewStatements: Sendable {
  package private(set) var releases: [Signed<ReleaseStatement>] = []
  package private(set) var prefetch: [Signed<PrefetchStatement>] = []

  package init() {}

  /// The statements of both.
  package static func + (some: NewStatements, others: NewStatements) -> NewStatements {
    var all = some
    all.releases += others.releases
    all.prefetch += others.prefetch
    return all
  }

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
  ///   - lowering: whether the root is yet to come into force: a floor above one that it sets is left out then. Under a root that is in
  ///     force, it may have been raised since.
  ///   - leavingOut: whether no statement gets the floor of one before (`raisingFloors(above:)`).
  ///   - now: milliseconds since 1970.
  /// - Throws: `notListed`, if none of them is named; what signers throw.
  package init(
    for holdings: Holdings, among all: Holdings, under root: TrustRoot,
    after before: [Signed<TrustRoot>] = [], lowering: Bool = false, leavingOut: Bool = false,
    by signers: [any StatementSigner], now: Int64
  ) throws(SigningError) {
    let floors = EarlierFloors(before, root, lowering: lowering, leavingOut: leavingOut)
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
            Self.counts($0, root)
              ? floors.lowered($0.document.floor, root.floors[content.bundle]) : floors.kept(of: bundle, $0)
          }
        }.max() ?? .zero
      let valid = bundles.compactMap(\.statement).filter { Self.counts($0, root) }
      let vouched = bundles.compactMap { bundle in
        bundle.statement.flatMap { floors.accepted(bundle, $0) ? $0.document.serial : nil }
      }
      let serial = Self.serial(
        now, above: known, floor: floor, named: root.floors[content.bundle],
        valid: valid.map(\.document.serial), vouched: vouched)
      for channels in Self.parts(of: bundles.map(\.channel)) {
        var signed = try Self.envelope { () throws(TrustFormError) in
          let statement = try ReleaseStatement(
            app: root.app, environment: root.environment, bundle: content.bundle, channels: channels,
            content: content.content, serial: serial, floor: floor)
          return try Signed(statement, signatures: Self.signatures(of: statement, among: valid, named))
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
            Self.counts($0, root)
              ? floors.lowered($0.document.floor, root.prefetchFloor) : floors.kept(of: config, $0)
          }
        }.max() ?? .zero
      let valid = configs.compactMap(\.statement).filter { Self.counts($0, root) }
      let vouched = configs.compactMap { config in
        config.statement.flatMap { floors.accepted(config, $0) ? $0.document.serial : nil }
      }
      let serial = Self.serial(
        now, above: known, floor: floor, named: root.prefetchFloor, valid: valid.map(\.document.serial),
        vouched: vouched)
      for channels in Self.parts(of: configs.map(\.channel)) {
        let signed = try Self.envelope { () throws(TrustFormError) in
          let statement = try PrefetchStatement(
            app: root.app, environment: root.environment, channels: channels, content: content,
            serial: serial, floor: floor)
          return try Signed(
            statement, signatures: Self.signatures(of: statement, among: valid, Set(root.prefetch)))
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

  /// Returns the serial of what is signed anew. What was signed before stays as old as it was. An origin that shows files of before a
  /// fix, which devices refuse, gets no newer statement for them.
  ///
  /// - Parameters:
  ///   - known: serials of what keys have signed that count now.
  ///   - floor: the statement's.
  ///   - named: the floor that the root sets.
  ///   - valid: the serials of this content's statements by keys that count now.
  ///   - vouched: those by keys that counted under a root before. Where the root sets the floor, such a key may have been stolen.
  private static func serial(
    _ now: Int64, above known: [Serial], floor: Serial, named: Serial?, valid: [Serial], vouched: [Serial]
  ) -> Serial {
    let lowest = max(floor, named ?? .zero)
    if let old = (named == nil ? valid + vouched : valid).max() { return max(old, lowest) }
    return Serial(max(now, (known.max()?.number ?? 0) + 1, lowest.number)) ?? .highest
  }

  /// Returns the signatures that a document has already by keys that count, so that one more is added to them. The origin tells
  /// statements apart by what they say and who has signed them, and of two that say the same it gives devices the newer one.
  private static func signatures<Document: TrustDocument & Equatable>(
    of document: Document, among known: [Signed<Document>], _ named: Set<KeyID>
  ) -> [Envelope.Signature] {
    known.first { $0.document == document }?.envelope.signatures.filter { named.contains($0.key) } ?? []
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
  private let isLowering: Bool
  private let isLeavingOut: Bool

  init(_ before: [Signed<TrustRoot>], _ root: TrustRoot, lowering: Bool, leavingOut: Bool) {
    isLeavingOut = leavingOut
    self.before = before
    self.root = root
    isLowering = lowering
  }

  /// Returns the floor of a statement by keys that count, unless the root that is yet to come into force sets a lower one.
  func lowered(_ floor: Serial, _ named: Serial?) -> Serial? {
    if isLeavingOut { return nil }
    if isLowering, let named, floor > named { return nil }
    return floor
  }

  /// Whether a root allowed a statement.
  func accepted(_ bundle: Holdings.Bundle, _ statement: Signed<ReleaseStatement>) -> Bool {
    before.contains {
      !$0.document.isOff && RootJudge($0).failure(of: bundle.live, statement, in: bundle.channel) == nil
    }
  }

  /// The same for a prefetch config's.
  func accepted(_ config: Holdings.Prefetch, _ statement: Signed<PrefetchStatement>) -> Bool {
    before.contains {
      !$0.document.isOff
        && RootJudge($0).failure(ofPrefetch: config.content, statement, in: config.channel) == nil
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
  /// Those that devices take, and which leave a higher floor than a root sets that is yet to come into force: who gets them raises it
  /// again.
  package func raisingFloors(of root: Signed<TrustRoot>) -> Holdings {
    let (judge, named) = (RootJudge(root), root.document)
    return Holdings(
      bundles: bundles.filter { bundle in
        guard let statement = bundle.statement, let floor = named.floors[bundle.live.bundle] else {
          return false
        }
        return statement.document.floor > floor
          && judge.failure(of: bundle.live, statement, in: bundle.channel) == nil
      },
      prefetch: prefetch.filter { config in
        guard let statement = config.statement, let floor = named.prefetchFloor else { return false }
        return statement.document.floor > floor
          && judge.failure(ofPrefetch: config.content, statement, in: config.channel) == nil
      })
  }

  /// Those that devices take, and which leave a higher floor than is in force, since a root has lowered it.
  ///
  /// The origin's word for the floor counts only where a root has set one that isn't above it: whoever has the origin gets no floor
  /// taken out of a statement that no root has touched.
  ///
  /// - Parameter roots: the app's roots as far as they are known, lowest number first; the last one is in force.
  package func raisingFloors(above roots: [Signed<TrustRoot>]) -> Holdings {
    guard let newest = roots.last, !newest.document.isOff else { return Holdings() }
    let judge = RootJudge(newest)
    func isRaised(_ left: Serial, _ floor: Serial?, _ named: (TrustRoot) -> Serial?) -> Bool {
      guard let floor, let set = roots.compactMap({ named($0.document) }).last else { return false }
      return left > floor && floor >= set
    }
    return Holdings(
      bundles: bundles.filter { bundle in
        guard let statement = bundle.statement else { return false }
        return isRaised(statement.document.floor, bundle.floor) { $0.floors[bundle.live.bundle] }
          && judge.failure(of: bundle.live, statement, in: bundle.channel) == nil
      },
      prefetch: prefetch.filter { config in
        guard let statement = config.statement else { return false }
        return isRaised(statement.document.floor, config.floor, \.prefetchFloor)
          && judge.failure(ofPrefetch: config.content, statement, in: config.channel) == nil
      })
  }

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
          statement: new ?? bundle.statement, floor: bundle.floor)
      },
      prefetch: prefetch.map { config in
        let new = statements.prefetch.first {
          $0.document.content == config.content && $0.document.channels.contains(config.channel)
        }
        return Prefetch(
          channel: config.channel, content: config.content, statement: new ?? config.statement,
          floor: config.floor)
      })
  }
}
