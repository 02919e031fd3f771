import System
import Values

/// The order in which pages last used a device's files.
///
/// Uses are numbered, not timed, because the clock may be set. They are kept in memory and saved at quiet moments; losing a
/// saved note only makes the order less accurate.
final class UseOrder: Sendable {
  private struct State {
    var last: UInt64 = 0
    var uses: [CachedName: UInt64] = [:]
    var isChanged = false
  }

  // Not under the cache's lock, which is held during disk writes: a page's request never waits for those.
  private let state = Locked(State())

  /// Records that a page used a file, or that it has just arrived.
  func use(_ name: CachedName) {
    state.withLock { state in
      state.last += 1
      state.uses[name] = state.last
      state.isChanged = true
    }
  }

  /// Forgets files that are no longer listed.
  func keep(_ listed: DeviceIndex) {
    // Pages' requests wait for this lock, so it is held only to apply the changes.
    let known = state.withLock { $0.uses }
    let gone = known.keys.filter { listed.names[$0] == nil }
    if gone.isEmpty { return }
    state.withLock { state in for name in gone { state.uses[name] = nil } }
  }

  /// Returns the number of each file's last use; 0 if it has none on record.
  func moments(of names: [CachedName]) -> [UInt64] {
    state.withLock { state in names.map { state.uses[$0] ?? 0 } }
  }
}

extension UseOrder {
  /// The maximum size of a note, in bytes.
  private static let limit = 64 << 20

  /// Returns the note to save, least recently used first; nil if nothing was used since the last one.
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

  /// Reads a folder's note; without one, no use is on record.
  ///
  /// - Parameters:
  ///   - folder: the device's folder.
  ///   - listed: the manifest, whose names are shared.
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
