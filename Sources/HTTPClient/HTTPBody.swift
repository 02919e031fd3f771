/// The bytes of a request.
package enum HTTPBody: Sendable {
  case none
  case bytes([UInt8])
  /// Bytes that are read while they are sent, so that their number doesn't matter.
  ///
  /// `read` fills the buffer from `offset` on and gives how many bytes it wrote. It may be asked for the same
  /// bytes again, when an idle connection turns out to be gone. Fewer bytes than `length` end the exchange
  /// with `HTTPClientError.bodyEnded`.
  case stream(
    length: Int64, read: @Sendable (_ offset: Int64, _ into: UnsafeMutableRawBufferPointer) throws -> Int)

  /// Bytes; nil: there is no body.
  package var length: Int64? {
    switch self {
    case .none: nil
    case .bytes(let bytes): Int64(bytes.count)
    case .stream(let length, _): length
    }
  }
}

/// Where the bytes of an answer go.
package enum HTTPSink {
  /// Into `HTTPReply.body`, at most `limit` bytes.
  case memory(limit: Int)
  /// To `write` as they arrive, at most `limit` bytes; the body of an answer other than 2xx goes into
  /// `HTTPReply.body` instead, cut at 64 KB.
  case stream(limit: Int64, write: (UnsafeRawBufferPointer) throws -> Void)
}
