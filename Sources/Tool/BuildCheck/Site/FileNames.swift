import Manifests
import System

/// Checks names and sizes, without reading the files.
enum FileNames {
  /// Returns the findings; `used` has the indices of files that others reference.
  static func findings(_ site: Site, used: Set<Int>) -> [Finding] {
    let usedFiles = Set(used.map { PathKey(site.files[$0].location) })
    // An index page has two URLs.
    var locations: Set<PathKey> = []
    let files = site.files.filter { locations.insert(PathKey($0.location)).inserted }
    return files.compactMap { empty($0, isUsed: usedFiles.contains(PathKey($0.location))) }
      + files.compactMap(name) + twins(files) + Weight.findings(files)
  }

  private static func empty(_ file: CheckedBundle.File, isUsed: Bool) -> Finding? {
    guard file.size == 0 else { return nil }
    let essence = String(file.ctype.essence)
    let severity: Finding.Severity
    switch essence {
    case "text/html":
      let isIndex = file.path == "index.html" || file.path.hasSuffix("/index.html")
      severity = isIndex || isUsed ? .error : .warning
    case "text/css", "application/javascript", "application/json", "application/wasm",
      "application/manifest+json":
      severity = .warning
    default:
      // Marker files such as .nojekyll are meant to be empty.
      guard ["image/", "font/", "video/", "audio/"].contains(where: essence.hasPrefix) else { return nil }
      severity = .warning
    }
    return finding(.empty, severity, file, .empty)
  }

  private static func name(_ file: CheckedBundle.File) -> Finding? {
    // All odd characters are ASCII, so it is enough to look at bytes; nearly every name has none.
    guard file.path.utf8.contains(where: isOdd) else { return nil }
    var found: [String] = []
    for scalar in file.path.unicodeScalars {
      let word: String
      switch scalar {
      case "%", "?", "#", "\\", "\"", "<", ">": word = String(scalar)
      case " ": word = "a space"
      case let other where other.value < 0x20 || other.value == 0x7F: word = "a control character"
      default: continue
      }
      if !found.contains(word) { found.append(word) }
    }
    guard !found.isEmpty else { return nil }
    return finding(.name, .warning, file, .name(characters: found.joined(separator: ", ")))
  }

  /// Whether `name` looks for a byte.
  private static func isOdd(_ byte: UInt8) -> Bool {
    switch byte {
    case 0...UInt8(ascii: " "), 0x7F, UInt8(ascii: "%"), UInt8(ascii: "?"), UInt8(ascii: "#"),
      UInt8(ascii: "\\"),
      UInt8(ascii: "\""), UInt8(ascii: "<"), UInt8(ascii: ">"):
      true
    default: false
    }
  }

  private static func twins(_ files: [CheckedBundle.File]) -> [Finding] {
    var first: [String: CheckedBundle.File] = [:]
    var findings: [Finding] = []
    for file in files {
      let key = file.url.matchKey.lowercased()
      guard let twin = first[key] else {
        first[key] = file
        continue
      }
      findings.append(finding(.case, .warning, file, .sameButCase(other: twin.path)))
    }
    return findings
  }

  private static func finding(
    _ rule: CheckRule, _ severity: Finding.Severity, _ file: CheckedBundle.File, _ problem: CheckProblem
  ) -> Finding {
    Finding(rule: rule, severity: severity, place: file.place, position: nil, problem: problem)
  }
}

/// A kind of file that no device ever requests but that was published.
struct Weight: Sendable {
  private let one: String
  private let several: String
  private let patterns: [Pattern]
  /// Whether only copies of existing files count: the file's name with another extension.
  private let isCopy: Bool
  /// Whether developers' tools ask for such files.
  private let mayBeLazy: Bool

  /// A name pattern as in `--exclude`, with at most one `*`, at the start or the end. A `Glob` would do, but 100,000 names are
  /// compared with each of fifteen.
  private struct Pattern: Sendable {
    let text: String
    private let bytes: [UInt8]
    private let stands: Place

    private enum Place { case alone, first, last }

    init(_ text: String) {
      self.text = text
      bytes = text.utf8.filter { $0 != UInt8(ascii: "*") }
      stands = text.hasPrefix("*") ? .last : text.hasSuffix("*") ? .first : .alone
    }

    func matches(_ name: UnsafeBufferPointer<UInt8>) -> Bool {
      let over = name.count - bytes.count
      guard over >= 0, stands != .alone || over == 0 else { return false }
      let start = stands == .last ? over : 0
      return bytes.indices.allSatisfy { name[start + $0] == bytes[$0] }
    }
  }

  private init(
    _ one: String, _ several: String, _ patterns: [String], isCopy: Bool = false, mayBeLazy: Bool = false
  ) {
    self.one = one
    self.several = several
    self.patterns = patterns.map(Pattern.init)
    self.isCopy = isCopy
    self.mayBeLazy = mayBeLazy
  }

  private static let kinds = [
    Weight("source map", "source maps", ["*.js.map", "*.mjs.map", "*.css.map"], mayBeLazy: true),
    Weight("compressed copy", "compressed copies", ["*.gz", "*.br", "*.zst"], isCopy: true),
    Weight("desktop file", "desktop files", ["._*", "Thumbs.db", "desktop.ini"]),
    Weight("editor backup", "editor backups", ["*~", "*.swp", "*.swo", "*.bak", "*.orig"]),
  ]

  static func findings(_ files: [CheckedBundle.File]) -> [Finding] {
    var found = [[(file: CheckedBundle.File, pattern: String)]](repeating: [], count: kinds.count)
    // Updates leave lazy files out anyway.
    for file in files where !file.isLazy {
      var path = file.path
      path.withUTF8 { path in
        let name = UnsafeBufferPointer(
          rebasing: path[(path.lastIndex(of: UInt8(ascii: "/")).map { $0 + 1 } ?? 0)...])
        for (index, kind) in kinds.enumerated() {
          guard let pattern = kind.patterns.first(where: { $0.matches(name) }) else { continue }
          found[index].append((file, pattern.text))
        }
      }
    }
    return zip(kinds, found).compactMap { kind, found in
      kind.finding(kind.isCopy && !found.isEmpty ? copies(found, in: files) : found)
    }
  }

  /// Returns the files of which one without the last extension exists, too.
  private static func copies(
    _ found: [(file: CheckedBundle.File, pattern: String)], in files: [CheckedBundle.File]
  ) -> [(file: CheckedBundle.File, pattern: String)] {
    let paths = Set(files.map(\.path))
    return found.filter { file, _ in
      file.path.lastIndex(of: ".").map { paths.contains(String(file.path[..<$0])) } ?? false
    }
  }

  private func finding(_ found: [(file: CheckedBundle.File, pattern: String)]) -> Finding? {
    guard !found.isEmpty else { return nil }
    return Finding(
      rule: .weight, severity: .warning, place: nil, position: nil,
      problem: .weight(
        what: found.count == 1 ? one : several, files: found.count,
        bytes: found.reduce(0) { $0 + $1.file.size },
        exclude: Set(found.map(\.pattern)).sorted(), mayBeLazy: mayBeLazy))
  }
}
