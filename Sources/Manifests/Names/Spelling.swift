/// Finds what somebody probably meant to write.
package enum Spelling {
  /// The candidate within a third of the word's length of it, case not counted, the nearest first.
  package static func nearest(to word: String, among candidates: [String]) -> String? {
    let lowered = word.lowercased()
    return candidates.map { ($0, distance(lowered, $0.lowercased())) }
      .filter { $0.1 <= max(1, word.count / 3) }
      .min { $0.1 < $1.1 }?.0
  }

  /// Letters to insert, remove or replace (Levenshtein 1966).
  private static func distance(_ a: String, _ b: String) -> Int {
    let b = Array(b)
    var row = Array(0...b.count)
    for (i, letter) in a.enumerated() {
      var diagonal = row[0]
      row[0] = i + 1
      for j in b.indices {
        let replaced = diagonal + (letter == b[j] ? 0 : 1)
        diagonal = row[j + 1]
        row[j + 1] = min(replaced, row[j] + 1, row[j + 1] + 1)
      }
    }
    return row[b.count]
  }
}
