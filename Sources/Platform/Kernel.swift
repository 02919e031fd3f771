import CLinux
import Glibc

/// The only place that makes system calls. `errno` is read here, at once; EINTR is tried again;
/// EAGAIN is a value for the calls that expect it; EBADF and EFAULT are our own bugs and trap.
package enum Kernel {
  /// Repeats `body` while a signal interrupts it, and turns -1 into an error.
  @inline(__always)
  static func retrying<N: SignedInteger>(
    _ call: StaticString, on subject: @autoclosure () -> String? = nil, _ body: () -> N
  ) throws(SystemError) -> N {
    while true {
      let result = body()
      if result != -1 { return result }
      let code = xcache_errno()
      if code == EINTR { continue }
      if code == EBADF || code == EFAULT { fatalError("\(call) with a bad descriptor or address") }
      throw SystemError(call, on: subject(), code: code)
    }
  }
}
