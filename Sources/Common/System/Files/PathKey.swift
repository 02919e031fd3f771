/// A path as file systems compare paths: byte by byte.
///
/// Swift compares strings by canonical equivalence: "ä" as one character equals "ä" as two. As keys, strings would merge two
/// different files.
package struct PathKey: Hashable, Sendable {
  private let bytes: [UInt8]

  package init(_ path: String) { bytes = Array(path.utf8) }
}
