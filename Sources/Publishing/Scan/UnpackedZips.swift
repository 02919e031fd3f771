import Archive
import System

/// Bundles whose zips were unpacked, so that they are folders like others; the folders are gone with it.
final class UnpackedZips {
  /// With a folder in the place of each zip.
  private(set) var bundles: [BundleSource]
  private var made: [String] = []

  /// What a desktop's archiver adds beside the files that were packed.
  private static let foreign = "__MACOSX/"

  /// - Throws: `archive`, where a zip can't be read or is refused; `unreadable`.
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

  deinit { for path in made { Self.remove(path) } }

  /// Whether a file is to be taken for a zip: by its name, or by how it begins.
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
    let root = "\(Self.temporary)/xcache-\(Environment.processID)-\(Hex.encode(Secrets.random(8).span.bytes))"
    // The zip's own name stays in the path, since messages name files by it.
    let folder = "\(root)/\(name)"
    made.append(root)
    let file: ArchiveFile
    do throws(SystemError) {
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
    unpacked.isUnpacked = true
    return unpacked
  }

  private static var temporary: String {
    Environment.variables["TMPDIR"].flatMap { $0.hasPrefix("/") ? $0 : nil } ?? "/tmp"
  }

  /// Removes a folder with all in it; links are removed, not followed.
  private static func remove(_ path: String) {
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
