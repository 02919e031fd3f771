import Manifests
import System

/// In which order pages used a device's files last.
///
/// Uses are counted, not timed: a clock may be set. They are kept in memory and written down at quiet moments; a note that is
/// lost costs some order, nothing else.
final class UseOrder: Sendable {
  private struct State {
    var last: UInt64 = 0
    var uses: [CachedName: UInt64] = [:]
    var isChanged = false
  }

  // Not under the cache's lock, which is held while the disk is written: a page's request never waits for that.
  private let state = Locked(State())

  /// Takes note that a page used a file, or that it has just come.
  func use(_ name: CachedName) {
    state.withLock { state in
      state.last += 1
      state.uses[name] = state.last
      state.isChanged = true
    }
  }

  /// Forgets what isn't listed any more.
  func keep(_ listed: DeviceIndex) {
    // Pages' requests wait for the lock, so only what changes is done under it.
    let known = state.withLock { $0.uses }
    let gone = known.keys.filter { listed.names[$0] == nil }
    if gone.isEmpty { return }
    state.withLock { state in for name in gone { state.uses[name] = nil } }
  }

  /// When each was used; 0: never, as far as is known.
  func moments(of names: [CachedName]) -> [UInt64] {
    state.withLock { state in names.map { state.uses[$0] ?? 0 } }
  }
}

extension UseOrder {
  /// Bytes that a note may have.
  private static let limit = 64 << 20

  /// What a note says, least recently used first; nil where nothing was used since the last one.
  func takeNote() -> [UInt8]? {
    let uses = state.withLock { state -> [CachedName: UInt64]? in
      guard state.isChanged else { return nil }
      state.isChanged = false
      return state.uses
    }
    guard let names = uses?.sorted(by: { $0.value < $1.value }).map(\.key) else { return nil }
    let document: JSONValue = ["used": .array(names.map { .string($0.text) })]
    return document.canonical
  }

  /// Reads a folder's note; without one nothing was used.
  ///
  /// - Parameter listed: what is listed; a name is in memory once.
  convenience init(_ folder: CacheFolder, _ listed: DeviceIndex) {
    self.init()
    guard let bytes = try? DurableFile.read(folder.uses, limit: Self.limit),
      let names = (try? JSONValue.parse(bytes))?["used"]?.array
    else { return }
    for case .string(let text) in names {
      if let name = CachedName(file: text) { use(listed.names.shared(name)) }
    }
    state.withLock { $0.isChanged = false }
  }
}
