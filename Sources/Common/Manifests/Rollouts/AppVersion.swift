import Values

/// The version of an app, such as `4.2` or `4.2.0-rc.1+77`: one to four numbers, then optionally a pre-release and a build.
///
/// Versions are ordered as in Semantic Versioning 2.0.0 (§11), with missing numbers as 0; the build doesn't count.
package struct AppVersion: Hashable, Comparable, Sendable {
  /// The longest text that is read, in bytes.
  static let textLimit = 256

  /// Four numbers, each below 10^9.
  private let numbers: [UInt32]
  /// Empty for a version that isn't a pre-release.
  private let preRelease: [Identifier]

  /// Reads a version; nil for anything else.
  package init?(_ text: String) {
    let bytes = Array(text.utf8)
    guard bytes.count <= Self.textLimit else { return nil }
    let parts = bytes.split(separator: UInt8(ascii: "+"), maxSplits: 1, omittingEmptySubsequences: false)
    if parts.count == 2, !Self.isBuild(parts[1]) { return nil }
    let halves = parts[0].split(
      separator: UInt8(ascii: "-"), maxSplits: 1, omittingEmptySubsequences: false)
    guard let numbers = Self.numbers(halves[0]) else { return nil }
    var identifiers: [Identifier] = []
    for part in halves.count == 2 ? Self.labels(halves[1]) : [] {
      guard let identifier = Identifier(part) else { return nil }
      identifiers.append(identifier)
    }
    self.numbers = numbers
    preRelease = identifiers
  }

  private static func labels(_ bytes: ArraySlice<UInt8>) -> [ArraySlice<UInt8>] {
    bytes.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
  }

  private static func isBuild(_ bytes: ArraySlice<UInt8>) -> Bool {
    labels(bytes).allSatisfy { !$0.isEmpty && $0.allSatisfy(Identifier.allows) }
  }

  private static func numbers(_ bytes: ArraySlice<UInt8>) -> [UInt32]? {
    let parts = labels(bytes)
    guard parts.count <= 4 else { return nil }
    var numbers: [UInt32] = []
    for part in parts {
      // Nine digits always fit.
      guard (1...9).contains(part.count), part.allSatisfy(ASCII.isDigit) else { return nil }
      numbers.append(part.reduce(0) { $0 * 10 + UInt32($1 - 0x30) })
    }
    return numbers + Array(repeating: 0, count: 4 - numbers.count)
  }

  package static func < (a: AppVersion, b: AppVersion) -> Bool {
    if a.numbers != b.numbers { return a.numbers.lexicographicallyPrecedes(b.numbers) }
    // "a pre-release version has lower precedence than the associated normal version"
    if a.preRelease.isEmpty || b.preRelease.isEmpty { return !a.preRelease.isEmpty && b.preRelease.isEmpty }
    return a.preRelease.lexicographicallyPrecedes(b.preRelease)
  }

  /// A part of a pre-release, between dots.
  private struct Identifier: Hashable, Comparable {
    let bytes: [UInt8]
    let isNumber: Bool

    static func allows(_ byte: UInt8) -> Bool { ASCII.isLetterOrDigit(byte) || byte == UInt8(ascii: "-") }

    /// Nil for bytes that aren't allowed, and for a number with leading zeros.
    init?(_ part: ArraySlice<UInt8>) {
      guard !part.isEmpty, part.allSatisfy(Self.allows) else { return nil }
      bytes = Array(part)
      isNumber = bytes.allSatisfy(ASCII.isDigit)
      if isNumber, bytes.count > 1, bytes[0] == UInt8(ascii: "0") { return nil }
    }

    static func < (a: Identifier, b: Identifier) -> Bool {
      if a.isNumber != b.isNumber { return a.isNumber }
      // Without leading zeros, the longer number is the larger one; it may have more digits than any integer.
      if a.isNumber, a.bytes.count != b.bytes.count { return a.bytes.count < b.bytes.count }
      return a.bytes.lexicographicallyPrecedes(b.bytes)
    }
  }
}
