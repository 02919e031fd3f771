/// How the descriptors that the process may have open are shared out.
///
/// Of what the loops themselves leave, five eighths are connections, a sixteenth those that are refused, and an eighth
/// is downloads that are kept open. The rest, three sixteenths, is for what is open for a while: files that are
/// received, or sent as a delta, a zip or after the cache let go of them, and SQLite's.
package struct DescriptorBudget: Sendable, Equatable {
  package let connections: Int
  /// Connections that are told that there are too many.
  package let refused: Int
  /// For ``Origin/Options/openFiles``.
  package let openFiles: Int

  /// An epoll, its event counter, and one to give up where there are no more.
  private static let descriptorsPerLoop = 3

  /// - Parameters:
  ///   - descriptors: that the process may have open.
  ///   - loops: event loops.
  package init(descriptors: Int, loops: Int) {
    let shared = max(descriptors - Self.descriptorsPerLoop * loops, 2)
    connections = max(1, shared / 8 * 5)
    refused = shared / 16
    // More than this saves no opening that is worth the memory.
    openFiles = min(1024, shared / 8 / (DownloadCache.descriptorsPerFile * loops))
  }
}
