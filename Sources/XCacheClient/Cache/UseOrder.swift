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

  /// Forgets all but some names.
  func keep(_ isKept: (CachedName) -> Bool) {
    state.withLock { state in state.uses = state.uses.filter { isKept($0.key) } }
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
    let names = state.withLock { state -> [CachedName]? in
      guard state.isChanged else { return nil }
      state.isChanged = false
      return state.uses.sorted { $0.value < $1.value }.map(\.key)
    }
    guard let names else { return nil }
    let document: JSONValue = ["used": .array(names.map { .string($0.text) })]
    return document.canonical
  }

  /// Reads a folder's note; without one nothing was used.
  convenience init(_ folder: CacheFolder) {
    self.init()
    guard let bytes = try? DurableFile.read(folder.uses, limit: Self.limit),
      let names = (try? JSONValue.parse(bytes))?["used"]?.array
    else { return }
    for case .string(let text) in names {
      if let name = CachedName(file: text) { use(name) }
    }
    state.withLock { $0.isChanged = false }
  }
}
