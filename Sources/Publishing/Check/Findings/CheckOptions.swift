import Manifests

/// What a check leaves out.
package struct CheckOptions: Hashable, Sendable {
  package var off: Set<CheckRule>
  /// References to what matches are not reported; paths below the bundle's base, or whole URLs.
  package var ignore: [Glob]

  /// Base URLs of bundles that aren't checked: what lies below them is theirs.
  package var others: [BaseURL] = []

  package static let all = CheckOptions()
  package static let none = CheckOptions(off: Set(CheckRule.allCases))

  package init(off: Set<CheckRule> = [], ignore: [Glob] = []) {
    self.off = off
    self.ignore = ignore
  }

  /// Whether a finding is to be reported.
  func wants(_ finding: Finding) -> Bool {
    if off.contains(finding.rule) { return false }
    guard let target = finding.problem.target else { return true }
    return !ignore.contains { $0.matches(target) }
  }

  var isOff: Bool { off.count == CheckRule.allCases.count }
}
