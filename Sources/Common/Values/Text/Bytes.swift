/// Byte counts in human-readable form.
package enum Bytes {
  /// Returns `812 B`, `43.1 KB` or `5.9 MB`, with powers of 1,000, as for disks and networks.
  package static func text(_ count: Int64) -> String {
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

  /// Parses `500KB`, `1.5 MB` or `2000`; nil for anything else.
  package static func parse(_ text: String) -> Int64? {
    let units: [(String, Double)] = [("KB", 1e3), ("MB", 1e6), ("GB", 1e9), ("B", 1)]
    let upper = text.uppercased()
    let unit = units.first { upper.hasSuffix($0.0) } ?? ("", 1)
    var digits = upper.dropLast(unit.0.count)
    while digits.last == " " { digits.removeLast() }
    guard let number = Double(digits), number >= 0, number * unit.1 < 9e18, digits.first?.isNumber == true
    else {
      return nil
    }
    return Int64((number * unit.1).rounded())
  }
}
