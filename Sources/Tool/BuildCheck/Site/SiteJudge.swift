import Values

/// Derives the findings from the reports of all files.
struct SiteJudge {
  private let site: Site
  private let reports: [FileReport]
  private let live: Set<String>
  /// Indices by lowercased match key, made once something is missing.
  private lazy var lowered: [String: Int] = Dictionary(
    site.files.enumerated().map { ($1.url.matchKey.lowercased(), $0) },
    uniquingKeysWith: { first, _ in first })
  /// Indices by file name.
  private lazy var named: [String: [Int]] = Dictionary(
    grouping: site.files.indices, by: { String(site.files[$0].url.path.split(separator: "/").last ?? "") })

  init(_ site: Site, _ reports: [FileReport], live: Set<String>) {
    self.site = site
    self.reports = reports
    self.live = live
  }

  mutating func findings() -> [Finding] {
    let modules = loadedModules()
    var findings: [Finding] = []
    var firstMap: Int?
    for (index, report) in reports.enumerated() {
      findings += report.findings
      findings += report.strays.filter { !live.contains($0.url.matchKey) }.map(\.finding)
      var seen: [String: Int] = [:]
      // A browser that finds one alternative doesn't request the next: only the first missing one of a group is reported.
      var reported: Set<Int> = []
      for miss in report.misses where !live.contains(miss.url.matchKey) {
        if let group = miss.reference.group {
          let isLate = report.servedGroups[group].map { $0 < miss.reference.at } ?? false
          guard miss.reference.isCertain, !isLate, reported.insert(group).inserted else { continue }
        }
        guard let finding = finding(miss, in: index, isLoaded: modules.contains(index)) else { continue }
        if finding.rule == .sourcemap, let first = firstMap {
          // No device requests source maps, so one line is enough.
          findings[first].repeats += 1
          continue
        }
        if finding.rule == .sourcemap { firstMap = findings.count }
        let key = "\(finding.rule) \(miss.url.text)"
        if let first = seen[key] {
          findings[first].repeats += 1
          findings[first].severity = min(findings[first].severity, finding.severity)
        } else {
          seen[key] = findings.count
          findings.append(finding)
        }
      }
    }
    return findings + lazyFiles()
  }

  /// Returns a finding for each lazy file that a page loads when it opens, directly or indirectly.
  private func lazyFiles() -> [Finding] {
    var findings: [Finding] = []
    var reported: Set<Int> = []
    var loaded: Set<Int> = []
    var next = reports.indices.filter { reports[$0].isPage }.map { (file: $0, page: $0) }
    var done = 0
    while done < next.count {
      let (file, page) = next[done]
      done += 1
      for load in reports[file].loads {
        if let position = load.lazyAt, reported.insert(load.to).inserted {
          findings.append(
            Finding(
              rule: .lazy, severity: .warning, place: site.files[file].place, position: position,
              problem: .lazy(
                load.reference.kind, target: load.reference.text, page: file == page ? nil : name(page))))
        }
        if load.reference.kind.leadsOn, loaded.insert(load.to).inserted { next.append((load.to, page)) }
      }
    }
    return findings
  }

  /// Returns the modules that a page of the site loads, directly or indirectly: only for these is it certain that imports are
  /// resolved against their own URLs.
  private func loadedModules() -> Set<Int> {
    var loaded: Set<Int> = []
    var next = reports.flatMap { $0.edges.filter(\.isFromPage).map(\.to) }
    while let file = next.popLast() {
      if loaded.insert(file).inserted { next += reports[file].edges.map(\.to) }
    }
    return loaded
  }

  // MARK: Missing targets

  private mutating func finding(_ miss: FileReport.Miss, in file: Int, isLoaded: Bool) -> Finding? {
    let kind = miss.reference.kind
    let hasEnding = Self.namesFile(miss.url)
    let rule: CheckRule
    switch kind {
    case .link, .appPage:
      // A path without an extension is usually a route, handled by a script or the server.
      if !hasEnding { return nil }
      rule = .link
    case .sourceMap: rule = .sourcemap
    default: rule = .missing
    }
    let reason = reason(miss)
    if rule == .sourcemap, reason == .excluded { return nil }
    let isImport = kind.isOfModule
    // Modules that no page loads and that are imported without an extension were written for a bundler.
    if isImport, !isLoaded, case .ending = reason { return nil }
    // A path that only lacks its extension isn't handled by anybody else.
    var isNamed = hasEnding
    if case .ending = reason { isNamed = true }
    let hasAlternative = miss.reference.group.map { reports[file].servedGroups[$0] != nil } ?? false
    var certain = miss.reference.isCertain && !hasAlternative && isNamed && kind.breaksPages
    if isImport {
      certain = certain && (isLoaded || TextForm(site.files[file]) == .page)
    }
    var isOtherCase = false
    if case .otherCase = reason { isOtherCase = true }
    return Finding(
      rule: isOtherCase ? .case : rule, severity: certain ? .error : .warning,
      place: site.files[file].place, position: miss.position,
      problem: .missing(kind, target: target(miss.url), reason))
  }

  /// The extensions of files that a server generates on request.
  private static let served: Set<String> = [
    "php", "asp", "aspx", "ashx", "jsp", "jspx", "do", "action", "cgi", "pl", "cfm", "axd",
  ]

  /// Whether the last part of the path is a file name, with an extension.
  private static func namesFile(_ url: ResourceURL) -> Bool {
    let name = url.path.split(separator: "/").last ?? ""
    guard let dot = name.utf8.lastIndex(of: UInt8(ascii: ".")) else { return false }
    let ending = name[name.utf8.index(after: dot)...].lowercased()
    return !ending.isEmpty && ending.utf8.count <= 11 && !served.contains(ending)
      && ending.utf8.contains { TextBytes.isLetter($0) }
  }

  private mutating func reason(_ miss: FileReport.Miss) -> CheckProblem.Reason {
    if let there = lowered[miss.url.matchKey.lowercased()] { return .otherCase(name(there)) }
    let kind = miss.reference.kind
    if kind == .staticImport || kind == .dynamicImport, let there = withEnding(miss.url) {
      return .ending(name(there))
    }
    if let base = site.base(of: miss.url), isExcluded(site.path(of: miss.url, under: base), base.filter) {
      return .excluded
    }
    return elsewhere(miss.url).map { .elsewhere(name($0)) } ?? .unknown
  }

  /// Returns the only file with that name if its path is the end of the wanted path: then the base path is wrong.
  private mutating func elsewhere(_ url: ResourceURL) -> Int? {
    guard let name = url.path.split(separator: "/").last, let found = named[String(name)], found.count == 1,
      let base = site.base(of: url), let there = site.base(of: site.files[found[0]].url)
    else { return nil }
    let path = site.path(of: site.files[found[0]].url, under: there)
    return site.path(of: url, under: base).hasSuffix("/\(path)") ? found[0] : nil
  }

  private func withEnding(_ url: ResourceURL) -> Int? {
    for ending in [".js", ".mjs", "/index.js"] {
      if let file = (try? ResourceURL(url.withoutQuery + ending)).flatMap({ site.file($0) }) { return file }
    }
    return nil
  }

  private func isExcluded(_ path: String, _ filter: FileFilter) -> Bool {
    var below = ""
    for part in path.split(separator: "/") {
      below += below.isEmpty ? String(part) : "/\(part)"
      if filter.excludes(below, name: String(part)) { return true }
    }
    return !filter.includes(path)
  }

  private func name(_ file: Int) -> String { target(site.files[file].url) }

  private func target(_ url: ResourceURL) -> String {
    site.base(of: url).map { site.path(of: url, under: $0) } ?? url.text
  }
}

extension CheckProblem {
  /// What `ignore` is matched against.
  var target: String? {
    switch self {
    case .missing(_, let target, _), .query(_, let target), .outside(_, let target, _, _),
      .mixed(_, let target), .route(_, let target, _, _, _):
      target
    case .bare(let name): name
    case .removed(let url, _), .prefetchPage(let url): url
    default: nil
    }
  }
}
