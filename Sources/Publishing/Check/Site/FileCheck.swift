import Manifests

/// What one file is found to say, before all files are known.
struct FileReport: Sendable {
  /// A reference to what isn't there.
  struct Miss: Sendable {
    let reference: Reference
    let url: ResourceURL
    let position: TextPosition
  }

  /// A module that is loaded by this file.
  struct Edge: Sendable {
    let to: Int
    /// By a page, or by a module for itself.
    let isFromPage: Bool
  }

  var misses: [Miss] = []
  var edges: [Edge] = []
  var findings: [Finding] = []
  var bytesRead: Int64 = 0
}

/// Reads one file and holds its references against the site.
struct FileCheck {
  /// What a file is read as.
  enum Form {
    case page, style, script, sourceMap, manifest

    init?(_ file: CheckedBundle.File) {
      let name = file.source.path.lowercased()
      switch file.ctype.essence {
      case "text/html", "application/xhtml+xml": self = .page
      case "text/css": self = .style
      case "application/javascript", "text/javascript", "application/x-javascript": self = .script
      case "application/manifest+json": self = .manifest
      default:
        guard name.hasSuffix(".map") else { return nil }
        self = .sourceMap
      }
    }
  }

  /// Texts above this many bytes are no code that somebody wrote: they aren't read.
  static let limit: Int64 = 64 << 20

  let site: Site
  let file: CheckedBundle.File
  let form: Form
  /// The base URL of the page's relative references; nil: only a script knows it.
  private var base: ResourceURL?
  private var isDocument = false
  private var importMap: [String] = []
  private var report = FileReport()
  private let bytes: [UInt8]

  static func report(_ site: Site, _ file: CheckedBundle.File, _ form: Form, _ bytes: [UInt8]) -> FileReport {
    var check = FileCheck(site, file, form, bytes)
    check.run()
    check.report.bytesRead = Int64(bytes.count)
    return check.report
  }

  private init(_ site: Site, _ file: CheckedBundle.File, _ form: Form, _ bytes: [UInt8]) {
    self.site = site
    self.file = file
    self.form = form
    self.bytes = bytes
    base = file.url
  }

  private mutating func run() {
    switch form {
    case .page: page(PageScanner.content(bytes))
    case .style: take(StyleScanner.references(bytes))
    case .script: take(ScriptScanner.content(bytes).references)
    case .sourceMap: sourceMap()
    case .manifest: manifest()
    }
  }

  // MARK: By form

  private mutating func page(_ content: PageContent) {
    isDocument = content.isDocument
    importMap = content.importMap.map(\.name)
    if isDocument, !content.saysCharset { add(.charset, .warning, .noCharset, at: 0) }
    if content.hasUnknownBase { base = nil }
    if let given = content.base, let own = base {
      // A base that is no http URL leads out of every bundle.
      switch URLResolver(base: own).resolve(given.text) {
      case .url(let url): base = url
      case .itself: break
      case .other: base = nil
      }
    }
    take(content.references)
  }

  private mutating func sourceMap() {
    let start = bytes.prefix { _ in true }.drop { TextBytes.isSpace($0) }.prefix(4)
    // ")]}'" in front keeps the map from being run as a script, and is part of the format.
    guard start.first != UInt8(ascii: "{"), !start.elementsEqual(")]}'".utf8), !bytes.isEmpty else { return }
    add(.sourcemap, .warning, .notSourceMap, at: 0)
  }

  private mutating func manifest() {
    guard !bytes.isEmpty else { return }
    guard let json = try? JSONValue.parse(bytes), json.object != nil else {
      return add(.manifest, .warning, .notManifest, at: 0)
    }
    take(ManifestScanner.references(json, bytes))
  }

  // MARK: References

  private mutating func take(_ references: [Reference]) {
    // A browser that finds one alternative doesn't ask for the next.
    let served = Set(references.compactMap { isServed($0) ? $0.group : nil })
    for var reference in references where !reference.isPlaceholder {
      if let group = reference.group, served.contains(group) { reference.isCertain = false }
      if form == .page, !isDocument { reference.isCertain = false }
      take(reference)
    }
  }

  private func isServed(_ reference: Reference) -> Bool {
    guard reference.group != nil, reference.isCertain, let base else { return false }
    guard case .url(let url) = URLResolver(base: base).resolve(reference.text) else { return true }
    return site.base(of: url) == nil || site.file(url) != nil || site.fileWithoutQuery(url) != nil
  }

  private mutating func take(_ reference: Reference) {
    if reference.kind == .staticImport || reference.kind == .dynamicImport, isBare(reference.text) {
      return bare(reference)
    }
    guard let base = URLResolver.isRelative(reference.text) ? base : file.url,
      case .url(let url) = URLResolver(base: base).resolve(reference.text)
    else { return }
    if url.scheme == "http", file.url.scheme == "https" { mixed(reference, url) }
    guard site.base(of: url) != nil else { return outside(reference, url) }
    if let target = site.file(url) { return edge(reference, to: target) }
    if let target = site.fileWithoutQuery(url) {
      edge(reference, to: target)
      // Fonts for browsers of old are named with an empty query.
      if url.query != "", reference.isCertain, reference.kind != .link, reference.kind != .sourceMap {
        add(.query, .warning, .query(reference.kind, target: reference.text), at: reference.at)
      }
      return
    }
    if url.path.hasSuffix("/") || site.isIndexed(url) { return }
    report.misses.append(
      FileReport.Miss(reference: reference, url: url, position: TextPosition(of: reference.at, in: bytes)))
  }

  private mutating func edge(_ reference: Reference, to target: Int) {
    switch reference.kind {
    case .moduleScript: report.edges.append(.init(to: target, isFromPage: isDocument))
    case .staticImport, .dynamicImport:
      report.edges.append(.init(to: target, isFromPage: form == .page && isDocument))
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
    let isMapped = importMap.contains { $0 == name || $0.hasSuffix("/") && name.hasPrefix($0) }
    if !isMapped { add(.bare, .warning, .bare(name), at: reference.at) }
  }

  private mutating func mixed(_ reference: Reference, _ url: ResourceURL) {
    // "potentially trustworthy" addresses are loaded.
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

  /// Whether the bundle has what a reference looks for at the host's root.
  private mutating func outside(_ reference: Reference, _ url: ResourceURL) {
    switch reference.kind {
    case .script, .moduleScript, .stylesheet: break
    default: return
    }
    for base in site.bases {
      guard let own = try? ResourceURL(base.prefix), own.authority == url.authority, own.scheme == url.scheme,
        let inside = try? ResourceURL(base.url.text + url.path), site.file(inside) != nil
      else { continue }
      return add(
        .outside, .warning,
        .outside(reference.kind, target: reference.text, url: url.text, inside: inside.text), at: reference.at)
    }
  }

  private mutating func add(
    _ rule: CheckRule, _ severity: Finding.Severity, _ problem: CheckProblem, at place: Int
  ) {
    report.findings.append(
      Finding(
        rule: rule, severity: severity, place: file.source.location,
        position: TextPosition(of: place, in: bytes), problem: problem))
  }
}
