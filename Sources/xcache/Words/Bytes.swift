/// Counts of bytes as people read them.
enum Bytes {
  /// `812 B`, `43.1 KB`, `5.9 MB`: powers of 1,000, as disks and networks are sold.
  static func text(_ count: Int64) -> String {
    guard count >= 1000 else { return "\(count) B" }
    var value = Double(count)
    var unit = 0
    let units = ["KB", "MB", "GB", "TB"]
    value /= 1000
    while value >= 999.95, unit < units.count - 1 {
      value /= 1000
      unit += 1
    }
    let tenths = Int((value * 10).rounded())
    return "\(tenths / 10).\(tenths % 10) \(units[unit])"
  }
}
