import Zstd

/// Our decoder beside libzstd's, on the same bytes.
enum Comparison {
  static let windowLog: Int32 = 23
  static let limit = 16 << 20

  struct Outcome {
    var bytes: [UInt8] = []
    var error: ZstdError?
  }

  /// What our decoder makes of frames that come in pieces of so many bytes.
  static func decode(
    _ coded: [UInt8], dictionary: [UInt8] = [], pieces: Int = .max, windowLog: Int32 = windowLog
  ) -> Outcome {
    var outcome = Outcome()
    var decoder = ZstdDecoder(
      dictionary: dictionary, windowLimit: 1 << Int(windowLog), limit: Int64(limit))
    do {
      var offset = 0
      while offset < coded.count {
        let count = min(pieces, coded.count - offset)
        try decoder.push(coded.span.extracting(offset..<offset + count).bytes) { piece in
          piece.withUnsafeBytes { outcome.bytes.append(contentsOf: $0) }
        }
        offset += count
      }
      try decoder.finish()
    } catch let error as ZstdError {
      outcome.error = error
    } catch {
      fatalError("another error than ours: \(error)")
    }
    return outcome
  }

  /// What the two differ in; nil: nothing but what `isStricter` says.
  static func difference(
    _ coded: [UInt8], dictionary: [UInt8] = [], windowLog: Int32 = windowLog
  ) -> String? {
    let theirs = Reference.decode(coded, dictionary: dictionary, windowLog: windowLog, limit: limit)
    let ours = decode(coded, dictionary: dictionary, windowLog: windowLog)
    switch (ours.error, theirs.isRight) {
    case (nil, true): return ours.bytes == theirs.bytes ? nil : "other bytes"
    case (nil, false): return "libzstd refuses what we take"
    case (let error?, true):
      if isStricter(error) { return nil }
      // libzstd doesn't look at Frame_Content_Size where the last block is empty.
      if case .corrupted(.contentSize, _) = error, ours.bytes == theirs.bytes { return nil }
      return "we refuse what libzstd takes: \(error)"
    case (_?, false):
      // Both give whole blocks of a damaged frame.
      let count = min(ours.bytes.count, theirs.bytes.count)
      return ours.bytes[..<count] == theirs.bytes[..<count] ? nil : "other bytes before an error"
    }
  }

  /// Whether this is a rule of RFC 8878 to which libzstd, at least up to 1.5.5, doesn't hold frames.
  static func isStricter(_ error: ZstdError) -> Bool {
    guard case .corrupted(let fault, _) = error else { return false }
    switch fault {
    // "If a bitstream is not entirely and exactly consumed": its fast loop for four streams doesn't look.
    case .literals: return true
    // A block of no bytes has neither of its sections; it takes it for one that gives nothing.
    case .emptyBlock: return true
    // Where the description of a table ends behind its block, it counts bits modulo 32 and reads the last ones again.
    case .distributionEnd: return true
    // Up to 1.5.5 it updates the states behind the last sequence too, and so takes bits that aren't there.
    case .sequences: return true
    // "Must be all-zeroes": looked at from 1.5.6 on.
    case .reservedModes: return true
    // It looks whether a match is within its buffer, which is larger than the window.
    case .farOffset: return true
    // "Corrupted": up to 1.5.5 it takes the distance as 1.
    case .zeroOffset: return true
    // "Max_Number_of_Bits must be <= 11": it takes 12.
    case .treeDepth: return true
    // "If either of the 2 initial states are absent or truncated": looked at from 1.5.6 on.
    case .treeBits: return true
    default: return false
    }
  }
}
