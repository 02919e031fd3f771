import System

/// A file that is to be published.
package struct SourceFile: Hashable, Sendable {
  /// How it is opened and named in messages: the folder as given, then `path`.
  package let location: String
  /// Below the published folder, names apart by `/`.
  package let path: String
  package let status: FileStatus
}
