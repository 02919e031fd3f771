/// Why bytes aren't the JSON that was expected. Positions are byte offsets.
package enum JSONError: Error, Hashable, Sendable {
  /// The text ends inside a value.
  case ended
  /// A byte that can't stand here.
  case unexpected(at: Int)
  /// Something follows the value.
  case trailing(at: Int)
  /// Deeper than `JSONReader.depthLimit`.
  case tooDeep(at: Int)
  /// Not a number by RFC 8259, section 6.
  case number(at: Int)
  /// An unknown escape, or half of a surrogate pair.
  case escape(at: Int)
  /// Not UTF-8 (RFC 3629).
  case encoding(at: Int)
  /// An object names this key twice.
  case duplicateKey(String)
  /// The member is missing, or isn't what its format says.
  case member(String)
}
