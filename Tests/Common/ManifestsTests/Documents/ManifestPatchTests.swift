import System
import Testing
import TestSupport

@testable import Manifests
@testable import Values

extension ManifestPatch {
  /// The patch from one list to another, both sorted by URL.
  init(from old: [ManifestItem], to new: [ManifestItem]) {
    var writer = ManifestPatchWriter()
    SortedPairs.walk(old, new, key: \.url.text) { was, becomes in
      guard let url = (becomes ?? was)?.url else { return }
      writer.append(url, from: was?.entry, to: becomes?.entry)
    }
    self = writer.finish()
  }
}

@Suite struct ManifestPatchTests {
  /// The patch between any two manifests gives the second one byte for byte, applied as plain JSON and by a device.
  @Test func patchesGiveTheNewManifest() throws {
    var random = SplitMix(seed: 5)
    for _ in 0..<1_000 {
      let old = Samples.manifest(1, &random)
      let new = Samples.manifest(2, &random)
      let patch = ManifestPatch(from: old.items, to: new.items)
      let value = try JSONValue.parse(patch.bytes)
      #expect(value.canonical == patch.bytes)
      #expect(value.object?.count == patch.count)
      #expect(MergePatch.apply(value, to: try JSONValue.parse(old.map.bytes)).canonical == new.map.bytes)

      let document = Documents.patch(
        new.version, digest: new.map.digest, base: DocumentBase(old.version), patch)
      guard case .patch(let answer) = try ConfigureAnswer.parse(document) else {
        Issue.record("a patch is read as something else")
        return
      }
      #expect(try old.applying(answer) == new)
    }
  }

  /// Whichever headers an entry had and has, its patch gives the new entry, also from nothing.
  @Test func patchesRemoveHeaders() throws {
    var random = SplitMix(seed: 9)
    func entry() -> Entry {
      var headers = JSONObject()
      for name in EntryHeaders.Name.allCases where Bool.random(using: &random) {
        headers[name.rawValue] = .string("\(Int.random(in: 0..<2, using: &random))")
      }
      var others = JSONObject()
      if Bool.random(using: &random) { others["headers"] = .object(headers) }
      for key in ["a", "z"] where Bool.random(using: &random) {
        others[key] = Bool.random(using: &random) ? 1 : ["k": ["l": 1], "m": 2]
        if Bool.random(using: &random) { others[key] = ["k": ["n": [1]]] }
      }
      return Samples.entry("same", others: others)
    }
    for _ in 0..<2_000 {
      let (old, new) = (entry(), entry())
      let lost = new.lost(since: old.others)
      let patch = new.patch(lost: lost)
      #expect(MergePatch.apply(patch, to: old.json) == new.json)
      #expect(MergePatch.apply(patch, to: .null) == new.json, "it sets all")
      #expect(lost.isEmpty == (MergePatch.apply(new.json, to: old.json) == new.json))
      if lost.isEmpty { #expect(patch == new.json) }
    }
  }

  @Test func patchesBetweenEqualManifestsAreEmpty() {
    var random = SplitMix(seed: 6)
    let manifest = Samples.manifest(1, &random)
    let patch = ManifestPatch(from: manifest.items, to: manifest.items)
    #expect(patch.count == 0)
    #expect(patch.bytes == Array("{}".utf8))
  }

  @Test func digestIsOfTheCanonicalBytes() throws {
    var random = SplitMix(seed: 7)
    let manifest = Samples.manifest(1, &random)
    let map = manifest.map
    #expect(map.digest == SHA256.of(map.bytes))
    #expect(try JSONValue.parse(map.bytes).canonical == map.bytes)
    #expect(ResourceMap.empty.bytes == Array("{}".utf8))
    let entries = manifest.items.map { JSONObject.Member(key: $0.url.text, value: $0.entry.json) }
    #expect(JSONValue.object(JSONObject(entries)).canonical == map.bytes)
  }

  @Test func entriesAreFoundByURL() throws {
    var random = SplitMix(seed: 8)
    let manifest = Samples.manifest(1, &random)
    for item in manifest.items { #expect(manifest[item.url] == item.entry) }
    #expect(manifest[try ResourceURL("https://a/none")] == nil)
  }
}
