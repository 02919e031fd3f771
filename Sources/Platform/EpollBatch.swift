import CLinux
import Glibc

/// The events of one look at an epoll.
package struct EpollBatch: ~Copyable {
  private let events: UnsafeMutableBufferPointer<epoll_event>

  /// Room for `capacity` events.
  package init(capacity: Int) {
    events = .allocate(capacity: capacity)
    events.initialize(repeating: epoll_event())
  }

  deinit { events.deallocate() }

  /// The event at `index` and the token it was watched with.
  package subscript(index: Int) -> (events: EpollEvents, token: UInt64) {
    (EpollEvents(rawValue: events[index].events), events[index].data.u64)
  }

  /// Waits for events and gives their number; 0 after `milliseconds` without any, or on a signal.
  ///
  /// - Parameter milliseconds: -1 waits without end.
  package mutating func wait(_ epoll: Int32, milliseconds: Int32) -> Int {
    let room = Int32(truncatingIfNeeded: events.count)
    let count = xcache_epoll_wait(epoll, events.baseAddress, room, milliseconds)
    if count >= 0 { return Int(count) }
    let code = xcache_errno()
    if code != EINTR { fatalError("epoll_wait: errno \(code)") }
    return 0
  }
}
