/// A range of app versions, such as `>=4.2 <5 || =6.0.1`: alternatives, joined by `||`, of comparators that must all hold.
package struct AppVersionRange: Hashable, Sendable {
  /// The longest text, in bytes.
  package static let textLimit = 256
  /// The maximum number of comparators in all alternatives.
  package static let comparatorLimit = 16

  /// The range as it was written.
  package let text: String
  private let alternatives: [[Comparator]]

  /// - Throws: what is wrong with the text, for a person who wrote it.
  package init(_ text: String) throws(AppVersionRangeError) {
    guard text.utf8.count <= Self.textLimit else { throw .tooLong(text.utf8.count) }
    var alternatives: [[Comparator]] = []
    for alternative in Self.alternatives(Array(text.utf8)) {
      var comparators: [Comparator] = []
      for word in alternative.split(separator: UInt8(ascii: " ")) {
        let word = String(decoding: word, as: UTF8.self)
        guard let comparator = Comparator(word) else { throw .comparator(word) }
        comparators.append(comparator)
      }
      guard !comparators.isEmpty else { throw .empty }
      alternatives.append(comparators)
    }
    let count = alternatives.reduce(0) { $0 + $1.count }
    guard count <= Self.comparatorLimit else { throw .tooMany(count) }
    self.text = text
    self.alternatives = alternatives
  }

  /// Splits at `||`.
  private static func alternatives(_ bytes: [UInt8]) -> [ArraySlice<UInt8>] {
    var parts: [ArraySlice<UInt8>] = []
    var start = 0
    var i = 0
    while i + 1 < bytes.count {
      if bytes[i] == UInt8(ascii: "|"), bytes[i + 1] == UInt8(ascii: "|") {
        parts.append(bytes[start..<i])
        i += 2
        start = i
      } else {
        i += 1
      }
    }
    return parts + [bytes[start...]]
  }

  /// Reads what a person has written.
  /// - Throws: also `never`.
  package static func written(_ text: String) throws(AppVersionRangeError) -> AppVersionRange {
    let range = try AppVersionRange(text)
    if range.isEmpty { throw .never }
    return range
  }

  /// Whether a version lies in the range.
  package func contains(_ version: AppVersion) -> Bool {
    alternatives.contains { $0.allSatisfy { $0.allows(version) } }
  }

  /// Whether no version can be in the range, such as `<4 >=5`. It is one that devices read, but nobody means it.
  package var isEmpty: Bool {
    alternatives.allSatisfy { comparators in
      let lower = comparators.filter(\.isLower).map(\.version).max()
      let upper = comparators.filter(\.isUpper).map(\.version).min()
      guard let lower, let upper, lower >= upper else { return false }
      // Only the version at which both ends meet could be in it.
      return lower > upper || !comparators.allSatisfy { $0.allows(lower) }
    }
  }

  private struct Comparator: Hashable {
    private enum Operator: String { case less = "<", atMost = "<=", more = ">", atLeast = ">=", equal = "=" }

    private let relation: Operator
    let version: AppVersion
    var isLower: Bool { [.more, .atLeast, .equal].contains(relation) }
    var isUpper: Bool { [.less, .atMost, .equal].contains(relation) }

    init?(_ word: String) {
      let sign = word.prefix { "<>=".contains($0) }
      guard let relation = Operator(rawValue: String(sign)),
        let version = AppVersion(String(word.dropFirst(sign.count)))
      else { return nil }
      self.relation = relation
      self.version = version
    }

    func allows(_ other: AppVersion) -> Bool {
      switch relation {
      case .less: other < version
      case .atMost: other <= version
      case .more: other > version
      case .atLeast: other >= version
      case .equal: other == version
      }
    }
  }
}

/// Why a text isn't a range of app versions.
package enum AppVersionRangeError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The text has this many bytes.
  case tooLong(Int)
  /// Nothing, or nothing beside `||`.
  case empty
  /// A word that isn't a comparator.
  case comparator(String)
  /// There are this many comparators.
  case tooMany(Int)
  /// No version can be in it; thrown only where a person has written the range.
  case never

  package var description: String {
    switch self {
    case .tooLong(let count):
      "a range of app versions has at most \(AppVersionRange.textLimit) bytes, and this one has \(count)"
    case .empty: "a range of app versions needs at least one comparator on each side of ||, such as >=4.2"
    case .comparator(let word):
      "\"\(word)\" isn't a comparator: write <, <=, >, >= or = and a version, without a space between them, such as >=4.2"
    case .tooMany(let count):
      "a range of app versions has at most \(AppVersionRange.comparatorLimit) comparators, and this one has \(count)"
    case .never: "no version can be in this range; || joins alternatives, such as <4 || >=5"
    }
  }
}
