/// A piece of an open file, sent without passing through user memory.
package struct FileBody: Sendable {
  /// Keeps the descriptor open until the answer is sent.
  package let owner: any AnyObject & Sendable
  package let descriptor: Int32
  package let offset: UInt64
  package let count: UInt64

  package init(owner: any AnyObject & Sendable, descriptor: Int32, offset: UInt64, count: UInt64) {
    self.owner = owner
    self.descriptor = descriptor
    self.offset = offset
    self.count = count
  }

  /// The part of it that `range` names, counted from its own start.
  package func part(_ range: Range<UInt64>) -> FileBody {
    let start = min(range.lowerBound, count)
    let end = min(range.upperBound, count)
    return FileBody(owner: owner, descriptor: descriptor, offset: offset &+ start, count: end &- start)
  }
}
