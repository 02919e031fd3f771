/// The ranges of a representation that a Range field requests (RFC 9110 §14.1, §14.2).
package enum ByteRanges: Sendable, Equatable {
  /// No usable Range: the answer is the whole representation.
  case whole
  /// 416: no range overlaps the representation.
  case unsatisfiable
  case single(Range<UInt64>)
  /// Two or more, in the requested order.
  case several([Range<UInt64>])

  /// The maximum number of ranges; more, or overlapping ones, are answered with the whole (RFC 9110 §17.15).
  package static let limit = 16

  /// Returns what a request asks for of a representation of `length` bytes: the whole, unless it is a GET with one Range field
  /// that applies (§14.2, §13.1.5).
  ///
  /// - Parameters:
  ///   - request: The request.
  ///   - length: The number of bytes.
  ///   - tag: The entity tag, if there is one.
  ///   - lastModified: When it last changed, if known.
  ///   - limit: The most ranges that are answered, at least one; a field with more is ignored.
  package init(
    _ request: borrowing Request, length: UInt64, tag: EntityTag?, lastModified: LastModified? = nil,
    limit: Int = ByteRanges.limit
  ) {
    guard request.method == .get, let value = request.field(.range), !request.head.isRepeated(.range),
      Preconditions.rangeApplies(request, tag: tag, lastModified: lastModified)
    else {
      self = .whole
      return
    }
    self.init(value, length: length, limit: limit)
  }

  /// Parses `value` for a representation of `length` bytes.
  package init(_ value: RawSpan, length: UInt64, limit: Int = ByteRanges.limit) {
    self = .whole
    guard value.byteCount > 6, value.extracting(first: 6).equalsIgnoringCase("bytes=") else { return }
    var items = ListItems(value.extracting(6..<value.byteCount))
    var first: Range<UInt64>?
    var rest: [Range<UInt64>] = []
    var count = 0
    while let item = items.next() {
      guard let range = ByteRanges.range(item, length) else { return }
      count += 1
      guard count <= limit else { return }
      if range.isEmpty { continue }
      if first == nil { first = range } else { rest.append(range) }
    }
    guard count > 0 else { return }
    if let first {
      let ranges = [first] + rest
      if rest.isEmpty {
        self = .single(first)
      } else if !ByteRanges.overlap(ranges) {
        self = .several(ranges)
      }
    } else {
      self = .unsatisfiable
    }
  }

  /// Parses one range. It is empty if it lies beyond the end, and nil if it is malformed or a suffix of an empty body.
  private static func range(_ item: RawSpan, _ length: UInt64) -> Range<UInt64>? {
    guard let dash = item.firstIndex(of: 0x2D) else { return nil }
    let from = item.extracting(0..<dash)
    let to = item.extracting((dash &+ 1)..<item.byteCount)
    if from.byteCount == 0 {
      guard isNumber(to) else { return nil }
      let count = to.decimal ?? .max
      // §14.1.2 makes it satisfiable, with the whole as the answer; Content-Range can't express an empty range.
      if length == 0, count > 0 { return nil }
      return length &- min(count, length)..<length
    }
    guard isNumber(from), to.byteCount == 0 || isNumber(to) else { return nil }
    let start = from.decimal ?? .max
    let last = to.byteCount == 0 ? .max : to.decimal ?? .max
    guard start <= last else { return nil }
    guard start < length else { return length..<length }
    return start..<(min(last, length &- 1) &+ 1)
  }

  private static func isNumber(_ text: RawSpan) -> Bool {
    for index in 0..<text.byteCount where text[index] &- 0x30 > 9 { return false }
    return text.byteCount > 0
  }

  private static func overlap(_ ranges: [Range<UInt64>]) -> Bool {
    let sorted = ranges.sorted { $0.lowerBound < $1.lowerBound }
    return zip(sorted, sorted.dropFirst()).contains { $0.upperBound > $1.lowerBound }
  }
}
