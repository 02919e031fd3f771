import CLinux
import Glibc
import System

/// The result of a read or write on a non-blocking socket.
package enum Transfer: Sendable, Equatable {
  case bytes(Int)
  /// The peer won't send any more.
  case end
  case wouldBlock
  /// The connection is gone: reset, timed out, unreachable.
  case broken
}

/// Memory ranges that one call sends one after another.
package struct GatherList: ~Copyable {
  private let pieces: UnsafeMutableBufferPointer<iovec>
  /// The number of ranges.
  package private(set) var count = 0

  /// Allocates a list with room for `capacity` ranges.
  package init(capacity: Int) { pieces = .allocate(capacity: capacity) }

  deinit { pieces.deallocate() }

  /// Whether there is no room for more.
  package var isFull: Bool { count == pieces.count }

  /// Adds a range, which has to stay valid until it is sent. The list must not be full.
  package mutating func append(_ bytes: UnsafeRawBufferPointer) {
    let base = UnsafeMutableRawPointer(mutating: bytes.baseAddress)
    pieces.initializeElement(at: count, to: iovec(iov_base: base, iov_len: bytes.count))
    count += 1
  }

  /// Removes all ranges but keeps the room.
  package mutating func removeAll() { count = 0 }

  /// The message for sendmsg(2).
  var message: msghdr {
    var message = msghdr()
    message.msg_iov = pieces.baseAddress
    message.msg_iovlen = count
    return message
  }
}

extension Kernel {
  /// Reads what has arrived into `buffer`, which must not be empty.
  package static func receive(_ socket: Int32, into buffer: UnsafeMutableRawBufferPointer) -> Transfer {
    while true {
      let count = xcache_recv(socket, buffer.baseAddress, buffer.count)
      if count > 0 { return .bytes(count) }
      if count == 0 { return .end }
      if let failure = transferFailure("recv") { return failure }
    }
  }

  /// Sends as much of `bytes` as fits. `more` says that more follows at once, so that a partial segment is held back (MSG_MORE).
  package static func send(_ socket: Int32, _ bytes: UnsafeRawBufferPointer, more: Bool = false) -> Transfer {
    let flags = Int32(MSG_NOSIGNAL) | (more ? Int32(MSG_MORE) : 0)
    while true {
      let count = xcache_send(socket, bytes.baseAddress, bytes.count, flags)
      if count >= 0 { return .bytes(count) }
      if let failure = transferFailure("send") { return failure }
    }
  }

  /// Sends as much of several memory ranges as fits, with one call.
  package static func send(
    _ socket: Int32, _ pieces: borrowing GatherList, more: Bool = false
  ) -> Transfer {
    let flags = Int32(MSG_NOSIGNAL) | (more ? Int32(MSG_MORE) : 0)
    var message = pieces.message
    while true {
      let count = sendmsg(socket, &message, flags)
      if count >= 0 { return .bytes(count) }
      if let failure = transferFailure("sendmsg") { return failure }
    }
  }

  /// Sends up to `count` bytes of a file from `offset`, without copying them through user memory.
  ///
  /// `.end` means that the file is shorter than expected, or can't be read there.
  package static func sendFile(_ file: Int32, at offset: UInt64, count: Int, to socket: Int32) -> Transfer {
    var position = off_t(truncatingIfNeeded: offset)
    while true {
      let sent = Glibc.sendfile(socket, file, &position, count)
      if sent > 0 { return .bytes(sent) }
      if sent == 0 { return .end }
      // "EIO: Unspecified error while reading from in_fd"; EINVAL, "descriptor is not valid": a folder, or a file
      // system without sendfile support (sendfile(2)).
      if xcache_errno() == EIO || xcache_errno() == EINVAL { return .end }
      if let failure = transferFailure("sendfile") { return failure }
    }
  }

  /// Reads up to `buffer.count` bytes of a file from `offset`.
  ///
  /// `.end` means that the file is shorter than expected, `.broken` that it can't be read.
  package static func readFile(
    _ file: Int32, at offset: UInt64, into buffer: UnsafeMutableRawBufferPointer
  ) -> Transfer {
    while true {
      let count = pread(file, buffer.baseAddress, buffer.count, off_t(truncatingIfNeeded: offset))
      if count > 0 { return .bytes(count) }
      if count == 0 { return .end }
      if xcache_errno() != EINTR { return .broken }
    }
  }

  /// The result of a transfer by errno; nil if it was only interrupted.
  static func transferFailure(_ call: StaticString) -> Transfer? {
    switch xcache_errno() {
    case EINTR: return nil
    case EAGAIN, ENOBUFS, ENOMEM: return .wouldBlock
    case EBADF, EFAULT, EINVAL, ENOTSOCK: fatalError("\(call) with a bad descriptor or address")
    default: return .broken
    }
  }
}
