import Compression
import HTTP
import System
import Testing
import Values

@testable import Origin

/// Request bodies coded with zstd or gzip.
@Suite struct RequestCodingTests {
  private static let online = "apps/shop/channels/online"

  static let codings: [(name: String, code: @Sendable ([UInt8]) -> [UInt8])] = [
    ("zstd", { Zstd.encode([$0]) }), ("gzip", { Gzip.encode([$0]) }), ("X-GZip", { Gzip.encode([$0]) }),
  ]

  private static func ask(
    _ origin: TestOrigin, _ path: String, _ body: [UInt8], coding: String?, _ more: [String] = [],
    method: String = "POST"
  ) throws -> TestOrigin.Reply {
    let lines = ["Authorization: Bearer \(origin.token)"] + (coding.map { ["Content-Encoding: \($0)"] } ?? [])
    return try origin.ask(method, "/api/v1/\(path)", lines + more, body: body)
  }

  @Test(arguments: codings)
  func releaseIsTheSameInAnyCoding(_ coding: (name: String, code: @Sendable ([UInt8]) -> [UInt8]))
    throws
  {
    let origin = try TestOrigin()
    let body = try origin.release(["a.js": "a", "b.js": "b"]).canonical
    let key = ["Idempotency-Key: 0123456789abcdef"]
    let path = "\(Self.online)/releases"
    let reply = try Self.ask(origin, path, coding.code(body), coding: coding.name, key)
    #expect(reply.status == 201, "\(reply.text)")
    // A retry with another coding or none is the same request; another body isn't.
    for (name, code) in Self.codings {
      let again = try Self.ask(origin, path, code(body), coding: name, key)
      #expect(again.status == 201 && again.body == reply.body, "\(name): \(again.text)")
    }
    let plain = try Self.ask(origin, path, body, coding: nil, key)
    #expect(plain.status == 201 && plain.body == reply.body)
    let other = try Self.ask(origin, path, coding.code(body + [0x20]), coding: coding.name, key)
    #expect(other.status == 422 && other.json["code"]?.string == "idempotency-key", "\(other.text)")
    #expect(try origin.api("GET", Self.online).json["version"]?.string == "1")
  }

  @Test func answersHaveAcceptEncoding() throws {
    let origin = try TestOrigin()
    #expect(try origin.api("GET", Self.online).field("Accept-Encoding") == "zstd, gzip")
    try origin.publish(["a.js": "a"])
    #expect(try origin.api("GET", Self.online).field("Accept-Encoding") == "zstd, gzip")
  }

  @Test(arguments: ["br", "zstd, gzip", "deflate", "zstd;q=1"]) func unknownCodings(_ name: String) throws {
    let origin = try TestOrigin()
    for path in ["\(Self.online)/releases", "blobs", "gc"] {
      let reply = try Self.ask(origin, path, Array("{}".utf8), coding: name)
      #expect(reply.status == 415 && reply.json["code"]?.string == "content-coding", "\(reply.text)")
      #expect(reply.field("Accept-Encoding") == "zstd, gzip")
    }
    // Without a token, the codings aren't disclosed.
    let reply = try origin.ask("POST", "/api/v1/gc", ["Content-Encoding: \(name)"], body: [])
    #expect(reply.status == 401)
  }

  @Test func twoFieldsAreTwoCodings() throws {
    let origin = try TestOrigin()
    let reply = try Self.ask(origin, "gc", Array("{}".utf8), coding: "gzip", ["Content-Encoding: zstd"])
    #expect(reply.status == 415)
  }

  @Test func identityIsAccepted() throws {
    let origin = try TestOrigin()
    let body = try origin.release(["a.js": "a"]).canonical
    #expect(try Self.ask(origin, "\(Self.online)/releases", body, coding: "identity").status == 201)
  }

  /// 300 MB of spaces are a few KB when coded; the limit of 256 MB applies to the decoded size.
  @Test(arguments: codings.prefix(2).map(\.name)) func decompressionBomb(_ name: String) throws {
    let origin = try TestOrigin { $0.largestUpload = 100_000 }
    let code = try #require(Self.codings.first { $0.name == name }).code
    let small = code([UInt8](repeating: 0x20, count: 70_000))
    #expect(small.count < 1000)
    let late = try Self.ask(origin, "gc", small, coding: name)
    #expect(late.status == 413 && late.json["code"]?.string == "too-large", "\(late.text)")
    let pack = try Self.ask(
      origin, "blobs", code([UInt8](repeating: 0x20, count: 200_000)), coding: name,
      ["Content-Type: application/vnd.xcache.pack"])
    // It is refused as invalid before it is too long.
    #expect(pack.status == 400)
    let bytes = [UInt8](repeating: 0x20, count: 200_000)
    let file = try Self.ask(
      origin, "blobs/\(SHA256.of(bytes))", code(bytes), coding: name,
      ["Content-MD5: \(Base64.encode(MD5.of(bytes).bytes))"], method: "PUT")
    #expect(file.status == 413, "\(file.text)")
    let piece = [UInt8](repeating: 0x20, count: 1 << 20)
    let pieces = [[UInt8]](repeating: piece, count: 257)
    let bomb = name == "zstd" ? Zstd.encode(pieces) : Gzip.encode(pieces)
    #expect(bomb.count < 1 << 20)
    let reply = try Self.ask(origin, "\(Self.online)/releases", bomb, coding: name)
    // Long before its end.
    #expect(
      reply.status == 400 && reply.text.contains("white space of more than 65536 bytes"), "\(reply.text)")
  }

  /// The memory for a document is related to what was sent, even if no white space is too long.
  @Test func highlyCompressedDocument() throws {
    let origin = try TestOrigin()
    let path = "\(Self.online)/releases"
    let begin = Array("{\"bundles\":[{\"bundle\":\"main\",\"remove\":[".utf8)
    let url = Array("\"https://m.example.com/a.js\",\(String(repeating: " ", count: 60_000))".utf8)
    let bomb = Zstd.encode([begin] + [[UInt8]](repeating: url, count: 500))
    #expect(bomb.count < 20_000)
    let refused = try Self.ask(origin, path, bomb, coding: "zstd")
    #expect(refused.status == 413 && refused.json["code"]?.string == "content-coding", "\(refused.text)")
    #expect(refused.json["detail"]?.string?.contains("500 times") == true)
    // The same content under many URLs is accepted.
    let digest = SHA256.of(Array("same".utf8)).hex
    let content =
      "{\"ctype\":\"text/css\",\"md5\":\"\(MD5.of(Array("same".utf8)).hex)\",\"sha256\":\"\(digest)\",\"size\":4}"
    let set = (0..<8000).map { "\"https://m.example.com/static/\(100_000 + $0).css\":\(content)" }
    let release =
      "{\"bundles\":[{\"bundle\":\"main\",\"set\":{\(set.joined(separator: ","))}}],\"dryRun\":true,\"now\":true}"
    let reply = try Self.ask(origin, path, Zstd.encode([Array(release.utf8)]), coding: "zstd")
    #expect(reply.status == 200, "\(reply.text.prefix(300))")
  }

  @Test(arguments: codings.prefix(2).map(\.name)) func truncatedOrDamagedBody(_ name: String) throws {
    let origin = try TestOrigin()
    let body = try origin.release(["a.js": "a", "b.js": "b"]).canonical
    let code = try #require(Self.codings.first { $0.name == name }).code
    let coded = code(body)
    let path = "\(Self.online)/releases"
    var bad = [
      Array(coded.dropLast()), Array(coded.prefix(10)), [], coded + [0], coded + coded,
      coded + coded.dropLast(), body,
    ]
    var flipped = coded
    flipped[0] ^= 1
    bad.append(flipped)
    for (index, bytes) in bad.enumerated() {
      let reply = try Self.ask(origin, path, bytes, coding: name)
      #expect(reply.status == 400, "\(index): \(reply.status) \(reply.text)")
    }
    #expect(try origin.api("GET", Self.online).status == 404)
  }

  /// The output of `zstd --long=27` is valid, but needs too much memory.
  @Test func tooLargeWindow() throws {
    let origin = try TestOrigin()
    // Magic, a descriptor with a window, 2^27 bytes of it, an empty last block.
    let frame: [UInt8] = [0x28, 0xB5, 0x2F, 0xFD, 0x00, (27 - 10) << 3, 0x01, 0x00, 0x00]
    for path in ["\(Self.online)/releases", "gc"] {
      let reply = try Self.ask(origin, path, frame, coding: "zstd")
      #expect(reply.status == 415 && reply.json["code"]?.string == "content-coding", "\(reply.text)")
      let words = reply.json["detail"]?.string ?? ""
      #expect(words.contains("a window of more than the 8 MiB") && words.contains("--long"), "\(words)")
    }
  }

  /// Several members or frames are one body.
  @Test(arguments: codings.prefix(2).map(\.name)) func severalMembers(_ name: String) throws {
    let origin = try TestOrigin()
    let body = try origin.release(["a.js": "a", "b.js": "b"]).canonical
    let code = try #require(Self.codings.first { $0.name == name }).code
    let parts = [body[..<10], [], body[10..<11], body[11...]].map { code(Array($0)) }
    let reply = try Self.ask(origin, "\(Self.online)/releases", Array(parts.joined()), coding: name)
    #expect(reply.status == 201, "\(reply.text)")
    // Empty members aren't accepted without end.
    let nothing = code([])
    let endless = Array(repeatElement(nothing, count: (2 << 20) / nothing.count).joined())
    let refused = try Self.ask(origin, "\(Self.online)/releases", endless + code(body), coding: name)
    #expect(refused.status == 400, "\(refused.text)")
  }

  @Test(arguments: codings.prefix(2).map(\.name)) func files(_ name: String) throws {
    let origin = try TestOrigin()
    let code = try #require(Self.codings.first { $0.name == name }).code
    var pack: [UInt8] = []
    var digests: [String] = []
    for number in 0..<2000 {
      let bytes = Array("file \(number)".utf8)
      digests.append(SHA256.of(bytes).hex)
      pack += Array("\(SHA256.of(bytes)) \(MD5.of(bytes)) \(bytes.count)\n".utf8) + bytes
    }
    let reply = try Self.ask(
      origin, "blobs", code(pack), coding: name, ["Content-Type: application/vnd.xcache.pack"])
    #expect(reply.status == 200 && reply.json["stored"]?.integer == 2000, "\(reply.text)")
    let bytes = [UInt8](repeating: 7, count: 100_000)
    let file = try Self.ask(
      origin, "blobs/\(SHA256.of(bytes))", code(bytes), coding: name,
      ["Content-MD5: \(Base64.encode(MD5.of(bytes).bytes))"], method: "PUT")
    #expect(file.status == 201, "\(file.text)")
    digests.append(SHA256.of(bytes).hex)
    let other = SHA256.of(Array("nobody has it".utf8)).hex
    let question = JSONValue.object(
      JSONObject([
        .init(key: "answer", value: "present"), .init(key: "sha256", value: .strings(digests + [other])),
      ]))
    let there = try Self.ask(origin, "blobs/missing", code(question.canonical), coding: name)
    #expect(there.json["present"]?.array?.compactMap(\.string) == digests, "\(there.text.prefix(200))")
    #expect(there.json["missing"] == nil)
  }
}
