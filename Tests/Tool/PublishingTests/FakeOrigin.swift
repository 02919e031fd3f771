import SocketServer
import System
import Values

/// An origin in memory with one channel, over real sockets: the part of `/api/v1` that a publisher uses, with injected faults.
final class FakeOrigin: Sendable {
  struct Model {
    var id = "first"
    var version: Int64 = 0
    var blobs: [String: [UInt8]] = [:]
    /// The blobs that it reports as damaged.
    var damaged: [String] = []
    /// For each bundle, its entries at each version in which it changed.
    var bundles: [String: [(version: Int64, entries: [String: JSONValue])]] = [:]
    /// The bodies of `POST blobs/missing`.
    var requests: [String] = []
    var releases: [JSONValue] = []
    var largestBody = 0
    /// The number of the app's root, and the answer to `GET apps/shop/trust`; without them the app has none.
    var root: Int64?
    var trust: JSONValue?
    /// What it says of a bundle's planned content, instead of the truth.
    var lies: [String: String] = [:]
    /// The bodies of `POST apps/shop/trust/statements`.
    var kept: [JSONValue] = []
    /// The bodies of `POST …/source-maps`; nil: it is older than source maps.
    var sourceMaps: [JSONValue]? = []
    /// Answers that replace the model's own.
    var fault: (@Sendable (inout Model, SocketServer.Request) -> [SocketServer.Step]?)?
  }

  final class Shared: Sendable {
    let model = Locked(Model())
  }

  let shared = Shared()
  private let server: SocketServer

  init() {
    let shared = self.shared
    server = SocketServer { request in
      shared.model.withLock { model in
        model.requests.append("\(request.method) \(request.path.replacing("/api/v1/", with: ""))")
        model.largestBody = max(model.largestBody, request.body.count)
        if let fault = model.fault, let steps = fault(&model, request) { return steps }
        guard request.fields["authorization"] == "Bearer secret" else {
          return FakeOrigin.problem(401, "token", "no such token")
        }
        return model.answer(request)
      }
    }
  }

  /// The time of all of its releases.
  static let time = "2026-11-20T15:17:27.000Z"

  var url: String { server.url }
  var connections: Int { server.connections }

  func with<Value: Sendable>(_ body: (inout Model) -> Value) -> Value { shared.model.withLock { body(&$0) } }

  /// The requests since the last call.
  func requests() -> [String] {
    with { model in
      defer { model.requests = [] }
      return model.requests
    }
  }

  static func problem(_ status: Int, _ code: String, _ title: String, _ more: JSONValue = [:])
    -> [SocketServer.Step]
  {
    var json = more.object ?? JSONObject()
    json["code"] = .string(code)
    json["title"] = .string(title)
    if json["conflicts"] == nil { json["detail"] = .string(title) }
    return .answer(
      status, [("Content-Type", "application/problem+json")], body: JSONValue.object(json).canonical)
  }
}

extension FakeOrigin.Model {
  mutating func answer(_ request: SocketServer.Request) -> [SocketServer.Step] {
    let parts = request.path.split(separator: "?")
    let path = parts[0].split(separator: "/").dropFirst(2).map(String.init)
    switch (request.method, path.first, path.count) {
    case ("GET", "apps", 4): return channel()
    case ("GET", "apps", 7):
      return entries(path[5], since: parts.count > 1 ? Int64(parts[1].dropFirst(6)) : nil)
    case ("POST", "blobs", 2): return missing(request.body)
    case ("PUT", "blobs", 2): return store(path[1], request.body, request.fields["content-md5"])
    case ("POST", "blobs", 1): return unpack(request.body)
    case ("POST", "apps", 5) where path[4] == "releases": return release(request.body)
    case ("GET", "apps", 3) where trust != nil: return .answer(body: trust?.canonical ?? [])
    case ("POST", "apps", 5) where path[4] == "preparations" && root != nil: return prepare(request.body)
    case ("POST", "apps", 4) where path[3] == "statements":
      kept.append((try? JSONValue.parse(request.body)) ?? .null)
      return .answer(body: Array(#"{"kept":1}"#.utf8))
    case ("POST", "apps", 5) where path[4] == "source-maps" && sourceMaps != nil:
      return keepMaps(request.body)
    default: return FakeOrigin.problem(404, "not-found", "nothing is there")
    }
  }

  func current(_ bundle: String) -> [String: JSONValue] { bundles[bundle]?.last?.entries ?? [:] }

  private func channel() -> [SocketServer.Step] {
    if version == 0 { return FakeOrigin.problem(404, "unknown-app", "no app named that") }
    let list = bundles.sorted { $0.key < $1.key }.map { name, history -> JSONValue in
      let entries = history.last?.entries ?? [:]
      return [
        "name": .string(name), "version": .string("\(history.last?.version ?? 0)"),
        "resources": .integer(entries.count),
        "bytes": .integer(entries.values.reduce(0) { $0 + ($1["size"]?.integer ?? 0) }),
      ]
    }
    let json: JSONValue = [
      "app": "shop", "at": .string(FakeOrigin.time), "bundles": .array(list), "bytes": 0, "channel": "online",
      "damaged": .strings(damaged), "damagedURLs": [], "isDefaultApp": true, "origin": .string(id),
      "publicURL": "https://cdn.example.com", "resources": 0, "scrub": ["bytes": 0, "files": 0],
      "version": .string("\(version)"),
    ]
    guard let root, var object = json.object else { return .answer(body: json.canonical) }
    object["root"] = .integer(root)
    return .answer(body: JSONValue.object(object).canonical)
  }

  /// Stores source maps, if it has their bytes and those of the files.
  private mutating func keepMaps(_ body: [UInt8]) -> [SocketServer.Step] {
    let document = (try? JSONValue.parse(body)) ?? .null
    let maps = document["maps"]?.array ?? []
    let missing = maps.flatMap { [$0["file"]?.string ?? "", $0["map"]?.string ?? ""] }.filter {
      blobs[$0] == nil
    }
    guard missing.isEmpty else {
      return FakeOrigin.problem(422, "missing-blobs", "bytes are missing", ["missing": .strings(missing)])
    }
    sourceMaps?.append(document)
    let json: JSONValue = ["known": 0, "refused": 0, "stored": .integer(maps.count)]
    return .answer(201, [], body: json.canonical)
  }

  /// Answers a preparation with the content that each bundle would have.
  private func prepare(_ body: [UInt8]) -> [SocketServer.Step] {
    let contents = ((try? JSONValue.parse(body))?["bundles"]?.array ?? []).map { change -> JSONValue in
      let name = change["bundle"]?.string ?? ""
      return [
        "bundle": .string(name),
        "content": .string(lies[name] ?? Self.content(planned(change))),
      ]
    }
    let json: JSONValue = [
      "contents": .array(contents), "cost": [:], "deltas": 0, "done": true, "files": 0, "filesDone": 0,
      "id": "p",
      "late": true, "milliseconds": 0, "ready": true,
    ]
    return .answer(body: json.canonical)
  }

  /// The digest of what is signed of these entries.
  static func content(_ entries: [String: JSONValue]) -> String {
    let resources = entries.mapValues { entry -> JSONValue in
      var signed = JSONObject()
      for key in ["ctype", "headers", "sha256", "size"] { signed[key] = entry[key] }
      return .object(signed)
    }
    let json: JSONValue = [
      "resources": .object(JSONObject(resources.map { .init(key: $0.key, value: $0.value) }))
    ]
    return SHA256.of(json.canonical).hex
  }

  private func entries(_ bundle: String, since: Int64?) -> [SocketServer.Step] {
    let history = bundles[bundle] ?? []
    let now = history.last?.entries ?? [:]
    var listed = now
    var base = JSONValue.null
    if let since, let then = history.last(where: { $0.version == since }) {
      base = .string("\(since)")
      listed = now.filter { then.entries[$0.key] != $0.value }
      for url in then.entries.keys where now[url] == nil { listed[url] = .null }
    }
    let json: JSONValue = [
      "bundle": .string(bundle), "version": .string("\(history.last?.version ?? 0)"),
      "channelVersion": .string("\(version)"), "base": base,
      "entries": .object(JSONObject(listed.map { .init(key: $0.key, value: $0.value) })),
    ]
    return .answer(body: json.canonical)
  }

  private func missing(_ body: [UInt8]) -> [SocketServer.Step] {
    let requested = (try? JSONValue.parse(body))?["sha256"]?.array?.compactMap(\.string) ?? []
    let json: JSONValue = ["missing": .strings(requested.filter { blobs[$0] == nil })]
    return .answer(body: json.canonical)
  }

  private mutating func store(_ name: String, _ body: [UInt8], _ md5: String?) -> [SocketServer.Step] {
    let sha256 = SHA256.of(body).hex
    guard sha256 == name else {
      return FakeOrigin.problem(422, "digest-mismatch", "said \(name), got \(sha256)")
    }
    guard md5?.count == 24 else { return FakeOrigin.problem(400, "content-md5", "no Content-MD5") }
    blobs[name] = body
    return .answer(201)
  }

  private mutating func unpack(_ body: [UInt8]) -> [SocketServer.Step] {
    var rest = body[...]
    var stored = 0
    while let end = rest.firstIndex(of: 10) {
      let words = String(decoding: rest[..<end], as: UTF8.self).split(separator: " ").map(String.init)
      guard words.count == 3, let size = Int(words[2]) else { break }
      let bytes = Array(rest[(end + 1)...].prefix(size))
      guard SHA256.of(bytes).hex == words[0], MD5.of(bytes).hex == words[1] else {
        return FakeOrigin.problem(422, "digest-mismatch", "pack")
      }
      blobs[words[0]] = bytes
      stored += 1
      rest = rest[(end + 1)...].dropFirst(size)
    }
    let json: JSONValue = ["stored": .integer(stored)]
    return .answer(body: json.canonical)
  }

  private mutating func release(_ body: [UInt8]) -> [SocketServer.Step] {
    guard let json = try? JSONValue.parse(body) else { return FakeOrigin.problem(400, "json", "not JSON") }
    releases.append(json)
    let changes = json["bundles"]?.array ?? []
    let wanted = changes.flatMap {
      ($0["set"]?.object?.members ?? []).compactMap { $0.value["sha256"]?.string }
    }
    let lacking = wanted.filter { blobs[$0] == nil }
    if !lacking.isEmpty {
      return FakeOrigin.problem(422, "missing-blobs", "blobs are missing", ["missing": .strings(lacking)])
    }
    return make(changes, dryRun: json["dryRun"]?.bool ?? false)
  }

  /// The entries of a bundle after a change.
  private func planned(_ change: JSONValue) -> [String: JSONValue] {
    if change["unpublish"]?.bool == true { return [:] }
    let base = change["base"]?.string.flatMap { Int64($0) } ?? 0
    var entries = bundles[change["bundle"]?.string ?? ""]?.last { $0.version <= base }?.entries ?? [:]
    for member in change["set"]?.object?.members ?? [] { entries[member.key] = member.value }
    for url in change["remove"]?.array?.compactMap(\.string) ?? [] { entries[url] = nil }
    return entries
  }

  private mutating func make(_ changes: [JSONValue], dryRun: Bool) -> [SocketServer.Step] {
    let next = version + 1
    var results: [JSONValue] = []
    var changed: [(String, [String: JSONValue])] = []
    for change in changes {
      let name = change["bundle"]?.string ?? ""
      let base = change["base"]?.string.flatMap { Int64($0) } ?? 0
      let history = bundles[name] ?? []
      let entries = planned(change)
      let now = current(name)
      let unseen = history.last { $0.version > base }
      results.append([
        "bundle": .string(name), "added": .integer(entries.keys.count { now[$0] == nil }),
        "changed": .integer(entries.count { now[$0.key] != nil && now[$0.key] != $0.value }),
        "removed": .integer(now.keys.count { entries[$0] == nil }),
        "replaced": unseen.map {
          ["version": .string("\($0.version)"), "author": "ci", "at": .string(FakeOrigin.time)]
        }
          ?? JSONValue.null,
      ])
      if entries != now { changed.append((name, entries)) }
    }
    if changed.isEmpty {
      return .answer(body: Self.release(false, version, version, []).canonical)
    }
    if !dryRun {
      for (name, entries) in changed { bundles[name, default: []].append((next, entries)) }
      version = next
    }
    return .answer(201, body: Self.release(true, next, next - 1, results).canonical)
  }

  private static func release(_ changed: Bool, _ version: Int64, _ previous: Int64, _ bundles: [JSONValue])
    -> JSONValue
  {
    [
      "added": 0, "at": .string(FakeOrigin.time), "bundles": .array(bundles), "bytes": 0,
      "changed": .bool(changed), "changed_count": 0, "createdApp": false, "createdChannel": false,
      "deltasStored": false, "missing": [], "newBytes": 0, "previous": .string("\(previous)"),
      "receipt": .null, "removed": 0, "resources": 0, "version": .string("\(version)"),
    ]
  }
}
