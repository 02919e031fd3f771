import Compression
import Manifests
import Store
import System
import Values

/// The sizes, in bytes, of answers as sent to devices, before they are made: exact if the digest is known; otherwise, for
/// patches, to within a few bytes.
struct AnswerSize {
  /// What every answer carries besides its news.
  var extras = AnswerExtras.none
  /// The member `trust`; nil in a channel without a root.
  var trust: [UInt8]?
  /// The digest of the manifest that the answer leads to; any other if it isn't known yet.
  var digest = SHA256.of([])

  /// Returns the size of an answer that names a pack.
  func pack(_ offer: PackOffer, from base: ManifestVersion, to version: ManifestVersion) -> Int64 {
    Self.sent(
      Documents.pack(
        PackAnswer(base: base, version: version, digest: digest, pack: offer, extras: extras, trust: trust)))
  }

  /// Returns the size of an answer with a patch. `deltas` are as written by `DeltaOffer.render`.
  func patch(
    _ changes: [MapChange], deltas: [UInt8], from base: ManifestVersion, to version: ManifestVersion
  ) -> Int64 {
    let frame = Documents.patch(
      version, digest: digest, base: DocumentBase(base, deltas: deltas), extras: extras, trust: trust)
    return Self.sent(frame.around(MapChange.patch(changes)))
  }

  /// Returns the deltas that a patch will offer.
  static func deltas(
    _ changes: [EntryDifference], _ held: Set<SHA256>, _ pairs: [SHA256: [StoredDelta]],
    _ channel: ChannelInfo
  ) -> [UInt8] {
    DeltaOffer.render(
      changes.compactMap { change in
        guard let target = change.new?.sha256 else { return nil }
        let deltas = pairs[target]?.filter { $0.size != nil && held.contains($0.base) } ?? []
        guard let best = deltas.min(by: { $0.size ?? 0 < $1.size ?? 0 }), let size = best.size else {
          return nil
        }
        let path = DeltaPath(channel: channel.name, target: target, base: best.base)
        return DeltaOffer(
          url: change.url, base: best.base, download: path.url(publicURL: channel.publicURL), size: size)
      })
  }

  /// Returns the size of a whole manifest; a large one is extrapolated from part of its entries. Entries that aren't in
  /// `entries` are assumed to be as a first release writes them.
  func whole(
    _ contents: ContentTable, _ entries: [ResourceURL: Entry], in channel: ChannelInfo,
    at version: ManifestVersion
  ) -> Int64 {
    let step = max(1, contents.count / Self.judged)
    let part = stride(from: 0, to: contents.count, by: step).map { contents[$0] }.sorted { $0.url < $1.url }
    let map = ManifestMap.empty.applying(
      part.map { url, content in
        let entry = entries[url] ?? PackDraft.entry(url, content, in: channel)
        return MapChange(url: url, entry: entry, lost: JSONObject())
      })
    let whole = WholeManifest(channel.at(version, digest: map.digest), map, extras, trust: trust)
    let sent = Int64(whole.document.codedCount)
    guard step > 1 else { return sent }
    // What surrounds the map isn't compressed.
    let around = Documents.whole(version, digest: map.digest, extras: extras, trust: trust)
    let frame = Int64(around.prefix.count + around.suffix.count)
    let extrapolated = Double(sent - frame) * Double(contents.count) / Double(part.count)
    return frame.addingClamped(Int64(min(extrapolated, 0x1p62)))
  }

  /// How many entries are sampled; a manifest with fewer than twice as many is examined as a whole.
  static let judged = 4000

  private static func sent(_ document: [UInt8]) -> Int64 {
    guard document.count >= Coding.sizes.lowerBound else { return Int64(document.count) }
    return Int64(min(document.count, Zstd.encode([document]).count))
  }
}
