import System
import Testing
import TestSupport

@testable import BuildCheck

/// Whatever the input, a scanner terminates, in time proportional to its length.
@Suite struct ScannerDamageTests {
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
    var random = SplitMix(seed: UInt64(seed))
    for _ in 0..<400 {
      var bytes: [UInt8] = []
      for _ in 0...random.below(6) { bytes += Self.seeds[random.below(Self.seeds.count)].utf8 }
      for _ in 0..<random.below(12) where !bytes.isEmpty {
        let at = random.below(bytes.count)
        switch random.below(4) {
        case 0: bytes[at] = UInt8(random.below(256))
        case 1: bytes.remove(at: at)
        case 2: bytes.insert(Array("<>\"'`/*\\(){}[]=&;!-$".utf8)[random.below(20)], at: at)
        default: bytes.removeSubrange(at..<min(bytes.count, at + random.below(9)))
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
