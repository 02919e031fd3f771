/// The time for which this process runs.
enum ProcessTime {
  private static let parts: Int64 = 10

  /// Sleeps until the process has run for a while. A time in which it, or the machine, stood still, such as that of an app which the system
  /// suspends, counts as a tenth of it at most: nothing came up in it, and nothing was proved.
  static func sleep(milliseconds: Int64) async {
    var left = milliseconds
    let part = max(milliseconds / parts, 1)
    while left > 0, !Task.isCancelled {
      try? await Task.sleep(for: .milliseconds(min(part, left)))
      left -= part
    }
  }
}
