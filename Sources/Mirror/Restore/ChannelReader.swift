import Manifests
import Platform
import Store

/// Reads the documents of a mirrored channel into what a store restores.
struct ChannelReader {
  private let channel: MirrorIndex.Channel
  private let reader: any MirrorReader

  init(_ channel: MirrorIndex.Channel, _ reader: any MirrorReader) {
    self.channel = channel
    self.reader = reader
  }

  func restored() throws(MirrorError) -> RestoredChannel {
    // What is restored goes on counting from there.
    try require(
      channel.appID > 0 && canGoOn(from: channel.appID), MirrorIndex.path, "it has an impossible appID")
    var releases: [RestoredChannel.Release] = []
    var newest = JSONValue.null
    for version in channel.versions {
      let name = "release/\(version).json"
      try require(
        canGoOn(from: version.number), "\(channel.folder)/\(name)", "its version is too high to go on from")
      newest = try json(name)
      let items = try manifest(version).items
      let document = newest
      releases.append(
        try reading(name) { () throws(JSONError) in
          try RestoredChannel.Release(json: document, items: items)
        })
    }
    let policy = try data("policy.json")
    return RestoredChannel(
      app: channel.app, appID: channel.appID, name: channel.channel, publicURL: channel.publicURL,
      leastNext: newest["leastNext"]?.integer.flatMap { canGoOn(from: $0) ? $0 : nil } ?? 1,
      releases: releases,
      counters: counters(newest), documents: try documents(policy), leastDocuments: leastDocuments(newest),
      scripts: try scripts(policy), interval: try interval())
  }

  // MARK: - Reading

  private func bytes(_ name: String) throws(MirrorError) -> [UInt8] {
    let path = "\(channel.folder)/\(name)"
    guard let bytes = try reader.read(path) else {
      throw .unreadable(path: path, reason: "it is missing in the mirror")
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

  private func leastDocuments(_ release: JSONValue) -> [ChannelDocument: Int64] {
    var least: [ChannelDocument: Int64] = [:]
    for document in ChannelDocument.allCases {
      guard let next = release["leastDocuments"]?[document.rawValue]?.integer, canGoOn(from: next) else {
        continue
      }
      least[document] = next
    }
    return least
  }

  /// The `data` of a document.
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

  /// A document's version; nil where it has none.
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
      scripts.append(try bytes("script/\(script.sha256.hex).js"))
    }
    return scripts
  }

  private func interval() throws(MirrorError) -> Int? {
    try data("version.json")["interval"]?.integer.map { Int($0) }.flatMap {
      AnswerExtras.intervals.contains($0) ? $0 : nil
    }
  }
}
