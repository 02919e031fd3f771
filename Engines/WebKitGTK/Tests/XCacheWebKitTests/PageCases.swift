import Foundation

/// A script and its expected result, with the runtime as without it. Cases are in `Site/cases.txt`, bodies in
/// `Site/bodies.js`.
struct PageCase: Sendable {
  let name: String
  /// Whether the case needs the sites; otherwise the device has all files.
  let needsSites: Bool
  /// The body of an async function, run in the page after `Site/prelude.js`.
  let script: String
  /// Its result, as JSON.
  let expected: String

  static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent(
    "Site")

  static func prelude() throws -> String {
    try String(contentsOf: folder.appendingPathComponent("prelude.js"), encoding: .utf8)
  }

  /// The cases of the file, and every kind of body sent in every way.
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
