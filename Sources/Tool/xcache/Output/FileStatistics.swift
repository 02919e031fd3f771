import OriginAPI
import Publishing
import Values

/// How many files of each type a change adds, changes and removes, for `--stat`.
struct FileStatistics {
  /// The change of a file.
  enum Change: Int, CaseIterable {
    case added, changed, removed

    init(_ change: RollbackDetails.Change) {
      self =
        switch change {
        case .added: .added
        case .changed: .changed
        case .removed: .removed
        }
    }

    var mark: String {
      switch self {
      case .added: "+"
      case .changed: "~"
      case .removed: "−"
      }
    }

    var colour: Terminal.Colour {
      switch self {
      case .added: .green
      case .changed: .yellow
      case .removed: .red
      }
    }
  }

  private struct Sum {
    var files = [0, 0, 0]
    /// The bytes of added and changed files.
    var new: Int64 = 0
    /// The bytes of removed files.
    var gone: Int64 = 0

    mutating func add(_ change: Change, _ bytes: Int64) {
      files[change.rawValue] += 1
      if change == .removed { gone = gone.addingClamped(bytes) } else { new = new.addingClamped(bytes) }
    }
  }

  static let option = Option.flag("stat", "summarize the files by type instead of listing them")

  private var types: [String: Sum] = [:]

  mutating func add(_ url: String, _ change: Change, _ bytes: Int64) {
    types[Self.type(of: url), default: Sum()].add(change, bytes)
  }

  var lines: [String] {
    if types.isEmpty { return [] }
    var table = Table(["TYPE", "ADDED", "CHANGED", "REMOVED", "NEW", "GONE"], rightAligned: [1, 2, 3, 4, 5])
    for (type, sum) in types.sorted(by: { ($1.value.new, $0.key) < ($0.value.new, $1.key) }) {
      table.add([type] + sum.files.map(String.init) + [Bytes.text(sum.new), Bytes.text(sum.gone)])
    }
    return table.lines
  }

  /// Returns the file extension in a URL's last path segment.
  private static func type(of url: String) -> String {
    let path = url.prefix { $0 != "?" && $0 != "#" }
    let name = path.split(separator: "/", omittingEmptySubsequences: false).last ?? ""
    let parts = name.split(separator: ".")
    guard parts.count > 1, let last = parts.last, last.count <= 12 else {
      return name.isEmpty ? "page" : "other"
    }
    return last.lowercased()
  }
}
