import HTTP
import Manifests
import OriginAPI
import Store
import System

/// Answers pack URLs: `{space}/{app}/pack/{A}-{B}-{mark}.xpk`; A is 0 in those of first packs.
struct PackEndpoint: Sendable {
  let store: Store
  let log: @Sendable (String) -> Void
  let failures: FailureLog

  /// Answers the request for a pack. `path` has neither a public URL's prefix nor its leading slash; `whole` is the whole
  /// request path, under which the file is kept open. `channel` is the one named by the path, or nil.
  func answer(
    _ path: RawSpan, whole: RawSpan, of channel: Int64?, _ request: borrowing Request, _ cache: DownloadCache
  ) -> Answer {
    if let file = cache.file(at: whole) { return .now(file.document.response(to: request)) }
    guard let parsed = PackPath(text: path.text), let channel else { return .now(Self.nothing) }
    let stored = StoredRequest(request)
    let key = whole.array
    return .later { [inbox = cache.inbox] in
      do throws(StoreError) {
        let file = try inbox.open { () throws(StoreError) in
          guard let pack = try store.derived.openPack(parsed, of: channel) else {
            throw .unknownVersion(parsed.version)
          }
          return DownloadFile(path: key, document: document(pack))
        }
        return file.document.response(to: stored.request)
      } catch {
        if case .unknownVersion = error { return Self.nothing }
        failures.note(Problem(error), "\(parsed): \(error)")
        return ClientFailure.response(error)
      }
    }
  }

  /// A pack of that name may still be made, so the answer must not be cached.
  private static var nothing: Response {
    ClientFailure.response(.notFound, "no pack is stored under this URL", cacheControl: "no-store")
  }

  private func document(_ pack: consuming DerivedFile) -> CodedDocument {
    let sha256 = pack.sha256
    let file = OpenFile(pack, store, log)
    let fields = HeadFields.published("application/octet-stream")
    let tag = EntityTag("\(sha256.hex.prefix(32))")
    return .file(identity: Representation(fields, tag: tag, body: file.body), gzip: nil, zstd: nil)
  }
}

/// A pack that is offered to devices.
struct OfferedPack: Sendable {
  let offer: PackOffer
  let format: PackFormat
}

/// Decides which packs are offered to devices.
struct PackOffers: Sendable {
  let store: Store
  /// Whether only packs that were pushed to where devices download are offered.
  let arePushed: Bool
  /// The packs that were offered.
  let announced = AnnouncedPacks()
  /// Which first packs whole manifests name.
  let firsts = FirstPacks()

  /// Returns the pack from `base` to a channel's newest version; nil if none is to be offered.
  func offer(_ channel: ChannelInfo, from base: ManifestVersion, baseDigest: SHA256) throws(StoreError)
    -> OfferedPack?
  {
    guard let digest = channel.digest else { return nil }
    let ends = PackEnds(base: base, baseDigest: baseDigest, version: channel.version, digest: digest)
    guard case .stored(let pack) = try store.derived.pack(ends, of: channel.id) else { return nil }
    return offer(pack, channel)
  }

  /// Returns the first pack that a channel's whole manifest names; nil if there is none, or none is to be offered yet.
  func first(_ channel: ChannelInfo) -> PackOffer? {
    guard case .stored(let pack) = firsts.choice(of: channel), pack.isPushed || !arePushed else { return nil }
    announced.note(pack, of: channel, in: store)
    return pack.offer(of: channel)
  }

  /// Returns the offer of a pack; nil if it isn't to be offered yet.
  func offer(_ pack: StoredPack, _ channel: ChannelInfo) -> OfferedPack? {
    guard pack.isPushed || !arePushed, let format = store.derived.format(of: pack, channel.id) else {
      return nil
    }
    announced.note(pack, of: channel, in: store)
    return OfferedPack(offer: pack.offer(of: channel), format: format)
  }
}
