import HTTP
import Manifests

extension JSONValue {
  /// A member that people wrote for people; nil where it is absent or null.
  ///
  /// - Throws: 400 for what is no text, 422 for one that is too long or holds control characters.
  func humanText(_ key: String, _ rule: HumanText.Rule) throws(Problem) -> String? {
    guard let value = self[key], !value.isNull else { return nil }
    guard let text = value.string else { throw .badRequest("\"\(key)\" is a text") }
    if let problem = HumanText.problem(of: text, rule) {
      throw Problem(.unprocessableContent, "text", "\"\(key)\": \(problem)")
    }
    return text
  }
}
