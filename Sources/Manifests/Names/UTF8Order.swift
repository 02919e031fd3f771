/// Texts compared by their UTF-8 bytes.
///
/// `String`'s own `==` takes two spellings of one character as equal; a JSON key is its bytes.
package enum UTF8Order {
  package static func areEqual(_ a: String, _ b: String) -> Bool {
    let left = a.utf8Span.span
    let right = b.utf8Span.span
    guard left.count == right.count else { return false }
    for i in left.indices where left[i] != right[i] { return false }
    return true
  }

  package static func precedes(_ a: String, _ b: String) -> Bool {
    let left = a.utf8Span.span
    let right = b.utf8Span.span
    for i in 0..<min(left.count, right.count) where left[i] != right[i] { return left[i] < right[i] }
    return left.count < right.count
  }
}
