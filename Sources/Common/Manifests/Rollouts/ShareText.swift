/// A share of 10,000 in words: of the devices that a rollout lets in, or of the reports that are sent.
package enum ShareText {
  /// How many decimals a percentage has.
  package enum Decimals: Hashable, Sendable {
    /// None, one or two: `5`, `0.5`, `0.05`.
    case needed
    /// None or two: `5`, `0.50`, `0.05`. For texts that have always been written so: options that a message suggests, and
    /// summaries of scheduled acts.
    case two
  }

  /// Returns a share as a percentage for people: `5 %`.
  package static func percent(_ share: Int, _ decimals: Decimals = .needed) -> String {
    "\(number(share, decimals)) %"
  }

  /// Returns a share as a command's option that a message suggests: `5%`, `0.50%`.
  package static func option(_ share: Int) -> String { "\(number(share, .two))%" }

  private static func number(_ share: Int, _ decimals: Decimals) -> String {
    let (whole, rest) = share.quotientAndRemainder(dividingBy: 100)
    if rest == 0 { return "\(whole)" }
    let shown = decimals == .needed && rest % 10 == 0 ? rest / 10 : rest
    return "\(whole).\(rest < 10 ? "0" : "")\(shown)"
  }

  /// Returns whom a rollout goes to: `5 % of the devices and group qa, with app version >=4.2`.
  package static func audience(
    share: Int, groups: [String] = [], app: String? = nil, _ decimals: Decimals = .needed
  ) -> String {
    let names =
      groups.isEmpty ? "" : " and \(groups.count == 1 ? "group" : "groups") \(groups.joined(separator: ", "))"
    let range = app.map { ", with app version \($0)" } ?? ""
    return "\(percent(share, decimals)) of the devices\(names)\(range)"
  }

  /// Returns what a rollout at a share does by itself: `goes on by itself to 25%, 100%; is halted by itself if it fails too often`. Nil if
  /// that is nothing.
  package static func course(from share: Int, steps: [Int], completes: Bool, halts: Bool) -> String? {
    let next = steps.filter { $0 > share }.map(option).joined(separator: ", ")
    let parts = [
      next.isEmpty ? nil : "goes on by itself to \(next)\(completes ? ", and is completed" : "")",
      next.isEmpty && completes ? "is completed by itself" : nil,
      halts ? "is halted by itself if it fails too often" : nil,
    ].compactMap(\.self)
    return parts.isEmpty ? nil : parts.joined(separator: "; ")
  }
}
