import Compression
import System
import Testing

@testable import Manifests
@testable import Values

/// Writes the vectors that programs generate: packs, deltas and change lists. The others are written by hand, or by the
/// decoder in Python.
@Suite struct VectorWriter {
  private typealias Files = [(path: String, text: String, ctype: String, headers: [String: String])]

  private static let front = "const e=import"

  private static func site(_ index: String, _ vendor: String, _ edit: String) -> Files {
    let words = (0..<40).map { "e\($0 * 7919 % 97)=()=>t(\($0 * 31 % 17))" }.joined(separator: ";")
    return [
      (
        "index.html", "<!doctype html><script type=module src=/assets/index.\(index).js></script>\(edit)",
        "text/html", [:]
      ),
      (
        "assets/index.\(index).js", "\(front)(\"./vendor.\(vendor).js\");\(words)\(edit)", "text/javascript",
        [:]
      ),
      ("assets/vendor.\(vendor).js", "\(front)(\"./index.\(index).js\");\(words)", "text/javascript", [:]),
    ]
  }

  private static let colors = (0..<30).map { "p\($0){color:#\(100 + $0 * 29)}" }.joined()

  private static let old: Files =
    site("Ab3dEf12", "Qq11ww22", "") + [
      ("about.html", "<p>about", "text/html", ["Referrer-Policy": "origin"]),
      ("assets/logo.svg", "<svg/>", "image/svg", [:]),
      ("assets/style.Cc44dd55.css", "p{color:#123}", "text/css", [:]),
      ("main.css", colors, "text/css", [:]),
      ("old.html", "<p>old", "text/html", [:]),
      ("same.txt", "stays as it is", "text/plain", [:]),
    ]

  private static let new: Files =
    site("Zz9_-x77", "Rr33ee44", "/*new*/") + [
      ("about.html", "<p>about", "text/html", ["Referrer-Policy": "no-referrer"]),
      ("assets/extra1.js", "\(front)(\"./vendor.Qq11ww22.js\");extra", "text/javascript", [:]),
      ("assets/extra2.js", "\(front)(\"./vendor.Rr33ee44.js\");extra", "text/javascript", [:]),
      ("assets/logo.svg", "<svg/>", "image/svg+xml", [:]),
      ("assets/style.Dd66ff77.css", "p{color:#123}", "text/css", [:]),
      ("copy.txt", "stays as it is", "text/plain", [:]),
      ("empty.txt", "", "text/plain", [:]),
      ("main.css", "\(colors)b{}", "text/css", [:]),
      ("new.html", "<p>new", "text/html", [:]),
      ("\(String(repeating: "long", count: 50)).html", "<p>long name", "text/html", [:]),
      ("same.txt", "stays as it is", "text/plain", [:]),
      ("twin.html", "<p>new", "text/html", [:]),
    ]

  private static let oldLazy: Files = [
    ("assets/index.Ab3dEf12.js", "\(front)(\"./a\");one", "text/javascript", [:]),
    ("assets/index.Ab3dEf12.js.map", "{\"mappings\":\"AAAA\"}", "application/json", [:]),
    ("index.html", "<script src=/assets/index.Ab3dEf12.js></script>", "text/html", [:]),
    ("locales/de.json", "{\"hello\":\"Hallo\"}", "application/json", [:]),
    ("locales/fr.json", "{\"hello\":\"Bonjour\"}", "application/json", [:]),
    ("locales/pl.json", "{\"hello\":\"Cześć\"}", "application/json", [:]),
    ("notes.txt", "what was never lazy", "text/plain", [:]),
  ]

  /// Of the lazy files, one changes with its name, one only its type, one is no longer lazy, one has been listed already, and two are new.
  private static let newLazy: Files = [
    ("assets/index.Zz9_-x77.js", "\(front)(\"./a\");two", "text/javascript", [:]),
    ("assets/index.Zz9_-x77.js.map", "{\"mappings\":\"AABB\"}", "application/json", [:]),
    ("index.html", "<script src=/assets/index.Zz9_-x77.js></script>", "text/html", [:]),
    ("locales/de.json", "{\"hello\":\"Hallo\"}", "application/json;charset=UTF-8", [:]),
    ("locales/es.json", "{\"hello\":\"Hola\"}", "application/json", [:]),
    ("locales/fr.json", "{\"hello\":\"Bonjour\"}", "application/json", [:]),
    ("locales/it.json", "", "application/json", [:]),
    ("locales/pl.json", "{\"hello\":\"Cześć\"}", "application/json", [:]),
    ("notes.txt", "what was never lazy", "text/plain", [:]),
    ("polish.json", "{\"hello\":\"Cześć\"}", "application/json", [:]),
    ("spanish.json", "{\"hello\":\"Hola\"}", "application/json", [:]),
  ]

  private static func manifest(
    _ version: Int64, _ site: Files, after before: Manifest, base: String, lazy: [String] = [],
    _ files: inout [SHA256: [UInt8]]
  ) throws -> Manifest {
    var items: [ManifestItem] = []
    for file in site {
      let url = try ResourceURL("https://m.example.com/\(file.path)")
      let digest = PackSample.digest(of: Array(file.text.utf8))
      files[digest.sha256] = Array(file.text.utf8)
      var others = JSONObject()
      for header in file.headers { others["headers"] = [header.key: .string(header.value)] }
      if lazy.contains(where: { file.path.hasSuffix($0) }) { others[Entry.lazyKey] = true }
      let form = EntryForm(ctype: file.ctype, others: others, downloadBase: base)
      if let old = before[url], old.sha256 == digest.sha256, EntryForm(old) == form {
        items.append(ManifestItem(url: url, entry: old))
        continue
      }
      let arrival = PackChanges.Arrival(
        url: url, partner: nil, form: form, version: (before[url]?.version ?? 0) + 1,
        manifestVersion: ManifestVersion(version), source: .held(0))
      items.append(ManifestItem(url: url, entry: try #require(arrival.entry(digest))))
    }
    return Manifest(version: ManifestVersion(version), items: items)
  }

  @Test(.enabled(if: Vectors.areRecorded)) func packs() throws {
    var files: [SHA256: [UInt8]] = [:]
    let base = "https://cdn.example.com/hxm/tech/xcache/1"
    let first = try Self.manifest(552, Self.old, after: .empty, base: base, &files)
    let second = try Self.manifest(553, Self.new, after: first, base: base, &files)
    let third = try Self.manifest(
      554, Array(Self.new.dropLast(8)), after: second, base: base, &files)
    let moved = try Self.manifest(
      556, Array(Self.new.dropLast(8)), after: third, base: "https://new.example.com/xcache/1", &files)
    var cases: [JSONValue] = []
    func add(_ what: String, _ name: String, _ sample: PackSample, _ pack: [UInt8]) throws -> JSONValue {
      try Vectors.write(pack, "packs/\(name).xpk")
      let answer: JSONValue = [
        "base": .string(sample.base.version.text), "digest": .string(sample.new.map.digest.hex),
        "version": .string(sample.new.version.text),
      ]
      cases.append(["answer": answer, "pack": .string("packs/\(name).xpk"), "what": .string(what)])
      return cases[cases.count - 1]
    }
    let release = PackSample(base: first, new: second, files: files)
    let plan = try #require(release.plan())
    func index(of path: String) throws -> Int {
      try #require(first.items.firstIndex { $0.url.text == "https://m.example.com/\(path)" })
    }
    let pack = try release.pack(over: [
      try ResourceURL("https://m.example.com/assets/extra1.js"): (
        try index(of: "assets/index.Ab3dEf12.js"), false
      ),
      try ResourceURL("https://m.example.com/assets/extra2.js"): (
        try index(of: "assets/index.Ab3dEf12.js"), true
      ),
    ])
    let good = try add("a release with every source", "release", release, pack)
    _ = try add(
      "entries that only go: no record", "removal", PackSample(base: second, new: third, files: files),
      try PackSample(base: second, new: third, files: files).pack())
    _ = try add(
      "another public URL: every entry changes, no file", "moved",
      PackSample(base: third, new: moved, files: files),
      try PackSample(base: third, new: moved, files: files).pack())
    cases += try damaged(good, pack, release, plan)
    let locales = ["de.json", "es.json", "it.json", "pl.json"].map { "locales/\($0)" }
    let few = try Self.manifest(
      560, Self.oldLazy, after: .empty, base: base, lazy: [".map", "locales/fr.json"] + locales, &files)
    let more = try Self.manifest(
      561, Self.newLazy, after: few, base: base, lazy: [".map"] + locales, &files)
    let lazy = PackSample(base: few, new: more, files: files)
    let partial = try lazy.pack()
    cases += try leavingOut(
      try add("a release that leaves lazy files out", "lazy", lazy, partial), few)
    var maps = JSONObject()
    for manifest in [first, second, third, moved, few, more] {
      maps[manifest.version.text] = try JSONValue.parse(manifest.map.bytes)
      for item in manifest.items {
        try Vectors.write(files[item.entry.sha256] ?? [], "files/\(item.entry.sha256)")
      }
    }
    let text =
      "{\"cases\":\(Vectors.lines(cases)),\n\"resourcemaps\":"
      + "\(String(decoding: JSONValue.object(maps).canonical, as: UTF8.self))}\n"
    try Vectors.write(Array(text.utf8), "packs.json")
  }

  /// Adds that a device has none of the lazy files, and the same pack in the form that can't leave files out.
  private func leavingOut(_ good: JSONValue, _ base: Manifest) throws -> [JSONValue] {
    var (without, first) = (try #require(good.object), try #require(good.object))
    without["missing"] = .strings(base.items.filter(\.entry.isLazy).map(\.entry.sha256.hex))
    without["what"] = "a release that leaves lazy files out, for a device without any"
    first["edits"] = [["at": 3, "xor": 3]]
    first["error"] = true
    first["what"] = "XPK1 with files left out"
    return [.object(without), .object(first)]
  }

  private func damaged(_ good: JSONValue, _ pack: [UInt8], _ sample: PackSample, _ plan: PackPlan) throws
    -> [JSONValue]
  {
    let head = try #require(try PackHead.read(pack)).length
    let coded = Int(try #require(try PackHead.read(pack)).head.changes.coded)
    let record = try #require(try PackRecordHead.read(Array(pack[(head + coded)...])))
    func flip(_ at: Int, _ xor: Int = 1) -> JSONValue { [["at": .integer(at), "xor": .integer(xor)]] }
    let edits: [(String, JSONValue)] = [
      ("another magic number", flip(3)), ("another base", flip(4)), ("another version", flip(6)),
      ("another base digest", flip(8)), ("another digest", flip(40)), ("another number of records", flip(72)),
      ("another length of the change list", flip(73)), ("another length of its frame", flip(head - 9)),
      ("another check of the change list", flip(head - 1)),
      ("a damaged change list", flip(head + coded / 2, 0x10)),
      ("another length of a record", flip(head + coded)),
      ("another check of a record", flip(head + coded + 2)),
      ("a damaged record", flip(head + coded + record.length + Int(record.head.length) - 1, 0x40)),
      ("nothing", [["cut": 0]]), ("half a head", [["cut": .integer(head / 2)]]),
      ("half a change list", [["cut": .integer(head + coded / 2)]]),
      ("without its last byte", [["cut": .integer(pack.count - 1)]]), ("a byte too many", [["append": "00"]]),
    ]
    var cases: [JSONValue] = []
    func add(_ what: String, _ key: String, _ value: JSONValue) {
      guard var object = good.object else { return }
      object["what"] = .string(what)
      object["error"] = true
      object[key] = value
      cases.append(.object(object))
    }
    for edit in edits { add(edit.0, "edits", edit.1) }
    add("on another manifest", "base", "553")
    let needed = sample.base.items.first { $0.url.text.contains("vendor") }
    add("a base isn't held", "missing", [.string(try #require(needed).entry.sha256.hex)])
    var answer = try #require(good["answer"]?.object)
    answer["digest"] = .string(sample.base.map.digest.hex)
    add("not what the answer says", "answer", .object(answer))
    return cases
  }

  /// Of the manifests and files that `packs()` writes.
  @Test(.enabled(if: Vectors.areRecorded)) func firstPacks() throws {
    let all = try #require(try Vectors.json("packs.json")["resourcemaps"])
    var maps = JSONObject()
    for name in ["552", "553"] { maps[name] = all[name] }
    var cases: [JSONValue] = []
    func add(_ what: String, _ name: String, _ map: String, _ more: [String: JSONValue]) {
      var object = JSONObject()
      object["what"] = .string(what)
      object["pack"] = .string("packs/first-\(name).xpk")
      object["resourcemap"] = .string(map)
      for (key, value) in more { object[key] = value }
      cases.append(.object(object))
    }
    let old = try Self.firstFiles(try #require(maps["552"])),
      new = try Self.firstFiles(try #require(maps["553"]))
    let pack = try Self.firstPack("552", 552, old)
    _ = try Self.firstPack("553", 553, new)
    func digests(_ files: [[UInt8]]) -> JSONValue { .strings(files.map { SHA256.of($0).hex }) }
    add("every file of a manifest", "552", "552", ["files": digests(old)])
    add("a file of no bytes, and one that two URLs have", "553", "553", ["files": digests(new)])
    add(
      "a later manifest: what it doesn't have is passed over", "552", "553",
      ["files": digests(old.filter(new.contains))])
    let items = old.map { FirstPackItem(SHA256.of($0), size: Int64($0.count)) }
    let length = try FirstPackHead(version: ManifestVersion(552), items: items).bytes.count
    let front = 9
    func flip(_ at: Int, _ xor: Int = 1) -> JSONValue { ["at": .integer(at), "xor": .integer(xor)] }
    func cut(_ count: Int) -> JSONValue { ["cut": .integer(count)] }
    add(
      "a file that the manifest doesn't have by its digest", "552", "552",
      ["edits": [flip(front + 3)], "files": digests(Array(old.dropFirst()))])
    let middle = (pack.count - length) / 2
    let edits: [(String, JSONValue)] = [
      ("another magic number", flip(3)), ("no file", flip(6, old.count)),
      ("another number of files", flip(6)),
      ("another length of the list", flip(7)), ("another size of a file", flip(front + 16)),
      ("a damaged frame", flip(length + middle, 0x55)), ("nothing", cut(0)), ("half a head", cut(5)),
      ("half a list", cut(front + (length - front) / 2)), ("no frame", cut(length)),
      ("half a frame", cut(length + middle)), ("without its last byte", cut(pack.count - 1)),
      ("a byte too many", ["append": "00"]),
    ]
    for (what, edit) in edits { add(what, "552", "552", ["edits": [edit], "error": true]) }
    let lists = try Self.impossibleFirstPacks(old)
    for (what, name, bytes) in lists {
      try Vectors.write(bytes, "packs/first-\(name).xpk")
      add(what, name, "552", ["error": true])
    }
    let text =
      "{\"cases\":\(Vectors.lines(cases)),\n\"resourcemaps\":"
      + "\(String(decoding: JSONValue.object(maps).canonical, as: UTF8.self))}\n"
    try Vectors.write(Array(text.utf8), "first-packs.json")
  }

  /// The files of a resourcemap, each once: pages first.
  private static func firstFiles(_ map: JSONValue) throws -> [[UInt8]] {
    let items = try map.manifest(1).items.sorted { a, b in
      let arePages = (a.entry.ctype == "text/html", b.entry.ctype == "text/html")
      guard arePages.0 == arePages.1 else { return arePages.0 }
      return arePages.0 && a.url.text.utf8.count != b.url.text.utf8.count
        ? a.url.text.utf8.count < b.url.text.utf8.count : a.url < b.url
    }
    var files: [[UInt8]] = []
    for item in items {
      let file = try Vectors.bytes("files/\(item.entry.sha256)")
      if !files.contains(file) { files.append(file) }
    }
    return files
  }

  private static func firstPack(_ name: String, _ version: Int64, _ files: [[UInt8]]) throws -> [UInt8] {
    let items = files.map { FirstPackItem(SHA256.of($0), size: Int64($0.count)) }
    let pack =
      try FirstPackHead(version: ManifestVersion(version), items: items).bytes + FirstPackTests.frame(files)
    try Vectors.write(pack, "packs/first-\(name).xpk")
    return pack
  }

  /// First packs whose list or frame no writer makes.
  private static func impossibleFirstPacks(_ files: [[UInt8]]) throws -> [(String, String, [UInt8])] {
    func pack(
      _ files: [[UInt8]], version: Int64 = 552, sizes: [Int64]? = nil, more: Int = 0,
      digests: [[UInt8]]? = nil,
      frame: [UInt8]? = nil
    ) -> [UInt8] {
      var list: [UInt8] = []
      for (index, file) in files.enumerated() {
        FirstPackItem(SHA256.of(digests?[index] ?? file), size: sizes?[index] ?? Int64(file.count)).append(
          to: &list)
      }
      var out = FirstPackHead.magic
      Varint.append(version, to: &out)
      Varint.append(files.count, to: &out)
      Varint.append(list.count + more, to: &out)
      return out + list + (frame ?? FirstPackTests.frame(files))
    }
    let two = Array(files.prefix(2))
    let other = [files[0].dropLast() + Array("?".utf8)] + files.dropFirst()
    let frame = FirstPackTests.frame
    let magic: [UInt8] = [0x28, 0xB5, 0x2F, 0xFD]
    return [
      ("a file twice", "twice", pack(two + two.prefix(1))),
      ("a file with other bytes than its digest says", "bytes", pack(other, digests: files)),
      ("version 0", "version", pack(two, version: 0)),
      ("files with more bytes than a number may have", "sum", pack(two, sizes: [Varint.largest, 1])),
      ("a frame of fewer bytes than the list says", "short", pack(files, frame: frame(files.dropLast()))),
      (
        "a frame of more bytes than the list says", "long",
        pack(files, frame: frame(files + [Array("more".utf8)]))
      ),
      (
        "two frames", "frames",
        pack(files, frame: frame(Array(files.prefix(3))) + magic + frame(Array(files.dropFirst(3))))
      ),
      ("a list with bytes behind its last file", "list", pack(files, more: 1, frame: [0] + frame(files))),
    ]
  }

  @Test(.enabled(if: Vectors.areRecorded)) func deltas() throws {
    let texts = [Self.old[1].text, Self.new[1].text].map { Array($0.utf8) }
    for text in texts { try Vectors.write(text, "files/\(SHA256.of(text))") }
    let (base, target) = (texts[0], texts[1])
    let delta = try #require(Dcz.encodeWell(target, base: base, baseSHA256: SHA256.of(base)))
    try Vectors.write(delta, "release.dcz")
    func example(_ what: String, _ base: [UInt8], _ edits: JSONValue?, _ result: [UInt8]?) -> JSONValue {
      var object = JSONObject()
      object["what"] = .string(what)
      object["base"] = .string("files/\(SHA256.of(base))")
      object["delta"] = "release.dcz"
      object["edits"] = edits
      object["sha256"] = result.map { .string(SHA256.of($0).hex) }
      return .object(object)
    }
    let cases = [
      example("a delta", base, nil, target), example("on another base", target, nil, nil),
      example("another magic number", base, [["at": 0, "xor": 1]], nil),
      example("another digest of the base", base, [["at": 20, "xor": 1]], nil),
      example("no frame", base, [["cut": 40]], nil),
      example("without its last byte", base, [["cut": .integer(delta.count - 1)]], nil),
      example("a byte too many", base, [["append": "00"]], nil),
    ]
    try Vectors.write(Array((Vectors.lines(cases) + "\n").utf8), "dcz.json")
  }

  @Test(.enabled(if: Vectors.areRecorded)) func lists() throws {
    func example(_ what: String, _ list: PackListTests.List, _ urls: [String]?) -> JSONValue {
      var object = JSONObject()
      object["what"] = .string(what)
      object["bytes"] = .string(list.bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined())
      if list.format == .partial { object["magic"] = "XPK2" }
      object["urls"] = urls.map { .strings($0) }
      return .object(object)
    }
    let url = "https://m.example.com/b2.js"
    let cases =
      [
        example("a good list", PackListTests.List(), [url]),
        example("a good list that leaves a file out", PackListTests.partial, [url]),
      ]
      + PackListTests.invalid.map { example($0.testDescription, $0.list, nil) }
    let base = ResourceMap(try PackListTests.base())
    let text =
      "{\"base\":\(String(decoding: base.bytes, as: UTF8.self)),\n\"cases\":\(Vectors.lines(cases)),\n\"version\":9}\n"
    try Vectors.write(Array(text.utf8), "lists.json")
  }
}
