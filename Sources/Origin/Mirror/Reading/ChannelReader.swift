import Manifests
import Store
import System
import Values

/// Reads the documents of a mirrored channel, for a store to restore.
struct ChannelReader {
  private let channel: MirrorIndex.Channel
  private let reader: any MirrorReader
  private let isHalfWay: Bool
  private let files: [String: MirrorIndex.File]
  /// Older versions that are omitted because one of their documents is damaged.
  private(set) var damaged: [DamagedDocument] = []

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
    return RestoredChannel(
      app: channel.app, appID: channel.appID, name: channel.channel, publicURL: channel.publicURL,
      leastNext: newest["leastNext"]?.integer.flatMap { canGoOn(from: $0) ? $0 : nil } ?? 1,
      releases: releases,
      counters: counters(newest), documents: try documents(policy),
      leastDocuments: try leastDocuments(newest),
      scripts: try scripts(policy), extras: try extras())
  }

  private func release(_ version: ManifestVersion) throws(MirrorError)
    -> (document: JSONValue, RestoredChannel.Release)
  {
    let name = "release/\(version).json"
    try require(
      canGoOn(from: version.number), "\(channel.folder)/\(name)", "its version is too high to go on from")
    let document = try json(name)
    let items = try manifest(version).items
    // The database couldn't store them, and the manifest wouldn't match its digest.
    try require(
      items.allSatisfy(\.entry.holdsOnlyKnown), "\(channel.folder)/configure/\(version).json",
      "its entries have members that this xcache doesn't know; restore it with a later one")
    let release = try reading(name) { () throws(JSONError) in
      try RestoredChannel.Release(json: document, items: items)
    }
    return (document, release)
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

  private func manifest(_ version: ManifestVersion) throws(MirrorError) -> Manifest {
    let name = "configure/\(version).json"
    let bytes = try bytes(name)
    guard
      case .whole(let whole) = try reading(name, { () throws(JSONError) in try ConfigureAnswer.parse(bytes) }),
      let manifest = try? whole.manifest(), manifest.version == version
    else {
      throw .unreadable(path: "\(channel.folder)/\(name)", reason: "it isn't the manifest it should be")
    }
    return manifest
  }

  private func require(_ holds: Bool, _ path: String, _ reason: String) throws(MirrorError) {
    if !holds { throw .unreadable(path: path, reason: reason) }
  }

  private func canGoOn(from number: Int64) -> Bool {
    (0...ManifestVersion.restorable.number).contains(number)
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
      rollback: data["rollback"]?.string.flatMap { ManifestVersion(text: $0) }.flatMap {
        $0 > .none ? $0 : nil
      })
  }
}
