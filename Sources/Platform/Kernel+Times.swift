import Glibc

extension Kernel {
  /// Sets the time at which a file's bytes were last changed, in milliseconds since 1970.
  package static func setModified(_ path: String, to milliseconds: Int64) throws(SystemError) {
    let time = timespec(tv_sec: time_t(milliseconds / 1000), tv_nsec: Int(milliseconds % 1000) * 1_000_000)
    let times = [time, time]
    _ = try retrying("utimensat", on: path) { utimensat(AT_FDCWD, path, times, AT_SYMLINK_NOFOLLOW) }
  }
}
