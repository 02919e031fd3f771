import System
import TestSupport

/// Real text that frames are made of: the files of published web builds below XCACHE_BUILDS or, where that isn't set, this
/// repository's own.
enum Corpus {
  static let files: [[UInt8]] = {
    let folders =
      Environment.variables["XCACHE_BUILDS"].map { [$0] }
      ?? ["Sources", "docs", "public"].map { "\(Repository.root)/\($0)" }
    var files: [[UInt8]] = []
    for folder in folders { collect(folder, into: &files) }
    precondition(files.count > 20, "there are too few files in \(folders)")
    return files
  }()

  /// All of them one after another, at most 8 MiB.
  static let text = Array(files.joined().prefix(8 << 20))

  private static func collect(_ folder: String, into files: inout [[UInt8]]) {
    for name in (try? Folder.textNames(folder)) ?? [] {
      let path = "\(folder)/\(name)"
      guard let status = try? Kernel.status(path) else { continue }
      if status.kind == .folder {
        collect(path, into: &files)
      } else if let bytes = try? DurableFile.read(path, limit: 8 << 20), bytes.count > 500 {
        files.append(bytes)
      }
    }
  }

  /// So many bytes from somewhere: of one file as far as it goes, then of the next ones.
  static func piece(_ count: Int, _ random: inout SplitMix) -> [UInt8] {
    let start = Int(random.next() % UInt64(max(1, text.count - count)))
    return Array(text[start..<min(text.count, start + count)])
  }

  /// Text that is the same in every version of this repository: what is damaged at each bit shall not be another frame
  /// after every commit.
  static func words(_ count: Int, _ random: inout SplitMix) -> [UInt8] {
    var text: [UInt8] = []
    while text.count < count {
      // Small numbers are frequent, as few words of a text are.
      let word = Int(random.next() % 64 * (random.next() % 64) / 64)
      text += vocabulary[word % vocabulary.count].utf8
      text.append(random.next() % 9 == 0 ? 10 : 32)
      if random.next() % 5 == 0 { text += String(random.next() % 10_000, radix: 16).utf8 }
    }
    return Array(text.prefix(count))
  }

  private static let vocabulary = [
    "let", "return", "func", "=", "{", "}", "guard", "else", "throw", "the", "a", "of", "///", "string",
    "bytes.count",
    "try", "self", "if", "in", "import", "where", "is", "private", "static", "for", "while", "value", "var",
    "init", "0",
    "->", "[UInt8]", "public", "struct", "document", "window.location.href", "addEventListener", "#expect(",
    ")", ",",
    "manifest", "version", "https://m.example.com/static/js/", ".chunk.js", "sha256", "Content-Type:",
    "text/html", "not",
  ]
}
