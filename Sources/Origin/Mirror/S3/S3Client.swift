import HTTP
import HTTPClient
import System

/// The calls of the S3 API that a mirror needs.
struct S3Client: Sendable {
  let settings: S3Settings
  private let web: Web
  private let signer: S3Signer

  /// The hash of an empty body. "UNSIGNED-PAYLOAD" would avoid hashing, but then the store accepts damaged bodies.
  private static let emptyHash = SHA256.of([]).hex

  init(_ settings: S3Settings) {
    self.settings = settings
    web = Web(http: settings.http)
    signer = S3Signer(
      accessKey: settings.accessKey, secretKey: settings.secretKey, sessionToken: settings.sessionToken,
      region: settings.region)
  }

  /// A request's body, with its sha256.
  struct Payload: Sendable {
    var body: HTTPBody
    var sha256: String

    static let none = Payload(body: .none, sha256: S3Client.emptyHash)

    static func bytes(_ bytes: [UInt8]) -> Payload {
      Payload(body: .bytes(bytes), sha256: SHA256.of(bytes).hex)
    }
  }

  /// Sends a signed request, and returns the answer, whatever its status. Each attempt is signed anew: a signature lasts 15
  /// minutes.
  func send(
    _ method: String, _ key: String, query: [(String, String)] = [], fields: HTTPFields = [],
    _ payload: Payload = .none, sink: () throws(MirrorError) -> HTTPSink = { .memory(limit: 1 << 30) }
  ) throws(MirrorError) -> HTTPReply {
    try web.send { () throws(MirrorError) in
      let path = key.isEmpty ? String(settings.urlPath("").dropLast()) : settings.urlPath(key)
      let request = S3Signer.Request(
        method: method, host: settings.host, path: path.isEmpty ? "/" : path, query: query, fields: fields,
        payloadHash: payload.sha256)
      let signed = signer.fields(for: request, at: Clock.unixMilliseconds() / 1000)
      let text = S3Signer.query(query)
      let url =
        "\(settings.scheme)://\(settings.host)\(request.path)\(text.isEmpty ? "" : "?" + text)"
      var made = HTTPRequest(method, url, fields: signed, body: payload.body)
      // Objects are written whole, removed, or assembled from the same parts.
      made.isRepeatable = true
      return (made, try sink())
    }
  }

  /// As `send`, but throws unless it succeeds.
  /// - Throws: `refused` with the store's message.
  func require(
    _ method: String, _ key: String, query: [(String, String)] = [], fields: HTTPFields = [],
    _ payload: Payload = .none
  ) throws(MirrorError) -> HTTPReply {
    let reply = try send(method, key, query: query, fields: fields, payload)
    guard reply.isSuccess else { throw refusal(key, reply) }
    return reply
  }

  func refusal(_ key: String, _ reply: HTTPReply) -> MirrorError {
    let text = String(decoding: reply.body, as: UTF8.self)
    let words = [XMLText.first("Code", in: text), XMLText.first("Message", in: text)].compactMap { $0 }
    return .refused(
      url: "\(settings.name) (\(key))", status: reply.status, message: words.joined(separator: ", "))
  }

  // MARK: - Objects

  /// Returns the key and size of every object with a prefix.
  func list(_ prefix: String) throws(MirrorError) -> [(key: String, size: Int64)] {
    var objects: [(key: String, size: Int64)] = []
    var token: String?
    repeat {
      var query = [("list-type", "2"), ("max-keys", "1000"), ("prefix", prefix)]
      if let token { query.append(("continuation-token", token)) }
      let reply = try require("GET", "", query: query)
      let text = String(decoding: reply.body, as: UTF8.self)
      for item in XMLText.all("Contents", in: text) {
        guard let key = XMLText.first("Key", in: item),
          let size = XMLText.first("Size", in: item).flatMap({ Int64($0) })
        else { throw .unreadable(path: settings.name, reason: "its listing isn't what S3 answers") }
        objects.append((key, size))
      }
      token =
        XMLText.first("IsTruncated", in: text) == "true"
        ? XMLText.first("NextContinuationToken", in: text) : nil
    } while token != nil
    return objects
  }

  /// The part size of a large object; S3 requires at least 5 MiB, and at most 10,000 parts.
  static let partSize: Int64 = 16 << 20

  /// Uploads a large file in parts; the object appears only after the last one has arrived.
  func putParts(_ path: String, size: Int64, as key: String, _ fields: HTTPFields) throws(MirrorError) {
    let begun = try require("POST", key, query: [("uploads", "")], fields: fields)
    guard let upload = XMLText.first("UploadId", in: String(decoding: begun.body, as: UTF8.self)) else {
      throw .unreadable(path: settings.name, reason: "it began no upload")
    }
    do throws(MirrorError) {
      let part = max(Self.partSize, (size + 9_999) / 10_000)
      var list = ""
      for number in 1...Int((size + part - 1) / part) {
        let start = Int64(number - 1) * part
        let payload = Payload.bytes(try Self.bytes(of: path, at: start, count: Int(min(part, size - start))))
        let reply = try require(
          "PUT", key, query: [("partNumber", "\(number)"), ("uploadId", upload)], payload)
        let tag = reply.fields["etag"] ?? ""
        list += "<Part><PartNumber>\(number)</PartNumber><ETag>\(tag)</ETag></Part>"
      }
      let document = "<CompleteMultipartUpload>\(list)</CompleteMultipartUpload>"
      let reply = try require("POST", key, query: [("uploadId", upload)], .bytes(Array(document.utf8)))
      // "A 200 OK response can contain either a success or an error" (CompleteMultipartUpload).
      if String(decoding: reply.body, as: UTF8.self).contains("<Error>") { throw refusal(key, reply) }
    } catch {
      _ = try? send("DELETE", key, query: [("uploadId", upload)])
      throw error
    }
  }

  static func bytes(of path: String, at offset: Int64, count: Int) throws(MirrorError) -> [UInt8] {
    try MirrorError.disk { () throws(SystemError) in
      let file = try Kernel.open(path, .read)
      var bytes = [UInt8](repeating: 0, count: count)
      var filled = 0
      while filled < count {
        let got = try bytes.withUnsafeMutableBytes { buffer in
          let rest = UnsafeMutableRawBufferPointer(rebasing: buffer[filled...])
          return Result { () throws(SystemError) in
            try Kernel.read(file, at: offset + Int64(filled), into: rest)
          }
        }.get()
        if got == 0 { throw SystemError("read", on: path, code: .ioError) }
        filled += got
      }
      return bytes
    }
  }
}

/// Finds elements in the flat XML of S3's answers.
enum XMLText {
  /// Returns the text of the first element with this name, with entities decoded.
  static func first(_ name: String, in text: String) -> String? {
    guard let open = text.firstRange(of: "<\(name)>"),
      let close = text[open.upperBound...].firstRange(of: "</\(name)>")
    else { return nil }
    return decoded(text[open.upperBound..<close.lowerBound])
  }

  /// Returns the raw content of every element with this name.
  static func all(_ name: String, in text: String) -> [String] {
    text.split(separator: "<\(name)>").dropFirst().map { part in
      String(part[..<(part.firstRange(of: "</\(name)>")?.lowerBound ?? part.endIndex)])
    }
  }

  private static func decoded(_ text: Substring) -> String {
    guard text.utf8.contains(UInt8(ascii: "&")) else { return String(text) }
    var result = String(text)
    for (entity, character) in [
      ("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#34;", "\""), ("&apos;", "'"), ("&#39;", "'"),
      ("&amp;", "&"),
    ] {
      result = result.replacing(entity, with: character)
    }
    return result
  }
}
