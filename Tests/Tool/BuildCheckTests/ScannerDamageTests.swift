import System
import Testing

@testable import BuildCheck

/// Whatever the input, a scanner terminates, in time proportional to its length.
@Suite struct ScannerDamageTests {
  private struct Random {
    var state: UInt64

    mutating func next(_ bound: Int) -> Int {
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return Int((state >> 33) % UInt64(max(1, bound)))
    }
  }

  private static let seeds: [String] =
    PageScannerTests.cases.map(\.html) + StyleScannerTests.cases.map(\.css)
    + ScriptScannerTests.cases.map(\.script)

  private static func scan(_ bytes: [UInt8]) -> [[Reference]] {
    [
      PageScanner.content(bytes).references, StyleScanner.references(bytes),
      ScriptScanner.content(bytes).references,
    ]
  }

  @Test(arguments: 0..<8) func damagedTexts(seed: Int) {
    var random = Random(state: UInt64(seed) &* 77 &+ 5)
    for _ in 0..<400 {
      var bytes: [UInt8] = []
      for _ in 0...random.next(6) { bytes += Self.seeds[random.next(Self.seeds.count)].utf8 }
      for _ in 0..<random.next(12) where !bytes.isEmpty {
        let at = random.next(bytes.count)
        switch random.next(4) {
        case 0: bytes[at] = UInt8(random.next(256))
        case 1: bytes.remove(at: at)
        case 2: bytes.insert(Array("<>\"'`/*\\(){}[]=&;!-$".utf8)[random.next(20)], at: at)
        default: bytes.removeSubrange(at..<min(bytes.count, at + random.next(9)))
        }
      }
      for references in Self.scan(bytes) {
        for reference in references { #expect((0...bytes.count).contains(reference.at)) }
      }
    }
  }

  @Test func everyCut() {
    for seed in Self.seeds {
      let bytes = Array(seed.utf8)
      for end in 0...bytes.count { _ = Self.scan(Array(bytes[..<end])) }
    }
  }

  /// Input that could make a scanner restart from the beginning again and again.
  @Test(arguments: [
    "<", "<!--", "<a ", "<a b='", "</", "<script><!--<script>", "<style>", "<title></titl", "&amp", "&#", "/",
    "/[",
    "=/", "`${", "${", "{", "(", "import ", "import{", "import(", "import a,", "export*", "new URL(", "url(",
    "url('",
    "@import ", "\\", "'", "\"", "/*", "//", "*/", "-->", "<svg>", "<template>", "x\n", "<!-", "<base",
    "image-set(",
  ]) func timeIsLinear(piece: String) {
    func seconds(_ count: Int) -> Double {
      let bytes = Array(String(repeating: piece, count: count / piece.utf8.count).utf8)
      let start = Clock.monotonicNanoseconds()
      _ = Self.scan(bytes)
      return Double(Clock.monotonicNanoseconds() - start) / 1e9
    }
    // Quadratic work on the longer text would take minutes; the limit leaves room for a busy machine.
    #expect(seconds(400_000) < 60)
  }
}
