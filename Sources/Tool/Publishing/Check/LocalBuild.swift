import BuildCheck
import Manifests
import System
import Values

/// A build as it would be published, determined without an origin: its files with their URLs and digests.
package final class LocalBuild {
  /// The files of all bundles by URL, each URL once.
  package let files: [BuildFile]
  /// The base URLs of the folders.
  package let bases: [BaseURL]
  package let bundles: [BundleName]
  /// Keeps the folders of unpacked zips.
  private let unpacked: UnpackedZips

  /// How far into an HTML file to look for signs that it is a page, in bytes.
  private static let pageStart = 1 << 20

  /// Finds, maps and hashes the files of `bundles`, including zips.
  /// - Parameters:
  ///   - bundles: The bundles.
  ///   - progress: Called from any thread with the number of files done and the total.
  /// - Throws: `PublishError` of the scan; `duplicates`; `unreadable`.
  package init(
    _ bundles: [BundleSource], progress: @escaping @Sendable (Int, Int) -> Void = { _, _ in }
  ) throws(PublishError) {
    unpacked = try UnpackedZips(bundles)
    var mapped: [MappedFile] = []
    for bundle in unpacked.bundles { mapped += try Mapping.files(of: FoundBundle(bundle)) }
    mapped.sort { $0.url < $1.url }
    let count = mapped.count
    let hashed = try FileHashing().digests(of: mapped.map(\.file)) { done, _ in progress(done, count) }
    files = try Self.unique(zip(mapped, hashed.files).map { BuildFile($0, $1) })
    bases = unpacked.bundles.flatMap { $0.folders.map(\.baseURL) }
    self.bundles = bundles.map(\.name)
  }

  /// Removes duplicates: two bundles may have the same URL if their entries are equal.
  private static func unique(_ files: [BuildFile]) throws(PublishError) -> [BuildFile] {
    var unique: [BuildFile] = []
    for file in files {
      guard let last = unique.last, last.url == file.url else {
        unique.append(file)
        continue
      }
      guard last.content == file.content else {
        let locations = [last, file].map(\.file.source.location)
        throw .duplicates([.init(url: file.url.text, files: locations)])
      }
    }
    return unique
  }

  /// Returns the HTML documents, each file once, and the HTML files that are parts of other pages.
  package func pages() throws(PublishError) -> (pages: [BuildFile], parts: [BuildFile]) {
    var seen: Set<String> = []
    var pages: [BuildFile] = []
    var parts: [BuildFile] = []
    for file in files where file.content.ctype.essence == "text/html" {
      let location = file.file.source.location
      guard seen.insert(location).inserted else { continue }
      do throws(SystemError) {
        let bytes = try FileStart.read(location, limit: Self.pageStart)
        if PageText.isDocument(bytes) { pages.append(file) } else { parts.append(file) }
      } catch {
        throw .unreadable(location, error)
      }
    }
    return (pages, parts)
  }
}

private enum FileStart {
  /// Returns a file's first bytes.
  static func read(_ path: String, limit: Int) throws(SystemError) -> [UInt8] {
    let file = try Kernel.open(path, [.read, .nonBlocking])
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: limit, alignment: 16)
    defer { buffer.deallocate() }
    var done = 0
    while done < limit {
      let count = try Kernel.read(file, into: UnsafeMutableRawBufferPointer(rebasing: buffer[done...]))
      if count == 0 { break }
      done += count
    }
    return Array(buffer[..<done])
  }
}
