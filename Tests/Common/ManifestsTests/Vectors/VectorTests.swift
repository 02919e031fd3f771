import Compression
import System
import Testing

@testable import Manifests
@testable import Values

/// Runs docs/vectors, which are for every implementation; `docs/vectors/run.py` runs them in Python.
@Suite struct VectorTests {
  @Test func canonical() throws {
    for example in try Vectors.cases("canonical.json") {
      let bytes = Array(try example.text("in").utf8)
      let canonical = (try? JSONValue.parse(bytes)).map { String(decoding: $0.canonical, as: UTF8.self) }
      #expect(canonical == example["out"]?.string, "\(bytes)")
    }
  }

  @Test func digests() throws {
    for example in try Vectors.cases("digests.json") {
      let map = try #require(example["resourcemap"]).manifest(1).map
      #expect(String(decoding: map.bytes, as: UTF8.self) == (try example.text("canonical")))
      #expect(map.digest.hex == (try example.text("digest")))
    }
  }

  @Test func urls() throws {
    let document = try Vectors.json("urls.json")
    for example in document["match"]?.array ?? [] {
      let (a, b) = (try ResourceURL(try example.text("a")), try ResourceURL(try example.text("b")))
      #expect((a.matchKey == b.matchKey) == example["match"]?.bool, "\(a) \(b)")
    }
    for example in document["pages"]?.array ?? [] {
      let page = try ResourceURL(try example.text("page")), entry = try ResourceURL(try example.text("entry"))
      #expect(page.isPage(of: entry) == example["match"]?.bool, "\(page) \(entry)")
    }
  }

  @Test func downloads() throws {
    for example in try Vectors.cases("downloads.json") {
      let path = DownloadPath(
        channel: try #require(ChannelName(space: try example.text("space"))),
        appID: try example.count("appID"),
        manifestVersion: ManifestVersion(try example.count("manifestVersion")),
        resourceVersion: try example.count("resourceVersion"), sha256: try example.sha256("sha256"),
        url: try ResourceURL(try example.text("url")))
      #expect(
        path.url(publicURL: try BaseURL(try example.text("publicURL"))) == (try example.text("download")))
      #expect(path.name.text == (try example.text("fileName")))
    }
  }

  @Test func patches() throws {
    for example in try Vectors.cases("patches.json") {
      let (base, patch) = (try #require(example["base"]), try #require(example["patch"]))
      let result = try #require(example["result"])
      #expect(MergePatch.apply(patch, to: base) == result)
      // As on a device.
      let new = try result.manifest(2)
      let document = Documents.patch(
        new.version, digest: new.map.digest, base: DocumentBase(ManifestVersion(1)),
        ManifestPatch(bytes: patch.canonical, count: patch.object?.count ?? 0))
      guard case .patch(let answer) = try ConfigureAnswer.parse(document) else {
        Issue.record("a patch is read as something else")
        return
      }
      #expect(try base.manifest(1).applying(answer) == new)
    }
  }

  @Test func numbers() throws {
    for example in try Vectors.cases("numbers.json") {
      var reader = VarintReader(Vectors.hex(try example.text("bytes")))
      let number = try? reader.number()
      #expect((reader.left == 0 ? number : nil) == example["number"]?.integer)
    }
  }

  @Test func renaming() throws {
    for example in try Vectors.cases("renaming.json") {
      let pairs = (example["urls"]?.array ?? []).map {
        (old: $0.array?.first?.string ?? "", new: $0.array?.last?.string ?? "")
      }
      let file = Array(try example.text("in").utf8)
      let renamed = PackRenaming(pairs).applied(to: file) ?? file
      #expect(String(decoding: renamed, as: UTF8.self) == (try example.text("out")))
    }
  }

  @Test func deltas() throws {
    for example in try Vectors.cases("dcz.json") {
      let base = try Vectors.bytes(try example.text("base"))
      let delta = Vectors.edited(
        try Vectors.bytes(try example.text("delta")), example["edits"]?.array ?? [])
      let file = try? Dcz.decode(delta, base: base, baseSHA256: SHA256.of(base), limit: 128 << 20)
      let what = try example.text("what")
      #expect(file.map { SHA256.of($0).hex } == example["sha256"]?.string, "\(what)")
    }
  }

  @Test func lists() throws {
    let document = try Vectors.json("lists.json")
    let base = try #require(document["base"]).manifest(1).items
    for example in document["cases"]?.array ?? [] {
      let bytes = Vectors.hex(try example.text("bytes"))
      let version = ManifestVersion(try document.count("version"))
      let format: PackFormat = example["magic"]?.string == "XPK2" ? .partial : .whole
      let urls = try? PackChanges(bytes, format, version: version, base: base).arrivals.map(\.url.text)
      let what = try example.text("what")
      #expect(urls == example["urls"]?.array?.compactMap(\.string), "\(what)")
    }
  }

  @Test func firstPacks() throws {
    let document = try Vectors.json("first-packs.json")
    for example in document["cases"]?.array ?? [] {
      let what = try example.text("what")
      let map = try #require(document["resourcemaps"]?[try example.text("resourcemap")]).manifest(1)
      let wanted = map.items.map {
        FileDigest(md5: $0.entry.md5, sha256: $0.entry.sha256, size: $0.entry.size)
      }
      let pack = Vectors.edited(
        try Vectors.bytes(try example.text("pack")), example["edits"]?.array ?? [])
      var device = FirstPackDevice(wanted: wanted)
      var isRefused = false
      do {
        try device.push(pack[...])
        try device.finish()
      } catch {
        isRefused = true
      }
      #expect(isRefused == (example["error"]?.bool == true), "\(what)")
      let files = device.files.map { SHA256.of($0).hex }
      if !isRefused { #expect(files == example["files"]?.array?.compactMap(\.string), "\(what)") }
      for file in device.files { #expect(try Vectors.bytes("files/\(SHA256.of(file))") == file, "\(what)") }
    }
  }

  @Test func packs() throws {
    let document = try Vectors.json("packs.json")
    let maps = try #require(document["resourcemaps"])
    for example in document["cases"]?.array ?? [] {
      let what = try example.text("what")
      let answer = try #require(example["answer"])
      let version = try answer.text("version")
      let baseName = try example["base"]?.string ?? answer.text("base")
      let base = try #require(maps[baseName]).manifest(Int64(try answer.text("base")) ?? 0)
      var held: [SHA256: [UInt8]] = [:]
      for item in base.items { held[item.entry.sha256] = try Vectors.bytes("files/\(item.entry.sha256)") }
      for missing in example["missing"]?.array ?? [] {
        held[try #require(SHA256(hex: missing.string ?? ""))] = nil
      }
      let pack = Vectors.edited(
        try Vectors.bytes(try example.text("pack")), example["edits"]?.array ?? [])
      let expected = PackDevice.Expected(
        version: try #require(ManifestVersion(text: version)), digest: try answer.sha256("digest"))
      let got = try? PackDevice.update(pack, from: base, held: held, expecting: expected)
      #expect((got == nil) == (example["error"]?.bool == true), "\(what)")
      guard let got else { continue }
      #expect(got.manifest.map.bytes == (try #require(maps[version])).canonical, "\(what)")
      for (url, file) in got.files {
        #expect(
          try Vectors.bytes("files/\(try #require(got.manifest[url]).sha256)") == file, "\(what): \(url)")
      }
    }
  }
}
