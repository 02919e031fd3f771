/// Two lists that are sorted by the UTF-8 bytes of a key, each key once, walked together.
enum SortedPairs {
  /// Visits each key of either list once, in order, with its element on both sides.
  static func walk<A, B, Failure: Error>(
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

  /// The same for two lists of one kind.
  static func walk<Element, Failure: Error>(
    _ a: [Element], _ b: [Element], key: (Element) -> String,
    _ visit: (Element?, Element?) throws(Failure) -> Void
  ) throws(Failure) {
    try walk(a, b, keyA: key, keyB: key, visit)
  }
}
