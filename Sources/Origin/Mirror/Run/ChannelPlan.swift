import Manifests
import Store
import System
import Values

/// Everything in a channel's mirror. This is the only place that determines what is mirrored.
struct ChannelPlan: Sendable {
  let state: MirroredChannelState
  /// The documents, in the order in which they are written.
  let documents: [PlannedDocument]
  /// The deltas that the patches name, each once, with their sizes.
  let deltas: [(path: DeltaPath, size: Int64)]
  /// The packs that the updates and the newest manifest name, each once, with their sizes.
  let packs: [(path: PackPath, size: Int64)]
  /// The zips of each kept version, and two for each step from one to the newest; empty unless requested.
  let zips: [BundleZip]
  /// What the documents have of signatures; nil without a root.
  let trust: PlannedTrust?
  /// A hash of what the files are made from: if it is unchanged, so are they.
  let inputs: SHA256

  /// Incremented when the same inputs begin to produce other files.
  private static let format = 2

  /// Plans a channel's files, without the packs in `lost`, which the origin names and can't give.
  ///
  /// - Parameter known: what the documents of the last run have of signatures; nil if that isn't known.
  init(
    _ state: MirroredChannelState, of origin: OriginState, from source: any MirrorSource,
    options: MirrorOptions, without lost: Set<String> = [], after known: MirrorIndex.Trust? = nil
  )
    throws(MirrorError)
  {
    var state = state
    let first = try Self.first(of: state, without: lost)
    if first == nil { state.first = nil }
    self.state = state
    let trust = try PlannedTrust(state, source, after: known)
    self.trust = trust
    let patches = try Self.patches(state, source, trust)
    let updates = try Self.updates(state, source, trust).filter { !lost.contains($0.pack.text) }
    documents = Self.documents(
      state, source, patches + updates.map { ($0.path, $0.bytes) }, trust, after: known)
    deltas = try Self.deltas(of: patches)
    packs = updates.map { ($0.pack, $0.size) } + [first].compactMap(\.self)
    zips =
      options.zips
      ? state.versions.map { .whole($0) }
        + state.steps.filter { $0.to == state.version }.flatMap {
          [.update(from: $0.from, to: $0.to), .deltas(from: $0.from, to: $0.to)]
        } : []
    let made = patches.map { SHA256.of($0.bytes) } + updates.map { SHA256.of($0.bytes) }
    inputs = SHA256.of(Self.facts(state, origin.id, options, made, trust).canonical)
  }

  /// Everything that the files are made from. Its bytes are compared with those of other builds of this program, so it must not
  /// contain text that depends on the compiler.
  static func facts(
    _ state: MirroredChannelState, _ origin: String, _ options: MirrorOptions, _ patches: [SHA256],
    _ trust: PlannedTrust? = nil
  )
    -> JSONValue
  {
    func number(_ number: Int64?) -> JSONValue { number.map { .integer($0) } ?? .null }
    let facts: JSONValue = [
      "app": .string(state.app.text), "appID": .integer(state.appID), "channel": .string(state.channel.text),
      "digest": .string(state.digest.hex), "format": .integer(format),
      "interval": number(state.extras.interval.map(Int64.init)), "origin": .string(origin),
      "patches": .strings(patches.map(\.hex)), "policy": number(state.extras.policy),
      "precompressed": .bool(options.precompressed), "prefetch": number(state.extras.prefetch),
      "publicURL": .string(state.publicURL.text), "version": .string(state.version.text),
      "versions": .strings(state.versions.map(\.text)), "zips": .bool(options.zips),
    ]
    // Omitted if absent, so that the inputs of existing copies stay the same.
    var all = facts.object ?? JSONObject()
    if let reports = state.extras.reports { all["reports"] = .integer(reports) }
    if let samples = state.extras.samples { all["samples"] = .integer(samples) }
    if let rollback = state.extras.rollback { all["rollback"] = .string(rollback.text) }
    if let rollout = state.extras.rollout { all["rollout"] = rollout.json }
    if let digest = state.candidateDigest { all["candidate"] = .string(digest.hex) }
    if let trust { all["trust"] = trust.facts }
    if let first = state.first { all["first"] = first.json }
    return .object(all)
  }

  /// Returns how many zips are missing from the channel's files.
  func missingZips(in channel: MirrorIndex.Channel) -> Int {
    if zips.isEmpty { return 0 }
    let wanted = Set(zips.map(path))
    return wanted.count - channel.files.count { wanted.contains($0.path) }
  }

  func path(of zip: BundleZip) -> String { "\(state.folder)/\(zip)" }

  /// Makes the patches. They come first, since they determine which deltas exist.
  private static func patches(
    _ state: MirroredChannelState, _ source: any MirrorSource, _ trust: PlannedTrust?
  ) throws(MirrorError) -> [(path: String, bytes: [UInt8])] {
    var patches: [(path: String, bytes: [UInt8])] = []
    for (base, version) in state.steps {
      let patch = MirrorDocument.patch(from: base, to: version)
      let bytes = try source.document(patch, of: state)
      patches.append((patch.path, try trust?.withHead(bytes, of: patch) ?? bytes))
    }
    return patches
  }

  /// Makes the updates, the answers that name a pack, as far as their packs exist by now.
  private static func updates(
    _ state: MirroredChannelState, _ source: any MirrorSource, _ trust: PlannedTrust?
  ) throws(MirrorError) -> [(path: String, bytes: [UInt8], pack: PackPath, size: Int64)] {
    var updates: [(path: String, bytes: [UInt8], pack: PackPath, size: Int64)] = []
    for (base, version) in state.steps {
      let update = MirrorDocument.update(from: base, to: version)
      let bytes: [UInt8]
      do throws(MirrorError) {
        bytes = try source.document(update, of: state)
      } catch {
        // Older origins, which have no packs, answer this, too.
        guard error.isAbsence else { throw error }
        continue
      }
      guard case .pack(let answer)? = try? ConfigureAnswer.parse(bytes),
        let pack = PackPath(download: answer.pack.download), !pack.isFirst, pack.app == state.app,
        pack.channel == state.channel
      else { throw .unreadable(path: update.path, reason: "it names no pack of the channel") }
      let signed = try trust?.withHead(bytes, of: update) ?? bytes
      updates.append((update.path, signed, pack, answer.pack.size))
    }
    return updates
  }

  /// The path and size of the first pack; nil if there is none, or the origin has lost it.
  private static func first(of state: MirroredChannelState, without lost: Set<String>) throws(MirrorError)
    -> (PackPath, Int64)?
  {
    guard let offer = state.first else { return nil }
    guard let pack = PackPath(download: offer.download), pack.isFirst, pack.app == state.app,
      pack.channel == state.channel
    else {
      throw .unreadable(
        path: "\(state.folder)/configure.json", reason: "it names no first pack of the channel")
    }
    return lost.contains(pack.text) ? nil : (pack, offer.size)
  }

  private static func deltas(of patches: [(path: String, bytes: [UInt8])]) throws(MirrorError)
    -> [(path: DeltaPath, size: Int64)]
  {
    var sizes: [DeltaPath: Int64] = [:]
    for (name, bytes) in patches {
      let answer: ConfigureAnswer
      do {
        answer = try ConfigureAnswer.parse(bytes)
      } catch {
        throw .unreadable(path: name, reason: error.description)
      }
      guard case .patch(let patch) = answer else { continue }
      for offer in patch.deltas {
        guard let path = DeltaPath(download: offer.download) else {
          throw .unreadable(path: name, reason: "it names \(offer.download), which is not a delta")
        }
        sizes[path] = offer.size
      }
    }
    return sizes.sorted { $0.key.text < $1.key.text }.map { ($0.key, $0.value) }
  }

  private static func documents(
    _ state: MirroredChannelState, _ source: any MirrorSource, _ patches: [(path: String, bytes: [UInt8])],
    _ trust: PlannedTrust?, after known: MirrorIndex.Trust?
  ) -> [PlannedDocument] {
    let newest = NewestManifest(state, source, head: trust?.answers)
    func document(
      _ name: String, _ stage: PlannedDocument.Stage, isFixed: Bool = false, isImmutable: Bool? = nil,
      _ bytes: @escaping @Sendable () throws(MirrorError) -> [UInt8]
    ) -> PlannedDocument {
      PlannedDocument(
        path: "\(state.folder)/\(name)", stage: stage, isFixed: isFixed, isImmutable: isImmutable ?? isFixed,
        bytes: bytes)
    }
    func made(_ made: MirrorDocument, _ stage: PlannedDocument.Stage, isFixed: Bool = false)
      -> PlannedDocument
    {
      let bytes = trust?.made[made]
      return document(made.path, stage, isFixed: isFixed) { () throws(MirrorError) in
        if let bytes { return bytes }
        return try source.document(made, of: state)
      }
    }
    func whole(_ version: ManifestVersion) -> PlannedDocument {
      let statements = trust?.statements[version]
      // Its statements may be replaced: a cache mustn't keep those of a key that was given up.
      return document(
        MirrorDocument.whole(version).path, .versioned, isFixed: statements == known?.statements[version],
        isImmutable: statements == nil
      ) { () throws(MirrorError) in
        if version == state.version { return try newest.fixed() }
        return try source.document(.whole(version), of: state)
      }
    }
    return (trust?.roots ?? []).map { made(.root($0), .versioned, isFixed: true) }
      + state.scripts.map { made(.script($0), .versioned, isFixed: true) }
      + state.versions.map { made(.release($0), .versioned, isFixed: true) }
      + (state.versions + [state.candidate].compactMap(\.self)).map(whole)
      + [state.extras.rollout?.prefetch].compactMap(\.self).map {
        made(.candidatePrefetch($0), .versioned)
      }
      + patches.map { patch in document(patch.path, .versioned) { patch.bytes } }
      + [
        document("configure.json", .current) { () throws(MirrorError) in try newest.current() },
        made(.prefetch(state.extras.prefetch ?? 0), .current),
        made(.policy(state.extras.policy ?? 0), .current),
        made(.info(state.version), .current),
      ]
      + [trust?.head].compactMap(\.self).map { head in document("head.json", .head) { head } }
      + [
        document("version.json", .newest) { Documents.nothingNew(state.version, extras: state.extras) }
      ]
  }
}

/// The newest manifest, fetched once for the two documents that contain its map.
private final class NewestManifest: Sendable {
  private let state: MirroredChannelState
  private let source: any MirrorSource
  /// The head of answers; nil if there is none.
  private let head: [UInt8]?
  private let bytes = Locked<[UInt8]?>(nil)

  init(_ state: MirroredChannelState, _ source: any MirrorSource, head: [UInt8]?) {
    self.state = state
    self.source = source
    self.head = head
  }

  /// `configure/N.json`
  func fixed() throws(MirrorError) -> [UInt8] {
    // Locked while it is fetched: concurrent callers wait for the same bytes.
    try bytes.withLock { (known) throws(MirrorError) -> [UInt8] in
      if let known { return known }
      let made = try source.document(.whole(state.version), of: state)
      known = made
      return made
    }
  }

  /// `configure.json`: the same map with the current extra members of answers, and the first pack.
  func current() throws(MirrorError) -> [UInt8] {
    let fixed = try fixed()
    bytes.withLock { $0 = nil }
    if state.extras == .none, state.first == nil { return fixed }
    let frame = Documents.whole(state.version, digest: state.digest)
    var end = fixed.count - frame.suffix.count
    var trust: [UInt8]?
    if state.extras.root != nil { (end, trust) = try parts(fixed, from: frame.prefix.count) }
    let map = fixed[frame.prefix.count..<end]
    return Documents.whole(
      state.version, digest: state.digest, first: state.first, extras: state.extras, trust: trust
    ).around(Array(map))
  }

  /// Returns where the map ends that begins at `start`, and the member `trust`, with the head of answers.
  private func parts(_ fixed: [UInt8], from start: Int) throws(MirrorError) -> (end: Int, trust: [UInt8]?) {
    let lead = Array(",\"trust\":".utf8)
    do throws(JSONError) {
      var reader = JSONReader(fixed)
      reader.at = start
      try reader.skip()
      let end = reader.at
      guard fixed[end...].starts(with: lead) else { return (end, nil) }
      reader.at = end + lead.count
      try reader.skip()
      return (end, try MirroredTrust(Array(fixed[end + lead.count..<reader.at])).bytes(head: head))
    } catch {
      throw .unreadable(path: MirrorDocument.whole(state.version).path, reason: error.description)
    }
  }
}

/// A document of a channel's mirror: its path, and how it is made.
struct PlannedDocument: Sendable {
  /// When it is written: a document never refers to one of a later stage.
  enum Stage: Int, Comparable, CaseIterable, Sendable {
    /// Documents of one version.
    case versioned
    /// The newest of each kind.
    case current
    /// The head, which names the newest of each kind.
    case head
    /// The documents that devices read first.
    case newest

    static func < (a: Stage, b: Stage) -> Bool { a.rawValue < b.rawValue }
  }

  /// The path from the mirror's root.
  let path: String
  let stage: Stage
  /// Whether a document that the last run has written to this path is still right.
  let isFixed: Bool
  /// Whether a document at this path stays right forever.
  let isImmutable: Bool
  let bytes: @Sendable () throws(MirrorError) -> [UInt8]
}
