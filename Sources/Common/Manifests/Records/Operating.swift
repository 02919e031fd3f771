import System

/// The disk that holds a data folder at one time, in bytes.
package struct DiskUse: Hashable, Sendable {
  /// When it was in this state.
  package let at: Moment
  /// The size of the file system.
  package let size: Int64
  /// The space that is free for the server.
  package let available: Int64
  /// The size of the files that releases name and of those derived from them.
  package let stored: Int64

  package init(at: Moment, size: Int64, available: Int64, stored: Int64) {
    self.at = at
    self.size = size
    self.available = available
    self.stored = stored
  }
}

/// A number of files and their bytes.
package struct FileTotal: Hashable, Sendable {
  /// The number of files.
  package private(set) var count: Int
  /// The bytes of all of them.
  package private(set) var bytes: Int64

  package init(count: Int = 0, bytes: Int64 = 0) {
    self.count = count
    self.bytes = bytes
  }

  /// Counts a file.
  package mutating func add(_ size: Int64) {
    count += 1
    bytes += size
  }
}

/// Bytes that were purged: no file has them, and they aren't taken again.
package struct Purge: Hashable, Sendable {
  package let sha256: SHA256
  package let at: Moment
  package let author: String
  package let reason: String
  /// The URLs under which a CDN or a cache may still have the bytes, or what was made of them; nil where they aren't listed.
  package var urls: [String]?

  package init(sha256: SHA256, at: Moment, author: String, reason: String, urls: [String]? = nil) {
    self.sha256 = sha256
    self.at = at
    self.author = author
    self.reason = reason
    self.urls = urls
  }
}

/// Bytes that no copy of an origin may have, since it purged them.
package struct PurgedBytes: Hashable, Sendable {
  package let sha256: SHA256
  /// When they were purged.
  package let at: Moment

  package init(sha256: SHA256, at: Moment) {
    self.sha256 = sha256
    self.at = at
  }
}
