import CLinux
import Glibc
import System

/// The events that epoll watches for and reports.
package struct EpollEvents: OptionSet, Sendable {
  package let rawValue: UInt32
  package init(rawValue: UInt32) { self.rawValue = rawValue }

  /// Implemented here because SetAlgebra's generic version isn't specialised for callers in other modules.
  package func contains(_ other: EpollEvents) -> Bool { rawValue & other.rawValue == other.rawValue }

  /// There is something to read, or a connection to accept.
  package static let readable = EpollEvents(rawValue: EPOLLIN.rawValue)
  /// There is space to write.
  package static let writable = EpollEvents(rawValue: EPOLLOUT.rawValue)
  /// The peer won't send any more.
  package static let peerDone = EpollEvents(rawValue: EPOLLRDHUP.rawValue)
  /// Both directions are shut down; always reported.
  package static let hangUp = EpollEvents(rawValue: EPOLLHUP.rawValue)
  /// The descriptor is in error; always reported.
  package static let error = EpollEvents(rawValue: EPOLLERR.rawValue)
  /// Edge-triggered: reports changes, not states.
  package static let edge = EpollEvents(rawValue: EPOLLET.rawValue)
  /// Wakes only one of the epoll instances that watch the same descriptor.
  package static let exclusive = EpollEvents(rawValue: EPOLLEXCLUSIVE.rawValue)
}

/// The events of one call of epoll_wait.
package struct EpollBatch: ~Copyable {
  private let events: UnsafeMutableBufferPointer<epoll_event>

  /// Allocates room for `capacity` events.
  package init(capacity: Int) {
    events = .allocate(capacity: capacity)
    events.initialize(repeating: epoll_event())
  }

  deinit { events.deallocate() }

  /// The event at `index` and the token with which it was watched.
  package subscript(index: Int) -> (events: EpollEvents, token: UInt64) {
    (EpollEvents(rawValue: events[index].events), events[index].data.u64)
  }

  /// Waits for events and returns their number; 0 after `milliseconds` without any, or on a signal. -1 milliseconds
  /// wait without a limit.
  package mutating func wait(_ epoll: Int32, milliseconds: Int32) -> Int {
    let capacity = Int32(truncatingIfNeeded: events.count)
    let count = xcache_epoll_wait(epoll, events.baseAddress, capacity, milliseconds)
    if count >= 0 { return Int(count) }
    let code = xcache_errno()
    if code != EINTR { fatalError("epoll_wait: errno \(code)") }
    return 0
  }
}

extension Kernel {
  /// Creates an epoll instance.
  package static func epoll() throws(SystemError) -> Descriptor {
    Descriptor(owning: try retrying("epoll_create1") { epoll_create1(Int32(EPOLL_CLOEXEC)) })
  }

  /// Watches `descriptor`; `token` is returned with its events.
  package static func watch(
    _ descriptor: Int32, _ events: EpollEvents, token: UInt64, in epoll: Int32
  ) throws(SystemError) {
    var event = epoll_event()
    event.events = events.rawValue
    event.data.u64 = token
    _ = try retrying("epoll_ctl") { epoll_ctl(epoll, EPOLL_CTL_ADD, descriptor, &event) }
  }

  /// Stops watching `descriptor`. Closing its last copy does the same.
  package static func unwatch(_ descriptor: Int32, in epoll: Int32) throws(SystemError) {
    var event = epoll_event()
    _ = try retrying("epoll_ctl") { epoll_ctl(epoll, EPOLL_CTL_DEL, descriptor, &event) }
  }

  /// Creates a counter that wakes an epoll instance when another thread raises it.
  package static func eventCounter() throws(SystemError) -> Descriptor {
    let flags = Int32(EFD_CLOEXEC) | Int32(EFD_NONBLOCK)
    return Descriptor(owning: try retrying("eventfd") { eventfd(0, flags) })
  }

  /// Raises a counter; a full one counts as raised already.
  package static func raise(_ counter: Int32) { _ = eventfd_write(counter, 1) }

  /// Resets a counter to zero.
  package static func reset(_ counter: Int32) {
    var value: eventfd_t = 0
    _ = eventfd_read(counter, &value)
  }
}
