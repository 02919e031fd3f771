import Archive
import System

/// Bundles with their zips unpacked into folders, which are removed with this object.
final class UnpackedZips {
  /// The bundles, with a folder in place of each zip.
  private(set) var bundles: [BundleSource]
  private var made: [ScratchFolder] = []

  /// What macOS's archiver adds to the packed files.
  private static let foreign = "__MACOSX/"

  /// Unpacks the zips of `bundles`.
  /// - Throws: `archive` if a zip can't be read or is refused; `unreadable`.
  init(_ bundles: [BundleSource]) throws(PublishError) {
    self.bundles = bundles
    for (index, bundle) in bundles.enumerated() {
      self.bundles[index].folders = []
      for folder in bundle.folders {
        let taken = try Self.isZip(folder.path) ? unpack(folder) : folder
        self.bundles[index].folders.append(taken)
      }
    }
  }

  /// Whether a file is taken for a zip, by its name or its first bytes.
  private static func isZip(_ path: String) throws(PublishError) -> Bool {
    do {
      guard try Kernel.status(path)?.kind == .file else { return false }
      if path.lowercased().hasSuffix(".zip") { return true }
      var start: [UInt8] = [0, 0]
      let file = try Kernel.open(path, .read)
      let read = start.withUnsafeMutableBytes { buffer in
        Result { () throws(SystemError) in try Kernel.read(file, into: buffer) }
      }
      return try read.get() == 2 && start.elementsEqual("PK".utf8)
    } catch {
      throw .unreadable(path, error)
    }
  }

  private func unpack(_ zip: BundleSource.Folder) throws(PublishError) -> BundleSource.Folder {
    let name = zip.path.split(separator: "/").last.map(String.init) ?? "zip"
    let folder: String
    let file: ArchiveFile
    do throws(SystemError) {
      let root = try ScratchFolder("xcache")
      made.append(root)
      // Keeps the zip's name in the path, since messages name files by it.
      folder = "\(root.path)/\(name)"
      try Kernel.makeFolder(folder, mode: 0o700)
      file = try ArchiveFile(zip.path)
    } catch {
      throw .unreadable(error.subject ?? zip.path, error)
    }
    do throws(ArchiveError) {
      try Archive(file).unpack(to: folder) { !$0.name.hasPrefix(Self.foreign) }
    } catch {
      throw .archive(zip.path, error)
    }
    var unpacked = BundleSource.Folder(folder, baseURL: zip.baseURL)
    unpacked.zip = zip.path
    return unpacked
  }
}
