/// A channel's counter: 1, 2, 3, …; 0 where nothing was released yet; read from text, below 2^53.
package struct ManifestVersion: Hashable, Comparable, Sendable, CustomStringConvertible {
  package let number: Int64

  package static let none = ManifestVersion(0)
  /// The greatest that a restored channel may go on from: half of what there is remains for releases to come.
  package static let restorable = ManifestVersion(1 << 52)

  package init(_ number: Int64) {
    if number < 0 { fatalError("a manifest version is never below 0") }
    self.number = number
  }

  /// Reads decimal digits without sign or leading zeros; nil for anything else, 2^53 and above included.
  package init?(text: some StringProtocol) {
    guard let number = Decimal.parse(text.utf8) else { return nil }
    self.number = number
  }

  package var text: String { String(number) }
  package var description: String { text }
  package var next: ManifestVersion { ManifestVersion(number + 1) }

  package static func < (a: ManifestVersion, b: ManifestVersion) -> Bool { a.number < b.number }
}
