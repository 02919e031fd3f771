import Manifests
import Store
import System
import Trust

/// Reads a whole mirror back, and checks it against `mirror.json` and for consistency.
package struct Verification {
  private let reader: any MirrorReader
  /// The maximum age of the last run, in seconds.
  private let maxAge: Int64?
  /// The origin to compare with; nil checks only what is there.
  private let origin: (any MirrorSource)?
  /// The channels that the verdict covers.
  private let selection: ChannelSelection
  /// The roots that apps are built with; for other apps, the first one that the copy has.
  private let roots: [Signed<TrustRoot>]
  private let progress: @Sendable (MirrorProgress) -> Void

  /// How often to start over if the mirror was written meanwhile.
  private static let attempts = 5

  package init(
    _ reader: any MirrorReader, maxAge: Int64? = nil, against origin: (any MirrorSource)? = nil,
    _ selection: ChannelSelection = .all, roots: [Signed<TrustRoot>] = [],
    progress: @escaping @Sendable (MirrorProgress) -> Void = { _ in }
  ) {
    self.reader = reader
    self.maxAge = maxAge
    self.origin = origin
    self.selection = selection
    self.roots = roots
    self.progress = progress
  }

  /// What the verification found.
  package struct Report: Sendable {
    /// When the last run ended, in milliseconds since 1970.
    package let at: Int64
    /// The newest row of the origin's audit trail at that time; nil if the copy doesn't tell.
    package let audit: AuditHead?
    package let channels: [MirrorReport.Channel]
    /// Channels that the origin had when the last run ended but that aren't in the copy; nil if the copy doesn't tell.
    package let leftOut: [MirroredChannel]?
    /// The selection that was compared with the origin, as far as it may be read; nil if the origin wasn't asked.
    package let compared: ChannelSelection?
    package let files: Int
    package let bytes: Int64
    /// The divergences, sorted by path.
    package let divergences: [Divergence]

    package var hasErrors: Bool { divergences.contains { $0.severity == .error } }
  }

  /// Verifies the mirror.
  /// - Throws: `noMirror`, `noIndex`, `unknownName`, `keepsChanging`, and what reading may throw.
  package func run() throws(MirrorError) -> Report {
    for _ in 0..<Self.attempts {
      let (index, bytes) = try reader.index()
      let report = try verify(index)
      // What a run replaced meanwhile diverges from the index read first.
      if try reader.read(MirrorIndex.path) == bytes { return report }
    }
    throw .keepsChanging(place: reader.name)
  }

  private func verify(_ index: MirrorIndex) throws(MirrorError) -> Report {
    let (compared, missing, asked) = try compare(index)
    let known = Set(index.channels.map(\.name) + (index.leftOut ?? []) + asked)
    if let words = selection.unknown(among: Array(known)) {
      throw .unknownName(words, known: known.sorted())
    }
    var divergences = try checkAge(index) + missing
    var types: [String: String] = [:]
    let channels = index.channels.filter { selection.contains($0.name) }
    let expected = ExpectedRoots(roots, in: index)
    for channel in channels {
      if channel.isUnfinished {
        divergences.append(Divergence(path: channel.folder, kind: .unfinished(channel.name)))
      }
      var check = ChannelCheck(channel, reader, expected)
      try check.run()
      divergences += check.divergences
      types.merge(check.types) { first, _ in first }
    }
    let files = channels.flatMap(\.files)
    divergences += try checkFiles(files, types)
    return Report(
      at: index.at, audit: index.audit,
      channels: channels.map { .init(app: $0.app, channel: $0.channel, version: $0.version) },
      leftOut: index.leftOut?.filter { selection.contains($0) }, compared: compared, files: files.count,
      bytes: files.clampedSum(\.file.size),
      divergences: Self.once(divergences))
  }

  /// Sorts divergences by path. Whatever else differs in purged bytes, there is one thing to do about them.
  private static func once(_ divergences: [Divergence]) -> [Divergence] {
    let purged = Set(divergences.filter { $0.kind == .purged }.map(\.path))
    return Set(divergences.filter { $0.kind == .purged || !purged.contains($0.path) }).sorted {
      ($0.path, $0.message) < ($1.path, $1.message)
    }
  }

  /// Compares the copy's channels with the origin's, and returns those, too.
  private func compare(_ index: MirrorIndex) throws(MirrorError)
    -> (ChannelSelection?, [Divergence], asked: [MirroredChannel])
  {
    guard let origin else { return (nil, [], []) }
    do throws(MirrorError) {
      let state = try origin.origin()
      guard state.id == index.origin else {
        return (state.readable, [Divergence(path: MirrorIndex.path, kind: .otherOrigin)], [])
      }
      let held = Set(index.channels.map(\.name))
      let there = try origin.channels(keep: 0).map(\.name)
      let missing = there.filter {
        selection.contains($0) && !held.contains($0)
      }
      let found = missing.map { Divergence(path: $0.folder, kind: .notMirrored($0)) }
      return (state.readable, try found + stragglers(index, state.purges), there)
    } catch {
      // A copy is needed most when the origin is lost, so that alone is no error.
      guard error.isOutage else { throw error }
      let unasked = Divergence(
        path: MirrorIndex.path, kind: .unasked(error.description), severity: .warning)
      return (nil, [unasked], [])
    }
  }

  /// Finds purged bytes that the copy still answers with.
  private func stragglers(_ index: MirrorIndex, _ purges: [PurgedBytes]) throws(MirrorError) -> [Divergence] {
    let taint = Taint(purges, lastRun: index.at, now: Clock.unixMilliseconds())
    guard taint.isPossible else { return [] }
    let named = index.channels.filter { selection.contains($0.name) }.flatMap(\.files).map(\.path).filter(
      taint.isOf)
    var found = named.map { Divergence(path: $0, kind: .purged) }
    for path in index.leaving.keys.sorted() where taint.covers(path) {
      if try reader.facts(path) != nil { found.append(Divergence(path: path, kind: .purged)) }
    }
    return found
  }

  private func checkAge(_ index: MirrorIndex) throws(MirrorError) -> [Divergence] {
    let age = (Clock.unixMilliseconds() - index.at) / 1000
    guard let maxAge, age > maxAge else { return [] }
    return [Divergence(path: MirrorIndex.path, kind: .old(age, allowed: maxAge))]
  }

  private func checkFiles(_ files: [(path: String, file: MirrorIndex.File)], _ types: [String: String])
    throws(MirrorError) -> [Divergence]
  {
    let found = Locked<[Divergence]>([])
    let done = Locked((files: 0, bytes: Int64(0)))
    let total = files.clampedSum(\.file.size)
    let (reader, progress) = (reader, progress)
    try Parallel.forEach(files.count, threads: reader.threads) { (index) throws(MirrorError) in
      let (path, expected) = files[index]
      let divergences: [Divergence]
      do throws(MirrorError) {
        divergences = Self.check(path, expected, try reader.facts(path), types[path], reader.wrongType)
      } catch {
        guard let refusal = error.refusal else { throw error }
        divergences = [Divergence(path: path, kind: refusal)]
      }
      found.withLock { $0 += divergences }
      let now = done.withLock { done in
        done.files += 1
        done.bytes = done.bytes.addingClamped(expected.size)
        return done
      }
      progress(MirrorProgress(files: now.files, filesTotal: files.count, bytes: now.bytes, bytesTotal: total))
    }
    return found.withLock { $0 }
  }

  private static func check(
    _ path: String, _ expected: MirrorIndex.File, _ facts: FileFacts?, _ type: String?,
    _ wrongType: Divergence.Severity?
  ) -> [Divergence] {
    guard let facts else { return [Divergence(path: path, kind: .missing)] }
    var divergences: [Divergence] = []
    if facts.file.size != expected.size {
      divergences.append(Divergence(path: path, kind: .size(facts.file.size, expected: expected.size)))
    } else if facts.file.sha256 != expected.sha256 {
      divergences.append(Divergence(path: path, kind: .bytes))
    }
    // "types by type/subtype": a host may add or omit a charset.
    if let wrongType,
      let expected = type
        ?? (MirrorPath.isResource(path) || isCoded(path) ? nil : MirrorPath.documentType(path)),
      essence(facts.type ?? "") != essence(expected)
    {
      let kind = Divergence.Kind.type(facts.type ?? "no type", expected: expected)
      divergences.append(Divergence(path: path, kind: kind, severity: wrongType))
    }
    return divergences
  }

  private static func isCoded(_ path: String) -> Bool { path.hasSuffix(".gz") || path.hasSuffix(".zst") }

  /// Returns type and subtype, with both names of JavaScript as one (RFC 9239, section 6).
  private static func essence(_ type: String) -> String {
    let essence = type.prefix { $0 != ";" && $0 != " " }.lowercased()
    return essence == "text/javascript" ? "application/javascript" : essence
  }
}
