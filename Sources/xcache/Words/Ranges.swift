import Manifests

/// Version numbers as people write them: `1, 3–5`.
enum Ranges {
  static func text(_ versions: [JSONValue]) -> String {
    var ranges: [ClosedRange<Int64>] = []
    for number in versions.compactMap({ $0.string.flatMap { ManifestVersion(text: $0)?.number } }).sorted() {
      if let last = ranges.last, last.upperBound + 1 == number {
        ranges[ranges.count - 1] = last.lowerBound...number
      } else {
        ranges.append(number...number)
      }
    }
    return ranges.map { $0.count == 1 ? "\($0.lowerBound)" : "\($0.lowerBound)–\($0.upperBound)" }
      .joined(separator: ", ")
  }
}
