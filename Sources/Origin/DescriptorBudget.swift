/// How the descriptors that the process may have open are shared out.
///
/// Half are connections, and an eighth is downloads that are kept open. What is left is for what is open for a while:
/// files that are received, or sent as a delta, a zip or after the cache let go of them, and SQLite's.
package struct DescriptorBudget: Sendable, Equatable {
  package let connections: Int
  /// For ``Origin/Options/openFiles``.
  package let openFiles: Int

  /// - Parameters:
  ///   - descriptors: that the process may have open.
  ///   - loops: event loops.
  package init(descriptors: Int, loops: Int) {
    connections = max(1, descriptors / 2)
    let files = descriptors / 8 / (DownloadCache.descriptorsPerFile * loops)
    // More than this saves no opening that is worth the memory.
    openFiles = min(1024, max(1, files))
  }
}
