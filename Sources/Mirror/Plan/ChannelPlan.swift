import Manifests
import Platform
import Store

/// All that a channel's mirror consists of. What is mirrored is listed here and nowhere else.
struct ChannelPlan: Sendable {
  let state: ChannelState
  /// In the order in which they are written.
  let documents: [PlannedDocument]
  /// Tells what the files are made from: as long as it is the same, so are they.
  let inputs: SHA256

  /// Goes up when the files that are made of the same inputs become others.
  private static let format = 1

  init(_ state: ChannelState, of origin: OriginState, from source: any MirrorSource, options: MirrorOptions) {
    self.state = state
    documents = Self.documents(state, source)
    let facts = [
      "\(Self.format)", origin.id, state.folder, "\(state.appID)", state.publicURL.text, state.version.text,
      state.digest.hex, state.versions.map(\.text).joined(separator: ","), "\(state.extras)",
      "\(options.precompressed)",
    ]
    inputs = SHA256.of(Array(facts.joined(separator: "\n").utf8))
  }

  private static func documents(_ state: ChannelState, _ source: any MirrorSource) -> [PlannedDocument] {
    let newest = NewestManifest(state, source)
    func document(
      _ name: String, _ stage: PlannedDocument.Stage, isFixed: Bool = false,
      _ bytes: @escaping @Sendable () throws(MirrorError) -> [UInt8]
    ) -> PlannedDocument {
      PlannedDocument(path: "\(state.folder)/\(name)", stage: stage, isFixed: isFixed, bytes: bytes)
    }
    func made(_ made: MirrorDocument, _ stage: PlannedDocument.Stage, isFixed: Bool = false)
      -> PlannedDocument
    {
      document(made.path, stage, isFixed: isFixed) { () throws(MirrorError) in
        if case .whole(state.version) = made { return try newest.fixed() }
        return try source.document(made, of: state)
      }
    }
    return state.scripts.map { made(.script($0), .versioned, isFixed: true) }
      + state.versions.map { made(.release($0), .versioned, isFixed: true) }
      + state.versions.map { made(.whole($0), .versioned, isFixed: true) }
      + state.versions.dropLast().map { made(.patch(from: $0, to: state.version), .versioned) }
      + [
        document("configure.json", .current) { () throws(MirrorError) in try newest.current() },
        made(.prefetch(state.extras.prefetch ?? 0), .current),
        made(.policy(state.extras.policy ?? 0), .current),
        made(.info(state.version), .current),
        document("version.json", .newest) { Documents.nothingNew(state.version, extras: state.extras) },
      ]
  }
}

/// The newest manifest, asked for once: its map stands in two documents.
private final class NewestManifest: Sendable {
  private let state: ChannelState
  private let source: any MirrorSource
  private let bytes = Locked<[UInt8]?>(nil)

  init(_ state: ChannelState, _ source: any MirrorSource) {
    self.state = state
    self.source = source
  }

  /// `configure/N.json`
  func fixed() throws(MirrorError) -> [UInt8] {
    if let known = bytes.withLock({ $0 }) { return known }
    let made = try source.document(.whole(state.version), of: state)
    bytes.withLock { $0 = made }
    return made
  }

  /// `configure.json`: the same map, and what answers carry beside it now.
  func current() throws(MirrorError) -> [UInt8] {
    let fixed = try fixed()
    bytes.withLock { $0 = nil }
    if state.extras == .none { return fixed }
    let frame = Documents.whole(state.version, digest: state.digest)
    let map = fixed[frame.prefix.count..<fixed.count - frame.suffix.count]
    return Documents.whole(state.version, digest: state.digest, extras: state.extras).around(Array(map))
  }
}
