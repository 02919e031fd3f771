import Compression
import Manifests
import System

/// Checks a first pack against the newest manifest: each file that it brings must be what its list says and, if the manifest has it,
/// what its entry says.
struct FirstPackCheck {
  private let entries: [FirstPackItem: FileDigest]

  init(_ newest: Manifest) {
    var entries: [FirstPackItem: FileDigest] = [:]
    for item in newest.items {
      let entry = item.entry
      entries[FirstPackItem(entry.sha256, size: entry.size)] = FileDigest(
        md5: entry.md5, sha256: entry.sha256, size: entry.size)
    }
    self.entries = entries
  }

  /// Returns what is wrong with a pack whose name has this version, or nil.
  func fault(of bytes: [UInt8], version: ManifestVersion) -> String? {
    do {
      var decoding: Decoding?
      var reader = FirstPackReader()
      try reader.push(bytes.span.bytes) { part in
        switch part {
        case .head(let head):
          guard head.version == version else { throw Fault("it is for version \(head.version)") }
          decoding = Decoding(head, entries)
        case .frame(let frame): try decoding?.push(frame)
        }
      }
      guard let decoding else { throw PackFault.damaged("it ends too early") }
      return try decoding.finish() ? nil : "the first pack has no file of configure.json's manifest"
    } catch let fault as Fault {
      return "the first pack can't be used: \(fault.text)"
    } catch {
      return "the first pack can't be read: \(error)"
    }
  }

  private struct Fault: Error {
    let text: String

    init(_ text: String) { self.text = text }
  }

  /// The files as they are decoded.
  private final class Decoding {
    private let entries: [FirstPackItem: FileDigest]
    private var decoder: PackFrameDecoder
    private var files: FirstPackFiles
    private var item: FirstPackItem?
    private var hasher = FileHasher()
    /// Whether one of them is in the manifest.
    private var isOfUse = false

    init(_ head: FirstPackHead, _ entries: [FirstPackItem: FileDigest]) {
      self.entries = entries
      decoder = PackFrameDecoder(base: nil, limit: head.total)
      files = FirstPackFiles(of: head)
    }

    func push(_ frame: RawSpan) throws {
      try decoder.push(frame) { bytes in try cut(bytes) }
    }

    private func cut(_ bytes: RawSpan) throws {
      try files.push(bytes) { part in
        switch part {
        case .begin(_, let next):
          item = next
          hasher = FileHasher()
        case .bytes(let bytes): hasher.update(bytes)
        case .end: try check()
        }
      }
    }

    private func check() throws {
      let digest = hasher.finish()
      guard let item, FirstPackItem(digest.sha256, size: digest.size) == item else {
        throw Fault("one of its files has other bytes than its list says")
      }
      guard let entry = entries[item] else { return }
      guard entry == digest else { throw Fault("one of its files has other bytes than configure.json says") }
      isOfUse = true
    }

    /// Ends the pack.
    /// - Returns: whether it is of any use.
    func finish() throws -> Bool {
      // Files of no bytes may be all that is left, or all that there are.
      try cut(RawSpan())
      try decoder.finish()
      try files.finish()
      return isOfUse
    }
  }
}
