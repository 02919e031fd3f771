import Compression
import Manifests
import System
import Testing

@Suite("Downloads")
struct DownloadTests {
  private static let script = String(repeating: "export const answer = 42;\n", count: 200)

  @Test("Headers, conditions and codings of a compressible file")
  func compressible() throws {
    try Site.with { site throws in
      try site.publish(["app.js": Self.script])
      let entry = try site.entry("app.js")
      let path = Site.path(of: entry)
      let plain = try site.web.ask(path)
      #expect(plain.status == 200 && plain.text == Self.script)
      let md5 = MD5.of(Array(Self.script.utf8)).hex
      #expect(entry?["md5"]?.string == md5)
      #expect(plain["etag"] == "\"\(md5)\"")
      #expect(plain["content-type"] == entry?["ctype"]?.string)
      #expect(plain["cache-control"] == "public, max-age=31536000, immutable")
      #expect(plain["vary"] == "Accept-Encoding, Available-Dictionary")
      #expect(plain["access-control-allow-origin"] == "*")
      #expect(plain["accept-ranges"] == "bytes")
      for coding in ["gzip", "zstd"] {
        let coded = try site.web.ask(path, "GET", ["Accept-Encoding": coding])
        #expect(coded["content-encoding"] == coding)
        let bytes =
          try coding == "gzip"
          ? Gzip.decode(coded.body, limit: 1 << 20) : Zstd.decode(coded.body, limit: 1 << 20)
        #expect(String(decoding: bytes, as: UTF8.self) == Self.script)
        #expect(coded["etag"] == "\"\(md5)-\(coding)-\(SHA256.of(coded.body).hex.prefix(16))\"")
        #expect(coded["vary"] == plain["vary"])
        let head = try site.web.ask(path, "HEAD", ["Accept-Encoding": coding])
        #expect(head["content-length"] == "\(coded.body.count)" && head["etag"] == coded["etag"])
        let again = try site.web.ask(
          path, "GET", ["Accept-Encoding": coding, "If-None-Match": coded["etag"] ?? ""])
        #expect(again.status == 304)
      }
      #expect(try site.web.ask(path, "GET", ["If-None-Match": "\"\(md5)\""]).status == 304)
      #expect(try site.web.ask(path, "GET", ["If-Match": "\"other\""]).status == 412)
    }
  }

  @Test("A compressed format is sent without a coding")
  func incompressible() throws {
    try Site.with { site throws in
      try site.publish(["photo.png": Self.script])
      let path = Site.path(of: try site.entry("photo.png"))
      let answer = try site.web.ask(path, "GET", ["Accept-Encoding": "gzip, zstd"])
      #expect(answer["content-type"] == "image/png")
      #expect(answer["content-encoding"] == nil && answer["vary"] == nil)
      #expect(answer.text == Self.script)
    }
  }

  struct Slice: Sendable {
    let range: String
    var condition: String?
    let status: Int
    var bytes: Range<Int>?
  }

  private static let digits = Shared.digits

  @Test(
    "Ranges",
    arguments: [
      Slice(range: "bytes=0-3", status: 206, bytes: 0..<4),
      Slice(range: "bytes=4-", status: 206, bytes: 4..<16),
      Slice(range: "bytes=-5", status: 206, bytes: 11..<16),
      Slice(range: "bytes=15-99", status: 206, bytes: 15..<16),
      Slice(range: "bytes=-99", status: 206, bytes: 0..<16), Slice(range: "bytes=16-", status: 416),
      Slice(range: "bytes=5-2", status: 200, bytes: 0..<16),
      Slice(range: "lines=0-1", status: 200, bytes: 0..<16),
      Slice(range: "bytes=0-1", condition: "same", status: 206, bytes: 0..<2),
      Slice(range: "bytes=0-1", condition: "\"other\"", status: 200, bytes: 0..<16),
    ])
  func ranges(_ slice: Slice) throws {
    try Shared.site { site throws in
      let path = Site.path(of: try site.site.entry("data.bin", app: "files"))
      var fields = ["Range": slice.range]
      let tag = "\"\(MD5.of(Array(Self.digits.utf8)).hex)\""
      if let condition = slice.condition { fields["If-Range"] = condition == "same" ? tag : condition }
      let answer = try site.web.ask(path, "GET", fields)
      #expect(answer.status == slice.status)
      if let bytes = slice.bytes { #expect(answer.body == Array(Array(Self.digits.utf8)[bytes])) }
      if slice.status == 206, let bytes = slice.bytes {
        #expect(answer["content-range"] == "bytes \(bytes.lowerBound)-\(bytes.upperBound - 1)/16")
      }
      if slice.status == 416 { #expect(answer["content-range"] == "bytes */16") }
      // RFC 9110, section 14.2: Range applies to GET only; a HEAD is answered as if there were none.
      #expect(try site.web.ask(path, "HEAD", fields).status == 200)
    }
  }

  @Test("Several ranges are sent as multipart/byteranges")
  func severalRanges() throws {
    try Shared.site { site throws in
      let answer = try site.web.ask(
        Site.path(of: try site.site.entry("data.bin", app: "files")), "GET", ["Range": "bytes=0-1, 8-9"])
      #expect(answer.status == 206)
      #expect(answer["content-type"]?.hasPrefix("multipart/byteranges; boundary=") == true)
      #expect(answer.text.contains("\r\n\r\n01\r\n") && answer.text.contains("\r\n\r\n89\r\n"))
    }
  }

  /// File names that a folder may contain.
  static let names = [
    "with space.js", "100%.html", "50%25.html", "a#b.css", "what?.js", "a&b=c;d+e.js", "käse.html",
    "日本語/ページ.html",
    "emoji-🎉.png", "e\u{301}.txt", "quote\"'.js", "back\\slash.js", "semi;colon,comma.js",
    "(round)[square]{curly}.js",
    "tilde~under_score-dash.dot", ".well-known/assetlinks.json", "deep/er/and/deep/er/file.js",
    "UPPER/Lower.HTML",
    "no-ending", "trailing.", "$@!*^|`<>.js", "%2e%2e", "%41.js", "+.js", "=.js", "tab\tname.js",
    "line\nbreak.js",
    String(repeating: "long-", count: 45) + "name.html", String(repeating: "ü", count: 100) + ".css",
  ]

  @Test("Files with unusual names are downloaded and compared", arguments: ["", "/hxm/tech"])
  func names(_ prefix: String) throws {
    try Site.with { site throws in
      site.options = ["--public-url", site.url + prefix]
      try site.crash()
      let files = Files(uniqueKeysWithValues: Self.names.map { ($0, "is \($0)") })
      try site.publish(files)
      let map = try #require(try site.poll()["data"]?["resourcemap"]?.object)
      #expect(map.count == files.count)
      var bodies: Set<String> = []
      for member in map.members {
        let answer = try site.web.ask(Site.path(of: member.value))
        #expect(answer.status == 200, "\(member.key)")
        bodies.insert(answer.text)
        #expect(MD5.of(answer.body).hex == member.value["md5"]?.string)
        #expect(SHA256.of(answer.body).hex == member.value["sha256"]?.string)
        #expect(answer.body.count == member.value["size"]?.integer.map { Int($0) })
      }
      #expect(bodies == Set(files.values))
      try site.pull("device", "--tree", Site.base)
      #expect(try site.tree(of: "device").texts == files)
      // Publishing again changes nothing, whatever the names.
      #expect(try site.publish(files)["changed"]?.bool == false)
    }
  }

  @Test(
    "A download path with one part changed is not found",
    arguments: ["name", "uuid", "app", "version", "resource", "space", "slash", "trailing", "dots"])
  func otherPaths(_ change: String) throws {
    try Shared.site { site throws in
      // Without the public URL's prefix, so that the first segment is the space.
      let path = String(
        Site.path(of: try site.site.entry("data.bin", app: "files")).dropFirst("/hxm/tech".count))
      var parts = path.split(separator: "/", omittingEmptySubsequences: true).map(String.init)
      #expect(try site.web.ask(path).status == 200)
      switch change {
      case "name": parts[5] = "other.js"
      case "uuid": parts[4] = String(parts[4].reversed())
      case "app": parts[1] = "9"
      case "version": parts[2] = "7"
      case "resource": parts[3] = "7"
      case "space": parts[0] = "xcache_test"
      case "slash": parts[2] = "01"
      case "trailing": parts.append("")
      default: parts.insert("..", at: 2)
      }
      #expect(try site.web.ask("/" + parts.joined(separator: "/")).status == 404)
    }
  }

  @Test("Under a public URL with a prefix, the origin answers with and without the prefix")
  func prefix() throws {
    try Site.with(["--public-url", "https://cdn.example.com/hxm/tech/"]) { site throws in
      try site.publish(["app.js": "1"])
      let download = try #require(try site.entry("app.js")?["download"]?.string)
      #expect(download.hasPrefix("https://cdn.example.com/hxm/tech/xcache/1/1/1/"))
      let path = Site.path(of: try site.entry("app.js"))
      #expect(path.hasPrefix("/hxm/tech/xcache/"))
      #expect(try site.web.ask(path).text == "1")
      #expect(try site.web.ask(String(path.dropFirst("/hxm/tech".count))).text == "1")
      #expect(try site.web.ask("/hxm" + path).status == 404)
    }
  }

  @Test("Protocol example: the last segment is the URL, escaped twice")
  func doubleEscaping() throws {
    try Site.with { site throws in
      try site.publish(["a b.js": "1"])
      let entry = try site.poll()["data"]?["resourcemap"]?["\(Site.base)/a%20b.js"]
      #expect(
        entry?["download"]?.string?.hasSuffix("/https%253A%252F%252Fm.example.com%252Fshop%252Fa%252520b.js")
          == true)
    }
  }
}
