import Archive
import Manifests
import System
import Values

/// A stored delta that goes into the zip of an update.
package struct ZipDelta: Hashable, Sendable {
  /// What devices are told about it.
  package let offer: DeltaOffer
  /// The path of its file.
  package let path: String

  /// Creates a delta with its file.
  package init(_ offer: DeltaOffer, path: String) {
    self.offer = offer
    self.path = path
  }
}

/// The contents of a zip of a channel's files, sorted by name. The zip's bytes depend only on the manifest, the deltas
/// and the versions of the compressors; in a channel with a root also on the head and the statements of the time when it was made.
struct ZipContents {
  let inputs: [ArchiveInput]

  private init(_ inputs: [ArchiveInput]) {
    self.inputs = inputs.sorted { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
  }

  /// Everything in a version.
  static func whole(
    _ version: ManifestVersion, digest: SHA256, trust: [UInt8]?,
    _ entries: [(url: ResourceURL, entry: Entry)], of store: Store
  ) throws(StoreError) -> ZipContents {
    var writer = ResourceMapWriter(entries: entries.count)
    for (url, entry) in entries { writer.append(url, entry) }
    let map = writer.finish()
    guard map.digest == digest else { throw .corruptRow("the digest of version \(version)") }
    let manifest = ArchiveInput(BundleZip.manifestName, bytes: Documents.whole(version, map, trust: trust))
    return ZipContents([manifest] + entries.map { file($0.url, $0.entry, of: store) })
  }

  /// What is new since another version. If it `leavesOutWhole`, it has no whole files for which there is a delta.
  static func update(
    from base: ManifestVersion, to version: ManifestVersion, digest: SHA256, trust: [UInt8]?,
    _ changes: [EntryChange], _ deltas: [ZipDelta], leavesOutWhole: Bool, of store: Store
  ) -> ZipContents {
    let left = leavesOutWhole ? Set(deltas.map(\.offer.url)) : []
    var writer = ManifestPatchWriter()
    var inputs: [ArchiveInput] = []
    for change in changes {
      writer.append(change.url, now: change.entry, lost: change.lost)
      if let entry = change.entry, !left.contains(change.url) {
        inputs.append(file(change.url, entry, of: store))
      }
    }
    let offers = deltas.map(\.offer).sorted { $0.url < $1.url }
    let document = Documents.patch(
      version, digest: digest, base: DocumentBase(base, deltas: DeltaOffer.render(offers)), writer.finish(),
      trust: trust)
    inputs.append(ArchiveInput(BundleZip.patchName, bytes: document))
    return ZipContents(inputs + deltas.map { file($0, of: store) })
  }

  private static func file(_ url: ResourceURL, _ entry: Entry, of store: Store) -> ArchiveInput {
    ArchiveInput(BundleZip.path(ofFile: ResourceFileName(url).text), size: entry.size) {
      // Checked first: damaged bytes would end up in a zip that looks right.
      let blob = try store.openChecked(entry.sha256)
      let size = blob.size
      return ArchiveFile(blob.takeFile(), size: size)
    }
  }

  /// Stored without compression, because a delta is compressed already.
  private static func file(_ delta: ZipDelta, of store: Store) -> ArchiveInput {
    let name = BundleZip.path(ofDelta: ResourceFileName(delta.offer.url).text)
    return ArchiveInput(name, .stored, size: delta.offer.size) {
      // A delta that was removed as damaged is built again; until then the zip has to wait.
      guard store.derived.holds(delta.path) else { return try ArchiveFile(delta.path) }
      guard let file = try store.derived.openFile(delta.path) else {
        throw StoreError.system(SystemError("open", on: delta.path, code: .noSuchFileOrDirectory))
      }
      let size = file.size
      return ArchiveFile(file.takeFile(), size: size)
    }
  }
}
