import System

/// Tells the folder to which files are pushed from another one at its path: it has an id of its own, in a file.
///
/// Where the folder is a mount that went away, its path leads to an empty folder, or to none. What was pushed there would be
/// recorded, and missing as soon as the mount is back.
enum PushedFolder {
  private static let file = ".xcache-place"
  /// The most bytes of an id that are read.
  private static let limit = 64

  /// Returns a folder's id; gives it one first if it has none.
  static func identify(_ path: String) throws(MirrorError) -> String {
    if let id = try id(of: path) { return id }
    let made = Hex.encode(Secrets.random(16).span.bytes)
    try MirrorError.disk { () throws(SystemError) in
      try DurableFile.write(Array((made + "\n").utf8), to: "\(path)/\(file)")
    }
    return made
  }

  /// Checks that the folder at a path is the one with an id.
  /// - Throws: `badPlace` if there is another one or none; `system` if it can't be read.
  static func require(_ id: String, at path: String) throws(MirrorError) {
    guard try self.id(of: path) != id else { return }
    throw .badPlace(
      "\(path) isn't the folder that files were pushed to before (its \(file) is missing or differs); mount that folder, or restart "
        + "the server if another one has taken its place")
  }

  private static func id(of path: String) throws(MirrorError) -> String? {
    let bytes = try MirrorError.disk { () throws(SystemError) in
      try DurableFile.read("\(path)/\(file)", limit: limit)
    }
    let text = String(decoding: (bytes ?? []).prefix { $0 > 0x20 }, as: UTF8.self)
    return text.isEmpty ? nil : text
  }
}
