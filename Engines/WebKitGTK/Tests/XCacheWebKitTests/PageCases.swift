import Foundation

/// What a page does, and what it has to see: the same with the runtime as without it. They are in `Site/cases.txt`, bodies
/// in `Site/bodies.js`.
struct PageCase: Sendable {
  let name: String
  /// Whether the sites answer some of it; else the device holds all.
  let needsSites: Bool
  /// The body of an async function, run in the page behind `Site/prelude.js`.
  let script: String
  /// What it gives, as JSON.
  let expected: String

  static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent(
    "Site")

  static func prelude() throws -> String {
    try String(contentsOf: folder.appendingPathComponent("prelude.js"), encoding: .utf8)
  }

  /// Those of the file, and every kind of body by every way.
  static func all() throws -> [PageCase] {
    let prelude = try prelude()
    let text = try String(contentsOf: folder.appendingPathComponent("cases.txt"), encoding: .utf8)
    let listed = try text.components(separatedBy: "\n\n").filter { $0.hasPrefix("# ") }.map { block in
      let lines = block.split(separator: "\n")
      guard lines.count == 3, lines[2].hasPrefix("=> ") else { throw Sites.Failed(what: "no case: \(block)") }
      return PageCase(
        name: String(lines[0].dropFirst(2)), needsSites: lines[0].hasSuffix(" [sites]"),
        script: prelude + lines[1], expected: String(lines[2].dropFirst(3)))
    }
    return listed + (try bodies())
  }
}
