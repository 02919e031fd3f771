import Manifests

/// What a check found, as a command says it.
struct Remarks {
  let file: String
  let remarks: [DocumentRemark]

  /// One line a remark: `prefetch.json: error: $[0].url: …`, errors in red.
  func lines(_ terminal: Terminal) -> [String] {
    remarks.map { remark in
      let severity =
        switch remark.severity {
        case .error: terminal.colour("error", .red)
        case .warning: terminal.colour("warning", .yellow)
        case .note: "note"
        }
      return "\(file): \(severity): \(remark.path): \(remark.problem.words)"
    }
  }

  var errorCount: Int { remarks.count { $0.severity == .error } }

  /// The failure that ends a command, exit code 3; nil where nothing is wrong.
  func failure(_ end: String) -> Failure? {
    guard errorCount > 0 else { return nil }
    return Failure("\(errorCount) \(errorCount == 1 ? "error" : "errors") in \(file); \(end)", code: .refused)
  }
}
