extension Policy {
  /// Patterns in a policy at most.
  package static let patternLimit = 200
  /// Scripts in a policy at most.
  package static let scriptLimit = 20

  /// The members of the document's `data`, without its version.
  ///
  /// `until` is when all that is temporary here lapses: an `intercept` of false, and the entries of `bypass`.
  /// `bypassUntil` names the entries that lapse at another time, or never: null.
  package var json: JSONObject {
    let ends = Set(bypass.map(\.until))
    let common: Instant? = intercept ? (ends.count == 1 ? bypass.first?.until : nil) : until
    var object = JSONObject()
    object["bypass"] = .strings(bypass.map(\.pattern.text))
    let others = bypass.filter { $0.until != common }.map { entry in
      JSONObject.Member(key: entry.pattern.text, value: entry.until.map { .string($0.text) } ?? .null)
    }
    object["bypassUntil"] = others.isEmpty ? nil : .object(JSONObject(others))
    object["intercept"] = .bool(intercept)
    object["scripts"] = .array(scripts.map(\.json))
    object["until"] = common.map { .string($0.text) }
    return object
  }

  /// Reads the members as a device does: what it can't use it passes over.
  package init(reading value: JSONValue) {
    intercept = value["intercept"]?.bool ?? true
    let common = value["until"]?.string.flatMap { Instant($0) }
    until = intercept ? nil : common
    let ends = value["bypassUntil"]?.object
    for text in (value["bypass"]?.array ?? []).compactMap(\.string) {
      guard let pattern = try? MatchPattern(text) else { continue }
      let own = ends?[text] ?? ends?[pattern.text]
      add(Bypass(pattern, until: own.map { $0.string.flatMap { Instant($0) } } ?? common))
    }
    for script in (value["scripts"]?.array ?? []).compactMap(PolicyScript.init(reading:)) { add(script) }
  }
}
