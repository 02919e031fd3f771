/// What a page's `<meta http-equiv="Content-Security-Policy">` means for the pages' script and the worker.
///
/// Only definite refusals are reported: hashes, nonces and hosts aren't evaluated.
struct PagePolicy {
  /// The directives of each policy by name, with their sources.
  private let policies: [[String: [String]]]

  /// Parses a page's policies; the page must be in lowercase, without comments.
  init(of page: [UInt8]) {
    let text = String(decoding: page, as: UTF8.self)
    policies = text.split(separator: "<").compactMap { tag in
      guard tag.hasPrefix("meta"), let end = tag.firstIndex(of: ">"),
        Self.attribute("http-equiv", in: tag[..<end]) == "content-security-policy",
        let content = Self.attribute("content", in: tag[..<end])
      else { return nil }
      var policy: [String: [String]] = [:]
      for directive in content.split(separator: ";") {
        let words = directive.split { $0 == " " || $0 == "\n" || $0 == "\t" || $0 == "\r" }.map(String.init)
        guard let name = words.first, policy[name] == nil else { continue }
        policy[name] = Array(words.dropFirst())
      }
      return policy
    }
  }

  /// What to change in the page's policy; empty if nothing.
  var advice: [String] {
    var advice: [String] = []
    for policy in policies {
      func inForce(_ names: String...) -> (name: String, sources: [String])? {
        for name in names { if let sources = policy[name] { return (name, sources) } }
        return nil
      }
      if let script = inForce("script-src-elem", "script-src", "default-src") {
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
      if policy["require-trusted-types-for"] != nil, let names = policy["trusted-types"],
        !names.contains("xcache"), !names.contains("*")
      {
        advice.append("add xcache to trusted-types")
      }
    }
    return advice
  }

  /// Whether sources may allow the page's own origin, which any host may be.
  private static func allowsOwn(_ sources: [String]) -> Bool {
    sources.contains { $0 == "'self'" || !$0.hasPrefix("'") && $0 != "data:" && $0 != "blob:" }
  }

  /// Returns the value of a tag's attribute, decoding the entities that are usual in policies.
  private static func attribute(_ name: String, in tag: Substring) -> String? {
    var rest = tag
    while let equals = rest.firstIndex(of: "=") {
      let before = rest[..<equals].split { $0 == " " || $0 == "\n" || $0 == "\t" || $0 == "\r" || $0 == "/" }
        .last
      rest = rest[rest.index(after: equals)...].drop { $0 == " " || $0 == "\n" || $0 == "\t" || $0 == "\r" }
      let value: Substring
      if let quote = rest.first, quote == "\"" || quote == "'" {
        value = rest.dropFirst().prefix { $0 != quote }
        rest = rest.dropFirst(value.count + 2)
      } else {
        value = rest.prefix { $0 != " " && $0 != "\n" }
        rest = rest.dropFirst(value.count)
      }
      guard before == name[...] else { continue }
      var text = ""
      var left = value
      while let character = left.first {
        let entity = [("&#39;", "'"), ("&#x27;", "'"), ("&apos;", "'"), ("&quot;", "\""), ("&amp;", "&")]
          .first { left.hasPrefix($0.0) }
        text += entity?.1 ?? String(character)
        left = left.dropFirst(entity?.0.count ?? 1)
      }
      return text
    }
    return nil
  }
}
