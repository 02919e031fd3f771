import System

/// Files that make a publish quick and may be lost at any time: `$XDG_CACHE_HOME/xcache`, else `~/.cache/xcache`.
///
/// A file begins with its kind and format and ends with the SHA-256 of all before, so that one that is damaged or
/// cut short is as good as none. Its name is a digest of its key, which is in the file, too.
package struct PublishCache: Sendable {
  private let path: String?

  /// `path` nil: nothing is kept.
  package init(path: String?) { self.path = path }

  /// The folder that the XDG base directory specification gives; none without a home.
  package init(environment: [String: String]) {
    if let base = environment["XDG_CACHE_HOME"], base.hasPrefix("/") {
      path = base + "/xcache"
    } else {
      path = environment["HOME"].flatMap { $0.hasPrefix("/") ? $0 + "/.cache/xcache" : nil }
    }
  }

  enum Kind: String, Sendable {
    case hashes = "xcache hashes 1\n"
    case entries = "xcache entries 2\n"
    case states = "xcache states 1\n"

    fileprivate var folder: String {
      switch self {
      case .hashes: "hashes"
      case .entries: "entries"
      case .states: "states"
      }
    }
  }

  /// What was kept last under `key`; nil where nothing was, or it can't be trusted.
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

  /// Keeps `bytes` under `key`. Not synced: a file that a power cut damages is as good as none.
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
