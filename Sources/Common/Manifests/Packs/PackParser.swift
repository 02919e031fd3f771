/// Parses a pack as its bytes arrive, in memory proportional to its change list, not to its files.
package struct PackParser {
  /// A part of a pack, in order.
  package enum Part: ~Escapable {
    case head(PackHead)
    /// The whole coded change list.
    case changes([UInt8])
    case record(PackRecordHead)
    /// The next bytes of the record's frame.
    case payload(RawSpan)
    case recordEnd
  }

  private enum State {
    case head
    case changes(PackHead)
    case recordHead
    case payload(left: Int64)
    case end
    /// It was resumed at a place that the pack doesn't have.
    case nowhere
  }

  private var state = State.head
  private var held: [UInt8] = []
  private var recordsLeft = 0
  /// The maximum bytes of the change list.
  private let limit: Int64
  /// The position in the pack of the next part, where an interrupted download can resume.
  package private(set) var offset: Int64 = 0

  /// - Parameter limit: the maximum bytes of the change list.
  package init(limit: Int64) { self.limit = limit }

  /// Resumes after the change list of a pack and some of its records.
  ///
  /// The numbers may come from a file: if they are impossible, `push` throws.
  package init(resuming head: PackHead, recordsTaken: Int, at offset: Int64) {
    limit = 0
    guard (0...head.records).contains(recordsTaken), (0...Varint.largest).contains(offset) else {
      state = .nowhere
      return
    }
    self.offset = offset
    recordsLeft = head.records - recordsTaken
    state = recordsLeft == 0 ? .end : .recordHead
  }

  /// Whether the whole pack has been parsed.
  package var isAtEnd: Bool { if case .end = state { true } else { false } }

  /// Takes the next bytes, and passes each part that they complete to `take`. Must not be called again after it
  /// throws.
  /// - Throws: what `take` throws, or a `PackFault` if the bytes aren't a pack.
  package mutating func push(_ bytes: RawSpan, _ take: (borrowing Part) throws -> Void) throws {
    var start = 0
    while start < bytes.byteCount {
      switch state {
      case .head:
        start += hold(bytes, from: start, upTo: PackHead.longest)
        guard let (head, length) = try PackHead.read(held) else { continue }
        guard head.changes.coded <= limit, head.changes.plain <= limit else { throw PackFault.overLimit }
        start = giveBack(length, start)
        recordsLeft = head.records
        state = .changes(head)
        try take(.head(head))
        try takeChanges(head, take)
      case .changes(let head):
        start += hold(bytes, from: start, upTo: Int(head.changes.coded))
        try takeChanges(head, take)
      case .recordHead:
        start += hold(bytes, from: start, upTo: PackRecordHead.longest)
        guard let (head, length) = try PackRecordHead.read(held) else { continue }
        start = giveBack(length, start)
        state = .payload(left: head.length)
        try take(.record(head))
        try endRecord(take)
      case .payload(let left):
        let count = Int(min(left, Int64(bytes.byteCount - start)))
        try take(.payload(bytes.extracting(start..<start + count)))
        start += count
        offset += Int64(count)
        state = .payload(left: left - Int64(count))
        try endRecord(take)
      case .end: throw PackFault.damaged("it goes on behind its last file")
      case .nowhere: throw PackFault.damaged("it has no such record to go on with")
      }
    }
  }

  private mutating func takeChanges(_ head: PackHead, _ take: (borrowing Part) throws -> Void) throws {
    guard held.count == Int(head.changes.coded) else { return }
    offset += head.changes.coded
    state = recordsLeft == 0 ? .end : .recordHead
    let coded = held
    held = []
    try take(.changes(coded))
  }

  private mutating func endRecord(_ take: (borrowing Part) throws -> Void) throws {
    guard case .payload(left: 0) = state else { return }
    recordsLeft -= 1
    state = recordsLeft == 0 ? .end : .recordHead
    try take(.recordEnd)
  }

  /// Buffers bytes until a part is complete, and returns how many it took.
  private mutating func hold(_ bytes: RawSpan, from start: Int, upTo count: Int) -> Int {
    let taken = min(count - held.count, bytes.byteCount - start)
    bytes.extracting(start..<start + taken).withUnsafeBytes { held.append(contentsOf: $0) }
    return taken
  }

  /// Drops the buffer after a part of `length` bytes, and returns where in the input the next part begins.
  private mutating func giveBack(_ length: Int, _ start: Int) -> Int {
    defer { held = [] }
    offset += Int64(length)
    return start - (held.count - length)
  }
}
