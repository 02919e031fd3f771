import Glibc

extension OSThread {
  /// Lets threads of usual priority go before the calling one, for as long as it lives.
  ///
  /// nice(2): "according to POSIX, the nice value is a per-process setting. However, under … Linux/NPTL … it is a
  /// per-thread attribute".
  package static func lowerPriority() { _ = nice(5) }
}
