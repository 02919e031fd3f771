import System

/// A file of expected text under Tests/Golden; `XCACHE_RECORD=1` writes it anew.
package enum Golden {
  /// The lines in which `text` differs from the file, in words; none: it is the same.
  package static func differences(_ text: String, _ name: String) throws -> [String] {
    let folder = Repository.root + "/Tests/Golden"
    let path = "\(folder)/\(name)"
    if Environment.variables["XCACHE_RECORD"] == "1" {
      try Kernel.makeFolder(folder)
      try DurableFile.write(Array(text.utf8), to: path)
    }
    let was = lines(String(decoding: try DurableFile.read(path) ?? [], as: UTF8.self))
    let now = lines(text)
    var differences: [String] = []
    for (number, pair) in zip(was, now).enumerated() where pair.0 != pair.1 {
      differences.append("\(name), line \(number + 1): expected \(pair.0), got \(pair.1)")
    }
    if was.count != now.count { differences.append("\(name): expected \(was.count) lines, got \(now.count)") }
    return differences
  }

  private static func lines(_ text: String) -> [Substring] {
    text.split(separator: "\n", omittingEmptySubsequences: false)
  }
}
