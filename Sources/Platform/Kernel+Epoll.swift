import CLinux
import Glibc

extension Kernel {
  /// A new epoll instance.
  package static func epoll() throws(SystemError) -> Descriptor {
    Descriptor(owning: try retrying("epoll_create1") { epoll_create1(Int32(EPOLL_CLOEXEC)) })
  }

  /// Watches `descriptor`; `token` comes back with its events.
  package static func watch(
    _ descriptor: Int32, _ events: EpollEvents, token: UInt64, in epoll: Int32
  ) throws(SystemError) {
    var event = epoll_event()
    event.events = events.rawValue
    event.data.u64 = token
    _ = try retrying("epoll_ctl") { epoll_ctl(epoll, EPOLL_CTL_ADD, descriptor, &event) }
  }

  /// Watches `descriptor` no more. Closing its last copy does the same.
  package static func unwatch(_ descriptor: Int32, in epoll: Int32) throws(SystemError) {
    var event = epoll_event()
    _ = try retrying("epoll_ctl") { epoll_ctl(epoll, EPOLL_CTL_DEL, descriptor, &event) }
  }

  /// A counter that wakes an epoll when it is raised from another thread.
  package static func eventCounter() throws(SystemError) -> Descriptor {
    let flags = Int32(EFD_CLOEXEC) | Int32(EFD_NONBLOCK)
    return Descriptor(owning: try retrying("eventfd") { eventfd(0, flags) })
  }

  /// Raises a counter; one that is full is raised already.
  package static func raise(_ counter: Int32) { _ = eventfd_write(counter, 1) }

  /// Sets a counter back to zero.
  package static func reset(_ counter: Int32) {
    var value: eventfd_t = 0
    _ = eventfd_read(counter, &value)
  }

  /// A second descriptor to spend when none is left: /dev/null.
  package static func spare() -> Descriptor? {
    let number = xcache_openat(AT_FDCWD, "/dev/null", O_RDONLY | O_CLOEXEC, 0)
    return number < 0 ? nil : Descriptor(owning: number)
  }
}
