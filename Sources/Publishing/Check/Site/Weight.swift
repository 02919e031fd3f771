/// A kind of files that are published though no device ever asks for them.
struct Weight: Sendable {
  private let what: String
  /// Patterns over names, as `--exclude` takes them.
  private let patterns: [String]
  /// Whether only a copy of a file that is there counts: its name with one more ending.
  private let isCopy: Bool

  private init(_ what: String, _ patterns: [String], isCopy: Bool = false) {
    self.what = what
    self.patterns = patterns
    self.isCopy = isCopy
  }

  private static let kinds = [
    Weight("source maps", ["*.js.map", "*.mjs.map", "*.css.map"]),
    Weight("packed copies", ["*.gz", "*.br", "*.zst"], isCopy: true),
    Weight("files of a desktop", ["._*", "Thumbs.db", "desktop.ini"]),
    Weight("backups of an editor", ["*~", "*.swp", "*.swo", "*.bak", "*.orig"]),
  ]

  static func findings(_ files: [CheckedBundle.File]) -> [Finding] {
    let paths = Set(files.map(\.source.path))
    return kinds.compactMap { $0.finding(files, paths) }
  }

  private func finding(_ files: [CheckedBundle.File], _ paths: Set<String>) -> Finding? {
    var found = 0
    var bytes: Int64 = 0
    var exclude: [String] = []
    let globs = patterns.compactMap(Glob.init)
    for file in files {
      let path = file.source.path
      guard let glob = globs.first(where: { $0.matches([path.lastName]) }),
        !isCopy || path.lastIndex(of: ".").map({ paths.contains(String(path[..<$0])) }) ?? false
      else { continue }
      found += 1
      bytes += file.source.status.size
      if !exclude.contains(glob.text) { exclude.append(glob.text) }
    }
    guard found > 0 else { return nil }
    return Finding(
      rule: .weight, severity: .warning, place: nil, position: nil,
      problem: .weight(what: what, files: found, bytes: bytes, exclude: exclude.sorted()))
  }
}

extension String {
  /// What stands behind the last slash.
  fileprivate var lastName: Substring.UnicodeScalarView {
    let scalars = self[...].unicodeScalars
    return scalars.lastIndex(of: "/").map { scalars[scalars.index(after: $0)...] } ?? scalars
  }
}
