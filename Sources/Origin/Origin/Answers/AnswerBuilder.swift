import HTTP
import Manifests
import Store
import Synchronization
import System
import Values

/// Makes expensive answers, once each, and puts them where polls find them.
final class AnswerBuilder: Sendable {
  private let store: Store
  let packs: PackOffers
  let heads: HeadService
  private let packCounters: PackCounters
  let catalog: Published<Catalog>
  let patches = Published(PatchCache())
  private let work: SingleFlight<Piece, BuiltAnswer>
  /// The number of manifests read from their rows.
  let manifestsRead = Atomic<Int>(0)
  /// The number of patches worked out, whatever the result.
  let patchesMade = Atomic<Int>(0)
  /// The number of polls answered with the whole manifest because too many patches were pending.
  let answeredWhole = Atomic<Int>(0)

  /// How many answers are made at a time, and how many patches may wait.
  static let limits = (atOnce: 2, waiting: 16)

  /// Identifies an answer that can be made; another version, or other extras, make it another one.
  private enum Piece: Hashable, Sendable {
    case map(Int64, ManifestVersion)
    case whole(Int64, ManifestVersion, AnswerExtras, trust: Int)
    case info(Int64, ManifestVersion)
    case patch(Int64, ManifestVersion, AnswerExtras, trust: Int, from: ManifestVersion)
  }

  private enum BuiltAnswer: Sendable {
    case map(Result<ManifestMap, StoreError>)
    case whole(Result<WholeManifest, StoreError>)
    case info(Result<CodedDocument, StoreError>)
    case patch(PatchOutcome)
  }

  enum PatchOutcome: Sendable {
    case patch(RenderedPatch)
    /// No manifest of the base's version is kept, or no patch leads from it.
    case unknownBase
    case failed(StoreError)
  }

  init(
    store: Store, catalog: Published<Catalog>, packs: PackOffers? = nil, heads: HeadService? = nil,
    packCounters: PackCounters = PackCounters(), threads: Int = AnswerBuilder.limits.atOnce
  ) throws(SystemError) {
    self.store = store
    self.packs = packs ?? PackOffers(store: store, arePushed: false)
    self.heads = heads ?? HeadService(store: store)
    self.packCounters = packCounters
    self.catalog = catalog
    work = try SingleFlight(threads: threads, maxWaiting: Self.limits.waiting)
  }

  // MARK: - For polls, which wait without a thread

  func whole(
    of channel: ChannelCatalog, completion: @escaping @Sendable (Result<WholeManifest, StoreError>) -> Void
  ) {
    // Clients want the newest; nothing of an older one is kept any more.
    let channel = newest(channel)
    if let whole = channel.held.whole { return completion(.success(whole)) }
    _ = work.request(Self.whole(channel), isUrgent: true) {
      .whole(self.makeWhole(channel))
    } completion: { made in
      if case .whole(let whole) = made { completion(whole) }
    }
  }

  func info(
    of channel: ChannelCatalog, completion: @escaping @Sendable (Result<CodedDocument, StoreError>) -> Void
  ) {
    let channel = newest(channel)
    if let info = channel.held.info { return completion(.success(info)) }
    let piece = Piece.info(channel.channel.id, channel.version)
    _ = work.request(piece, isUrgent: true) {
      .info(self.makeInfo(channel))
    } completion: { made in
      if case .info(let info) = made { completion(info) }
    }
  }

  private func newest(_ channel: ChannelCatalog) -> ChannelCatalog {
    catalog.current.successor(of: channel) ?? channel
  }

  /// - Returns: false if too many patches are pending; then `completion` isn't called.
  func patch(
    to channel: ChannelCatalog, from base: ManifestVersion,
    completion: @escaping @Sendable (PatchOutcome) -> Void
  ) -> Bool {
    // There are never more than a few pinned versions.
    let isPinned = patches.current.isPinned(base.number, of: channel.channel.id)
    let isTaken = work.request(Self.patch(channel, base), isUrgent: isPinned) {
      .patch(self.makePatch(to: channel, from: base))
    } completion: { made in
      if case .patch(let outcome) = made { completion(outcome) }
    }
    if !isTaken { answeredWhole.add(1, ordering: .relaxed) }
    return isTaken
  }

  // MARK: - For what is made before anybody asks, on the caller's thread

  /// Returns a channel's manifest, read from its rows unless it is in memory; once, however many callers wait for it.
  func map(of channel: ChannelCatalog) throws(StoreError) -> ManifestMap {
    if let map = channel.held.map { return map }
    let made = work.perform(.map(channel.channel.id, channel.version)) { .map(self.readMap(channel)) }
    guard case .map(let map) = made else { fatalError("the piece of a manifest is one") }
    return try map.get()
  }

  /// Returns a channel's whole manifest, made now unless there is one.
  func whole(of channel: ChannelCatalog) throws(StoreError) -> WholeManifest {
    if let whole = channel.held.whole { return whole }
    let made = work.perform(Self.whole(channel)) { .whole(self.makeWhole(channel)) }
    guard case .whole(let whole) = made else { fatalError("the piece of a whole manifest is one") }
    return try whole.get()
  }

  /// Waits while polls wait for manifests and common patches, so that background work yields to them. It doesn't wait for
  /// patches from uncommon versions, of which there is no end.
  func yieldToRequests(while isWanted: () -> Bool) {
    while isWanted(), !work.awaitUrgentWork(within: .seconds(1)) {}
  }

  /// Makes the patch from `base`, unless there is one.
  func preparePatch(to channel: ChannelCatalog, from base: ManifestVersion) {
    _ = work.perform(Self.patch(channel, base)) { .patch(self.makePatch(to: channel, from: base)) }
  }

  /// Makes a channel's answers from pinned bases again, since they don't name new deltas or a new pack yet.
  func refreshPatches(of channelID: Int64) throws(StoreError) {
    patches.update { $0.renew(channelID) }
    for base in patches.current.pins(of: channelID) {
      for channel in catalog.current.channel(id: channelID)?.answered ?? [] where base < channel.version {
        let renewal = patches.current.renewal(of: channelID)
        let (patch, digest) = try patch(to: channel, from: base)
        patches.update {
          $0.insert(patch, from: base.number, to: channel, renewal: renewal, digest: digest)
        }
      }
    }
  }

  /// Has the whole manifests of a version name another first pack, if it is another one.
  func choose(_ first: FirstPackChoice, of channel: ChannelInfo) {
    if packs.firsts.choose(first, of: channel) { renewWhole(of: channel.id) }
  }

  /// Has the whole manifests of a channel name no first pack until one is chosen.
  /// - Parameter kept: a version whose choice stays.
  func forgetFirsts(of channelID: Int64, except kept: ManifestVersion? = nil) {
    if packs.firsts.forget(channelID, except: kept) { renewWhole(of: channelID) }
  }

  /// Has a channel's whole manifests made again when they are asked for, without coding their maps again.
  func renewWhole(of channelID: Int64) {
    var isRenewed = false
    for state in catalog.current.channel(id: channelID)?.answered ?? [] where state.held.renewWhole() {
      isRenewed = true
    }
    // Another edition, so that no event loop goes on with the one that it remembers.
    if isRenewed { catalog.update { _ in } }
  }

  // MARK: - Making

  private static func whole(_ channel: ChannelCatalog) -> Piece {
    .whole(channel.channel.id, channel.version, channel.extras, trust: channel.trustEdition)
  }

  private static func patch(_ channel: ChannelCatalog, _ base: ManifestVersion) -> Piece {
    .patch(channel.channel.id, channel.version, channel.extras, trust: channel.trustEdition, from: base)
  }

  private func readMap(_ channel: ChannelCatalog) -> Result<ManifestMap, StoreError> {
    // Another thread may have read it in the meantime; the same goes for the functions below.
    if let map = channel.held.map { return .success(map) }
    manifestsRead.add(1, ordering: .relaxed)
    return Result { () throws(StoreError) in
      let map = try ManifestMap(store, channel.channel, at: channel.version)
      keep(channel, where: { $0.version == channel.version }) { $0.keep(map: map) }
      return map
    }
  }

  private func makeWhole(_ channel: ChannelCatalog) -> Result<WholeManifest, StoreError> {
    let now = newest(channel)
    if now.answers(as: channel), let whole = now.held.whole { return .success(whole) }
    return Result { () throws(StoreError) in
      let trust = try trust(of: channel, from: nil)
      if let next = overtaking(channel) { return try makeWhole(next).get() }
      let rendered: RenderedMap
      if let kept = channel.held.rendered {
        rendered = kept
      } else {
        rendered = RenderedMap(try map(of: channel))
      }
      let first = packs.first(channel.channel)
      let whole = WholeManifest(
        channel.channel, rendered: rendered, channel.extras, trust: trust, first: first)
      if first != nil { packCounters.announced() }
      keep(channel, where: channel.answers) { $0.keep(whole: whole) }
      // Another one may have been chosen meanwhile, which found nothing to renew.
      if packs.first(channel.channel) != first { renewWhole(of: channel.channel.id) }
      return whole
    }
  }

  /// Returns the member `trust` of an answer, with a head for what the channel is now; nil in a channel without a root.
  private func trust(of channel: ChannelCatalog, from base: ManifestVersion?) throws(StoreError) -> [UInt8]? {
    guard channel.trustEdition != 0 else { return nil }
    heads.ensure(channel)
    return try store.answerTrust(of: channel.channel, from: base, to: channel.version)
  }

  /// Returns the state that has taken the place of one of a channel with a root, since devices would refuse an answer of before with a
  /// head of now; nil if none has.
  private func overtaking(_ channel: ChannelCatalog) -> ChannelCatalog? {
    guard channel.trustEdition != 0 else { return nil }
    let now = newest(channel)
    return now.answers(as: channel) ? nil : now
  }

  private func makeInfo(_ channel: ChannelCatalog) -> Result<CodedDocument, StoreError> {
    Result { () throws(StoreError) in
      let map = try map(of: channel)
      let digest = channel.channel.digest ?? ManifestMap.empty.digest
      let info = CodedDocument.json(Documents.info(digest: digest) { map.forEachURL($0) })
      keep(channel, where: { $0.version == channel.version }) { $0.keep(info: info) }
      return info
    }
  }

  /// Keeps what was made for a channel, also in a successor with the same content.
  private func keep(
    _ channel: ChannelCatalog, where isRight: (ChannelCatalog) -> Bool, _ keep: (ResidentManifest) -> Void
  ) {
    keep(channel.held)
    let now = newest(channel)
    if now !== channel, isRight(now) { keep(now.held) }
  }

  /// Drops the manifests and patches of channels that nobody has polled for a while; they are loaded again on demand.
  ///
  /// - Parameters:
  ///   - moment: in monotonic nanoseconds; what was added after it is kept.
  ///   - isPolled: returns whether a channel was polled since then.
  func forgetUnpolled(since moment: UInt64, _ isPolled: (Int64) -> Bool) {
    for channel in catalog.current.channels where !isPolled(channel.channel.id) {
      var isDropped = false
      for state in channel.answered where state.held.drop(keptBefore: moment) { isDropped = true }
      guard isDropped else { continue }
      patches.update { $0.forget(channel.channel.id) }
    }
  }

  private func makePatch(to channel: ChannelCatalog, from base: ManifestVersion) -> PatchOutcome {
    let state = patches.current
    if let kept = state.answer(from: base.number, to: channel) { return PatchOutcome(kept.patch) }
    patchesMade.add(1, ordering: .relaxed)
    do throws(StoreError) {
      let (patch, digest) = try patch(to: channel, from: base)
      let renewal = state.renewal(of: channel.channel.id)
      patches.update { $0.insert(patch, from: base.number, to: channel, renewal: renewal, digest: digest) }
      return PatchOutcome(patch)
    } catch {
      return .failed(error)
    }
  }

  /// Returns the patch from `base`, nil if no manifest of that version is kept, or no patch leads from it; and the version's digest in
  /// hexadecimal, nil if it isn't kept.
  private func patch(to channel: ChannelCatalog, from base: ManifestVersion) throws(StoreError)
    -> (patch: RenderedPatch?, digest: [UInt8]?)
  {
    guard base < channel.version, let digest = try store.digest(channel.channel, at: base) else {
      return (nil, nil)
    }
    let known = Array(digest.hex.utf8)
    if channel.channel.crossesRebase(from: base) { return (nil, known) }
    let trust = try trust(of: channel, from: base)
    // The whole manifest of the newest state is answered instead.
    if overtaking(channel) != nil { return (nil, known) }
    let changes = try store.changes(channel.channel, from: base, to: channel.version)
    let answer = try RenderedPatch(
      channel, from: base, digest: digest,
      changes.map { MapChange(url: $0.url, entry: $0.entry, lost: $0.lost) },
      deltas: try DeltaOffers(store: store, arePushed: packs.arePushed).render(
        changes, channel.channel, from: base), trust: trust
    ) { () throws(StoreError) in try whole(of: channel) }
    let offer = try packs.offer(channel.channel, from: base, baseDigest: digest)
    return (answer.map { self.offering(offer, $0, channel, from: base) }, known)
  }
}

extension AnswerBuilder {
  /// Returns the same answer, naming a pack for those that accept one.
  func offering(
    _ pack: OfferedPack?, _ answer: RenderedPatch, _ channel: ChannelCatalog, from base: ManifestVersion
  ) -> RenderedPatch {
    if pack != nil { packCounters.announced() }
    return answer.offering(pack, channel, from: base)
  }
}

extension AnswerBuilder.PatchOutcome {
  fileprivate init(_ patch: RenderedPatch?) { self = patch.map(Self.patch) ?? .unknownBase }
}

extension AnswerBuilder {
  /// The metrics in the Prometheus text format, version 0.0.4.
  var prometheusText: String {
    func metric(_ name: String, _ type: String, _ help: String, _ value: Int) -> String {
      "# HELP \(name) \(help)\n# TYPE \(name) \(type)\n\(name) \(value)\n"
    }
    return metric(
      "xcache_patches_made_total", "counter", "Patches computed from older versions.",
      patchesMade.load(ordering: .relaxed))
      + metric(
        "xcache_patch_polls_answered_whole_total", "counter",
        "Polls answered with the whole manifest because too many patches were pending.",
        answeredWhole.load(ordering: .relaxed))
      + metric(
        "xcache_patch_cache_bytes", "gauge", "Bytes of the patches that are kept.", patches.current.byteCount)
      + metric(
        "xcache_manifests_read_total", "counter", "Manifests read into memory.",
        manifestsRead.load(ordering: .relaxed))
      + metric(
        "xcache_manifests_in_memory", "gauge",
        "Channels whose manifest is in memory; others are read when requested.",
        catalog.current.channels.count { $0.held.isInMemory })
  }
}
