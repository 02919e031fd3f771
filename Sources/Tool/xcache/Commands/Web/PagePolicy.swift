/// What a page's `<meta http-equiv="Content-Security-Policy">` means for the pages' script and the worker.
///
/// Only definite refusals are reported: hashes, nonces and hosts aren't evaluated.
struct PagePolicy {
  /// The directives of each policy by name, with their sources.
  private let policies: [[String: [String]]]

  /// Parses a page's policies.
  init(of page: [UInt8]) {
    policies = PageMarkup(page).policies.map { text in
      var policy: [String: [String]] = [:]
      for directive in text.lowercased().split(separator: ";") {
        let words = directive.split { " \n\t\r".contains($0) }.map(String.init)
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
}
