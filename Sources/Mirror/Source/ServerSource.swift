import HTTPClient
import Manifests
import Store
import System

/// A running origin: its API tells what is there, the files come over the paths that devices use.
package final class ServerSource: MirrorSource {
  private let server: BaseURL
  private let token: String?
  private let web: Web
  private let lease = Locked<String?>(nil)

  /// - Parameter attempts: how often what may be cured by asking again is asked.
  package init(server: BaseURL, token: String?, attempts: Int = 6) {
    self.server = server
    self.token = token
    web = Web(attempts: attempts)
  }

  // MARK: - The API

  private func call(_ method: String, _ path: String, _ body: JSONValue? = nil) throws(MirrorError) -> [UInt8]
  {
    let url = "\(server)/api/v1/\(path)"
    var fields = [HTTPField("Content-Type", "application/json")]
    if let token { fields.append(HTTPField("Authorization", "Bearer \(token)")) }
    if method != "GET" { fields.append(.newIdempotencyKey()) }
    let request = HTTPRequest(
      method, url, fields: fields, body: body.map { .bytes($0.canonical) } ?? .none, decodes: true)
    let reply = try web.send { () throws(MirrorError) in (request, .memory(limit: 1 << 30)) }
    guard reply.isSuccess else {
      let words = (try? JSONValue.parse(reply.body))?["detail"]?.string ?? ""
      throw .refused(url: url, status: reply.status, words: words)
    }
    return reply.body
  }

  private func json(_ method: String, _ path: String, _ body: JSONValue? = nil) throws(MirrorError)
    -> JSONValue
  {
    try reading(path) { (bytes) throws(JSONError) in
      try JSONValue.parse(bytes)
    } of: { () throws(MirrorError) in
      try call(method, path, body)
    }
  }

  private func reading<Value>(
    _ path: String, _ parse: ([UInt8]) throws(JSONError) -> Value, of bytes: () throws(MirrorError) -> [UInt8]
  ) throws(MirrorError) -> Value {
    let bytes = try bytes()
    do {
      return try parse(bytes)
    } catch {
      throw .unreadable(path: "\(server)/api/v1/\(path)", reason: error.description)
    }
  }

  // MARK: - What is there

  package func origin() throws(MirrorError) -> OriginState {
    let overview = try json("GET", "mirror?channels=&keep=0")
    guard let id = overview["origin"]?.string else {
      throw .unreadable(path: "\(server)/api/v1/mirror", reason: "it doesn't tell the origin's id")
    }
    return OriginState(
      id: id, defaultApp: overview["defaultApp"]?.string.flatMap { try? AppName($0) },
      audit: overview["audit"]?.string.flatMap { AuditHead($0) },
      readable: ChannelSelection(limits: overview["limits"]))
  }

  package func channels(keep: Int) throws(MirrorError) -> [ChannelState] {
    let path = "mirror?channels=*&keep=\(keep)"
    let overview = try json("GET", path)
    return try reading(path) { (_) throws(JSONError) in
      var states: [ChannelState] = []
      for item in overview["channels"]?.array ?? [] { states.append(try ChannelState(json: item)) }
      return states
    } of: {
      []
    }
  }

  private func path(_ channel: ChannelState) -> String {
    "apps/\(channel.app)/channels/\(channel.channel)/mirror"
  }

  package func resources(of channel: ChannelState) throws(MirrorError) -> [MirroredResource] {
    let first = channel.versions.first ?? channel.version
    let path = "\(path(channel))/resources?from=\(first)&version=\(channel.version)"
    return try reading(path) { (bytes) throws(JSONError) in
      var resources: [MirroredResource] = []
      var reader = JSONReader(bytes)
      try reader.members { (key, reader) throws(JSONError) in
        guard key == "resources" else { return _ = try reader.value() }
        resources = try reader.array { (reader) throws(JSONError) in
          try MirroredResource(json: reader.value())
        }
      }
      return resources
    } of: { () throws(MirrorError) in
      try call("GET", path)
    }
  }

  package func document(_ document: MirrorDocument, of channel: ChannelState) throws(MirrorError) -> [UInt8] {
    try call("GET", "\(path(channel))/document?\(document.query)")
  }

  package func file(of resource: MirroredResource, at path: String) throws(MirrorError) -> LocalFile {
    try fetch(resource.path.text, size: resource.size, to: path)
  }

  package func file(of delta: DeltaPath, at path: String) throws(MirrorError) -> LocalFile {
    try fetch(delta.text, size: 1 << 40, to: path)
  }

  package func has(_ zip: BundleZip, of channel: ChannelState) throws(MirrorError) -> Bool {
    let url = "\(server)/\(channel.folder)/\(zip)"
    // The answer waits some seconds for a zip that is made just now, and is asked for again.
    let fields = authorization
    let reply = try web.send(final: [500]) { () throws(MirrorError) in
      (HTTPRequest("HEAD", url, fields: fields), .memory(limit: 1 << 16))
    }
    if reply.status == 500 { throw .lost(path: "\(channel.folder)/\(zip)") }
    guard reply.isSuccess || reply.status == 404 || reply.status == 503 else {
      throw .refused(url: url, status: reply.status, words: "")
    }
    return reply.isSuccess
  }

  package func file(of zip: BundleZip, _ channel: ChannelState, at path: String) throws(MirrorError)
    -> LocalFile
  {
    try fetch("\(channel.folder)/\(zip)", size: .max, to: path, authorization)
  }

  /// Who shows a token gets the zips of every kept version, not only of those that devices are at.
  private var authorization: [HTTPField] { token.map { [HTTPField("Authorization", "Bearer \($0)")] } ?? [] }

  private func fetch(_ text: String, size: Int64, to path: String, _ fields: [HTTPField] = [])
    throws(MirrorError) -> LocalFile
  {
    let url = "\(server)/\(text)"
    do throws(MirrorError) {
      guard try web.download(url, to: path, limit: size, fields: fields, final: [500]) else {
        throw .lost(path: text)
      }
    } catch .refused(_, 500, _) {
      // So the origin answers for a file that it found damaged.
      throw .lost(path: text)
    }
    return LocalFile(path: path, isTemporary: true)
  }

  // MARK: - The lease

  package func hold(_ seconds: Int) throws(MirrorError) {
    let body: JSONValue = ["holder": .string("mirror"), "seconds": .integer(seconds)]
    if let held = lease.withLock({ $0 }) {
      _ = try call("POST", "leases/\(held)", body)
    } else {
      let taken = try json("POST", "leases", body)["id"]?.string
      lease.withLock { $0 = taken }
    }
  }

  package func release() {
    guard let held = lease.withLock({ $0.take() }) else { return }
    // It ends by itself otherwise.
    _ = try? call("DELETE", "leases/\(held)")
  }

  package func register(_ name: String, _ versions: [MirroredVersion]) throws(MirrorError) {
    let items: [JSONValue] = versions.map {
      ["app": .string($0.app.text), "channel": .string($0.channel.text), "version": .string($0.version.text)]
    }
    _ = try call("POST", "mirrors", ["name": .string(name), "versions": .array(items)])
  }
}

extension ChannelSelection {
  /// `{"app":"shop","channel":null}`: what the token is limited to.
  fileprivate init(limits: JSONValue?) {
    func name(_ key: String) -> String? { limits?[key]?.string }
    self.init(
      apps: Set(name("app").flatMap { try? AppName($0) }.map { [$0] } ?? []),
      channels: Set(name("channel").flatMap { try? ChannelName($0) }.map { [$0] } ?? []))
  }
}

extension ChannelState {
  fileprivate init(json: JSONValue) throws(JSONError) {
    guard let app = try? AppName(try json.string("app")) else { throw .member("app") }
    guard let channel = try? ChannelName(try json.string("channel")) else { throw .member("channel") }
    guard let publicURL = try? BaseURL(try json.string("publicURL")) else { throw .member("publicURL") }
    var versions: [ManifestVersion] = []
    for item in json["versions"]?.array ?? [] {
      guard let version = item.string.flatMap({ ManifestVersion(text: $0) }) else {
        throw .member("versions")
      }
      versions.append(version)
    }
    self.init(
      app: app, appID: try json.size("appID"), channel: channel, publicURL: publicURL,
      version: try json.version("version"), digest: try json.sha256("digest"), versions: versions,
      extras: AnswerExtras(
        interval: json["interval"]?.integer.map { Int($0) }, policy: json["policy"]?.integer,
        prefetch: json["prefetch"]?.integer),
      scripts: (json["scripts"]?.array ?? []).compactMap { $0.string.flatMap { SHA256(hex: $0) } })
  }
}

extension MirroredResource {
  fileprivate init(json: JSONValue) throws(JSONError) {
    let text = Array(try json.string("path").utf8)
    guard let path = DownloadPath(parsing: text.span.bytes) else { throw .member("path") }
    guard let ctype = ContentType(try json.string("ctype")) else { throw .member("ctype") }
    self.init(path: path, sha256: try json.sha256("sha256"), size: try json.size("size"), ctype: ctype)
  }
}
