import Manifests
import SocketServer
import System

@testable import Mirror

/// A server for the part of S3's API that mirrors use, with a bucket in memory. It requires a signature, but doesn't verify it, and checks
/// the signed sha256 against the body, as S3 does.
final class StandInS3: Sendable {
  struct Object: Sendable {
    var bytes: [UInt8]
    var fields: [String: String]
  }

  private struct State {
    var objects: [String: Object] = [:]
    var uploads: [String: (key: String, fields: [String: String], parts: [Int: [UInt8]])] = [:]
    /// The number of requests still to be answered with 503.
    var failures = 0
  }

  private let state: Locked<State>
  private let server: SocketServer
  /// The page size of a listing.
  private static let page = 3

  init() {
    let state = Locked(State())
    self.state = state
    server = SocketServer { Self.answer($0, state) }
  }

  /// Settings of a destination with its own prefix in the bucket.
  func settings(_ prefix: String) throws -> S3Settings {
    try S3Settings(
      "s3://cdn/\(prefix)", endpoint: server.url, region: nil,
      environment: ["AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret"])
  }

  func object(_ key: String) -> Object? { state.withLock { $0.objects[key] } }

  var keys: [String] { state.withLock { $0.objects.keys.sorted() } }

  /// Stores an object directly.
  func put(_ key: String, _ bytes: [UInt8]) {
    state.withLock { $0.objects[key] = Object(bytes: bytes, fields: [:]) }
  }

  /// Answers the next `count` requests with 503.
  func fail(_ count: Int) { state.withLock { $0.failures = count } }

  private static func answer(_ request: SocketServer.Request, _ state: Locked<State>) -> [SocketServer.Step] {
    let hash = request.fields["x-amz-content-sha256"]
    guard request.fields["authorization"]?.hasPrefix("AWS4-HMAC-SHA256 Credential=key/") == true,
      hash == SHA256.of(request.body).hex
    else { return .answer(403, body: "<Error><Code>SignatureDoesNotMatch</Code></Error>".utf8) }
    let parts = request.path.split(separator: "?", maxSplits: 1)
    var query: [String: String] = [:]
    for item in parts.count > 1 ? parts[1].split(separator: "&") : [] {
      let sides = item.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      query[String(sides[0])] = sides.count > 1 ? decoded(sides[1]) : ""
    }
    let path = decoded(parts[0])
    guard path == "/cdn" || path.hasPrefix("/cdn/") else { return .answer(404) }
    let key = String(path.dropFirst("/cdn/".count))
    return state.withLock { state in
      if state.failures > 0 {
        state.failures -= 1
        return .answer(503, [("Retry-After", "0")])
      }
      return answer(request, key, query, &state)
    }
  }

  private static func answer(
    _ request: SocketServer.Request, _ key: String, _ query: [String: String], _ state: inout State
  ) -> [SocketServer.Step] {
    switch request.method {
    case "GET" where key.isEmpty: return list(query, state)
    case "GET", "HEAD":
      guard let object = state.objects[key] else { return .answer(404) }
      let fields = object.fields.map { ($0.key, $0.value) }
      guard request.method == "HEAD" else { return .answer(200, fields, body: object.bytes) }
      return [.send(Array("HTTP/1.1 200 OK\r\nContent-Length: \(object.bytes.count)\r\n\r\n".utf8))]
    case "PUT":
      if let upload = query["uploadId"], let number = query["partNumber"].flatMap({ Int($0) }) {
        guard state.uploads[upload]?.key == key else { return .answer(404) }
        state.uploads[upload]?.parts[number] = request.body
        return .answer(200, [("ETag", "\"\(number)\"")])
      }
      state.objects[key] = Object(bytes: request.body, fields: kept(request))
      return .answer()
    case "POST" where query["uploads"] != nil:
      let id = "u\(state.uploads.count)"
      state.uploads[id] = (key, kept(request), [:])
      return .answer(body: "<UploadId>\(id)</UploadId>".utf8)
    case "POST":
      guard let upload = query["uploadId"].flatMap({ state.uploads.removeValue(forKey: $0) }) else {
        return .answer(404)
      }
      let bytes = upload.parts.sorted { $0.key < $1.key }.flatMap(\.value)
      state.objects[upload.key] = Object(bytes: bytes, fields: upload.fields)
      return .answer(body: "<CompleteMultipartUploadResult/>".utf8)
    case "DELETE":
      if let upload = query["uploadId"] {
        state.uploads[upload] = nil
        return .answer(204)
      }
      return .answer(state.objects.removeValue(forKey: key) == nil ? 404 : 204)
    default: return .answer(405)
    }
  }

  private static func list(_ query: [String: String], _ state: State) -> [SocketServer.Step] {
    let prefix = query["prefix"] ?? ""
    let after = query["continuation-token"] ?? ""
    let keys = state.objects.keys.filter { $0.hasPrefix(prefix) && $0 > after }.sorted()
    var text = "<ListBucketResult><IsTruncated>\(keys.count > page)</IsTruncated>"
    for key in keys.prefix(page) {
      let written = key.replacing("&", with: "&amp;").replacing("<", with: "&lt;")
      text += "<Contents><Key>\(written)</Key><Size>\(state.objects[key]?.bytes.count ?? 0)</Size></Contents>"
    }
    if keys.count > page {
      text += "<NextContinuationToken>\(keys[page - 1].replacing("&", with: "&amp;"))</NextContinuationToken>"
    }
    return .answer(body: (text + "</ListBucketResult>").utf8)
  }

  private static func kept(_ request: SocketServer.Request) -> [String: String] {
    request.fields.filter { ["content-type", "cache-control", "content-encoding"].contains($0.key) }
  }

  private static func decoded(_ text: some StringProtocol) -> String {
    var bytes: [UInt8] = []
    var rest = Array(text.utf8)[...]
    while let byte = rest.popFirst() {
      if byte == UInt8(ascii: "%"), rest.count >= 2,
        let value = UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16)
      {
        bytes.append(value)
        rest = rest.dropFirst(2)
      } else {
        bytes.append(byte)
      }
    }
    return String(decoding: bytes, as: UTF8.self)
  }
}
