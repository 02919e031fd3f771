import BuildCheck
import Manifests
import Values

/// Checks a release against what else is live: bundles that need what it removes, and the prefetch config.
struct LiveCheck {
  /// The limits for reading other bundles' files.
  private static let maxFiles = 500
  private static let maxBytes: Int64 = 64 << 20

  private let site: Site
  private let live: LiveBundles

  init(_ site: Site, _ live: LiveBundles) {
    self.site = site
    self.live = live
  }

  /// Returns the findings for a release that removes the URLs `removed` from its bundles.
  func findings(removed: [String], _ options: CheckOptions) throws(PublishError) -> [Finding] {
    var findings: [Finding] = []
    if !options.off.contains(.removed) { findings += try needed(removed) }
    if !options.off.contains(.prefetch) { findings += try pages() }
    return findings.filter(options.wants)
  }

  // MARK: Prefetch

  /// Finds pages below the release's base URLs that are in no bundle.
  private func pages() throws(PublishError) -> [Finding] {
    let missing = try live.prefetchPages().filter { page in
      site.base(of: page) != nil && site.file(page) == nil && site.fileWithoutQuery(page) == nil
        && !site.isRoute(page)
    }
    let held = try live.keys(of: missing).union(live.routes(among: missing))
    return missing.filter { !held.contains($0.matchKey) }.map { page in
      Finding(
        rule: .prefetch, severity: .warning, place: nil, position: nil, problem: .prefetchPage(page.text))
    }
  }

  // MARK: Removed URLs

  private func needed(_ removed: [String]) throws(PublishError) -> [Finding] {
    // Another bundle, of this release or live, may have taken over a URL.
    let gone = removed.compactMap { try? ResourceURL($0) }.filter { site.file($0) == nil }
    if gone.isEmpty { return [] }
    let held = try live.keys(of: gone)
    let keys = Set(gone.map(\.matchKey)).subtracting(held)
    if keys.isEmpty { return [] }
    var findings: [Finding] = []
    var budget = (files: Self.maxFiles, bytes: Self.maxBytes)
    // A link to a page that is gone opens the fallback page in its place.
    let routes = Set(gone.filter(site.isRoute).map(\.matchKey))
    for bundle in try live.bundles() { findings += try references(of: bundle, to: keys, routes, &budget) }
    return findings
  }

  private func references(
    of bundle: (name: BundleName, entries: [RemoteBundle.Entry]), to gone: Set<String>,
    _ routes: Set<String>, _ budget: inout (files: Int, bytes: Int64)
  ) throws(PublishError) -> [Finding] {
    var texts: [(entry: RemoteBundle.Entry, url: ResourceURL, form: TextForm)] = []
    var unread = 0
    for entry in bundle.entries {
      guard let url = try? ResourceURL(entry.url), let form = Self.form(entry) else { continue }
      guard budget.files > 0, entry.size <= budget.bytes else {
        unread += 1
        continue
      }
      budget.files -= 1
      budget.bytes -= entry.size
      texts.append((entry, url, form))
    }
    let name = bundle.name
    let found = try live.map(texts.map(\.entry)) { [texts] index, bytes in
      let (_, url, form) = texts[index]
      return Self.references(ReadText(form, bytes, at: url), bytes, url, to: gone, routes, name)
    }
    unread += found.count { $0 == nil }
    var findings = found.flatMap { $0 ?? [] }
    if unread > 0 {
      findings.append(
        Finding(
          rule: .removed, severity: .warning, place: nil, position: nil,
          problem: .notRead(bundle: name.text, files: unread)))
    }
    return findings
  }

  private static func form(_ entry: RemoteBundle.Entry) -> TextForm? {
    guard let ctype = ContentType(entry.form.ctype) else { return nil }
    switch TextForm(ctype: ctype.essence, path: "") {
    case .sourceMap, nil: return nil
    case let form: return form
    }
  }

  private static func references(
    _ text: ReadText, _ bytes: [UInt8], _ place: ResourceURL, to gone: Set<String>, _ routes: Set<String>,
    _ bundle: BundleName
  ) -> [Finding] {
    var reported: Set<String> = []
    return text.references.compactMap { reference in
      guard reference.kind != .sourceMap, let url = text.url(of: reference), gone.contains(url.matchKey),
        !(reference.kind.isNavigation && routes.contains(url.matchKey)),
        reported.insert(url.matchKey).inserted
      else { return nil }
      return Finding(
        rule: .removed, severity: reference.isCertain && reference.kind.breaksPages ? .error : .warning,
        place: place.text, position: TextPosition(of: reference.at, in: bytes),
        problem: .removed(url: url.text, bundle: bundle.text))
    }
  }
}

extension Publication {
  /// Checks the release. Returns nil if it changes nothing and all its patterns match.
  /// - Throws: `broken` if there are errors.
  func checkBuild() throws(PublishError) -> CheckReport? {
    let options = options.check
    let idle = Finding.all(local.idle).filter(options.wants)
    if plans.allSatisfy(\.isEmpty) {
      // A misspelt pattern is often the reason why nothing changed.
      guard !idle.isEmpty else { return nil }
      var report = CheckReport()
      report.add(idle)
      return report
    }
    publisher.progress(.checking)
    let check = SiteCheck(
      local.bundles.map { CheckedBundle($0.resources, of: $0.source) }, options,
      known: { [kept = local.kept] in kept.bytes(of: $0) })
    let changed = Set(plans.flatMap { $0.put.map(\.url.text) })
    var report = CheckReport()
    report.files = check.site.count
    if !options.isOff {
      let live = LiveBundles(remote, without: Set(plans.map(\.bundle)))
      let removed = plans.flatMap(\.remove)
      let read = removed.isEmpty ? changed : nil
      let reading = try PublishError.reading { () throws(CheckError) in try check.read(changed: read) }
      report = check.report(
        reading,
        live: try live.keys(of: reading.missing).union(live.routes(among: reading.missingPages)))
      report.add(idle)
      report.add(try LiveCheck(check.site, live).findings(removed: removed, options))
    }
    // What is live already was checked when it was released.
    try PublishError.reading { () throws(CheckError) in try check.addSecrets(to: &report, changed: changed) }
    if report.errors > 0 { throw .broken(report) }
    return report
  }
}
