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
    var releases: [RestoredChannel.Release] = []
    var newest = JSONValue.null
    for version in channel.versions {
      newest = try json("release/\(version).json")
      let items = try manifest(version).items
      let document = newest
      releases.append(
        try reading("release/\(version).json") { () throws(JSONError) in
          try RestoredChannel.Release(json: document, items: items)
        })
    }
    let policy = try data("policy.json")
    return RestoredChannel(
      app: channel.app, appID: channel.appID, name: channel.channel, publicURL: channel.publicURL,
      leastNext: newest["leastNext"]?.integer ?? 1, releases: releases, counters: counters(newest),
      documents: try documents(policy), leastDocuments: leastDocuments(newest), scripts: try scripts(policy),
      interval: try interval())
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

  // MARK: - What stands beside the manifest

  private func counters(_ release: JSONValue) -> [(url: ResourceURL, versions: Int64)] {
    (release["counters"]?.object?.members ?? []).compactMap { member in
      guard let url = try? ResourceURL(member.key), let versions = member.value.integer else { return nil }
      return (url, versions)
    }
  }

  private func leastDocuments(_ release: JSONValue) -> [ChannelDocument: Int64] {
    var least: [ChannelDocument: Int64] = [:]
    for document in ChannelDocument.allCases {
      least[document] = release["leastDocuments"]?[document.rawValue]?.integer
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
    if let version = prefetch["version"]?.string.flatMap({ Int64($0) }), version > 0 {
      let config = prefetch["config"] ?? .array([])
      documents.append(.init(.prefetch, version: version, content: config.canonical))
    }
    if let version = policy["version"]?.string.flatMap({ Int64($0) }), version > 0 {
      var content = policy
      content["version"] = nil
      documents.append(.init(.policy, version: version, content: JSONValue.object(content).canonical))
    }
    return documents
  }

  private func scripts(_ policy: JSONObject) throws(MirrorError) -> [[UInt8]] {
    var scripts: [[UInt8]] = []
    for script in Policy(reading: .object(policy)).scripts {
      scripts.append(try bytes("script/\(script.sha256.hex).js"))
    }
    return scripts
  }

  private func interval() throws(MirrorError) -> Int? {
    try data("version.json")["interval"]?.integer.map { Int($0) }
  }
}
