/// A private temporary folder for one run of a program, removed with its owner.
package final class ScratchFolder: Sendable {
  /// The folder's absolute path.
  package let path: String

  /// Creates a folder in `$TMPDIR`, or in /tmp.
  /// - Parameter name: The purpose, which becomes part of the folder's name.
  package init(_ name: String) throws(SystemError) {
    let random = Hex.encode(Secrets.random(8).span.bytes)
    path = "\(Self.parent)/\(name)-\(Environment.processID)-\(random)"
    try Kernel.makeFolder(path, mode: 0o700)
  }

  deinit { remove() }

  /// Removes the folder and its contents, as far as possible.
  package func remove() { Self.remove(path) }

  private static var parent: String {
    Environment.variables["TMPDIR"].flatMap { $0.hasPrefix("/") ? $0 : nil } ?? "/tmp"
  }

  /// Removes a folder and its contents; links are removed, not followed.
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
