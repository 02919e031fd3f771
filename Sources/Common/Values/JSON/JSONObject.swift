/// The members of a JSON object, sorted by their keys' UTF-8 bytes, each key once.
package struct JSONObject: Hashable, Sendable {
  /// A key and its value.
  package struct Member: Hashable, Sendable {
    package let key: String
    package var value: JSONValue

    package init(key: String, value: JSONValue) {
      self.key = key
      self.value = value
    }

    package static func == (a: Member, b: Member) -> Bool {
      UTF8Order.areEqual(a.key, b.key) && a.value == b.value
    }

    /// By the value, too: objects with the same keys, such as the entries of a manifest that has something to say of each, would all have
    /// one hash, and a set of n of them would take n² comparisons.
    package func hash(into hasher: inout Hasher) {
      hasher.combine(key)
      hasher.combine(value)
    }
  }

  /// Sorted by key, each key once.
  package private(set) var members: [Member]

  package init() { members = [] }

  /// Creates an object of members in any order; a duplicate key is a bug and traps.
  package init(_ members: [Member]) {
    do {
      self.members = try members.sortedByKey(\.key)
    } catch {
      fatalError("an object with one key twice: \(error)")
    }
  }

  /// Creates an object of members that are already sorted and unique.
  package init(sorted members: [Member]) { self.members = members }

  /// The number of members.
  package var count: Int { members.count }
  /// Whether there are no members.
  package var isEmpty: Bool { members.isEmpty }

  /// The member's value; setting nil removes the member.
  package subscript(key: String) -> JSONValue? {
    get {
      let i = position(of: key)
      return holds(key, at: i) ? members[i].value : nil
    }
    set {
      let i = position(of: key)
      switch (holds(key, at: i), newValue) {
      case (true, let value?): members[i].value = value
      case (true, nil): members.remove(at: i)
      case (false, let value?): members.insert(Member(key: key, value: value), at: i)
      case (false, nil): break
      }
    }
  }

  /// Returns the index of the first member whose key doesn't sort before `key`.
  private func position(of key: String) -> Int {
    var low = 0
    var high = members.count
    while low < high {
      let middle = (low + high) / 2
      if UTF8Order.precedes(members[middle].key, key) { low = middle + 1 } else { high = middle }
    }
    return low
  }

  private func holds(_ key: String, at i: Int) -> Bool {
    i < members.count && UTF8Order.areEqual(members[i].key, key)
  }
}

extension Array {
  /// Returns the elements sorted by their keys' UTF-8 bytes.
  ///
  /// - Throws: `duplicateKey`, if two elements have the same key.
  package func sortedByKey(_ key: (Element) -> String) throws(JSONError) -> [Element] {
    var isSorted = true
    for i in indices.dropFirst() where !UTF8Order.precedes(key(self[i - 1]), key(self[i])) {
      isSorted = false
      break
    }
    // Our own documents are already sorted.
    if isSorted { return self }
    let sorted = sorted { UTF8Order.precedes(key($0), key($1)) }
    for i in sorted.indices.dropFirst() where UTF8Order.areEqual(key(sorted[i - 1]), key(sorted[i])) {
      throw .duplicateKey(key(sorted[i]))
    }
    return sorted
  }
}
