/// JSON merge patches (RFC 7396).
package enum MergePatch {
  /// What `patch` makes of `target`: RFC 7396, section 2, `MergePatch(Target, Patch)`.
  package static func apply(_ patch: JSONValue, to target: JSONValue) -> JSONValue {
    guard case .object(let changes) = patch else { return patch }
    // "if Target is not an Object: Target = {}"
    return .object(apply(changes, to: target.object ?? JSONObject()))
  }

  /// The same for objects: one walk over both, so its cost is their sum.
  static func apply(_ changes: JSONObject, to target: JSONObject) -> JSONObject {
    var result: [JSONObject.Member] = []
    result.reserveCapacity(target.count + changes.count)
    walk(target, changes) { old, change in
      guard let change else { return result.append(contentsOf: old.map { [$0] } ?? []) }
      if change.value.isNull { return }
      let value = apply(change.value, to: old?.value ?? .null)
      result.append(JSONObject.Member(key: change.key, value: value))
    }
    return JSONObject(sorted: result)
  }

  /// A patch that makes `new` of `old`.
  ///
  /// - Precondition: no object in `new` has a member `null`, which a merge patch can't express.
  package static func make(from old: JSONValue, to new: JSONValue) -> JSONValue {
    guard case .object(let before) = old, case .object(let after) = new else { return new }
    var changes: [JSONObject.Member] = []
    walk(before, after) { was, becomes in
      switch (was, becomes) {
      case (let was?, nil): changes.append(JSONObject.Member(key: was.key, value: .null))
      case (nil, let becomes?): changes.append(becomes)
      case (let was?, let becomes?) where was.value != becomes.value:
        let value = make(from: was.value, to: becomes.value)
        changes.append(JSONObject.Member(key: becomes.key, value: value))
      default: break
      }
    }
    return .object(JSONObject(sorted: changes))
  }

  /// Visits each key of either object once, in order, with its member on both sides.
  private static func walk(
    _ a: JSONObject, _ b: JSONObject, _ visit: (JSONObject.Member?, JSONObject.Member?) -> Void
  ) {
    SortedPairs.walk(a.members, b.members, key: \.key, visit)
  }
}
