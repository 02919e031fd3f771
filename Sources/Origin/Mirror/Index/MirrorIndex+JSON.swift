import Manifests
import Store
import System
import Values

extension MirrorIndex {
  /// The JSON document. It lists up to 100,000 files, so it is written directly, without a tree of values.
  package var document: [UInt8] {
    var out: [UInt8] = []
    out.reserveCapacity(fileCount * 300 + 1024)
    put("{\"at\":\(at),\"audit\":", to: &out)
    CanonicalJSON.append(audit.map { .string($0.text) } ?? .null, to: &out)
    put(",\"channels\":[", to: &out)
    for (index, channel) in channels.enumerated() {
      if index > 0 { out.append(UInt8(ascii: ",")) }
      channel.append(to: &out)
    }
    put("],\"defaultApp\":", to: &out)
    CanonicalJSON.append(defaultApp.map { .string($0.text) } ?? .null, to: &out)
    put(",\"format\":\(Self.format),\"leaving\":", to: &out)
    let members = leaving.map { JSONObject.Member(key: $0.key, value: .integer($0.value)) }
    CanonicalJSON.append(.object(JSONObject(members)), to: &out)
    if let leftOut {
      put(",\"leftOut\":", to: &out)
      CanonicalJSON.append(.array(leftOut.map(\.json)), to: &out)
    }
    put(",\"origin\":", to: &out)
    CanonicalJSON.append(.string(origin), to: &out)
    if let purged {
      put(",\"purged\":", to: &out)
      CanonicalJSON.append(.strings(purged.map(\.hex)), to: &out)
    }
    put("}", to: &out)
    return out
  }

  private static let format = 1
  /// The integers that a JSON reader represents exactly; all counts are far below.
  private static let numbers: ClosedRange<Int64> = 0...(1 << 53 - 1)

  /// Whether a newer xcache wrote the document; then this one must not replace it.
  static func isNewer(_ bytes: [UInt8]) -> Bool {
    (try? JSONValue.parse(bytes))?["format"]?.integer.map { $0 > Int64(format) } ?? false
  }

  /// Parses `mirror.json`.
  /// - Throws: `unreadable`.
  package init(parsing bytes: [UInt8]) throws(MirrorError) {
    do {
      try self.init(reading: bytes)
    } catch {
      throw .unreadable(path: Self.path, reason: error.description)
    }
  }

  private init(reading bytes: [UInt8]) throws(JSONError) {
    var reader = JSONReader(bytes)
    var (origin, at, format): (String?, Int64?, Int64?)
    var app: AppName?
    var audit: AuditHead?
    var channels: [Channel] = []
    var leaving: [String: Int64] = [:]
    var leftOut: [MirroredChannel]?
    var purged: [SHA256]?
    try reader.members { (key, reader) throws(JSONError) in
      switch key {
      case "at": at = try reader.value().integer
      case "audit": audit = try reader.value().string.flatMap { AuditHead($0) }
      case "channels":
        channels = try reader.array { (reader) throws(JSONError) in try Channel(reading: &reader) }
      case "defaultApp": app = try reader.value().string.flatMap { try? AppName($0) }
      case "format": format = try reader.value().integer
      case "leaving":
        for member in try reader.value().object?.members ?? [] where MirrorPath.isSafe(member.key) {
          leaving[member.key] = member.value.integer.flatMap { Self.numbers.contains($0) ? $0 : nil }
        }
      case "leftOut": leftOut = try reader.value().array?.compactMap { MirroredChannel(json: $0) }
      case "origin": origin = try reader.value().string
      case "purged":
        purged = try reader.value().array?.compactMap { $0.string.flatMap { SHA256(hex: $0) } }
      default: _ = try reader.value()
      }
    }
    try reader.end()
    guard format == Int64(Self.format) else { throw .member("format") }
    guard let origin else { throw .member("origin") }
    guard let at, Self.numbers.contains(at) else { throw .member("at") }
    guard Set(channels.map(\.name)).count == channels.count else { throw .member("channels") }
    self.init(
      origin: origin, defaultApp: app, at: at, audit: audit, channels: channels, leaving: leaving,
      leftOut: leftOut, purged: purged)
    guard Self.numbers.contains(byteCount ?? -1) else { throw .member("size") }
  }

  /// The size of all files in bytes; nil if it overflows.
  private var byteCount: Int64? {
    var sum: Int64 = 0
    for file in channels.lazy.flatMap(\.files) {
      let (next, overflows) = sum.addingReportingOverflow(file.file.size)
      if overflows { return nil }
      sum = next
    }
    return sum
  }
}

extension MirrorIndex.Channel {
  fileprivate func append(to out: inout [UInt8]) {
    put("{\"app\":", to: &out)
    CanonicalJSON.append(.string(app.text), to: &out)
    put(",\"appID\":\(appID),\"channel\":", to: &out)
    CanonicalJSON.append(.string(channel.text), to: &out)
    put(",\"digest\":\"\(digest.hex)\",\"files\":{", to: &out)
    var isFirst = true
    for (path, file) in files {
      if !isFirst { out.append(UInt8(ascii: ",")) }
      isFirst = false
      CanonicalJSON.append(.string(path), to: &out)
      put(":{\"sha256\":\"", to: &out)
      out.append(contentsOf: file.sha256.hex.utf8)
      put("\",\"size\":", to: &out)
      put(String(file.size), to: &out)
      out.append(UInt8(ascii: "}"))
    }
    put("},\"inputs\":\"\(inputs.hex)\",\"publicURL\":", to: &out)
    CanonicalJSON.append(.string(publicURL.text), to: &out)
    if let trust {
      put(",\"trust\":", to: &out)
      CanonicalJSON.append(trust.json, to: &out)
    }
    if isUnfinished { put(",\"unfinished\":true", to: &out) }
    put(",\"version\":\"\(version)\",\"versions\":", to: &out)
    CanonicalJSON.append(.strings(versions.map(\.text)), to: &out)
    out.append(UInt8(ascii: "}"))
  }

  fileprivate init(reading reader: inout JSONReader) throws(JSONError) {
    var members = JSONObject()
    var files: [(path: String, file: MirrorIndex.File)] = []
    try reader.members { (key, reader) throws(JSONError) in
      if key == "files" { files = try Self.files(&reader) } else { members[key] = try reader.value() }
    }
    let value = JSONValue.object(members)
    guard let app = try? AppName(try value.string("app")) else { throw .member("app") }
    guard let channel = try? ChannelName(try value.string("channel")) else { throw .member("channel") }
    guard let publicURL = try? BaseURL(try value.string("publicURL")) else { throw .member("publicURL") }
    var versions: [ManifestVersion] = []
    for item in members["versions"]?.array ?? [] {
      guard let version = item.string.flatMap({ ManifestVersion(text: $0) }) else {
        throw .member("versions")
      }
      versions.append(version)
    }
    self.init(
      app: app, appID: try value.size("appID"), channel: channel, publicURL: publicURL,
      version: try value.version("version"), digest: try value.sha256("digest"), versions: versions,
      inputs: try value.sha256("inputs"), files: files, isUnfinished: members["unfinished"]?.bool ?? false,
      trust: members["trust"].flatMap { MirrorIndex.Trust(json: $0) })
  }

  private static func files(_ reader: inout JSONReader) throws(JSONError)
    -> [(path: String, file: MirrorIndex.File)]
  {
    var files: [(path: String, file: MirrorIndex.File)] = []
    try reader.members { (path, reader) throws(JSONError) in
      var sha256: SHA256?
      var size: Int64?
      try reader.members { (key, reader) throws(JSONError) in
        switch key {
        case "sha256": sha256 = try reader.value().string.flatMap { SHA256(hex: $0) }
        case "size": size = try reader.value().integer
        default: _ = try reader.value()
        }
      }
      guard let sha256 else { throw .member("sha256") }
      guard let size, size >= 0 else { throw .member("size") }
      guard MirrorPath.isSafe(path) else { throw .member(path) }
      files.append((path, MirrorIndex.File(sha256: sha256, size: size)))
    }
    return files
  }
}

extension MirrorIndex.Trust {
  fileprivate var json: JSONValue {
    var object = JSONObject()
    object["head"] = head.flatMap { try? JSONValue.parse($0) }
    object["root"] = .string(String(root))
    object["statements"] = .object(
      JSONObject(statements.map { JSONObject.Member(key: $0.key.text, value: .string($0.value.hex)) }))
    return .object(object)
  }

  /// Nil for what can't be read: then the documents are made anew.
  fileprivate init?(json: JSONValue) {
    guard let root = json["root"]?.string.flatMap({ ManifestVersion(text: $0) }) else { return nil }
    var statements: [ManifestVersion: SHA256] = [:]
    for member in json["statements"]?.object?.members ?? [] {
      guard let version = ManifestVersion(text: member.key),
        let digest = member.value.string.flatMap({ SHA256(hex: $0) })
      else { return nil }
      statements[version] = digest
    }
    self.init(root: root.number, head: json["head"]?.canonical, statements: statements)
  }
}

/// Appends text that doesn't need escaping.
private func put(_ text: String, to out: inout [UInt8]) { out.append(contentsOf: text.utf8) }
