import Manifests
import Store
import System

/// How a file is to be answered by whoever serves the mirror.
package struct FileHead: Hashable, Sendable {
  package let type: String
  /// nil, `gzip` or `zstd`.
  package var coding: String?
  /// Its bytes never change.
  package let isImmutable: Bool

  var cacheControl: String { isImmutable ? "public, max-age=31536000, immutable" : "no-cache" }
}

/// A file on its way into a mirror.
struct Placement: Sendable {
  let path: String
  /// Bytes; nil: however many it has.
  let size: Int64?
  /// What the bytes must have; nil: whatever they have.
  let sha256: SHA256?
  let head: FileHead
  /// Told where the origin's bytes are damaged or gone, and the other files are brought then; nil: that ends it all.
  var onLoss: (@Sendable () -> Void)?
  /// Gives the bytes; one that is made for this is made at the path given.
  let source: @Sendable (String) throws(MirrorError) -> LocalFile

  /// What `bring` gives; nil where the origin's bytes are damaged or gone, and the caller was told.
  func unlessLost<Result>(_ bring: () throws(MirrorError) -> Result) throws(MirrorError) -> Result? {
    guard let onLoss else { return try bring() }
    do throws(MirrorError) {
      return try bring()
    } catch {
      guard error.isDamage else { throw error }
      onLoss()
      return nil
    }
  }
}

/// Where a mirror is kept.
///
/// What `place` and `show` brought is safe once `settle` has returned, and so are the bytes that `show` will bring. A
/// reader never sees half of a file.
protocol Destination: Sendable {
  /// For people, and to tell mirrors apart at the origin.
  var name: String { get }

  /// Keeps other runs away until `end`.
  func begin() throws(MirrorError)
  func end()
  /// The bytes of each path's file; nil where there is none.
  func sizes(of paths: [String]) throws(MirrorError) -> [Int64?]
  /// The same, with the sha256 of the bytes read back.
  func files(at paths: [String]) throws(MirrorError) -> [MirrorIndex.File?]
  /// All bytes of a document; nil where there is none.
  func read(_ path: String) throws(MirrorError) -> [UInt8]?
  /// Brings files that never change, checking that they have the sha256 that they should.
  ///
  /// - Parameter placed: called for each file with what it is, from any thread.
  func place(
    _ files: [Placement],
    _ placed: @escaping @Sendable (Placement, MirrorIndex.File) throws(MirrorError) -> Void
  ) throws(MirrorError)
  /// Takes a document; a reader sees the old or the new one, and the new one at the latest after `show`.
  func write(_ bytes: [UInt8], as path: String, _ head: FileHead) throws(MirrorError)
  /// Lets readers see the documents that came since the last call, in their order. The caller settles first.
  func show() throws(MirrorError)
  /// Waits until what came so far survives a power cut.
  func sync() throws(MirrorError)
  func remove(_ paths: [String]) throws(MirrorError)
  /// Every file below the spaces.
  func list() throws(MirrorError) -> [String]
}

/// Where a mirror is or will be, as a command line says it.
package enum MirrorPlace: Sendable {
  case folder(String, hardLinks: Bool = false)
  case s3(S3Settings)

  private static let pushes = ".xcache-push"

  /// For files that come beside the runs of `mirror`, and don't wait for them.
  /// - Parameter number: no other push has it at the same time.
  func pushDestination(_ number: Int) throws(MirrorError) -> any Destination {
    switch self {
    case .folder(let path, _): try FolderDestination(path, staging: "\(Self.pushes)/\(number)")
    case .s3(let settings): S3Destination(settings, listsOnce: false)
    }
  }

  /// Removes what a push, or nil: what every push that was ended, left on its way.
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
