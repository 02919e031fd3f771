/// Why bytes aren't the JSON that was expected. Positions are byte offsets.
package enum JSONError: Error, Hashable, Sendable {
  /// The text ends inside a value.
  case ended
  /// A byte that isn't allowed here.
  case unexpected(at: Int)
  /// Something follows the value.
  case trailing(at: Int)
  /// Nested more deeply than `JSONReader.depthLimit`.
  case tooDeep(at: Int)
  /// A part of a streamed text is longer than `JSONStream.partLimit`.
  case tooLarge(at: Int)
  /// More values than the reader takes.
  case tooMany(at: Int)
  /// An invalid number (RFC 8259, section 6).
  case number(at: Int)
  /// An unknown escape, or half of a surrogate pair.
  case escape(at: Int)
  /// Not UTF-8 (RFC 3629).
  case encoding(at: Int)
  /// An object has this key twice.
  case duplicateKey(String)
  /// The member is missing, or isn't in the expected format.
  case member(String)
}

extension JSONError {
  /// Returns the same error for a text in which this one begins at offset `count`.
  func moved(by count: Int) -> JSONError {
    switch self {
    case .unexpected(let at): .unexpected(at: at + count)
    case .trailing(let at): .trailing(at: at + count)
    case .tooDeep(let at): .tooDeep(at: at + count)
    case .tooLarge(let at): .tooLarge(at: at + count)
    case .tooMany(let at): .tooMany(at: at + count)
    case .number(let at): .number(at: at + count)
    case .escape(let at): .escape(at: at + count)
    case .encoding(let at): .encoding(at: at + count)
    case .ended, .duplicateKey, .member: self
    }
  }
}
