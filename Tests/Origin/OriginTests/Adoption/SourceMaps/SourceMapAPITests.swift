import Manifests
import OriginAPI
import Store
import System
import Testing
import TestSupport
import Values

@testable import Origin

/// Source maps come by the API, are read by it, and are never given to anybody.
@Suite struct SourceMapAPITests {
  private static let path = "apps/shop/channels/online/source-maps"
  private static let map = Array(BuiltScript.map.utf8)
  private static let script = Array(BuiltScript.text.utf8)

  private static func body(_ file: [UInt8] = script, _ map: [UInt8] = map, size: Int? = nil) -> JSONValue {
    [
      "maps": [
        [
          "file": .string(SHA256.of(file).hex), "map": .string(SHA256.of(map).hex),
          "size": .integer(size ?? map.count),
        ]
      ]
    ]
  }

  private static func send(_ bytes: [UInt8], _ origin: TestOrigin) throws {
    _ = try origin.store.receive(
      bytes.span.bytes, BlobClaim(sha256: .of(bytes), md5: .of(bytes), size: Int64(bytes.count)))
  }

  /// An origin whose version 1 has the built script and its map.
  private static func made() throws -> TestOrigin {
    let origin = try TestOrigin()
    try origin.publish(["app.js": BuiltScript.text, "index.html": "<p>"])
    try send(map, origin)
    #expect(try origin.api("POST", path, body()).status == 201)
    return origin
  }

  @Test func stacksAreRead() throws {
    let origin = try Self.made()
    let channel = try origin.store.channel(AppName("shop"), .online)
    let url = "https://m.example.com/app.js"
    let frames = [
      StackReader.Frame(url: url, line: 1, column: 78), .init(url: url + "?v=", line: 1, column: 155),
      .init(url: url, line: 1, column: 160), .init(url: "https://m.example.com/other.js", line: 1, column: 1),
      .init(url: "not a URL", line: 1, column: 1), .init(url: url, line: 0, column: -5),
      .init(url: url, line: .max, column: .max),
    ]
    let reader = origin.origin.api.stacks
    let found = reader.positions(of: [frames], version: ManifestVersion(1), channel: channel)[0]
    try #require(found.count == frames.count)
    let first = try #require(found[0])
    #expect(first.file == "src/cart.ts" && first.line == 7 && first.column == 27)
    // The frame after it calls `r`, which was `totalOf`.
    #expect(first.function == "totalOf" && first.excerptLine == 5 && first.excerpt?.count == 5)
    #expect(found[1]?.line == 4 && found[1]?.file == "src/page.ts" && found[1]?.function == "renderCart")
    #expect(found[2]?.line == 7 && found[2]?.function == nil)
    #expect(found[3...].allSatisfy { $0 == nil })
    // A version without the file, and one that there isn't.
    try origin.publish(["index.html": "<p>2"], remove: ["app.js"])
    #expect(
      reader.positions(of: [frames], version: ManifestVersion(2), channel: channel)[0].allSatisfy {
        $0 == nil
      })
    #expect(
      reader.positions(of: [frames], version: ManifestVersion(9), channel: channel)[0].allSatisfy {
        $0 == nil
      })
    #expect(reader.positions(of: [], version: ManifestVersion(1), channel: channel).isEmpty)
  }

  /// A function is that of its own stack, in whatever order the places are in the script; and the work has an end.
  @Test func eachStackHasItsFunctions() throws {
    let origin = try Self.made()
    let url = "https://m.example.com/app.js"
    let report = [
      #"{"sample":{"engine":"WebKit 605.1","kind":"script","message":"a","page":"https://m.example.com/","#,
      #""stack":["t@\#(url):1:155","r@\#(url):1:78"]},"version":"1"}"#,
    ].joined()
    #expect(
      try origin.ask("POST", "/report?app=shop&channel=online", body: Array(report.utf8)).status == 200)
    let samples = try origin.api("GET", "apps/shop/channels/online/samples").json["samples"]?.array
    let frames = try #require(samples?.first?["stack"]?.array)
    #expect(frames.count == 2 && frames[0]["source"]?["line"]?.integer == 4)
    // The last frame has no caller, although its place comes first in the script.
    #expect(frames[1]["source"]?["line"]?.integer == 7 && frames[1]["source"]?["function"] == nil)

    let channel = try origin.store.channel(AppName("shop"), .online)
    let (inner, outer) = (
      StackReader.Frame(url: url, line: 1, column: 78), StackReader.Frame(url: url, line: 1, column: 155)
    )
    let late = StackReader(store: origin.store, time: 0)
    let found = late.positions(of: [[inner, outer], [inner]], version: ManifestVersion(1), channel: channel)
    #expect(found.map(\.count) == [2, 1] && found[0][0] != nil && found[0][1] == nil && found[1][0] != nil)
  }

  /// A hundred large maps could otherwise occupy all workers for minutes, also for clients that have gone.
  @Test func afterATimeNoFurtherMapIsRead() throws {
    let origin = try Self.made()
    let channel = try origin.store.channel(AppName("shop"), .online)
    let stack = [StackReader.Frame(url: "https://m.example.com/app.js", line: 1, column: 78)]
    let version = ManifestVersion(1)
    let late = StackReader(store: origin.store, reading: 0)
    #expect(late.positions(of: [stack], version: version, channel: channel) == [[nil]])
    let reader = StackReader(store: origin.store)
    let gone = Cancellation()
    gone.cancel()
    let found = Cancellation.$current.withValue(gone) {
      reader.positions(of: [stack], version: version, channel: channel)
    }
    #expect(found == [[nil]])
    #expect(reader.positions(of: [stack], version: version, channel: channel)[0][0] != nil)
  }

  /// The same request answers the same, and another one finds the map there.
  @Test func twiceIsOnce() throws {
    let origin = try Self.made()
    let lines = ["Authorization: Bearer \(origin.token)", "Idempotency-Key: 5ed0b5ae-source-maps"]
    let other = Array(#"{"version":3,"mappings":""}"#.utf8)
    try Self.send(other, origin)
    let body = Self.body(Self.script, other).canonical
    let first = try origin.ask("POST", "/api/v1/" + Self.path, lines, body: body)
    let second = try origin.ask("POST", "/api/v1/" + Self.path, lines, body: body)
    #expect(first.status == 201 && second.status == 201 && first.body == second.body)
    #expect(first.json["stored"]?.integer == 1)
    let third = try origin.api("POST", Self.path, Self.body(Self.script, other))
    #expect(third.status == 200 && third.json["known"]?.integer == 1 && third.json["stored"]?.integer == 0)
  }

  @Test func whatIsRefused() throws {
    let origin = try TestOrigin()
    try origin.publish(["app.js": BuiltScript.text])
    let missing = try origin.api("POST", Self.path, Self.body())
    #expect(missing.status == 422 && missing.json["code"]?.string == "missing-blobs")
    try Self.send(Self.map, origin)
    #expect(try origin.api("POST", Self.path, Self.body(size: 5)).status >= 400)
    #expect(try origin.api("POST", Self.path, Self.body(size: 65 << 20)).status == 400)
    #expect(try origin.api("POST", Self.path, Self.body(Self.map, Self.map)).status == 400)
    #expect(try origin.api("POST", Self.path, ["maps": []]).status == 400)
    #expect(try origin.api("POST", Self.path, [:]).status == 400)
    #expect(try origin.api("POST", Self.path, ["maps": [["file": "x"]]]).status == 400)
    #expect(try origin.api("POST", "apps/none/channels/online/source-maps", Self.body()).status == 404)
    #expect(try origin.api("GET", Self.path).status == 405)
    // The script was never sent.
    let unknown = try origin.api("POST", Self.path, Self.body(Array("unknown".utf8)))
    #expect(unknown.status == 422 && unknown.json["code"]?.string == "missing-blobs")
  }

  /// A token for other bundles changes nothing.
  @Test func otherBundles() throws {
    let origin = try TestOrigin()
    try origin.publish(["app.js": BuiltScript.text])
    try Self.send(Self.map, origin)
    let limited = try origin.store.createToken(
      name: "help", scope: .publish, app: AppName("shop"), bundles: BundleGlob("help"))
    let reply = try origin.api("POST", Self.path, Self.body(), token: limited.text)
    #expect(reply.status == 200 && reply.json["refused"]?.integer == 1)
    let channel = try origin.store.channel(AppName("shop"), .online)
    #expect(try origin.store.sourceMaps(of: [SHA256.of(Self.script)], in: channel).isEmpty)
    let reader = try origin.store.createToken(name: "reader", scope: .read)
    #expect(try origin.api("POST", Self.path, Self.body(), token: reader.text).status == 403)
  }

  /// Whatever URL is made of a map's digest, nothing of it comes back: all forms of downloads, and the API.
  @Test func noURLServesAMap() throws {
    let origin = try Self.made()
    let (sha256, script) = (SHA256.of(Self.map), SHA256.of(Self.script))
    let (uuid, name) = (ResourceUUID(sha256).text, "https%253A%252F%252Fm.example.com%252Fapp.js")
    let download = try #require(
      try origin.api("GET", "apps/shop/channels/online/entry?url=https://m.example.com/app.js").json[
        "download"]?
        .string)
    let place = String(download.dropFirst("https://cdn.example.com".count))
    let real = try origin.ask("GET", place)
    #expect(real.status == 200 && real.body == Self.script)
    let scriptUUID = ResourceUUID(script).text
    var paths = [
      place.replacing(scriptUUID, with: uuid), place.replacing(scriptUUID, with: sha256.hex), place + ".map",
      place.replacing("app.js", with: "app.js.map"), "/hxm/1/1/1/\(uuid)/\(name).map",
      "/hxm/1/1/1/\(uuid)/\(name)",
    ]
    for prefix in ["/hxm", "/hxm/online/shop", "/online/shop", "/hxm/online", ""] {
      paths += [
        "\(prefix)/delta/\(sha256)-\(script)", "\(prefix)/delta/\(script)-\(sha256)",
        "\(prefix)/\(sha256)/\(script).dcz", "\(prefix)/\(script)/\(sha256).dcz",
        "\(prefix)/blobs/\(sha256)", "\(prefix)/blobs/\(sha256.hex.prefix(2))/\(sha256.hex.dropFirst(2))",
        "\(prefix)/\(sha256)", "\(prefix)/source-maps/\(sha256)", "\(prefix)/app.js.map",
      ]
    }
    paths.append(
      DeltaPath(channel: .online, target: sha256, base: script).url(publicURL: try BaseURL("http://x")))
    paths.append(
      DeltaPath(channel: .online, target: script, base: sha256).url(publicURL: try BaseURL("http://x")))
    for api in ["blobs/\(sha256)", "source-maps/\(sha256)", Self.path, "\(Self.path)/\(sha256)"] {
      paths.append("/api/v1/\(api)")
    }
    for path in paths {
      let target = path.hasPrefix("http://x") ? String(path.dropFirst("http://x".count)) : path
      for lines in [[], ["Authorization: Bearer \(origin.token)"], ["Accept-Encoding: gzip, zstd"]] {
        let reply = try origin.ask("GET", target, lines)
        #expect(!(200..<300).contains(reply.status), "\(target)")
        #expect(!reply.text.contains("totalOf") && reply.body != Self.map, "\(target)")
      }
    }
    // Nor what lists a channel's files.
    for listing in [
      "manifest", "mirror/resources", "mirror/document", "bundles/main/entries", "diff?from=0&to=1",
    ] {
      let reply = try origin.api("GET", "apps/shop/channels/online/\(listing)")
      #expect(!reply.text.contains(sha256.hex) && !reply.text.contains("totalOf"), "\(listing)")
    }
    let zip = try origin.ask("GET", "/hxm/xcache/shop/bundle/1.zip")
    #expect(zip.status == 200 && !zip.text.contains(".map"))
  }

  /// At most four maps stay in memory, and for minutes only.
  @Test func memoryIsLimited() throws {
    let origin = try Self.made()
    var names: [SHA256] = []
    for number in 0..<6 {
      let map = Array(#"{"version":3,"mappings":"","file":"\#(number)"}"#.utf8)
      try Self.send(map, origin)
      let script = Array("script \(number)".utf8)
      try Self.send(script, origin)
      #expect(try origin.api("POST", Self.path, Self.body(script, map)).status == 201)
      names.append(SHA256.of(map))
    }
    let cache = SourceMapCache(store: origin.store)
    for (index, name) in names.enumerated() {
      #expect(cache.map(name)?.file == "\(index)")
      #expect(cache.count == min(4, index + 1))
    }
    #expect(cache.map(SHA256.of([1])) == nil && cache.count == 4)
    cache.dropOld()
    #expect(cache.count == 4)
    cache.dropOld(now: Clock.monotonicNanoseconds() + 301_000_000_000)
    #expect(cache.count == 0)
  }
}
