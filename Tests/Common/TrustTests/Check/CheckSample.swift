import Manifests
import System
import Trust
import Values

/// An offer of everything at once, with any faults in it: a next root, a head, a manifest, a policy and a prefetch config.
struct CheckSample {
  static let rootKey: UInt8 = 1, nextRootKey: UInt8 = 2
  static let publisher: UInt8 = 3, team: UInt8 = 4, headKey: UInt8 = 5

  let faults: Set<TrustFailure>

  init(_ faults: Set<TrustFailure> = []) { self.faults = faults }

  private func has(_ fault: TrustFailure) -> Bool { faults.contains(fault) }
  private func either<Value>(_ fault: TrustFailure, _ bad: Value, _ good: Value) -> Value {
    has(fault) ? bad : good
  }

  static let bundle = "home"
  private static let url = "https://m.example.com/home/"

  static func place() throws -> TrustPlace {
    TrustPlace(app: try AppName("shop"), channel: .online)
  }

  /// The root with a number; the first one's root key is another one's than the next one's.
  static func root(
    _ number: Int64, app: String = "shop", environment: TrustEnvironment? = nil
  ) throws -> TrustRoot {
    guard let number = RootNumber(number), let pattern = ReleaseGrant.BundlePattern("team-*") else {
      fatalError("they are numbers and patterns")
    }
    return try TrustRoot(
      app: try AppName(app), environment: environment, number: number,
      keys: [rootKey, nextRootKey, publisher, team, headKey].map(Symbolic.key),
      roots: number == .first ? Symbolic.group(rootKey) : Symbolic.group(nextRootKey),
      grants: [
        ReleaseGrant(signers: Symbolic.group(team), bundles: .some([pattern])),
        ReleaseGrant(signers: Symbolic.group(publisher)),
      ],
      prefetch: [Symbolic.key(publisher).id], heads: [Symbolic.key(headKey).id])
  }

  func items() throws -> [ManifestItem] {
    try [
      Pages.item(Self.url, "page", bundle: either(.entryBundle, nil, Self.bundle)),
      Pages.item(Self.url + "more", "more", bundle: Self.bundle),
    ]
  }

  /// What is stored: mostly the first root alone.
  func state() throws -> TrustState {
    var state = TrustState(builtIn: try Symbolic.signed(try Self.root(1), by: [Self.rootKey]))
    let check = TrustCheck(place: try Self.place(), verifier: Symbolic.Verifier())
    if has(.headFell) {
      state =
        check.check(TrustOffer(head: try head(at: 50, version: 99)), state: state, now: try time(0)).state
    } else if has(.headOld) {
      state =
        check.check(TrustOffer(head: try head(at: 500, version: 99)), state: state, now: try time(0)).state
    }
    if has(.releaseFloor) {
      let high = try statement(floor: 900, serial: 900)
      let release = TrustState.Release(statement: high, signers: [Symbolic.key(Self.publisher).id])
      state.take([high.bundle: release])
      state.recordProof(in: .online)
      state.take([:])
    }
    if has(.prefetchFloor) {
      let high = try Symbolic.signed(try prefetch(floor: 900, serial: 900), by: [Self.publisher])
      let offer = TrustOffer.Prefetch(version: 1000, digest: Self.digest("config"), statement: .success(high))
      state = check.check(TrustOffer(prefetch: offer), state: state, now: try time(0)).state
    }
    return state
  }

  func offer() throws -> TrustOffer {
    let items = try items()
    return TrustOffer(
      rootNumber: either(.rootMissing, RootNumber(9), RootNumber(2)), roots: [try nextRoot()],
      head: has(.headMissing)
        ? nil : has(.headForm) ? .failure(.notCanonical) : try head(at: 100, version: 10),
      releases: try releases(),
      manifest: TrustOffer.Manifest(
        version: ManifestVersion(10),
        digest: either(.headManifest, Self.digest("x"), Self.digest("manifest")),
        items: items),
      policy: either(.policyOld, 6, 7), prefetch: try prefetchOffer())
  }

  static func digest(_ text: String) -> SHA256 { SHA256.of(Array(text.utf8)) }

  private func time(_ number: Int64) throws -> TrustTime {
    guard let time = TrustTime(number) else { throw TrustFormError.member("at") }
    return time
  }

  private func serial(_ number: Int64) throws -> Serial {
    guard let serial = Serial(number) else { throw TrustFormError.member("serial") }
    return serial
  }

  private func nextRoot() throws -> Received<TrustRoot> {
    if has(.rootForm) { return .failure(.notCanonical) }
    var signers: [UInt8] = []
    if !has(.rootOldKeys) { signers.append(Self.rootKey) }
    if !has(.rootNewKeys) { signers.append(Self.nextRootKey) }
    let root = try Self.root(either(.rootNumber, 3, 2), app: either(.rootApp, "pay", "shop"))
    return .success(try Symbolic.signed(root, by: signers))
  }

  private func head(at: Int64, version: Int64) throws -> Received<TrustHead> {
    let isStored = at != 100
    let head = try TrustHead(
      app: try AppName("shop"), channel: has(.headPlace) && !isStored ? try ChannelName("test") : .online,
      version: ManifestVersion(version), digest: Self.digest(isStored ? "other" : "manifest"), policy: 7,
      prefetch: 7, at: try time(at), until: try time(at + 1000))
    return .success(
      try Symbolic.signed(head, by: [has(.headKey) && !isStored ? Self.publisher : Self.headKey]))
  }

  private func statement(floor: Int64 = 0, serial: Int64 = 100) throws -> ReleaseStatement {
    let content = Pages.content(try CheckSample().items(), of: Self.bundle)
    return try ReleaseStatement(
      app: try AppName("shop"), bundle: try BundleName(Self.bundle),
      channels: [has(.releasePlace) && serial == 100 ? try ChannelName("test") : .online],
      content: either(.releaseContent, Self.digest("x"), content), serial: try self.serial(serial),
      floor: try self.serial(floor))
  }

  private func releases() throws -> [Received<ReleaseStatement>] {
    let signer = has(.releaseKey) ? Self.headKey : has(.releaseScope) ? Self.team : Self.publisher
    var releases: [Received<ReleaseStatement>] = []
    if !has(.releaseMissing) { releases.append(.success(try Symbolic.signed(try statement(), by: [signer]))) }
    if has(.releaseTwice) { releases.append(.success(try Symbolic.signed(try statement(), by: [signer]))) }
    if has(.releaseForm) { releases.append(.failure(.notCanonical)) }
    return releases
  }

  private func prefetch(floor: Int64 = 0, serial: Int64 = 100) throws -> PrefetchStatement {
    try PrefetchStatement(
      app: try AppName("shop"),
      channels: [has(.prefetchPlace) && serial == 100 ? try ChannelName("test") : .online],
      content: Self.digest("config"), serial: try self.serial(serial), floor: try self.serial(floor))
  }

  private func prefetchOffer() throws -> TrustOffer.Prefetch {
    var statement: Received<PrefetchStatement>?
    if has(.prefetchForm) {
      statement = .failure(.notCanonical)
    } else if !has(.prefetchMissing) {
      let signer = has(.prefetchKey) ? Self.headKey : Self.publisher
      statement = .success(try Symbolic.signed(try prefetch(), by: [signer]))
    }
    return TrustOffer.Prefetch(
      version: either(.prefetchOld, 6, 7), digest: Self.digest(either(.prefetchContent, "x", "config")),
      statement: statement)
  }
}
