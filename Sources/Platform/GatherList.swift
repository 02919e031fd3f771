import Glibc

/// Pieces of memory that one call sends one behind the other.
package struct GatherList: ~Copyable {
  private let pieces: UnsafeMutableBufferPointer<iovec>
  package private(set) var count = 0

  /// A list with room for `capacity` pieces.
  package init(capacity: Int) { pieces = .allocate(capacity: capacity) }

  deinit { pieces.deallocate() }

  package var isFull: Bool { count == pieces.count }

  /// Adds a piece, which has to stay where it is until it is sent. The list isn't full.
  package mutating func append(_ bytes: UnsafeRawBufferPointer) {
    let base = UnsafeMutableRawPointer(mutating: bytes.baseAddress)
    pieces.initializeElement(at: count, to: iovec(iov_base: base, iov_len: bytes.count))
    count += 1
  }

  package mutating func removeAll() { count = 0 }

  /// The message that the kernel sends.
  var message: msghdr {
    var message = msghdr()
    message.msg_iov = pieces.baseAddress
    message.msg_iovlen = count
    return message
  }
}
