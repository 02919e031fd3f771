import CLinux
import Glibc

extension Kernel {
  /// Lets the calling thread read and write the disk only after others, where the disk's scheduler knows priorities.
  package static func lowerDiskPriority() { _ = xcache_lower_disk_priority() }

  /// Lets the calling thread run only where no other wants to, as `nice -n 10` does for a process.
  package static func lowerPriority() {
    // "Under the current Linux/NPTL implementation of POSIX threads, the nice value is a per-thread attribute"
    // (setpriority(2)). That it can't be had costs some speed elsewhere, nothing else.
    _ = setpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0, 10)
  }
}
