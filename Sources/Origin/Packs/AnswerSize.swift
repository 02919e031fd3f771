import Compression
import Manifests
import Store
import System

/// Bytes of answers as devices get them, before they are made: those with a patch to a few bytes, since digests are still
/// to come.
struct AnswerSize {
  /// What every answer says beside its news.
  var extras = AnswerExtras.none

  /// Of one that names a pack.
  func pack(_ offer: PackOffer, from base: ManifestVersion, to version: ManifestVersion) -> Int64 {
    Self.sent(
      Documents.pack(
        PackAnswer(base: base, version: version, digest: SHA256.of([]), pack: offer, extras: extras)))
  }

  /// Of one with a patch.
  /// - Parameter deltas: as `DeltaOffer.render` writes them.
  func patch(
    _ changes: [MapChange], deltas: [UInt8], from base: ManifestVersion, to version: ManifestVersion
  ) -> Int64 {
    let frame = Documents.patch(
      version, digest: SHA256.of([]), base: DocumentBase(base, deltas: deltas), extras: extras)
    return Self.sent(frame.around(MapChange.patch(changes)))
  }

  /// What a patch will offer beside it.
  static func deltas(
    _ changes: [Manifests.EntryChange], _ held: Set<SHA256>, _ pairs: [SHA256: [StoredDelta]],
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

  /// Of a whole manifest, judged by a part of its entries.
  static func whole(_ contents: DeltaSearch.Contents, in channel: ChannelInfo) -> Int64 {
    guard !contents.isEmpty else { return 0 }
    let step = max(1, contents.count / judged)
    let part = stride(from: 0, to: contents.count, by: step).map { index in
      MapChange(
        url: contents[index].url,
        entry: PackDraft.entry(contents[index].url, contents[index].content, in: channel), lost: JSONObject())
    }
    let bytes = Double(sent(MapChange.patch(part)))
    return Int64(bytes * Double(contents.count) / Double(part.count))
  }

  /// Entries that are looked at.
  private static let judged = 2000

  private static func sent(_ document: [UInt8]) -> Int64 {
    guard document.count >= Coding.sizes.lowerBound else { return Int64(document.count) }
    return Int64(min(document.count, Zstd.encode([document]).count))
  }
}
