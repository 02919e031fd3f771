import Platform
import System

/// Why a server can't start.
package enum ServerError: Error, Sendable, Equatable {
  /// Thrown when the address can't be listened on: in use, not this machine's, or not allowed.
  case listen(SocketAddress, SystemError)
  /// Thrown when the kernel gives no epoll, eventfd or thread.
  case resources(SystemError)
}
