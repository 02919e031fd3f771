import Manifests
import Store
import System
import Trust
import Values

/// Reads the documents of a mirrored channel, for a store to restore.
struct ChannelReader {
  private let channel: MirrorIndex.Channel
  private let reader: any MirrorReader
  private let isHalfWay: Bool
  private let files: [String: MirrorIndex.File]
  /// Older versions that are omitted because one of their documents is damaged.
  private(set) var damaged: [DamagedDocument] = []
  /// The statements of the versions that were read.
  private var statements: [Signed<ReleaseStatement>] = []

  /// Creates a reader. `isHalfWay` means that a run of the channel was interrupted, so that its documents may be newer than
  /// `mirror.json` says.
  init(_ channel: MirrorIndex.Channel, isHalfWay: Bool, _ reader: any MirrorReader) {
    self.channel = channel
    self.reader = reader
    self.isHalfWay = isHalfWay
    files = Dictionary(channel.files.map { ($0.path, $0.file) }) { first, _ in first }
  }

  mutating func restored() throws(MirrorError) -> RestoredChannel {
    // The restored origin continues counting from there.
    try require(
      channel.appID > 0 && canGoOn(from: channel.appID), MirrorIndex.path, "it has an impossible appID")
    var releases: [RestoredChannel.Release] = []
    var newest = JSONValue.null
    for version in channel.versions {
      do throws(MirrorError) {
        let (document, release) = try release(version)
        newest = document
        releases.append(release)
      } catch .unreadable(let path, let reason) where version != channel.versions.last {
        // Devices only need the newest one.
        damaged.append(
          DamagedDocument(channel: channel.name, version: version, path: path, reason: reason))
      }
    }
    let policy = try data("policy.json")
    let trust = try trust(newest)
    return RestoredChannel(
      app: channel.app, appID: channel.appID, name: channel.channel, publicURL: channel.publicURL,
      leastNext: newest["leastNext"]?.integer.flatMap { canGoOn(from: $0) ? $0 : nil } ?? 1,
      releases: releases,
      counters: counters(newest), documents: try documents(policy),
      leastDocuments: try leastDocuments(newest),
      scripts: try scripts(policy), trust: trust, extras: try extras())
  }

  private mutating func release(_ version: ManifestVersion) throws(MirrorError)
    -> (document: JSONValue, RestoredChannel.Release)
  {
    let name = "release/\(version).json"
    try require(
      canGoOn(from: version.number), "\(channel.folder)/\(name)", "its version is too high to go on from")
    let document = try json(name)
    let (items, statements) = try manifest(version)
    // The database couldn't store them, and the manifest wouldn't match its digest.
    try require(
      items.allSatisfy(\.entry.holdsOnlyKnown), "\(channel.folder)/configure/\(version).json",
      "its entries have members that this xcache doesn't know; restore it with a later one")
    let release = try reading(name) { () throws(JSONError) in
      try RestoredChannel.Release(json: document, items: items)
    }
    try require(
      namesItsBundles(release), "\(channel.folder)/configure/\(version).json",
      "its entries name other bundles than \(name)")
    self.statements += statements
    return (document, release)
  }

  /// Whether entries that name a bundle are in that one.
  private func namesItsBundles(_ release: RestoredChannel.Release) -> Bool {
    var bundles: [ResourceURL: BundleName] = [:]
    for item in release.items { bundles[item.url] = item.entry.bundle }
    if bundles.isEmpty { return true }
    return release.bundles.allSatisfy { bundle in bundle.urls.allSatisfy { bundles[$0] == bundle.name } }
  }

  // MARK: - Reading

  private func bytes(_ name: String) throws(MirrorError) -> [UInt8] {
    let path = "\(channel.folder)/\(name)"
    let found: [UInt8]?
    do throws(MirrorError) {
      found = try reader.read(path)
    } catch .system(let error) where error.isOfFile {
      throw .unreadable(path: path, reason: error.reason)
    }
    guard let bytes = found else { throw .unreadable(path: path, reason: "it is missing in the mirror") }
    if !isHalfWay {
      try require(
        files[path] == MirrorIndex.File(sha256: .of(bytes), size: Int64(bytes.count)), path,
        "its content doesn't match mirror.json")
    }
    return bytes
  }

  private func reading<Value>(_ name: String, _ body: () throws(JSONError) -> Value) throws(MirrorError)
    -> Value
  {
    do {
      return try body()
    } catch {
      throw .unreadable(path: "\(channel.folder)/\(name)", reason: error.description)
    }
  }

  private func json(_ name: String) throws(MirrorError) -> JSONValue {
    let bytes = try bytes(name)
    return try reading(name) { () throws(JSONError) in try JSONValue.parse(bytes) }
  }

  /// Returns what a version contains, and the statements that came with it and can be read.
  private func manifest(_ version: ManifestVersion) throws(MirrorError)
    -> (items: [ManifestItem], statements: [Signed<ReleaseStatement>])
  {
    let name = "configure/\(version).json"
    let bytes = try bytes(name)
    guard
      case .whole(let whole) = try reading(name, { () throws(JSONError) in try ConfigureAnswer.parse(bytes) }),
      let manifest = try? whole.manifest(), manifest.version == version
    else {
      throw .unreadable(path: "\(channel.folder)/\(name)", reason: "it isn't the manifest it should be")
    }
    guard let bytes = whole.trust else { return (manifest.items, []) }
    var reader = JSONReader(bytes)
    let trust = try? AnswerTrust(reading: &reader)
    return (manifest.items, (trust?.releases ?? []).compactMap { try? $0.get() })
  }

  private func require(_ holds: Bool, _ path: String, _ reason: String) throws(MirrorError) {
    if !holds { throw .unreadable(path: path, reason: reason) }
  }

  private func canGoOn(from number: Int64) -> Bool {
    (0...ManifestVersion.restorable.number).contains(number)
  }

  // MARK: - Roots and signatures

  /// - Parameter release: `release/N.json` of the newest version.
  private func trust(_ release: JSONValue) throws(MirrorError) -> RestoredTrust? {
    guard let last = try data("version.json")["root"]?.string.flatMap({ ManifestVersion(text: $0)?.number }),
      last > 0
    else { return nil }
    let roots = try roots(through: last)
    let root = roots[roots.count - 1].document
    var prefetch: [Signed<PrefetchStatement>] = []
    if let json = try data("prefetchConfig.json")["trust"],
      let signed = try? Signed<PrefetchStatement>(json: json)
    {
      prefetch.append(signed)
    }
    var floors: [(bundle: String, floor: Serial)] = []
    for member in release["floors"]?.object?.members ?? [] {
      if let floor = member.value.integer.flatMap({ Serial($0) }) { floors.append((member.key, floor)) }
    }
    return RestoredTrust(
      roots: roots,
      bundlesSince: release["bundlesSince"]?.string.flatMap { ManifestVersion(text: $0) }, head: head(root),
      releases: statements, prefetch: prefetch, floors: floors)
  }

  /// Reads the roots from the first to the one with this number. Without one of them, an origin could put none in force any more.
  private func roots(through last: Int64) throws(MirrorError) -> [Signed<TrustRoot>] {
    var roots: [Signed<TrustRoot>] = []
    var state: TrustState?
    while Int64(roots.count) < last {
      let name = MirrorDocument.root(Int64(roots.count) + 1).path
      let bytes = try bytes(name)
      let root: Signed<TrustRoot>
      do throws(TrustFormError) {
        root = try Signed(parsing: bytes)
      } catch {
        throw .unreadable(path: "\(channel.folder)/\(name)", reason: error.description)
      }
      if let known = state {
        let place = TrustPlace(
          app: channel.app, environment: known.root.environment, channel: channel.channel)
        let verdict = TrustCheck(place: place, verifier: SystemVerifier()).check(
          TrustOffer(roots: [.success(root)]), state: known, now: Self.noTime)
        if let failure = verdict.failure {
          throw .unreadable(path: "\(channel.folder)/\(name)", reason: failure.words)
        }
        state = verdict.state
      } else {
        try require(
          root.document.app == channel.app && root.document.number == .first, "\(channel.folder)/\(name)",
          "it isn't the first root of the app")
        state = TrustState(builtIn: root)
      }
      roots.append(root)
    }
    return roots
  }

  /// Returns the newest head, and the key of a root that has signed it; nil if there is none that devices would take.
  private func head(_ root: TrustRoot) -> (signed: Signed<TrustHead>, key: KeyID)? {
    guard let bytes = try? bytes(MirrorDocument.head.path),
      let signed = try? Signed<TrustHead>(parsing: bytes),
      signed.document.app == channel.app, signed.document.channel == channel.channel,
      let key = signed.signers(among: root.heads, keys: root.keys, by: SystemVerifier()).first
    else { return nil }
    return (signed, key)
  }

  /// Roots have no time.
  private static var noTime: TrustTime {
    guard let time = TrustTime(0) else { fatalError("0 is a time") }
    return time
  }

  // MARK: - What stands beside the manifest

  private func counters(_ release: JSONValue) -> [(url: ResourceURL, versions: Int64)] {
    (release["counters"]?.object?.members ?? []).compactMap { member in
      guard let url = try? ResourceURL(member.key), let versions = member.value.integer,
        canGoOn(from: versions)
      else { return nil }
      return (url, versions)
    }
  }

  private func leastDocuments(_ release: JSONValue) throws(MirrorError) -> [ChannelDocument: Int64] {
    var least: [ChannelDocument: Int64] = [:]
    for document in ChannelDocument.allCases {
      guard let next = release["leastDocuments"]?[document.rawValue]?.integer, canGoOn(from: next) else {
        continue
      }
      least[document] = next
    }
    // The rollout isn't restored, but devices know its config.
    if let rule = try data("version.json")["rollout"].flatMap({ try? RolloutRule(reading: $0) }),
      let candidate = rule.prefetch, canGoOn(from: candidate)
    {
      least[.prefetch] = max(least[.prefetch] ?? 1, candidate + 1)
    }
    return least
  }

  /// Returns the `data` of a document.
  private func data(_ name: String) throws(MirrorError) -> JSONObject {
    guard let data = try json(name)["data"]?.object else {
      throw .unreadable(path: "\(channel.folder)/\(name)", reason: "it has no \"data\"")
    }
    return data
  }

  private func documents(_ policy: JSONObject) throws(MirrorError) -> [RestoredChannel.Document] {
    let prefetch = try data("prefetchConfig.json")
    var documents: [RestoredChannel.Document] = []
    if let version = try version(prefetch, "prefetchConfig.json"), version > 0 {
      let config = prefetch["config"] ?? .array([])
      documents.append(.init(.prefetch, version: version, content: config.canonical))
    }
    if let version = try version(policy, "policy.json"), version > 0 {
      var content = policy
      content["version"] = nil
      documents.append(.init(.policy, version: version, content: JSONValue.object(content).canonical))
    }
    return documents
  }

  /// Returns a document's version, or nil if it has none.
  private func version(_ document: JSONObject, _ name: String) throws(MirrorError) -> Int64? {
    guard let version = document["version"]?.string.flatMap({ ManifestVersion(text: $0)?.number }) else {
      return nil
    }
    try require(
      canGoOn(from: version), "\(channel.folder)/\(name)", "its version is too high to go on from")
    return version
  }

  private func scripts(_ policy: JSONObject) throws(MirrorError) -> [[UInt8]] {
    var scripts: [[UInt8]] = []
    for script in Policy(reading: .object(policy)).scripts {
      let name = "script/\(script.sha256.hex).js"
      let bytes = try bytes(name)
      try require(
        SHA256.of(bytes) == script.sha256, "\(channel.folder)/\(name)", "its bytes aren't those of its name")
      scripts.append(bytes)
    }
    return scripts
  }

  /// Reads the extra members of answers; unreadable ones don't stop a restore.
  private func extras() throws(MirrorError) -> AnswerExtras {
    let data = try data("version.json")
    let interval = data["interval"]?.integer.map { Int($0) }
    let reports = data["reports"]?.integer.map { Int($0) }
    return AnswerExtras(
      interval: interval.flatMap { AnswerExtras.intervals.contains($0) ? $0 : nil },
      reports: reports.flatMap { (0...AnswerExtras.allReports).contains($0) ? $0 : nil },
      samples: data["samples"]?.integer == 0 ? 0 : nil,
      rollback: data["rollback"]?.string.flatMap { ManifestVersion(text: $0) }.flatMap {
        $0 > .none ? $0 : nil
      })
  }
}
