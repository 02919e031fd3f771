import Values

/// Something wrong with a build, and where.
package struct Finding: Hashable, Sendable {
  /// The severity: an error prevents a release.
  package enum Severity: String, Comparable, Sendable {
    case error, warning

    package static func < (a: Severity, b: Severity) -> Bool { a == .error && b == .warning }
  }

  package let rule: CheckRule
  package var severity: Severity
  /// The file as given on the command line, or the URL of a file at the origin; nil for the whole build.
  package let place: String?
  let position: TextPosition?
  let problem: CheckProblem
  /// How many further places in the same file have the same problem.
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
  /// The line `file:line:column: severity: what is wrong, and what to do [rule]`.
  package var text: String { "\(spot)\(severity.rawValue): \(message) [\(rule.rawValue)]" }

  /// `file:line:column: `, as far as known.
  package var spot: String {
    guard let name = place else { return "" }
    // A line break in the name would make it look like two findings.
    let isPlain = !name.unicodeScalars.contains { $0.value < 0x20 || $0.value == 0x7F }
    let place = isPlain ? name : String(name.debugDescription.dropFirst().dropLast())
    return position.map { "\(place):\($0.line):\($0.column): " } ?? "\(place): "
  }

  /// What is wrong, and what to do.
  package var message: String {
    if repeats == 0 { return problem.message }
    switch rule {
    case .sourcemap: return problem.message + " (and \(repeats) more)"
    case .secret: return problem.message + " (\(repeats) more in this folder)"
    default: return problem.message + " (\(repeats) more in this file)"
    }
  }
}

extension CheckProblem {
  var message: String {
    switch self {
    case .missing(let kind, let target, let reason): Self.missing(kind, target, reason)
    case .query(let kind, let target):
      "\(kind.noun) \(target) is published without that query, so devices fetch it from the network: remove the query"
    case .outside(let kind, let target, let url, let inside):
      "\(kind.noun) \(target) leads to \(url), outside the bundle, which has \(inside): build with the bundle's base path"
    case .bare(let name):
      "import \(name.debugDescription) doesn't name a file: bundle it, or map it in an import map"
    case .mixed(let kind, let target):
      "\(kind.noun) \(target) is http in an https page, where it is not loaded: use https"
    case .route(let kind, let target, let route, let url, let base):
      "\(kind.noun) \(target) is relative to the address of the page, which is the fallback of \(route), too: there it is "
        + "\(url), which is not in the bundle: put <base href=\"\(base)\"> first in <head>, build with the base path \(base), or "
        + "leave such routes out with \"except\""
    case .lazy(let kind, let target, let page):
      "\(kind.noun) \(target) is lazy, so updates leave it out, but \(page ?? "the page") loads it when it opens, also offline: "
        + "take it out of \"lazy\""
    case .noCharset:
      "the page has no charset in its first 1,024 bytes: put <meta charset=\"utf-8\"> first in <head>"
    case .empty: "the file is empty: build again, or exclude it"
    case .name(let characters):
      "the name contains \(characters), which must be escaped in URLs: rename the file"
    case .sameButCase(let other):
      "the name differs from \(other) only in case, and some devices can store only one of them: rename one"
    case .notSourceMap: "this is not a source map: rebuild, or exclude it"
    case .notManifest: "this is not a web app manifest, because it isn't a JSON object: fix it"
    case .removed(let url, let bundle):
      "bundle \(bundle) needs \(url), which this release removes: keep the file, or publish \(bundle) without the "
        + "reference first"
    case .notRead(let bundle, let files):
      "\(files) \(files == 1 ? "file" : "files") of bundle \(bundle) \(files == 1 ? "was" : "were") not checked for "
        + "references to files this release removes: check \(files == 1 ? "it" : "them") yourself"
    case .prefetchPage(let url):
      "the prefetch config names the page \(url), which is in no bundle: publish the page, or remove it from the config"
    case .template(let mark):
      "\(mark.split(whereSeparator: \.isWhitespace).joined(separator: " ")) was left by a template, and browsers show or request it as it is: publish the page that the build or "
        + "the server makes of it"
    case .weight(let what, let files, let bytes, let exclude, let mayBeLazy):
      "\(files) \(what) (\(Bytes.text(bytes))) \(files == 1 ? "is" : "are") not needed on devices: leave \(files == 1 ? "it" : "them") out with "
        + exclude.map { "--exclude '\($0)'" }.joined(separator: " ")
        + (mayBeLazy ? ", or name \(files == 1 ? "it" : "them") in \"lazy\" in xcache.json" : "")
        + (what.hasPrefix("source map")
          ? "; publish --source-maps DIR stores \(files == 1 ? "it" : "them") where nobody can download \(files == 1 ? "it" : "them")"
          : "")
    case .idlePattern(let pattern, let keys, let excludes, let folder):
      "\(keys): the pattern \(pattern.debugDescription) \(excludes ? "excludes nothing" : "matches no published file"): "
        + (folder.map { "paths begin below \($0), without it" } ?? "correct or remove it")
    case .secret(let secret, let path): Self.secret(secret, path)
    case .idleAllowance(let path):
      "--allow-secret \(ShellWord.quoted(path)) names no published file: give its path below the folder, or leave it out"
    }
  }

  private static func secret(_ secret: Secret, _ path: String) -> String {
    let allow = "if it may be public: --allow-secret \(ShellWord.quoted(path))"
    return secret.position == nil
      ? "the file is \(secret.noun), and anyone can read what is published: exclude it, or \(allow)"
      : "this looks like \(secret.noun), and anyone can read what is published: remove it from the build, or \(allow)"
  }

  private static func missing(_ kind: Reference.Kind, _ target: String, _ reason: Reason) -> String {
    switch reason {
    case .unknown where kind == .sourceMap:
      "\(kind.noun) \(target) is not in the bundle: devices don't request it; build without the comment that names it"
    case .elsewhere(let there):
      "\(kind.noun) \(target) is not in the bundle, but \(there) is: build with the bundle's base path"
    case .unknown: "\(kind.noun) \(target) is not in the bundle: build again, or correct the reference"
    case .excluded:
      "\(kind.noun) \(target) is left out by include or exclude: include it, or remove the reference"
    case .otherCase(let there):
      "\(kind.noun) \(target) is not in the bundle, but \(there) is: match the case"
    case .ending(let there):
      "\(kind.noun) \(target) is not in the bundle, but \(there) is: browsers don't add an extension, so write it in full"
    }
  }
}

extension Reference.Kind {
  /// Its name in a sentence.
  var noun: String {
    switch self {
    case .script, .moduleScript: "the script"
    case .stylesheet, .styleImport, .moduleStyle: "the style sheet"
    case .image: "the image"
    case .media: "the media file"
    case .frame: "the embedded page"
    case .icon: "the icon"
    case .preload, .hint: "the preloaded file"
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
