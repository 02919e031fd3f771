import Values

/// Reads a file and checks its references against the site.
struct FileCheck {
  /// The maximum size of a text in bytes; larger ones aren't hand-written code, and aren't read.
  static let limit: Int64 = 64 << 20

  private let site: Site
  private let file: CheckedBundle.File
  private let bytes: [UInt8]
  private let text: ReadText
  private var report = FileReport()
  private var form: TextForm { text.form }

  static func report(_ site: Site, _ file: CheckedBundle.File, _ form: TextForm, _ bytes: [UInt8])
    -> FileReport
  {
    var check = FileCheck(site, file, form, bytes)
    check.run()
    check.report.bytesRead = Int64(bytes.count)
    return check.report
  }

  private init(_ site: Site, _ file: CheckedBundle.File, _ form: TextForm, _ bytes: [UInt8]) {
    self.site = site
    self.file = file
    self.bytes = bytes
    text = ReadText(form, bytes, at: file.url)
  }

  private mutating func run() {
    if text.isDocument, !text.saysCharset { add(.charset, .warning, .noCharset, at: 0) }
    if form == .sourceMap, !text.isReadable { add(.sourcemap, .warning, .notSourceMap, at: 0) }
    if form == .manifest, !text.isReadable { add(.manifest, .warning, .notManifest, at: 0) }
    if let mark = text.templateMarks.first {
      add(.template, .warning, .template(mark.text), at: mark.at, repeats: text.templateMarks.count - 1)
    }
    for reference in text.references { take(reference) }
    routes()
  }

  /// Checks that the page finds what it loads at the routes for which it is a fallback.
  private mutating func routes() {
    for page in site.fallbackPages(at: file.location) {
      let moved = RouteText.moved(bytes, at: page.url, page.fallbacks).filter { site.file($0.url) == nil }
      let breaking = moved.first(where: \.breaksPage)
      guard let first = breaking ?? moved.first else { continue }
      let path = page.url.path
      let folder = path[...(path.lastIndex(of: "/") ?? path.startIndex)]
      add(
        .route, breaking == nil ? .warning : .error,
        .route(
          first.reference.kind, target: first.reference.text, route: first.route.text, url: first.url.text,
          base: String(folder)), at: first.reference.at, repeats: moved.count - 1)
      return
    }
  }

  // MARK: References

  private mutating func take(_ reference: Reference) {
    if reference.isPlaceholder { return serve(reference) }
    if reference.kind == .staticImport || reference.kind == .dynamicImport, isBare(reference.text) {
      return bare(reference)
    }
    guard let url = text.url(of: reference) else { return serve(reference) }
    if url.scheme == "http", file.url.scheme == "https" { mixed(reference, url) }
    guard site.base(of: url) != nil else {
      serve(reference)
      return outside(reference, url)
    }
    if let target = site.file(url) {
      noteLoad(reference, of: target)
      return use(reference, target)
    }
    if let target = site.fileWithoutQuery(url) {
      if let group = reference.group, report.servedGroups[group] != nil { return }
      use(reference, target)
      // Fonts for old browsers are referenced with an empty query.
      if url.query != "", reference.isCertain, reference.kind != .link, reference.kind != .sourceMap {
        add(.query, .warning, .query(reference.kind, target: reference.text), at: reference.at)
      }
      return
    }
    if url.path.hasSuffix("/") || site.isIndexed(url) { return }
    if reference.kind.isNavigation, site.isRoute(url) { return serve(reference) }
    report.misses.append(
      FileReport.Miss(reference: reference, url: url, position: TextPosition(of: reference.at, in: bytes)))
  }

  /// Notes what is loaded with this file, which pages need from updates.
  private mutating func noteLoad(_ reference: Reference, of target: Int) {
    guard reference.isCertain, reference.kind.isLoadedAtOnce else { return }
    report.isPage = text.isDocument
    let position = site.files[target].isLazy ? TextPosition(of: reference.at, in: bytes) : nil
    report.loads.append(FileReport.Load(to: target, reference: reference, lazyAt: position))
  }

  /// Records that one of several alternatives exists, or comes from elsewhere.
  private mutating func serve(_ reference: Reference) {
    guard let group = reference.group, reference.isCertain, report.servedGroups[group] == nil else { return }
    report.servedGroups[group] = reference.at
  }

  private mutating func use(_ reference: Reference, _ target: Int) {
    report.used.insert(target)
    serve(reference)
    switch reference.kind {
    case .moduleScript: report.edges.append(.init(to: target, isFromPage: text.isDocument))
    case .staticImport, .dynamicImport:
      report.edges.append(.init(to: target, isFromPage: form == .page && text.isDocument))
    default: break
    }
  }

  /// Whether a module's name is neither a path nor a URL.
  private func isBare(_ name: String) -> Bool {
    !name.hasPrefix("./") && !name.hasPrefix("../") && !name.hasPrefix("/")
      && URLResolver.isRelative(name)
  }

  private mutating func bare(_ reference: Reference) {
    guard reference.kind == .staticImport, reference.isCertain, form == .page else { return }
    let name = reference.text
    let isMapped = text.importMap.contains { $0 == name || $0.hasSuffix("/") && name.hasPrefix($0) }
    if !isMapped { add(.bare, .warning, .bare(name), at: reference.at) }
  }

  private mutating func mixed(_ reference: Reference, _ url: ResourceURL) {
    // Browsers load "potentially trustworthy" URLs.
    if ["localhost", "127.0.0.1", "[::1]"].contains(url.host) || url.host.hasSuffix(".localhost") { return }
    switch reference.kind {
    case .script, .moduleScript, .stylesheet, .frame, .styleImport, .staticImport, .dynamicImport:
      let severity = reference.isCertain && form == .page ? Finding.Severity.error : .warning
      add(.mixed, severity, .mixed(reference.kind, target: reference.text), at: reference.at)
    case .image, .media, .styleURL:
      add(.mixed, .warning, .mixed(reference.kind, target: reference.text), at: reference.at)
    default: break
    }
  }

  /// Checks whether the bundle has what a reference requests from the host's root.
  private mutating func outside(_ reference: Reference, _ url: ResourceURL) {
    switch reference.kind {
    case .script, .moduleScript, .stylesheet: break
    default: return
    }
    // Paths from the host's root mean nothing if the host isn't known: then it has a reserved name.
    guard !url.host.hasSuffix(".invalid"), let inside = inside(url) else { return }
    let finding = finding(
      .outside, .warning,
      .outside(reference.kind, target: reference.text, url: url.text, inside: inside.text),
      at: reference.at)
    report.strays.append(FileReport.Stray(url: url, finding: finding))
  }

  /// Returns the URL in the bundle of which `url` is a form with another base path, or without one.
  private func inside(_ url: ResourceURL) -> ResourceURL? {
    let bases = site.bases.filter { base in
      guard let own = try? ResourceURL(base.prefix) else { return false }
      return own.authority == url.authority && own.scheme == url.scheme
    }
    var rest = url.path
    while true {
      for base in bases {
        if let inside = try? ResourceURL(base.url.text + rest), site.file(inside) != nil { return inside }
      }
      // A name alone is too little to tell that the same file is meant, and so is what another bundle has.
      guard let next = rest.dropFirst().firstIndex(of: "/"), !site.isForeign(url) else { return nil }
      rest = rest[next...]
      guard rest.dropFirst().contains("/") else { return nil }
    }
  }

  private mutating func add(
    _ rule: CheckRule, _ severity: Finding.Severity, _ problem: CheckProblem, at place: Int, repeats: Int = 0
  ) {
    var finding = finding(rule, severity, problem, at: place)
    finding.repeats = repeats
    report.findings.append(finding)
  }

  private func finding(
    _ rule: CheckRule, _ severity: Finding.Severity, _ problem: CheckProblem, at place: Int
  ) -> Finding {
    Finding(
      rule: rule, severity: severity, place: file.place, position: TextPosition(of: place, in: bytes),
      problem: problem)
  }
}

/// What a file shows by itself, before all files are known.
struct FileReport: Sendable {
  /// A reference to something that doesn't exist.
  struct Miss: Sendable {
    let reference: Reference
    let url: ResourceURL
    let position: TextPosition
  }

  /// A reference to a URL outside the bundle, and what is to be said of it unless another live bundle has that URL.
  struct Stray: Sendable {
    let url: ResourceURL
    let finding: Finding
  }

  /// A module that this file loads.
  struct Edge: Sendable {
    let to: Int
    /// Whether a page loads it, rather than another module.
    let isFromPage: Bool
  }

  /// A file that is loaded together with this one.
  struct Load: Sendable {
    let to: Int
    let reference: Reference
    /// Where a lazy file is named; nil for others.
    let lazyAt: TextPosition?
  }

  var misses: [Miss] = []
  var strays: [Stray] = []
  var edges: [Edge] = []
  var loads: [Load] = []
  /// Whether the file is a page of its own, if it loads anything.
  var isPage = false
  /// The files that it references.
  var used: Set<Int> = []
  /// The groups of alternatives of which one exists or is external, with the first such one's offset.
  var servedGroups: [Int: Int] = [:]
  var findings: [Finding] = []
  var bytesRead: Int64 = 0
}
