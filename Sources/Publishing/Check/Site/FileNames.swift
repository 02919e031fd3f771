import Manifests

/// What names and sizes tell, without a look into the files.
enum FileNames {
  /// - Parameter used: places in the site of files that others refer to.
  static func findings(_ site: Site, used: Set<Int>) -> [Finding] {
    let usedFiles = Set(used.map { site.files[$0].source.location })
    // An index page has two URLs.
    var locations: Set<String> = []
    let files = site.files.filter { locations.insert($0.source.location).inserted }
    return files.compactMap { empty($0, isUsed: usedFiles.contains($0.source.location)) }
      + files.compactMap(name) + twins(files) + Weight.findings(files)
  }

  private static func empty(_ file: CheckedBundle.File, isUsed: Bool) -> Finding? {
    guard file.source.status.size == 0 else { return nil }
    let essence = String(file.ctype.essence)
    let severity: Finding.Severity
    switch essence {
    case "text/html":
      let isIndex = file.source.path == "index.html" || file.source.path.hasSuffix("/index.html")
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
    for scalar in file.source.path.unicodeScalars {
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
      findings.append(finding(.case, .warning, file, .sameButCase(other: twin.source.path)))
    }
    return findings
  }

  private static func finding(
    _ rule: CheckRule, _ severity: Finding.Severity, _ file: CheckedBundle.File, _ problem: CheckProblem
  ) -> Finding {
    Finding(rule: rule, severity: severity, place: file.source.location, position: nil, problem: problem)
  }
}
