import System

/// Bytes that a switch set aside: kept as bases and for rollbacks, never served.
extension DeviceCache {
  /// Milliseconds after a switch at which what it set aside goes at the latest.
  static let asideAge: Int64 = 24 * 3600 * 1000

  /// Removes what was set aside too long ago or is listed again, and unfinished updates as old as that.
  func sweep(at now: Int64) throws(ClientError) {
    var live: Set<SHA256> = []
    for entry in index.entries where has(entry) { live.insert(entry.sha256) }
    for file in try asideFiles() where live.contains(file.sha256) || Self.isOld(file.modified, at: now) {
      try folder.remove(folder.aside(file.sha256))
    }
    for sha256 in try folder.digests(in: folder.staging) {
      guard let status = folder.status(folder.staged(sha256)), Self.isOld(status.modified, at: now) else {
        continue
      }
      try folder.remove(folder.staged(sha256))
    }
  }

  /// Removes set-aside files, oldest first, until `bytes` more fit below `limit` or none is left.
  func makeRoom(for bytes: Int64, limit: Int64) throws(ClientError) {
    var files = try asideFiles().sorted { $0.modified < $1.modified }[...]
    var used = bytes.addingClamped(listedBytes()).addingClamped(files.clampedSum(\.size))
    while used > limit, let oldest = files.popFirst() {
      try folder.remove(folder.aside(oldest.sha256))
      used -= oldest.size
    }
  }

  private func listedBytes() -> Int64 {
    index.entries.clampedSum { has($0) ? $0.size : 0 }
  }

  private func asideFiles() throws(ClientError) -> [(sha256: SHA256, size: Int64, modified: Int64)] {
    try folder.digests(in: folder.aside).compactMap { sha256 in
      folder.status(folder.aside(sha256)).map { (sha256, $0.size, $0.modified) }
    }
  }

  /// Also true for a time in the future: after the clock was set back, nothing must stay for ever.
  private static func isOld(_ modified: Int64, at now: Int64) -> Bool {
    now - modified >= asideAge || modified - now > asideAge
  }
}
