import Glibc
import HTTP
import Manifests
import Store
import System
import TestSupport
import Values

@testable import Origin

/// An origin with a store of its own, used without a socket; work for worker threads is run at once.
final class TestOrigin {
  let folder: String
  let store: Store
  let origin: Origin
  let token: String
  private let handler: any Handler
  /// Holds the folder, which is removed with the last origin over it.
  private let scratch: Scratch

  convenience init(
    publicURL: String = "https://cdn.example.com/hxm", _ change: (inout Origin.Options) -> Void = { _ in },
    clock: (@Sendable () -> Int64)? = nil
  ) throws { try self.init(in: try Scratch(), publicURL: publicURL, change, clock: clock) }

  private init(
    in scratch: Scratch, publicURL: String, _ change: (inout Origin.Options) -> Void,
    clock: (@Sendable () -> Int64)?
  ) throws {
    self.scratch = scratch
    folder = scratch.path + "/data"
    var kept = Store.Options()
    if let clock { kept.clock = clock }
    store = try Store(path: folder, options: kept)
    var options = Origin.Options(publicURL: try BaseURL(publicURL))
    change(&options)
    origin = try Origin(store: store, options: options)
    handler = origin.makeHandler()
    let bytes = try DurableFile.read("\(folder)/admin.token") ?? []
    token = String(decoding: bytes.dropLast(), as: UTF8.self)
  }

  private init(sharing other: TestOrigin, _ origin: Origin) {
    (folder, store, token) = (other.folder, other.store, other.token)
    self.origin = origin
    scratch = other.scratch
    handler = origin.makeHandler()
  }

  /// Another origin with the same store, as after a restart.
  func restarted(_ change: (inout Origin.Options) -> Void = { _ in }) throws -> TestOrigin {
    var options = Origin.Options(publicURL: try BaseURL("https://cdn.example.com/hxm"))
    change(&options)
    return TestOrigin(sharing: self, try Origin(store: store, options: options))
  }

  /// An origin that starts with what a process left that is killed now.
  func killed(clock: (@Sendable () -> Int64)? = nil) throws -> TestOrigin {
    let next = try Scratch()
    try Scratch.copy(folder, to: next.path + "/data")
    return try TestOrigin(in: next, publicURL: "https://cdn.example.com/hxm", { _ in }, clock: clock)
  }

  /// The same origin on another event loop.
  func onAnotherLoop() throws -> TestOrigin { TestOrigin(sharing: self, origin) }

  struct Reply {
    let status: Int
    let head: String
    let body: [UInt8]

    var text: String { String(decoding: body, as: UTF8.self) }
    var json: JSONValue { (try? JSONValue.parse(body)) ?? .null }

    func field(_ name: String) -> String? {
      for line in head.split(separator: "\r\n") where line.lowercased().hasPrefix(name.lowercased() + ": ") {
        return String(line.dropFirst(name.utf8.count + 2))
      }
      return nil
    }
  }

  /// Sends a request with raw header lines, each without its line break.
  func ask(
    _ method: String, _ target: String, _ lines: [String] = [], body: [UInt8]? = nil,
    from peer: IPAddress = .unknown
  ) throws -> Reply {
    var lines = ["Host: x"] + lines
    if let body { lines.append("Content-Length: \(body.count)") }
    let text = "\(method) \(target) HTTP/1.1\r\n" + lines.map { $0 + "\r\n" }.joined() + "\r\n"
    return Self.reply(try answer(Array(text.utf8), from: peer), body ?? [])
  }

  /// Carries out what is left of an answer.
  func finish(_ answer: Answer) -> Reply { Self.reply(answer, []) }

  /// The event loop's answer to a request before its body arrives.
  func answer(_ method: String, _ target: String, _ lines: [String], length: Int? = nil) throws -> Answer {
    try answer(Self.head(method, target, lines, length))
  }

  /// The lane of a request.
  func lane(_ method: String, _ target: String, _ lines: [String] = [], length: Int? = nil) throws
    -> Scheduling.Lane
  {
    try parsed(Self.head(method, target, lines, length)) { handler.scheduling(of: $0).lane }
  }

  private static func head(_ method: String, _ target: String, _ lines: [String], _ length: Int?) -> [UInt8] {
    let lines = ["Host: x"] + (length.map { ["Content-Length: \($0)"] } ?? []) + lines
    return Array(("\(method) \(target) HTTP/1.1\r\n" + lines.map { $0 + "\r\n" }.joined() + "\r\n").utf8)
  }

  private func answer(_ arrived: [UInt8], from peer: IPAddress = .unknown) throws -> Answer {
    try parsed(arrived, from: peer) { handler.handle($0) }
  }

  private func parsed<Result>(
    _ arrived: [UInt8], from peer: IPAddress = .unknown, _ body: (borrowing Request) -> Result
  ) throws -> Result {
    var bytes = arrived
    var parser = RequestParser()
    guard case .complete = parser.parse(bytes.span.bytes, limits: RequestLimits()) else {
      throw BadRequest(text: String(decoding: bytes, as: UTF8.self))
    }
    var head = parser.head
    if head.pathNeedsNormalising {
      bytes.withUnsafeMutableBytes {
        var span = $0.mutableBytes
        head.path = PathNormaliser.normalise(&span, head.path)
      }
    }
    return body(Request(head, in: bytes.span.bytes, from: peer))
  }

  struct BadRequest: Error { let text: String }

  private static func reply(_ answer: Answer, _ body: [UInt8]) -> Reply {
    switch answer {
    case .now(let response): return Reply(response)
    case .later(let make): return Reply(make())
    case .deferred(let begin):
      let response = Monitor<Response?>(nil)
      begin { made in response.broadcasting { $0 = made } }
      return Reply(response.waiting { $0 })
    case .abandonable(let begin):
      let response = Monitor<Response?>(nil)
      _ = begin { made in response.broadcasting { $0 = made } }
      return Reply(response.waiting { $0 })
    case .receive(_, let make):
      let receiver = make()
      if !body.isEmpty { _ = receiver.receive(body.span.bytes) }
      return Reply(receiver.finish())
    }
  }

  // MARK: - Calls of the API

  func api(_ method: String, _ path: String, _ body: JSONValue? = nil, token: String? = nil) throws -> Reply {
    try ask(
      method, "/api/v1/\(path)", ["Authorization: Bearer \(token ?? self.token)"], body: body?.canonical)
  }

  /// Publishes a bundle of exactly these files, given by URL path and text; `lazy` are the paths of lazy ones.
  @discardableResult
  func publish(
    _ files: [String: String], bundle: String = "main", app: String = "shop", channel: String = "online",
    remove: [String] = [], headers: EntryHeaders = EntryHeaders(),
    fallbacks: PageFallbacks = PageFallbacks(), lazy: Set<String> = []
  ) throws -> Reply {
    let body = try release(
      files, bundle: bundle, app: app, channel: channel, remove: remove, headers: headers,
      fallbacks: fallbacks, lazy: lazy)
    return try api("POST", "apps/\(app)/channels/\(channel)/releases", body)
  }

  /// Uploads files, and returns the body of the request that releases them.
  func release(
    _ files: [String: String], bundle: String = "main", app: String = "shop", channel: String = "online",
    remove: [String] = [], headers: EntryHeaders = EntryHeaders(),
    fallbacks: PageFallbacks = PageFallbacks(), lazy: Set<String> = []
  ) throws -> JSONValue {
    var set = JSONObject()
    for (path, text) in files {
      let bytes = Array(text.utf8)
      let digest = FileDigest(md5: MD5.of(bytes), sha256: SHA256.of(bytes), size: Int64(bytes.count))
      _ = try store.receive(
        bytes.span.bytes, BlobClaim(sha256: digest.sha256, md5: digest.md5, size: digest.size))
      let url = "https://m.example.com/\(path)"
      set[url] =
        ResourceContent(
          digest, ctype: ContentType.of(fileName: path), headers: headers, fallbacks: fallbacks,
          isLazy: lazy.contains(path)
        ).json
    }
    let base =
      (try? api("GET", "apps/\(app)/channels/\(channel)/bundles/\(bundle)/entries").json["version"]?.string)
      ?? nil
    let change: JSONValue = [
      "base": .string(base ?? "0"), "bundle": .string(bundle),
      "remove": .strings(remove.map { "https://m.example.com/\($0)" }), "set": .object(set),
    ]
    return ["bundles": [change], "message": "test"]
  }
}

extension TestOrigin.Reply {
  init(_ response: Response) {
    status = Int(response.status.code)
    head = String(decoding: Array(response.head.bytes.address), as: UTF8.self)
    body = response.body.part(0..<response.body.count).flatMap { segment -> [UInt8] in
      switch segment {
      case .bytes(let bytes, let range): return Array(Array(bytes.address)[range])
      case .made(let bytes): return Array(bytes.make().address)
      case .file(let file):
        var bytes = [UInt8](repeating: 0, count: Int(file.count))
        let count = bytes.withUnsafeMutableBytes {
          pread(file.descriptor, $0.baseAddress, $0.count, off_t(file.offset))
        }
        // As the server does.
        if count < bytes.count { file.owner.bytesAreMissing() }
        return Array(bytes.prefix(max(0, count)))
      }
    }
  }
}
