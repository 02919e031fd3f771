import System

/// Files that speed up publishing and can be deleted at any time, in `$XDG_CACHE_HOME/xcache` or `~/.cache/xcache`.
///
/// A file begins with its kind and format and ends with the SHA-256 of the rest, so that a damaged or truncated one is
/// ignored. Its name is a digest of its key, which is also in the file.
package struct PublishCache: Sendable {
  private let path: String?

  /// Creates a cache in a folder; with nil, nothing is stored.
  package init(path: String?) { self.path = path }

  /// Uses the folder of the XDG base directory specification; nothing is stored if there is no home.
  package init(environment: [String: String]) {
    if let base = environment["XDG_CACHE_HOME"], base.hasPrefix("/") {
      path = base + "/xcache"
    } else {
      path = environment["HOME"].flatMap { $0.hasPrefix("/") ? $0 + "/.cache/xcache" : nil }
    }
  }

  enum Kind: String, Sendable {
    case hashes = "xcache hashes 1\n"
    case entries = "xcache entries 4\n"
    case states = "xcache states 1\n"

    fileprivate var folder: String {
      switch self {
      case .hashes: "hashes"
      case .entries: "entries"
      case .states: "states"
      }
    }
  }

  /// Returns what was last stored under `key`, or nil if there is nothing, or it is invalid.
  func read(_ kind: Kind, _ key: String) -> [UInt8]? {
    guard let path, let file = try? DurableFile.read(name(path, kind, key), limit: 1 << 30) else {
      return nil
    }
    let head = header(kind, key)
    guard file.count >= head.count + SHA256.byteCount, file.starts(with: head) else { return nil }
    let end = file.count - SHA256.byteCount
    guard SHA256.of(Array(file[..<end])).bytes.elementsEqual(file[end...]) else { return nil }
    return Array(file[head.count..<end])
  }

  /// Stores `bytes` under `key`. Not synced: a file damaged by a power cut is ignored.
  func write(_ kind: Kind, _ key: String, _ bytes: [UInt8]) throws(SystemError) {
    guard let path else { return }
    let name = name(path, kind, key)
    try Kernel.makeFolder(DurableFile.parent(of: name), mode: 0o700)
    var content = header(kind, key) + bytes
    content.append(contentsOf: SHA256.of(content).bytes)
    let temporary = "\(name).\(Environment.processID)"
    do {
      let file = try Kernel.open(temporary, [.write, .create, .truncate], mode: 0o600)
      try Kernel.write(content.span.bytes, to: file, path: temporary)
      try Kernel.rename(temporary, to: name)
    } catch {
      try? Kernel.remove(temporary)
      throw error
    }
  }

  private func name(_ path: String, _ kind: Kind, _ key: String) -> String {
    "\(path)/\(kind.folder)/\(SHA256.of(Array(key.utf8)).hex.prefix(32))"
  }

  private func header(_ kind: Kind, _ key: String) -> [UInt8] {
    var head = Array(kind.rawValue.utf8)
    ByteCoding.append(key, to: &head)
    return head
  }
}
