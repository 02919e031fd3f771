/// Matching with one kind of wildcard that stands for any number of elements.
package enum Wildcard {
  /// Whether `pattern` fits all of `text`. Going back to the last wildcard only is enough, since an earlier one
  /// could not do better: the work is at most the product of both lengths.
  package static func matches<Pattern, Text: Collection>(
    _ pattern: [Pattern], _ text: Text, isMany: (Pattern) -> Bool, fits: (Pattern, Text.Element) -> Bool
  ) -> Bool {
    var p = 0
    var t = text.startIndex
    var retry: (p: Int, t: Text.Index)?
    while t != text.endIndex {
      if p < pattern.count, isMany(pattern[p]) {
        p += 1
        retry = (p, t)
      } else if p < pattern.count, fits(pattern[p], text[t]) {
        p += 1
        t = text.index(after: t)
      } else if let last = retry {
        let next = text.index(after: last.t)
        retry = (last.p, next)
        (p, t) = (last.p, next)
      } else {
        return false
      }
    }
    return pattern[p...].allSatisfy(isMany)
  }
}
