import Compression
import Manifests
import Store
import System
import Trust
import Values

/// Signs new heads for what a copy has, while its origin is gone: devices that rely on the copy go on seeing that it is kept.
///
/// Nothing else in the copy changes. What it has is read and checked first, as a device does it, so that the key signs only what
/// publishers have signed.
package struct HeadRenewal {
  /// A key that the roots of the copy's apps name for heads.
  package struct Key: Sendable {
    package let key: TrustKey
    /// Returns the signature of a message.
    package let sign: @Sendable ([UInt8]) throws(MirrorError) -> P256Signature

    package init(key: TrustKey, sign: @escaping @Sendable ([UInt8]) throws(MirrorError) -> P256Signature) {
      self.key = key
      self.sign = sign
    }
  }

  /// A head that was signed.
  package struct Renewed: Sendable {
    package let channel: MirroredChannel
    package let head: TrustHead
    /// When the head before was signed; nil if there was none that devices would have taken.
    package let before: TrustTime?
  }

  /// What was done.
  package struct Report: Sendable {
    package internal(set) var renewed: [Renewed] = []
    /// Channels that have no root, or one that is off.
    package internal(set) var unsigned: [MirroredChannel] = []
  }

  /// How long devices expect no newer head, in milliseconds: as long as for the origin's.
  private static let validity: Int64 = 30 * 86_400_000

  private let destination: any Destination
  private let key: Key
  private let selection: ChannelSelection
  private let roots: [Signed<TrustRoot>]
  private let now: Int64

  /// - Parameters:
  ///   - place: the copy.
  ///   - key: who signs.
  ///   - selection: the channels to sign heads for.
  ///   - roots: the roots that apps are built with; for other apps, the first one that the copy has.
  ///   - now: milliseconds since 1970.
  package init(
    _ place: MirrorPlace, key: Key, _ selection: ChannelSelection = .all, roots: [Signed<TrustRoot>] = [],
    now: Int64 = Clock.unixMilliseconds()
  ) throws(MirrorError) {
    destination = try place.destination()
    self.key = key
    self.selection = selection
    self.roots = roots
    self.now = now
  }

  /// Signs the heads.
  /// - Throws: `noMirror`, `noIndex`, `unknownName`, `unsound`, `unlistedKey`, and what reading and writing may throw; for `unsound` and
  ///   `unlistedKey`, nothing was changed.
  package func run() throws(MirrorError) -> Report {
    try destination.begin()
    defer { destination.end() }
    let reader = DestinationReader(destination: destination)
    var (index, _) = try reader.index()
    if let words = selection.unknown(among: index.channels.map(\.name)) {
      throw .unknownName(words, known: index.channels.map(\.name).sorted())
    }
    let mark = try destination.read(RunMark.path).map { RunMark(parsing: $0) }
    let expected = ExpectedRoots(roots, in: index)
    var report = Report()
    var written: [(path: String, bytes: [UInt8], coding: String?)] = []
    for at in index.channels.indices where selection.contains(index.channels[at].name) {
      let channel = index.channels[at]
      if channel.isUnfinished || mark?.names(channel.name) ?? false {
        throw .unsound(channel.name, [Divergence(path: channel.folder, kind: .unfinished(channel.name))])
      }
      guard let (signed, before) = try head(of: channel, reader, expected) else {
        report.unsigned.append(channel.name)
        continue
      }
      report.renewed.append(Renewed(channel: channel.name, head: signed.document, before: before))
      let files = files(signed.envelope.bytes, of: channel)
      for file in files {
        let found = MirrorIndex.File(sha256: SHA256.of(file.bytes), size: Int64(file.bytes.count))
        index.channels[at].files.removeAll { $0.path == file.path }
        index.channels[at].files.append((file.path, found))
      }
      index.channels[at].files.sort { $0.path < $1.path }
      written += files
    }
    if !written.isEmpty { try write(written, index, report.renewed.map(\.channel), mark) }
    return report
  }

  /// Returns a head for what a channel has, and when the one before was signed; nil without a root that is on.
  private func head(
    of channel: MirrorIndex.Channel, _ reader: DestinationReader, _ expected: ExpectedRoots
  ) throws(MirrorError) -> (Signed<TrustHead>, before: TrustTime?)? {
    let version = try document("version.json", of: channel, reader)
    guard let number = version.extras.root else {
      if expected.apps.contains(channel.app) {
        throw .unsound(
          channel.name, [Divergence(path: "\(channel.folder)/version.json", kind: .noRoot)])
      }
      return nil
    }
    var divergences: [Divergence] = []
    let trust = try TrustReading(
      channel, reader, builtIn: expected.builtIn[channel.app], root: number, now: now, &divergences)
    guard let trust else { throw .unsound(channel.name, divergences) }
    if trust.isOff { return nil }
    let root = trust.fresh.root
    guard root.heads.contains(key.key.id) else {
      throw .unlistedKey(channel.name, key.key.id, root.number)
    }
    let signed = try sign(try compose(channel, version.extras, root, after: trust.head, reader), root)
    var check = ChannelCheck(channel, reader, expected, head: signed.envelope.bytes)
    try check.run()
    let errors = check.divergences.filter { $0.severity == .error }
    if !errors.isEmpty { throw .unsound(channel.name, errors) }
    return (signed, trust.head?.at)
  }

  private func compose(
    _ channel: MirrorIndex.Channel, _ extras: AnswerExtras, _ root: TrustRoot, after before: TrustHead?,
    _ reader: DestinationReader
  ) throws(MirrorError) -> TrustHead {
    var candidate: TrustHead.Candidate?
    if let rule = extras.rollout {
      let name = MirrorDocument.whole(rule.version).path
      guard case .whole(let whole) = try document(name, of: channel, reader) else {
        throw .unreadable(path: "\(channel.folder)/\(name)", reason: "it is not a whole manifest")
      }
      candidate = TrustHead.Candidate(digest: whole.digest, rule: rule)
    }
    let at = max(now, (before?.at.milliseconds ?? 0) + 1)
    guard let from = TrustTime(at), let until = TrustTime(max(at, now + Self.validity)) else {
      throw .badPlace("the clock is wrong: it says \(Timestamp.text(now))")
    }
    do {
      return try TrustHead(
        app: channel.app, environment: root.environment, channel: channel.channel, version: channel.version,
        digest: channel.digest, candidate: candidate, policy: extras.policy ?? 0,
        prefetch: extras.prefetch ?? 0, at: from, until: until)
    } catch {
      throw .unreadable(path: "\(channel.folder)/version.json", reason: error.description)
    }
  }

  private func sign(_ head: TrustHead, _ root: TrustRoot) throws(MirrorError) -> Signed<TrustHead> {
    let message = Envelope.message(payloadType: TrustHead.payloadType, payload: head.json.canonical)
    let signature = Envelope.Signature(key: key.key.id, signature: try key.sign(message))
    do throws(TrustFormError) {
      return try Signed(head, signatures: [signature])
    } catch {
      throw .badPlace("the head could not be signed: \(error)")
    }
  }

  private func document(_ name: String, of channel: MirrorIndex.Channel, _ reader: DestinationReader)
    throws(MirrorError) -> ConfigureAnswer
  {
    let path = "\(channel.folder)/\(name)"
    guard let bytes = try reader.read(path) else { throw .lacksFile(path: path) }
    do {
      return try ConfigureAnswer.parse(bytes)
    } catch {
      throw .unreadable(path: path, reason: error.description)
    }
  }

  /// The head's file, and its coded siblings where the copy has them.
  private func files(_ bytes: [UInt8], of channel: MirrorIndex.Channel)
    -> [(path: String, bytes: [UInt8], coding: String?)]
  {
    let path = "\(channel.folder)/\(MirrorDocument.head.path)"
    let siblings = ChannelWork.codings.filter { coding in
      channel.files.contains { $0.path == path + coding.ending }
    }
    return siblings.map { coding in
      let coded = coding.name == "gzip" ? Gzip.encode([bytes]) : Zstd.encode([bytes])
      return (path + coding.ending, coded, coding.name)
    } + [(path, bytes, nil)]
  }

  /// Writes the heads, then `mirror.json`. In between, a mark says that the two disagree.
  private func write(
    _ files: [(path: String, bytes: [UInt8], coding: String?)], _ index: MirrorIndex,
    _ channels: [MirroredChannel], _ mark: RunMark?
  ) throws(MirrorError) {
    let json = FileHead(type: "application/json", isImmutable: false)
    let during = (mark ?? RunMark([])).union(Set(channels))
    try destination.write(during.document, as: RunMark.path, json)
    try destination.show()
    for file in files {
      let head = FileHead(type: json.type, coding: file.coding, isImmutable: false)
      try destination.write(file.bytes, as: file.path, head)
    }
    try destination.sync()
    try destination.show()
    try destination.write(index.document, as: MirrorIndex.path, json)
    try destination.sync()
    try destination.show()
    try destination.sync()
    guard let mark else { return try destination.remove([RunMark.path]) }
    // Of other channels, as an interrupted run has left it.
    try destination.write(mark.document, as: RunMark.path, json)
    try destination.show()
  }
}

/// Reads a copy where it is written.
struct DestinationReader: MirrorReader {
  let destination: any Destination

  var name: String { destination.name }
  var wrongType: Divergence.Severity? { nil }
  var threads: Int { 2 }

  func read(_ path: String) throws(MirrorError) -> [UInt8]? { try destination.read(path) }

  func facts(_ path: String) throws(MirrorError) -> FileFacts? {
    try destination.files(at: [path]).first.flatMap(\.self).map { FileFacts(file: $0, type: nil) }
  }

  func local(_ path: String, at target: String, size: Int64) throws(MirrorError) -> LocalFile? {
    guard let bytes = try read(path) else { return nil }
    try MirrorError.disk { () throws(SystemError) in try DurableFile.write(bytes, to: target) }
    return LocalFile(path: target, isTemporary: true)
  }
}
