/// What a check leaves out.
package struct CheckOptions: Hashable, Sendable {
  package var off: Set<CheckRule>
  /// References to what matches are not reported; paths below the bundle's base, or whole URLs.
  package var ignore: [Glob]

  package static let all = CheckOptions()
  package static let none = CheckOptions(off: Set(CheckRule.allCases))

  package init(off: Set<CheckRule> = [], ignore: [Glob] = []) {
    self.off = off
    self.ignore = ignore
  }

  var isOff: Bool { off.count == CheckRule.allCases.count }
}
