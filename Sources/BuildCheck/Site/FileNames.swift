import Manifests

/// What names and sizes tell, without a look into the files.
enum FileNames {
  /// - Parameter used: places in the site of files that others refer to.
  static func findings(_ site: Site, used: Set<Int>) -> [Finding] {
    let usedFiles = Set(used.map { site.files[$0].location })
    // An index page has two URLs.
    var locations: Set<String> = []
    let files = site.files.filter { locations.insert($0.location).inserted }
    return files.compactMap { empty($0, isUsed: usedFiles.contains($0.location)) }
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
      // Marks such as .nojekyll mean something by being there.
      guard ["image/", "font/", "video/", "audio/"].contains(where: essence.hasPrefix) else { return nil }
      severity = .warning
    }
    return finding(.empty, severity, file, .empty)
  }

  private static func name(_ file: CheckedBundle.File) -> Finding? {
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
    Finding(rule: rule, severity: severity, place: file.location, position: nil, problem: problem)
  }
}

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
    let paths = Set(files.map(\.path))
    return kinds.compactMap { $0.finding(files, paths) }
  }

  private func finding(_ files: [CheckedBundle.File], _ paths: Set<String>) -> Finding? {
    var found = 0
    var bytes: Int64 = 0
    var exclude: [String] = []
    let globs = patterns.compactMap(Glob.init)
    for file in files {
      let path = file.path
      guard let glob = globs.first(where: { $0.matches([path.lastName]) }),
        !isCopy || path.lastIndex(of: ".").map({ paths.contains(String(path[..<$0])) }) ?? false
      else { continue }
      found += 1
      bytes += file.size
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
