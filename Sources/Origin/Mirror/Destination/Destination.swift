import Manifests
import Store
import System

/// The headers with which a file should be served.
package struct FileHead: Hashable, Sendable {
  package let type: String
  /// The content coding: nil, `gzip` or `zstd`.
  package var coding: String?
  /// Whether its bytes never change.
  package let isImmutable: Bool

  var cacheControl: String { isImmutable ? "public, max-age=31536000, immutable" : "no-cache" }
}

/// A file to be written to a mirror.
struct Placement: Sendable {
  let path: String
  /// The size in bytes; nil means any.
  let size: Int64?
  /// The expected hash; nil means any.
  let sha256: SHA256?
  let head: FileHead
  /// Called if the origin's bytes are damaged or gone; the other files are written then. nil makes that an error.
  var onLoss: (@Sendable () -> Void)?
  /// Returns the bytes in a local file; a temporary one is created at the given path.
  let source: @Sendable (String) throws(MirrorError) -> LocalFile

  /// Runs `attempt`; returns nil if the origin's bytes are damaged or gone, and the caller was notified.
  func unlessLost<Result>(_ attempt: () throws(MirrorError) -> Result) throws(MirrorError) -> Result? {
    guard let onLoss else { return try attempt() }
    do throws(MirrorError) {
      return try attempt()
    } catch {
      guard error.isDamage else { throw error }
      onLoss()
      return nil
    }
  }
}

/// The place where a mirror is stored.
///
/// What `place` and `show` wrote is durable once `sync` has returned, and so are the bytes that `show` will make visible.
/// Readers never see part of a file.
protocol Destination: Sendable {
  /// The name for people, by which the origin also tells mirrors apart.
  var name: String { get }

  /// Locks out other runs until `end`.
  func begin() throws(MirrorError)
  func end()
  /// Returns the size of each file; nil if it doesn't exist.
  func sizes(of paths: [String]) throws(MirrorError) -> [Int64?]
  /// As above, with the sha256 of the contents, which are read back.
  func files(at paths: [String]) throws(MirrorError) -> [MirrorIndex.File?]
  /// Returns the contents of a document, or nil if it doesn't exist.
  func read(_ path: String) throws(MirrorError) -> [UInt8]?
  /// Writes immutable files, verifying their sha256. `completed` is called from any thread for each file with its actual hash and
  /// size.
  func put(
    _ files: [Placement],
    _ completed: @escaping @Sendable (Placement, MirrorIndex.File) throws(MirrorError) -> Void
  ) throws(MirrorError)
  /// Writes a document. Readers see either the old or the new one, and the new one at the latest after `show`.
  func write(_ bytes: [UInt8], as path: String, _ head: FileHead) throws(MirrorError)
  /// Makes the documents written since the last call visible, in order. The caller syncs first.
  func show() throws(MirrorError)
  /// Waits until everything so far would survive a power cut.
  func sync() throws(MirrorError)
  func remove(_ paths: [String]) throws(MirrorError)
  /// Returns every file in the spaces.
  func list() throws(MirrorError) -> [String]
}

/// The place of a mirror, as given on a command line.
package enum MirrorPlace: Sendable {
  case folder(String, hardLinks: Bool = false)
  case s3(S3Settings)

  private static let pushes = ".xcache-push"

  /// Returns a destination for files pushed independently of the runs of `mirror`. No other push may have the same `number` at
  /// the same time.
  func pushDestination(_ number: Int) throws(MirrorError) -> any Destination {
    switch self {
    case .folder(let path, _): try FolderDestination(path, staging: "\(Self.pushes)/\(number)")
    case .s3(let settings): S3Destination(settings, listsOnce: false)
    }
  }

  /// Removes the temporary files of a push; with nil, those of all interrupted ones.
  func sweepPush(_ number: Int? = nil) throws(MirrorError) {
    guard case .folder(let path, _) = self else { return }
    let folder = "\(path)/\(Self.pushes)"
    try MirrorError.disk { () throws(SystemError) in
      guard try Kernel.status(folder) != nil else { return }
      for name in try Folder.textNames(folder) where number.map({ "\($0)" == name }) ?? true {
        for file in try Folder.textNames("\(folder)/\(name)") {
          try Kernel.remove("\(folder)/\(name)/\(file)")
        }
        try Kernel.removeFolder("\(folder)/\(name)")
      }
    }
  }

  func destination() throws(MirrorError) -> any Destination {
    switch self {
    case .folder(let path, let hardLinks): try FolderDestination(path, hardLinks: hardLinks)
    case .s3(let settings): S3Destination(settings)
    }
  }
}
