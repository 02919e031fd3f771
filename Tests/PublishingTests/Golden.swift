import Platform
import Testing

/// A file of expected text under Tests/Golden; `XCACHE_RECORD=1` writes it anew.
enum Golden {
  static func check(_ text: String, _ name: String) throws {
    let tests = DurableFile.parent(of: DurableFile.parent(of: #filePath))
    let folder = tests + "/Golden"
    let path = "\(folder)/\(name)"
    if Environment.variables["XCACHE_RECORD"] == "1" {
      try Kernel.makeFolder(folder)
      try DurableFile.write(Array(text.utf8), to: path)
    }
    let expected = String(decoding: try DurableFile.read(path) ?? [], as: UTF8.self)
    let (was, now) = (lines(expected), lines(text))
    for (number, pair) in zip(was, now).enumerated() where pair.0 != pair.1 {
      Issue.record("\(name), line \(number + 1): expected \(pair.0), got \(pair.1)")
    }
    #expect(was.count == now.count, "\(name)")
  }

  private static func lines(_ text: String) -> [Substring] {
    text.split(separator: "\n", omittingEmptySubsequences: false)
  }
}
