import BuildCheck
import Manifests

/// A value of `xcache.json`, and where in the file it is.
struct SettingsNode {
  let value: JSONValue
  let file: String
  /// From the outermost key to this value.
  var keys: [String] = []

  /// The error that this isn't what it should be.
  func wanted(_ wanted: String) -> SettingsError { SettingsError(.value(wanted: wanted), in: file, at: keys) }

  var unknown: SettingsError { SettingsError(.unknownKey, in: file, at: keys) }

  func text(_ what: String) throws(SettingsError) -> String {
    guard let text = value.string else { throw wanted(what) }
    return text
  }

  func bool() throws(SettingsError) -> Bool {
    guard let bool = value.bool else { throw wanted("true or false") }
    return bool
  }

  func members() throws(SettingsError) -> [(key: String, node: SettingsNode)] {
    guard let object = value.object else { throw wanted("an object: {…}") }
    return object.members.map { ($0.key, SettingsNode(value: $0.value, file: file, keys: keys + [$0.key])) }
  }

  func elements() throws(SettingsError) -> [SettingsNode] {
    guard let array = value.array else { throw wanted("a list: […]") }
    return array.enumerated().map { SettingsNode(value: $1, file: file, keys: keys + ["\($0 + 1)"]) }
  }

  func globs() throws(SettingsError) -> [Glob] {
    var globs: [Glob] = []
    for element in try elements() { globs.append(try element.glob(element.text("a pattern, such as *.map"))) }
    return globs
  }

  private func glob(_ text: String) throws(SettingsError) -> Glob {
    guard let glob = Glob(text) else {
      throw wanted("a pattern, such as *.map, not \(text.debugDescription)")
    }
    return glob
  }

  /// `{"pattern": "type/subtype"}`; the longest pattern counts first, since an object's keys have no order.
  func typeRules() throws(SettingsError) -> [BundleSource.TypeRule] {
    var rules: [BundleSource.TypeRule] = []
    for (key, node) in try members() {
      let text = try node.text("a content type")
      guard let ctype = ContentType(text) else {
        throw node.wanted("a content type such as text/html;charset=UTF-8, not \(text.debugDescription)")
      }
      rules.append(BundleSource.TypeRule(try node.glob(key), ctype))
    }
    return rules.sorted { $0.pattern.text.utf8.count > $1.pattern.text.utf8.count }
  }
}
