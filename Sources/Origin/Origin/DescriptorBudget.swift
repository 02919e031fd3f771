/// How the process's file descriptors are divided.
///
/// Of those that the event loops themselves leave, five eighths are for connections, a sixteenth for connections that are
/// refused, and an eighth for downloads that are kept open. The remaining three sixteenths are for short-lived files: those
/// being received, those sent as a delta, a zip or after the cache has dropped them, and SQLite's.
package struct DescriptorBudget: Sendable, Equatable {
  package let connections: Int
  /// Connections that are only told that there are too many.
  package let refused: Int
  /// For ``Origin/Options/openFiles``.
  package let openFiles: Int

  /// An epoll, its event counter, and a spare one to release when there are no more.
  private static let descriptorsPerLoop = 3

  /// - Parameters:
  ///   - descriptors: how many the process may have open.
  ///   - loops: the number of event loops.
  package init(descriptors: Int, loops: Int) {
    let shared = max(descriptors - Self.descriptorsPerLoop * loops, 2)
    connections = max(1, shared / 8 * 5)
    refused = shared / 16
    // Beyond this, the opens that are saved aren't worth the memory.
    openFiles = min(1024, shared / 8 / (DownloadCache.descriptorsPerFile * loops))
  }
}
