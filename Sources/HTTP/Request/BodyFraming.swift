/// Tells a request's body from what follows it, whichever way its length is given.
package enum BodyFraming: Sendable {
  case length(remaining: UInt64)
  case chunked(ChunkedDecoder)

  /// The framing of a body; nil where there is none.
  package init?(_ length: BodyLength) {
    switch length {
    case .none: return nil
    case .length(let count): self = .length(remaining: count)
    case .chunked: self = .chunked(ChunkedDecoder())
    }
  }

  /// The next piece of `input`, read from `index` on, which is moved past what was used.
  package mutating func next(_ input: RawSpan, from index: inout Int) -> ChunkedDecoder.Step {
    switch self {
    case .length(let remaining):
      if remaining == 0 { return .end(index) }
      let count = Int(min(remaining, UInt64(max(input.byteCount &- index, 0))))
      guard count > 0 else { return .more }
      let range = index..<index &+ count
      index &+= count
      self = .length(remaining: remaining &- UInt64(count))
      return .data(range)
    case .chunked(var decoder):
      let step = decoder.next(input, from: &index)
      self = .chunked(decoder)
      return step
    }
  }

  /// How many bytes the body still has, where that is known.
  package var knownRemaining: UInt64? {
    if case .length(let remaining) = self { remaining } else { nil }
  }

  /// `count` bytes of a body of known length were read elsewhere.
  package mutating func skip(_ count: Int) {
    if case .length(let remaining) = self {
      self = .length(remaining: remaining &- min(UInt64(count), remaining))
    }
  }
}
