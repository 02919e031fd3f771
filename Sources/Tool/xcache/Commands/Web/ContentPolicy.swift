import Values

/// One Content-Security-Policy, of a header or a page, and what it refuses of what the worker needs.
///
/// Only definite refusals are reported: hashes and nonces aren't evaluated.
struct ContentPolicy {
  /// The directives by name, with their sources, all in lowercase; of several with one name, the first counts.
  private let directives: [String: [String]]

  /// A directive that is in force, and the sources it allows.
  private typealias Directive = (name: String, sources: [String])

  /// Parses a policy; text of any form is one.
  init(_ text: some StringProtocol) {
    var directives: [String: [String]] = [:]
    for directive in text.lowercased().split(separator: ";") {
      let words = directive.split { " \n\t\r\u{C}\r\n".contains($0) }.map(String.init)
      guard let name = words.first, directives[name] == nil else { continue }
      directives[name] = Array(words.dropFirst())
    }
    self.directives = directives
  }

  /// Parses the policies of a header, whose value is a list (CSP Level 3, section 3.1).
  static func policies(of value: String) -> [ContentPolicy] {
    value.split(separator: ",").map { ContentPolicy($0) }
  }

  private func inForce(_ names: String...) -> Directive? {
    for name in names { if let sources = directives[name] { return (name, sources) } }
    return nil
  }

  // MARK: - Pages

  /// What to change so that a page loads the script and registers the worker; empty if nothing. `hasNonce` is whether the script's
  /// line has the nonce of the page's other scripts.
  func advice(hasNonce: Bool = false) -> [String] {
    var advice: [String] = []
    if let script = inForce("script-src-elem", "script-src", "default-src"),
      !(hasNonce && script.sources.contains { $0.hasPrefix("'nonce-") })
    {
      if script.sources.contains("'strict-dynamic'") {
        advice.append(
          "\(script.name) has 'strict-dynamic', which allows no script by its URL: give the line of "
            + "\(WebBuild.scriptName) a nonce")
      } else if !Self.allowsOwn(script.sources) {
        advice.append("add 'self' to \(script.name), which refuses \(WebBuild.scriptName)")
      }
    }
    if let worker = inForce("worker-src", "child-src", "script-src", "default-src"),
      !Self.allowsOwn(worker.sources)
    {
      advice.append("add worker-src 'self': \(worker.name) refuses \(WebBuild.workerName)")
    }
    if directives["require-trusted-types-for"] != nil, let names = directives["trusted-types"],
      !names.contains("xcache"), !names.contains("*")
    {
      advice.append("add xcache to trusted-types")
    }
    return advice
  }

  /// Whether sources may allow the page's own origin, which any host may be.
  private static func allowsOwn(_ sources: [String]) -> Bool {
    sources.contains { $0 == "'self'" || !$0.hasPrefix("'") && $0 != "data:" && $0 != "blob:" }
  }

  // MARK: - The worker

  /// What to change so that a worker with this policy, served from `site`, can download from all of `bases`; empty if nothing.
  func advice(forWorkerOf site: ResourceURL, downloadingFrom bases: [BaseURL]) -> [String] {
    var advice: [String] = []
    if let connect = inForce("connect-src", "default-src") {
      let refused = bases.filter { base in !connect.sources.contains { Self.allows($0, base, for: site) } }
      if !refused.isEmpty {
        advice.append(
          "add \(refused.map(\.text).joined(separator: " ")) to connect-src: \(connect.name) refuses what the worker downloads"
        )
      }
    }
    if let script = inForce("script-src", "default-src"), !Self.allowsOwn(script.sources) {
      advice.append("add 'self' to \(script.name), which refuses \(WebBuild.packsName)")
    }
    return advice
  }

  /// Whether a source may allow a URL below a base (CSP Level 3, section 6.7.2.8).
  private static func allows(_ source: String, _ base: BaseURL, for site: ResourceURL) -> Bool {
    guard let url = try? ResourceURL(base.text + "/") else { return true }
    if source == "'self'" { return url.scheme == site.scheme && url.authority == site.authority }
    if source == "*" { return true }
    if source.hasPrefix("'") { return false }
    var rest = Substring(source)
    if let scheme = scheme(of: source) {
      // "http:" allows https, too.
      guard scheme == url.scheme || scheme == "http" else { return false }
      rest = rest.dropFirst(scheme.count + 1)
      if rest.isEmpty { return true }
      guard rest.hasPrefix("//") else { return false }
      rest = rest.dropFirst(2)
    } else if site.scheme == "https", url.scheme == "http" {
      return false
    }
    let authority = rest.prefix { $0 != "/" }
    let path = rest.dropFirst(authority.count)
    guard allows(authority, url) else { return false }
    // A path may be of a part of the downloads alone; what lies below it or above it isn't definitely refused.
    let own = url.path.lowercased()
    return path.isEmpty || own.hasPrefix(path) || path.hasPrefix(own)
  }

  private static func allows(_ authority: Substring, _ url: ResourceURL) -> Bool {
    var host = authority
    var port: Substring?
    if let colon = authority.lastIndex(of: ":"), !authority[colon...].contains("]") {
      host = authority[..<colon]
      port = authority[colon...].dropFirst()
    }
    let own = url.authority.dropFirst(url.host.count + 1)
    if let port, port != "*" {
      let standard = url.scheme == "https" ? "443" : "80"
      guard port == (own.isEmpty ? Substring(standard) : own) else { return false }
    } else if port == nil, !own.isEmpty {
      return false
    }
    let name = url.host.lowercased()
    return host == "*" || (host.hasPrefix("*.") ? name.hasSuffix(host.dropFirst()) : name == host)
  }

  /// The scheme that a source begins with: `https:`, `https://…`; a port isn't one.
  private static func scheme(of source: String) -> String? {
    guard let colon = source.firstIndex(of: ":") else { return nil }
    let rest = source[colon...].dropFirst()
    return rest.isEmpty || rest.hasPrefix("//") ? String(source[..<colon]) : nil
  }
}
