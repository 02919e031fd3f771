import Manifests

/// What one file is found to say, before all files are known.
struct FileReport: Sendable {
  /// A reference to what isn't there.
  struct Miss: Sendable {
    let reference: Reference
    let url: ResourceURL
    let position: TextPosition
  }

  /// A module that is loaded by this file.
  struct Edge: Sendable {
    let to: Int
    /// By a page, or by a module for itself.
    let isFromPage: Bool
  }

  var misses: [Miss] = []
  var edges: [Edge] = []
  /// Files that it refers to.
  var used: Set<Int> = []
  /// Alternatives of which one is there, or isn't this site's: where the first such stands.
  var servedGroups: [Int: Int] = [:]
  var findings: [Finding] = []
  var bytesRead: Int64 = 0
}
