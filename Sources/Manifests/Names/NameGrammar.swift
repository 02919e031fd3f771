/// The grammar that the three kinds of names share: a first character, further ones, a greatest length.
struct NameGrammar {
  let kind: NameError.Kind
  let limit: Int
  let isFirst: (UInt8) -> Bool
  let isFurther: (UInt8) -> Bool

  /// Passes when `text` is a name of this kind.
  func check(_ text: String) throws(NameError) {
    guard let first = text.utf8.first else { throw error(text, .empty) }
    guard isFirst(first) else { throw error(text, .start) }
    for scalar in text.unicodeScalars {
      guard scalar.isASCII, isFurther(UInt8(scalar.value)) else { throw error(text, .character(scalar)) }
    }
    guard text.utf8.count <= limit else { throw error(text, .tooLong(limit: limit)) }
  }

  func error(_ text: String, _ problem: NameError.Problem) -> NameError {
    NameError(kind: kind, text: text, problem: problem)
  }
}
