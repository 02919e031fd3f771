/// A folder for one run of a program, which nobody else may look into; gone with its owner.
package final class ScratchFolder: Sendable {
  /// Absolute where `TMPDIR` is.
  package let path: String

  /// Makes a new one below `$TMPDIR`, else /tmp.
  /// - Parameter name: what it is for, in the folder's own name.
  package init(_ name: String) throws(SystemError) {
    let random = Hex.encode(Secrets.random(8).span.bytes)
    path = "\(Self.parent)/\(name)-\(Environment.processID)-\(random)"
    try Kernel.makeFolder(path, mode: 0o700)
  }

  deinit { remove() }

  /// Removes it with all in it, as far as that goes.
  package func remove() { Self.remove(path) }

  private static var parent: String {
    Environment.variables["TMPDIR"].flatMap { $0.hasPrefix("/") ? $0 : nil } ?? "/tmp"
  }

  /// Removes a folder with all in it; links are removed, not followed.
  package static func remove(_ path: String) {
    for name in (try? Folder.textNames(path)) ?? [] {
      let child = "\(path)/\(name)"
      if (try? Kernel.status(child, followLinks: false))??.kind == .folder {
        remove(child)
      } else {
        try? Kernel.remove(child)
      }
    }
    try? Kernel.removeFolder(path)
  }
}
