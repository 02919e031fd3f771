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
    func ofVersion(_ document: VersionDocument) -> PlannedDocument {
      let isFixed = if case .patch = document { false } else { true }
      return PlannedDocument(
        path: "\(state.folder)/\(document.path(to: state.version))", stage: .versioned, isFixed: isFixed
      ) { () throws(MirrorError) in
        if case .whole(state.version) = document { return try newest.fixed() }
        return try source.document(document, of: state)
      }
    }
    func document(
      _ name: String, _ stage: PlannedDocument.Stage,
      _ bytes: @escaping @Sendable () throws(MirrorError) -> [UInt8]
    ) -> PlannedDocument {
      PlannedDocument(path: "\(state.folder)/\(name)", stage: stage, isFixed: false, bytes: bytes)
    }
    return state.versions.map { ofVersion(.release($0)) }
      + state.versions.map { ofVersion(.whole($0)) }
      + state.versions.dropLast().map { ofVersion(.patch(from: $0)) }
      + [
        document("configure.json", .current) { () throws(MirrorError) in try newest.current() },
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
