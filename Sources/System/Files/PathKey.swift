/// A path as file systems tell paths apart: by bytes.
///
/// Swift's strings are equal where Unicode calls them equivalent, such as ä in one character and in two; as keys, they would make one
/// file of two.
package struct PathKey: Hashable, Sendable {
  private let bytes: [UInt8]

  package init(_ path: String) { bytes = Array(path.utf8) }
}
