import Mirror
import Publishing
import Values

/// Formats the divergences of a static copy; those that many files share are listed once.
enum DivergenceOutput {
  /// How many files are named for each kind.
  private static let named = 3

  /// Returns the lines; with `all`, one for each divergence.
  static func lines(_ divergences: [Divergence], all: Bool) -> [String] {
    if all { return divergences.map(\.description) }
    var order: [String] = []
    var groups: [String: [Divergence]] = [:]
    for divergence in divergences {
      let key = "\(divergence.severity.rawValue): \(divergence.message)"
      if groups[key] == nil { order.append(key) }
      groups[key, default: []].append(divergence)
    }
    return order.flatMap { key -> [String] in
      let group = groups[key] ?? []
      guard group.count > named, let first = group.first else { return group.map(\.description) }
      return ["\(first.severity.rawValue): \(Count.text(group.count, "file")): \(first.message)"]
        + group.prefix(named).map { "  \($0.path)" }
        + ["  … and \(group.count - named) more; --all lists them"]
    }
  }
}
