import Values

/// For which navigations that nothing else answers a page's entry answers (docs/protocol.md §3): a single-page app has one document for all
/// of its routes. The member `fallback` of an entry.
package struct PageFallbacks: Hashable, Sendable {
  /// A part of the page's own origin, by path.
  package struct Rule: Hashable, Sendable {
    /// The path under which the page answers, from `/` to `/`, as the URL serialiser writes it.
    package let prefix: String
    /// The prefix as a match key.
    private let key: String
    /// Those of `except`, behind a host that stands for the page's own.
    private let patterns: [MatchPattern]

    /// Patterns of paths for which it doesn't, as in a policy behind the host, in canonical form.
    package var except: [String] { patterns.map { String($0.text.dropFirst(Self.host.count)) } }

    /// - Throws: what is wrong with the first that can't be used.
    package init(prefix: String, except: [String] = []) throws(Fault) {
      guard prefix.utf8.first == UInt8(ascii: "/"), prefix.utf8.last == UInt8(ascii: "/"),
        !prefix.utf8.contains(where: { $0 == UInt8(ascii: "?") || $0 == UInt8(ascii: "#") }),
        let url = try? ResourceURL(Self.host + prefix),
        url.text.utf8.count == Self.host.utf8.count + url.path.utf8.count,
        url.path.utf8.last == UInt8(ascii: "/")
      else { throw .prefix(prefix) }
      guard except.count <= PageFallbacks.patternLimit else { throw .patterns(except.count) }
      self.prefix = String(url.path)
      key = ResourceURL.matchKey(of: self.prefix)
      patterns = try except.map { (text) throws(Fault) in
        guard text.utf8.first == UInt8(ascii: "/") else { throw .pattern(text, nil) }
        do throws(MatchPatternError) {
          return try MatchPattern(Self.host + text)
        } catch {
          throw .pattern(text, error.problem)
        }
      }
    }

    /// Stands for the page's own host, so that the parsers of URLs and patterns can be used for paths.
    private static let host = "https://host"

    /// Whether the page answers for a URL of its own origin, as far as this rule goes.
    package func covers(_ url: ResourceURL) -> Bool {
      guard ResourceURL.matchKey(of: String(url.path)).utf8.starts(with: key.utf8) else { return false }
      if patterns.isEmpty { return true }
      let target = url.text.dropFirst(url.scheme.count + 3 + url.authority.count)
      guard let page = try? ResourceURL(Self.host + target) else { return false }
      return !patterns.contains { $0.matches(page) }
    }
  }

  /// Why something can't be an entry's `fallback`.
  package enum Fault: Error, Hashable, Sendable {
    /// Not an array of objects with `prefix` and maybe `except`.
    case form
    /// A member that isn't known.
    case unknown(String)
    /// There are this many rules, or none.
    case rules(Int)
    /// Not a path that begins and ends with `/`.
    case prefix(String)
    /// A prefix that occurs twice.
    case twice(String)
    /// A rule has this many patterns.
    case patterns(Int)
    /// Not a pattern of paths; nil if it doesn't begin with `/`.
    case pattern(String, MatchPatternError.Problem?)
  }

  /// The maximum number of rules of an entry, and of patterns of a rule: an entry with all of them has fewer than 64 values.
  package static let ruleLimit = 4
  package static let patternLimit = 8

  /// The rules, sorted by prefix, each prefix once; empty for most entries.
  package let rules: [Rule]

  /// None.
  package init() { rules = [] }

  package init(_ rules: [Rule]) throws(Fault) {
    guard rules.count <= Self.ruleLimit else { throw .rules(rules.count) }
    self.rules = rules.sorted { UTF8Order.precedes($0.prefix, $1.prefix) }
    for (a, b) in zip(self.rules, self.rules.dropFirst()) where a.prefix == b.prefix {
      throw .twice(a.prefix)
    }
  }

  /// Parses the member `fallback` of an entry: `[{"except":["/app/api/*"],"prefix":"/app/"}]`. Members that this version doesn't know are
  /// ignored.
  package init(json: JSONValue) throws(Fault) {
    guard let array = json.array else { throw .form }
    guard 1...Self.ruleLimit ~= array.count else { throw .rules(array.count) }
    try self.init(
      array.map { (value) throws(Fault) in
        guard let prefix = value["prefix"]?.string else { throw .form }
        let except = try value["except"].map { (list) throws(Fault) in
          guard let patterns = list.array else { throw .form }
          return try patterns.map { (pattern) throws(Fault) in
            guard let text = pattern.string else { throw .form }
            return text
          }
        }
        return try Rule(prefix: prefix, except: except ?? [])
      })
  }

  /// Parses them as a publisher gives them: a member that isn't known would be a typing mistake.
  package init(given json: JSONValue) throws(Fault) {
    for rule in json.array ?? [] {
      let unknown = rule.object?.members.first { $0.key != "prefix" && $0.key != "except" }
      if let unknown { throw .unknown(unknown.key) }
    }
    try self.init(json: json)
  }

  package var isEmpty: Bool { rules.isEmpty }

  /// The approximate memory that they take, in bytes.
  package var weight: Int {
    rules.reduce(0) { sum, rule in
      rule.except.reduce(sum + 64 + rule.prefix.utf8.count) { $0 + 32 + $1.utf8.count }
    }
  }

  /// The member's value.
  package var json: JSONValue {
    .array(
      rules.map { rule in
        var object = JSONObject([.init(key: "prefix", value: .string(rule.prefix))])
        if !rule.except.isEmpty { object["except"] = .array(rule.except.map { .string($0) }) }
        return .object(object)
      })
  }
}

extension PageFallbacks {
  /// The name of the entry's member.
  package static let key = "fallback"

  /// The value of the member `fallback`; nil if there are none, because then it is left out.
  package var member: JSONValue? { isEmpty ? nil : json }

  /// The prefixes, as URLs of the page's origin.
  package func prefixes(of page: ResourceURL) -> [ResourceURL] {
    rules.map { ResourceURL(serialised: "\(page.scheme)://\(page.authority)\($0.prefix)") }
  }

  /// Parses those in an entry's members; nil if they can't be used.
  init?(of members: JSONObject) {
    guard let json = members[Self.key] else {
      self.init()
      return
    }
    guard let fallbacks = try? PageFallbacks(json: json) else { return nil }
    self = fallbacks
  }
}

extension PageFallbacks.Fault: CustomStringConvertible {
  /// What is wrong, and what to do.
  package var description: String {
    switch self {
    case .form: #"a fallback is a list of objects such as {"prefix":"/app/","except":["/app/api/*"]}"#
    case .unknown(let name):
      "\(String(name.prefix(64)).debugDescription) is not a member of a fallback; known are \"except\" and \"prefix\""
    case .rules(let count):
      "a page can be the fallback of 1 to \(PageFallbacks.ruleLimit) prefixes, not of \(count)"
    case .prefix(let text):
      "\(text.debugDescription) is not a path that begins and ends with /, without a query; write it like /app/"
    case .twice(let prefix): "the prefix \(prefix) appears twice"
    case .patterns(let count):
      "a prefix can have \(PageFallbacks.patternLimit) patterns in \"except\", not \(count); shorten them with *"
    case .pattern(let text, nil):
      "\(text.debugDescription) in \"except\" doesn't begin with /; write a path like /app/api/*"
    case .pattern(let text, let problem?):
      "\"except\": \(MatchPatternError(text: text, problem: problem))"
    }
  }
}
