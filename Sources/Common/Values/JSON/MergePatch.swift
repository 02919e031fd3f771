/// JSON merge patches (RFC 7396).
package enum MergePatch {
  /// Returns `target` with `patch` applied: RFC 7396, section 2, `MergePatch(Target, Patch)`.
  package static func apply(_ patch: JSONValue, to target: JSONValue) -> JSONValue {
    guard case .object(let changes) = patch else { return patch }
    // "if Target is not an Object: Target = {}"
    return .object(apply(changes, to: target.object ?? JSONObject()))
  }

  /// Applies a patch to an object, in time linear in the sizes of both.
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

  /// Returns a patch that turns `old` into `new`.
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

  /// Returns only the removals of a patch: null for each member of `old` that `new` lacks, including those inside objects
  /// that both have. Mostly empty.
  package static func removals(from old: JSONObject, to new: JSONObject) -> JSONObject {
    if old.isEmpty || old == new { return JSONObject() }
    var removals: [JSONObject.Member] = []
    walk(old, new) { was, becomes in
      guard let was else { return }
      guard let becomes else { return removals.append(JSONObject.Member(key: was.key, value: .null)) }
      // Values other than objects are replaced whole.
      guard let before = was.value.object, let after = becomes.value.object else { return }
      let inside = Self.removals(from: before, to: after)
      if !inside.isEmpty { removals.append(JSONObject.Member(key: was.key, value: .object(inside))) }
    }
    return JSONObject(sorted: removals)
  }

  /// Returns a patch that sets all of `new`, and makes the `removals`.
  package static func replacing(by new: JSONObject, without removals: JSONObject) -> JSONObject {
    var patch = new
    for removal in removals.members {
      if let inside = removal.value.object, let object = new[removal.key]?.object {
        patch[removal.key] = .object(replacing(by: object, without: inside))
      } else {
        patch[removal.key] = removal.value
      }
    }
    return patch
  }

  /// Visits each key of either object once, in order, with its member on both sides.
  private static func walk(
    _ a: JSONObject, _ b: JSONObject, _ visit: (JSONObject.Member?, JSONObject.Member?) -> Void
  ) {
    SortedPairs.walk(a.members, b.members, key: \.key, visit)
  }
}

/// Iterates over two lists that are sorted by the UTF-8 bytes of a key, each key once.
package enum SortedPairs {
  /// Visits each key of either list once, in order, with its element on both sides.
  package static func walk<A, B, Failure: Error>(
    _ a: [A], _ b: [B], keyA: (A) -> String, keyB: (B) -> String,
    _ visit: (A?, B?) throws(Failure) -> Void
  ) throws(Failure) {
    var i = 0
    var j = 0
    while i < a.count, j < b.count {
      let left = keyA(a[i])
      let right = keyB(b[j])
      if UTF8Order.areEqual(left, right) {
        try visit(a[i], b[j])
        i += 1
        j += 1
      } else if UTF8Order.precedes(left, right) {
        try visit(a[i], nil)
        i += 1
      } else {
        try visit(nil, b[j])
        j += 1
      }
    }
    while i < a.count {
      try visit(a[i], nil)
      i += 1
    }
    while j < b.count {
      try visit(nil, b[j])
      j += 1
    }
  }

  /// Does the same for two lists of the same element type.
  package static func walk<Element, Failure: Error>(
    _ a: [Element], _ b: [Element], key: (Element) -> String,
    _ visit: (Element?, Element?) throws(Failure) -> Void
  ) throws(Failure) {
    try walk(a, b, keyA: key, keyB: key, visit)
  }
}
