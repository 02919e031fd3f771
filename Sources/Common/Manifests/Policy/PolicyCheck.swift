import Values

/// The result of a strict check of a policy: the problems with their places, and the policy if there are no
/// errors.
package struct PolicyCheck: Sendable {
  /// The errors, warnings and notes.
  package let remarks: [DocumentRemark]
  /// The policy; nil if there is an error.
  package let policy: Policy?

  /// Checks a file: the whole document, or its `data`.
  ///
  /// - Parameters:
  ///   - bytes: the file.
  ///   - scripts: the channel's scripts. A file may leave some out, but can't add any, since it doesn't contain
  ///     their bytes; without the member `scripts`, all stay.
  ///   - now: the current time, if ends that have passed are errors.
  package init(_ bytes: [UInt8], scripts: [PolicyScript], now: Instant? = nil) {
    var checker = PolicyChecker(scripts: scripts, now: now)
    let policy = checker.checks.parse(bytes).flatMap { checker.policy(of: $0) }
    remarks = checker.checks.remarks
    self.policy = checker.checks.hasErrors ? nil : policy
  }

  /// Checks a document that has already been parsed.
  package init(_ document: JSONValue, scripts: [PolicyScript], now: Instant? = nil) {
    self.init(document.canonical, scripts: scripts, now: now)
  }
}

struct PolicyChecker {
  var checks = DocumentChecker()
  let scripts: [PolicyScript]
  let now: Instant?

  init(scripts: [PolicyScript], now: Instant?) {
    self.scripts = scripts
    self.now = now
  }

  mutating func policy(of document: JSONValue) -> Policy? {
    var (value, path) = (document, JSONPath.root)
    if let inner = document["data"] {
      _ = checks.object(document, path, keys: ["code", "data"])
      if let code = document["code"], code.integer != 200 {
        checks.add(path.member("code"), .code(String(decoding: code.canonical, as: UTF8.self)))
      }
      (value, path) = (inner, path.member("data"))
    }
    let keys = ["bypass", "bypassUntil", "httpdns", "intercept", "scripts", "until", "version"]
    guard let data = checks.object(value, path, keys: keys) else { return nil }
    if let version = data["version"], version.string.flatMap({ ManifestVersion(text: $0) }) == nil {
      checks.add(path.member("version"), .version)
    }
    let intercepts = checks.flag(data["intercept"], path.member("intercept")) ?? true
    _ = checks.flag(data["httpdns"], path.member("httpdns"))
    let patterns = bypass(data["bypass"], path.member("bypass"))
    if let until = data["until"] {
      time(until, path.member("until"))
      if intercepts, patterns.isEmpty { checks.add(path.member("until"), .endOfNothing) }
    }
    ends(data["bypassUntil"], path.member("bypassUntil"), of: patterns)
    check(data["scripts"], path.member("scripts"))
    var policy = Policy(reading: value)
    if data["scripts"] == nil { policy.scripts = scripts }
    return policy
  }

  private mutating func bypass(_ value: JSONValue?, _ path: JSONPath) -> Set<String> {
    guard let value, let list = checks.array(value, path) else { return [] }
    var seen: [MatchPattern: JSONPath] = [:]
    var texts: Set<String> = []
    for (i, value) in list.enumerated() {
      guard let text = checks.string(value, path.element(i)) else { continue }
      do {
        let pattern = try MatchPattern(text)
        if let first = seen[pattern] { checks.add(path.element(i), .samePattern(first)) }
        seen[pattern] = seen[pattern] ?? path.element(i)
        texts.formUnion([text, pattern.text])
      } catch {
        checks.add(path.element(i), .pattern(error))
      }
    }
    if list.count > Policy.patternLimit {
      checks.add(path, .tooManyPatterns(list.count, limit: Policy.patternLimit))
    }
    return texts
  }

  private mutating func ends(_ value: JSONValue?, _ path: JSONPath, of patterns: Set<String>) {
    guard let value, let ends = checks.object(value, path) else { return }
    for member in ends.members {
      let place = path.member(member.key)
      if !patterns.contains(member.key) { checks.add(place, .endOfUnknown) }
      if !member.value.isNull { time(member.value, place) }
    }
  }

  private mutating func time(_ value: JSONValue, _ path: JSONPath) {
    guard let text = checks.string(value, path) else { return }
    guard let time = Instant(text) else { return checks.add(path, .time(text)) }
    if let now, time <= now { checks.add(path, .past(time)) }
  }

  private mutating func check(_ value: JSONValue?, _ path: JSONPath) {
    guard let value, let list = checks.array(value, path) else { return }
    for (i, value) in list.enumerated() {
      guard checks.object(value, path.element(i)) != nil else { continue }
      if let script = PolicyScript(reading: value), scripts.contains(script) { continue }
      checks.add(path.element(i), .unknownScript(value["name"]?.string ?? ""))
    }
  }
}
