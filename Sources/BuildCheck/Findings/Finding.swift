/// Something that is wrong with a build, and where.
package struct Finding: Hashable, Sendable {
  /// How much a finding matters: an error refuses a release.
  package enum Severity: String, Comparable, Sendable {
    case error, warning

    package static func < (a: Severity, b: Severity) -> Bool { a == .error && b == .warning }
  }

  package let rule: CheckRule
  package var severity: Severity
  /// The file as it was given on the command line, or the URL of one at the origin; nil: of the whole.
  package let place: String?
  let position: TextPosition?
  let problem: CheckProblem
  /// Further places in the same file that say the same.
  var repeats = 0

  package init(
    rule: CheckRule, severity: Severity, place: String?, position: TextPosition?, problem: CheckProblem
  ) {
    self.rule = rule
    self.severity = severity
    self.place = place
    self.position = position
    self.problem = problem
  }

  package var line: Int? { position?.line }
  package var column: Int? { position?.column }

  var order: (String, Int, Int, CheckRule) {
    (place ?? "\u{10FFFF}", position?.line ?? 0, position?.column ?? 0, rule)
  }
}

extension Finding {
  /// `file:line:column: severity: what, and what to do [rule]`.
  package var text: String { "\(spot)\(severity.rawValue): \(message) [\(rule.rawValue)]" }

  /// `file:line:column: `, as far as it is known.
  package var spot: String {
    guard let name = place else { return "" }
    // A name with a line break in it would look like two findings.
    let isPlain = !name.unicodeScalars.contains { $0.value < 0x20 || $0.value == 0x7F }
    let place = isPlain ? name : String(name.debugDescription.dropFirst().dropLast())
    return position.map { "\(place):\($0.line):\($0.column): " } ?? "\(place): "
  }

  /// What is wrong, and what to do.
  package var message: String {
    if repeats == 0 { return problem.message }
    return problem.message
      + (rule == .sourcemap ? " (and \(repeats) more)" : " (\(repeats) more in this file)")
  }
}

extension CheckProblem {
  var message: String {
    switch self {
    case .missing(let kind, let target, let reason): Self.missing(kind, target, reason)
    case .query(let kind, let target):
      "\(kind.noun) \(target) is published without that query, so devices fetch it from the network: drop the query"
    case .outside(let kind, let target, let url, let inside):
      "\(kind.noun) \(target) leads to \(url), outside the bundle, which has \(inside): build with the bundle's base path"
    case .bare(let name):
      "import \(name.debugDescription) names no file: bundle it, or give it an address in an import map"
    case .mixed(let kind, let target):
      "\(kind.noun) \(target) is http in an https page, where it is not loaded: use https"
    case .noCharset:
      "the page names no charset in its first 1,024 bytes: put <meta charset=\"utf-8\"> first in <head>"
    case .empty: "the file is empty: build again, or exclude it"
    case .name(let characters):
      "the name holds \(characters), which every URL of it has to escape: rename the file"
    case .sameButCase(let other):
      "the name differs from \(other) in the case of letters only, and some devices' disks hold one of them: rename one"
    case .notSourceMap: "this is no source map: build again, or exclude it"
    case .notManifest: "this is no web app manifest, since it isn't a JSON object: correct it"
    case .removed(let url, let bundle):
      "bundle \(bundle) needs \(url), which this release removes: keep the file, or publish \(bundle) without the "
        + "reference first"
    case .notRead(let bundle, let files):
      "\(files) \(files == 1 ? "file" : "files") of bundle \(bundle) were not read for references to what this release "
        + "removes: look there yourself"
    case .prefetchPage(let url):
      "the prefetch config names the page \(url), which no bundle holds: publish the page, or push a config without it"
    case .weight(let what, let files, let bytes, let exclude):
      "\(what), \(files) of \(bytes) bytes, are of no use to a device: leave them out with "
        + exclude.map { "--exclude '\($0)'" }.joined(separator: " ")
    case .idlePattern(let pattern, let keys, let excludes):
      "\(keys): the pattern \(pattern.debugDescription) \(excludes ? "leaves nothing out" : "matches no file that is published"): "
        + "correct it, or take it away"
    }
  }

  private static func missing(_ kind: Reference.Kind, _ target: String, _ reason: Reason) -> String {
    switch reason {
    case .unknown where kind == .sourceMap:
      "\(kind.noun) \(target) is not in the bundle: no device asks for it, but build without the comment that names it"
    case .elsewhere(let there):
      "\(kind.noun) \(target) is not in the bundle, but \(there) is: build with the bundle's base path"
    case .unknown: "\(kind.noun) \(target) is not in the bundle: build again, or correct the reference"
    case .excluded:
      "\(kind.noun) \(target) is left out by include or exclude: let it in, or take the reference away"
    case .otherCase(let there):
      "\(kind.noun) \(target) is not in the bundle, but \(there) is: write the same capital and small letters"
    case .ending(let there):
      "\(kind.noun) \(target) is not in the bundle, but \(there) is: browsers add no ending, so write it out"
    }
  }
}

extension Reference.Kind {
  /// What it is called in a sentence.
  var noun: String {
    switch self {
    case .script, .moduleScript: "the script"
    case .stylesheet, .styleImport, .moduleStyle: "the style sheet"
    case .image: "the image"
    case .media: "the media file"
    case .frame: "the embedded page"
    case .icon: "the icon"
    case .hint: "the preloaded file"
    case .appManifest: "the web app manifest"
    case .link, .appPage: "the page"
    case .styleURL: "the file"
    case .staticImport, .dynamicImport: "the module"
    case .moduleURL: "the file"
    case .sourceMap: "the source map"
    case .appIcon: "the icon"
    }
  }
}
