/// What went wrong in a page, in the page's own words.
///
/// They may hold anything, also what a person typed. Nothing of them leaves the device before it is stripped and cut
/// (docs/protocol.md §12).
public struct PageError: Hashable, Sendable {
  /// The error's message on one or more lines; empty if there is none.
  public let message: String
  /// The stack as the engine writes it, a frame a line, in the form of V8 or of WebKit and Gecko; empty if there is none.
  public let stack: String

  /// The most bytes that are kept of a message, and of a stack: enough for what is sent of them.
  static let (longestMessage, longestStack) = (2_048, 16_384)

  /// Creates an error; what is too long is cut.
  public init(message: String, stack: String = "") {
    self.message = Self.cut(message, to: Self.longestMessage)
    self.stack = Self.cut(stack, to: Self.longestStack)
  }

  /// Returns a text of at most `limit` bytes. A word at the end that was cut goes, too: half an id or address isn't known as one any more.
  private static func cut(_ text: String, to limit: Int) -> String {
    guard text.utf8.count > limit else { return text }
    let kept = text.utf8.prefix(limit)
    let end = kept.lastIndex { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\n") } ?? kept.startIndex
    return String(decoding: kept[..<end], as: UTF8.self)
  }
}
