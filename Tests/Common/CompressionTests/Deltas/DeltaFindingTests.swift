import Compression
import System
import Testing

@Suite struct DeltaFindingTests {
  static func script(_ seed: Int, lines: Int) -> [UInt8] {
    var state = UInt64(seed) &* 0x9E37_79B9_7F4A_7C15 | 1
    var text = ""
    for _ in 0..<lines {
      state = state &* 6_364_136_223_846_793_005 &+ 1
      text += "function f\(state >> 40)(a,b){return a+\(state >> 50);}"
    }
    return Array(text.utf8)
  }

  static func file(_ path: String, _ bytes: [UInt8]) -> BaseFinder.File {
    BaseFinder.File(name: StableName(path: path), size: bytes.count, sketch: Sketch(bytes, .tokens))
  }

  @Test func findsARenamedFileAmongMany() throws {
    let old = (0..<200).map { Self.script($0, lines: 400) }
    let new = Array("/*2*/".utf8) + old[77].dropLast(500)
    let wanted = Self.file("/js/index.9ZyXwVu1.js", new)
    var finder = BaseFinder(wanted: [wanted.sketch])
    for (number, bytes) in old.enumerated() { finder.add(Self.file("/js/index.\(number)aBcDeF9.js", bytes)) }
    finder.seal()
    let bases = finder.bases(for: wanted)
    #expect(bases.first == 77)
    let delta = DeltaTrial.best(of: new, sha256: SHA256.of(new), plain: new.count / 4, bases: bases.count) {
      DeltaTrial.Base(sha256: SHA256.of(old[bases[$0]]), bytes: old[bases[$0]])
    }
    #expect(delta?.base == SHA256.of(old[77]))
    #expect(try #require(delta).coded.count < 200)
  }

  @Test func deltasThatSaveLittleAreNotKept() {
    let (old, new) = (Self.script(1, lines: 200), Self.script(2, lines: 200))
    let delta = DeltaTrial.best(of: new, sha256: SHA256.of(new), plain: 1000, bases: 1) { _ in
      DeltaTrial.Base(sha256: SHA256.of(old), bytes: old)
    }
    #expect(delta == nil)
  }

  @Test func filesOfTheSameNameAreTriedWhateverTheirContent() {
    let wanted = Self.file("/a/app.js", Self.script(1, lines: 3000))
    var finder = BaseFinder(wanted: [wanted.sketch])
    finder.add(Self.file("/a/other.js", Self.script(2, lines: 3000)))
    finder.add(Self.file("/a/app.js", Self.script(3, lines: 3000)))
    finder.seal()
    #expect(finder.bases(for: wanted).contains(1))
  }

  @Test func sketchesRoundTrip() throws {
    let sketch = Sketch(Self.script(5, lines: 2000), .tokens)
    #expect(sketch.hashes.count == Sketch.limit)
    #expect(Sketch(encoded: sketch.encoded) == sketch)
    #expect(Sketch(encoded: Array(sketch.encoded.dropFirst())) == nil)
    #expect(Sketch([], .chunks).hashes.isEmpty)
  }

  @Test func chunksAreTheSameAfterAShift() {
    let bytes = Self.script(9, lines: 5_000)
    let shifted = Sketch(Array("inserted".utf8) + bytes, .chunks)
    let common = Set(Sketch(bytes, .chunks).hashes).intersection(shifted.hashes)
    #expect(common.count > 200)
  }

  @Test(arguments: [
    ("/js/index.BBnWuh07.js", "/js/", "index.*.js"), ("/js/index-D_4x-9aB.js", "/js/", "index-*.js"),
    ("/assets/shop.3f1c0a7e.css", "/assets/", "shop.*.css"), ("/ares/0518c3.js", "/ares/", "*.js"),
    ("/a/FileHelper.js", "/a/", "FileHelper.js"), ("/a/jquery-3.7.1.min.js", "/a/", "jquery-3.7.1.min.js"),
    ("/a/index.html", "/a/", "index.html"),
    ("/m/KaTeX_Math-Italic.flOr_0UB.ttf", "/m/", "KaTeX_Math-Italic.*.ttf"),
    ("/a/decade.js", "/a/", "decade.js"), ("/a/main.0123456789abcdef0123.chunk.js", "/a/", "main.*.chunk.js"),
    ("app", "", "app"),
  ])
  func stableNames(path: String, folder: String, name: String) {
    let stable = StableName(path: path)
    #expect(stable.folder == folder)
    #expect(stable.name(mark: "*") == name)
  }
}
