import HTTP
import HTTPClient
import Manifests
import OriginAPI
import OriginClient
import Store
import System
import Values

/// A running origin: its API describes the contents, and the files come from the paths that devices use.
package final class ServerSource: MirrorSource {
  private let server: BaseURL
  private let token: String?
  private let api: OriginClient
  private let web: Web
  private let lease = Locked<String?>(nil)

  /// Creates a source. `attempts` is how often a request that may succeed later is made; `tokenSource` is where the token came
  /// from, for messages.
  package init(
    server: BaseURL, token: String?, tokenSource: String? = nil, attempts: Int = 6,
    http: HTTPClient = HTTPClient()
  ) {
    self.server = server
    self.token = token
    api = OriginClient(server: server, token: token, tokenSource: tokenSource, http: http) { _ in
      RetryPolicy(attempts: attempts)
    }
    web = Web(http: http, attempts: attempts)
  }

  // MARK: - What is there

  /// Runs an API call, and converts its error; `path` says what was requested.
  private func ask<Answer>(_ path: String, _ call: (OriginClient) throws(OriginError) -> Answer)
    throws(MirrorError) -> Answer
  {
    do {
      return try call(api)
    } catch {
      throw MirrorError(error, of: "\(server)/api/v1/\(path)")
    }
  }

  private func bytes(_ path: String) throws(MirrorError) -> [UInt8] {
    var call = OriginCall("GET", path)
    call.limit = 1 << 30
    return try ask(path) { (api) throws(OriginError) in try api.bytes(call) }
  }

  package func origin() throws(MirrorError) -> OriginState {
    let overview = try ask("mirror?channels=&keep=0") { (api) throws(OriginError) in
      try api.mirrorOverview(channels: "", keep: 0)
    }
    return OriginState(
      id: overview.origin, defaultApp: overview.defaultApp, audit: overview.audit.flatMap { AuditHead($0) },
      readable: ChannelSelection(
        apps: Set([overview.limits?.app].compactMap(\.self)),
        channels: Set([overview.limits?.channel].compactMap(\.self))),
      purges: overview.purges ?? [])
  }

  package func channels(keep: Int) throws(MirrorError) -> [MirroredChannelState] {
    try withHeads { () throws(MirrorError) in try states(keep: keep) }
  }

  private func states(keep: Int) throws(MirrorError) -> [MirroredChannelState] {
    let path = "mirror?channels=*&keep=\(keep)"
    let channels = try ask(path) { (api) throws(OriginError) in
      try api.mirrorOverview(channels: "*", keep: keep).channels
    }
    var states: [MirroredChannelState] = []
    for channel in channels {
      do throws(JSONError) {
        states.append(try MirroredChannelState(channel))
      } catch {
        throw .unreadable(
          path: "\(server)/api/v1/\(path)",
          reason: "the rollout of channel \(channel.channel) of app \(channel.app): \(error)")
      }
    }
    return states
  }

  private func path(_ channel: MirroredChannelState) -> String {
    "\(ChannelAddress(channel.app, channel.channel).path)/mirror"
  }

  package func resources(of channel: MirroredChannelState) throws(MirrorError) -> [MirroredResource] {
    let first = channel.versions.first ?? channel.version
    let path = "\(path(channel))/resources?from=\(first)&version=\(channel.highest)"
    let bytes = try bytes(path)
    do {
      return try MirroredResource.list(bytes)
    } catch {
      throw .notAnOrigin(
        url: "\(server)/api/v1/\(path)", found: "an answer that can't be read (\(error))", status: 200)
    }
  }

  package func document(_ document: MirrorDocument, of channel: MirroredChannelState) throws(MirrorError)
    -> [UInt8]
  {
    try bytes("\(path(channel))/document?\(document.query)")
  }

  package func file(of resource: MirroredResource, at path: String) throws(MirrorError) -> LocalFile {
    try fetch(resource.path.text, size: resource.size, to: path)
  }

  package func file(of delta: DeltaPath, at path: String) throws(MirrorError) -> LocalFile {
    try fetch(delta.text, size: 1 << 40, to: path)
  }

  package func file(of pack: PackPath, _ channel: MirroredChannelState, at path: String) throws(MirrorError)
    -> LocalFile
  {
    let file = try fetch(pack.text, size: 1 << 40, to: path)
    // A server that has a pack open doesn't read it again before it answers.
    guard let found = try CopyCheck.digest(path), found.sha256.hex.hasPrefix(pack.mark) else {
      throw .lost(path: pack.text)
    }
    return file
  }

  package func has(_ zip: BundleZip, of channel: MirroredChannelState) throws(MirrorError) -> Bool {
    let url = "\(server)/\(channel.folder)/\(zip)"
    // The origin answers after some seconds if the zip is still being made; then the request is repeated.
    let fields = authorization
    let reply = try web.send(final: [500]) { () throws(MirrorError) in
      (HTTPRequest("HEAD", url, fields: fields), .memory(limit: 1 << 16))
    }
    if reply.status == 500 { throw .lost(path: "\(channel.folder)/\(zip)") }
    guard reply.isSuccess || reply.status == 404 || reply.status == 503 else {
      throw .refused(url: url, status: reply.status, message: "")
    }
    return reply.isSuccess
  }

  package func file(of zip: BundleZip, _ channel: MirroredChannelState, at path: String) throws(MirrorError)
    -> LocalFile
  {
    try fetch("\(channel.folder)/\(zip)", size: .max, to: path, authorization)
  }

  /// With a token, the zips of every kept version are available, not only of those that devices have.
  private var authorization: HTTPFields { token.map { [("Authorization", "Bearer \($0)")] } ?? [] }

  private func fetch(_ text: String, size: Int64, to path: String, _ fields: HTTPFields = [])
    throws(MirrorError) -> LocalFile
  {
    let url = "\(server)/\(text)"
    do throws(MirrorError) {
      guard try web.download(url, to: path, limit: size, fields: fields, final: [500]) else {
        throw .lost(path: text)
      }
    } catch .refused(_, 500, _) {
      // The origin's answer for a file that it found damaged.
      throw .lost(path: text)
    }
    return LocalFile(path: path, isTemporary: true)
  }

  // MARK: - The lease

  package func hold(_ seconds: Int) throws(MirrorError) {
    let request = LeaseRequest(holder: "mirror", seconds: seconds)
    if let held = lease.withLock({ $0 }) {
      try ask("leases/\(held)") { (api) throws(OriginError) in try api.renewLease(held, request) }
    } else {
      let taken = try ask("leases") { (api) throws(OriginError) in try api.acquireLease(request) }
      lease.withLock { $0 = taken.id }
    }
  }

  package func release() {
    guard let held = lease.withLock({ $0.take() }) else { return }
    // Otherwise it expires.
    try? api.endLease(held)
  }

  package func register(_ name: String, _ versions: [ChannelVersion]) throws(MirrorError) {
    let request = MirrorRequest(name: name, versions: versions)
    _ = try ask("mirrors") { (api) throws(OriginError) in try api.registerMirror(request) }
  }
}

extension MirrorError {
  /// Converts an origin's error; `url` is what was requested.
  fileprivate init(_ error: OriginError, of url: String) {
    switch error {
    // A change without an answer is a lease or a registration, which the next run makes again.
    case .unreachable(let server, let cause):
      self = .unreachable(url: url, cause, message: OriginError.unreachable(server: server, cause).message)
    case .unknownOutcome(_, .error(let error)): self = .unreachable(url: url, error)
    case .unknownOutcome(_, .status(let status, _)): self = .refused(url: url, status: status, message: "")
    case .notAnOrigin(_, let found, let status):
      self = .notAnOrigin(url: url, found: found, status: status)
    case .blocked(_, let status, _): self = .refused(url: url, status: status, message: error.message)
    case .refused(let problem):
      self = .refused(url: url, status: problem.status, message: problem.detail == nil ? "" : problem.message)
    case .body(let error): self = .unreadable(path: url, reason: "\(error)")
    }
  }
}

extension MirroredChannelState {
  /// - Throws: what is wrong with the rule of a rollout: a copy without it would keep back those who have the candidate.
  fileprivate init(_ channel: MirrorOverview.Channel) throws(JSONError) {
    var rule: RolloutRule?
    if let json = channel.rollout { rule = try RolloutRule(reading: json) }
    self.init(
      app: channel.app, appID: Int64(clamping: channel.appID), channel: channel.channel,
      publicURL: channel.publicURL, version: channel.version, digest: channel.digest,
      versions: channel.versions,
      extras: AnswerExtras(
        interval: channel.interval, policy: channel.policy, prefetch: channel.prefetch,
        reports: channel.reports, samples: channel.samples == 0 ? 0 : nil, rollback: channel.rollback,
        rollout: rule, root: channel.root),
      scripts: channel.scripts, candidateDigest: channel.candidateDigest, bundlesSince: channel.bundlesSince)
    first = channel.first.flatMap { try? PackOffer(json: $0) }
  }
}

extension MirroredResource {
  /// Parses the resources in an answer. There may be 100,000, so they are read without a tree of values.
  fileprivate static func list(_ bytes: [UInt8]) throws(JSONError) -> [MirroredResource] {
    var resources: [MirroredResource] = []
    var reader = JSONReader(bytes)
    try reader.members { (key, reader) throws(JSONError) in
      guard key == "resources" else { return _ = try reader.value() }
      resources = try reader.array { (reader) throws(JSONError) in
        try MirroredResource(json: reader.value())
      }
    }
    return resources
  }

  private init(json: JSONValue) throws(JSONError) {
    let text = Array(try json.string("path").utf8)
    guard let path = DownloadPath(parsing: text.span.bytes) else { throw .member("path") }
    guard let ctype = ContentType(try json.string("ctype")) else { throw .member("ctype") }
    self.init(path: path, sha256: try json.sha256("sha256"), size: try json.size("size"), ctype: ctype)
  }
}
