import CLinux

/// What epoll watches for, and reports.
package struct EpollEvents: OptionSet, Sendable {
  package let rawValue: UInt32
  package init(rawValue: UInt32) { self.rawValue = rawValue }

  /// Written out: the generic one of SetAlgebra isn't specialised for callers in other modules.
  package func contains(_ other: EpollEvents) -> Bool { rawValue & other.rawValue == other.rawValue }

  package static let readable = EpollEvents(rawValue: EPOLLIN.rawValue)
  package static let writable = EpollEvents(rawValue: EPOLLOUT.rawValue)
  /// The other side sends no more.
  package static let peerDone = EpollEvents(rawValue: EPOLLRDHUP.rawValue)
  /// Both directions are shut; always reported.
  package static let hangUp = EpollEvents(rawValue: EPOLLHUP.rawValue)
  package static let error = EpollEvents(rawValue: EPOLLERR.rawValue)
  /// Reports changes, not states.
  package static let edge = EpollEvents(rawValue: EPOLLET.rawValue)
  /// Wakes one of the epolls that watch the same descriptor, not all.
  package static let exclusive = EpollEvents(rawValue: EPOLLEXCLUSIVE.rawValue)
}
