/// The length of a request's body according to its head (RFC 9112 §6.3).
package enum BodyLength: Sendable, Equatable {
  case none
  case length(UInt64)
  case chunked
}

/// Separates a request's body from what follows it.
package enum BodyFraming: Sendable {
  case length(remaining: UInt64)
  case chunked(ChunkedDecoder)

  /// The framing of a body, or nil if there is none.
  package init?(_ length: BodyLength) {
    switch length {
    case .none: return nil
    case .length(let count): self = .length(remaining: count)
    case .chunked: self = .chunked(ChunkedDecoder())
    }
  }

  /// Returns the next piece of `input` from `index` on, and moves `index` past it.
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

  /// The number of bytes left of the body, if known.
  package var knownRemaining: UInt64? {
    if case .length(let remaining) = self { remaining } else { nil }
  }

  /// Counts `count` bytes of a body of known length that were read elsewhere.
  package mutating func skip(_ count: Int) {
    if case .length(let remaining) = self {
      self = .length(remaining: remaining &- min(UInt64(count), remaining))
    }
  }
}

/// Decodes a chunked body (RFC 9112 §7.1) incrementally; extensions and trailers are dropped.
package struct ChunkedDecoder: Sendable {
  /// The meaning of the next bytes.
  package enum Step: Sendable, Equatable {
    /// These bytes of the input belong to the body.
    case data(Range<Int>)
    /// The input is used up; the body continues.
    case more
    /// The body has ended; the rest of the input begins here.
    case end(Int)
    /// The framing is malformed.
    case malformed
  }

  private enum State: Sendable {
    case size, sizeDigits, extension_, sizeLF, data, dataCR, dataLF, trailerStart, trailer, trailerLF, lastLF
    case done, failed
  }

  /// The limit for the bytes of one chunk's extensions, and for those of all trailers.
  private static let overheadLimit = 8_192

  private var state = State.size
  private var remaining: UInt64 = 0
  private var overhead = 0

  /// Creates a decoder at the start of a body.
  package init() {}

  /// Returns the next piece of `input` from `index` on, and moves `index` past it.
  package mutating func next(_ input: RawSpan, from index: inout Int) -> Step {
    while index < input.byteCount {
      if state == .data {
        let count = Int(min(remaining, UInt64(input.byteCount &- index)))
        let range = index..<index &+ count
        remaining -= UInt64(count)
        index &+= count
        if remaining == 0 { state = .dataCR }
        return .data(range)
      }
      if state == .done { return .end(index) }
      step(input[index])
      if state == .failed { return .malformed }
      index &+= 1
      if state == .done { return .end(index) }
    }
    return .more
  }

  /// Processes one byte of framing.
  private mutating func step(_ byte: UInt8) {
    switch state {
    case .size, .sizeDigits: takeSize(byte)
    case .extension_: takeOverhead(byte, end: .sizeLF)
    case .sizeLF: expect(byte, 0x0A, then: remaining == 0 ? .trailerStart : .data)
    case .dataCR: expect(byte, 0x0D, then: .dataLF)
    case .dataLF: expect(byte, 0x0A, then: .size)
    case .trailerStart:
      if byte == 0x0D { state = .lastLF } else { takeOverhead(byte, end: .trailerLF, go: .trailer) }
    case .trailer: takeOverhead(byte, end: .trailerLF)
    case .trailerLF: expect(byte, 0x0A, then: .trailerStart)
    case .lastLF: expect(byte, 0x0A, then: .done)
    case .data, .done, .failed: state = .failed
    }
  }

  private mutating func takeSize(_ byte: UInt8) {
    if let digit = byte.hexadecimal {
      // 15 digits and one more stay below 2^63, so that no sum of chunks comes near an overflow.
      guard remaining >> 55 == 0 else { return state = .failed }
      if state == .size {
        remaining = 0
        overhead = 0
      }
      remaining = remaining << 4 | UInt64(digit)
      overhead &+= 1
      state = overhead <= 32 ? .sizeDigits : .failed
    } else if state == .sizeDigits, byte == 0x0D {
      state = .sizeLF
    } else if state == .sizeDigits, byte == 0x3B {
      state = .extension_
    } else {
      state = .failed
    }
  }

  private mutating func takeOverhead(_ byte: UInt8, end: State, go: State? = nil) {
    overhead &+= 1
    if byte == 0x0D {
      state = end
    } else if overhead > ChunkedDecoder.overheadLimit || (byte < 0x20 && byte != 0x09) || byte == 0x7F {
      state = .failed
    } else if let go {
      state = go
    }
  }

  private mutating func expect(_ byte: UInt8, _ wanted: UInt8, then next: State) {
    state = byte == wanted ? next : .failed
  }
}
