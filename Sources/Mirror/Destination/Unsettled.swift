import System

/// The files that have new bytes and the folders that have new names since the last sync. Any thread may call it.
final class Unsettled: Sendable {
  private let state = Locked(State())

  private struct State {
    var files: [String] = []
    var folders: Set<String> = []
    var areMany = false
  }

  /// More than this are synced with the whole file system.
  private static let few = 48

  func add(file: String) { add { $0.files.append(file) } }
  func add(folder: String) { add { $0.folders.insert(folder) } }

  /// A file whose bytes may not be safe yet has another name now.
  func moved(_ file: String, to path: String) {
    state.withLock { state in
      if let index = state.files.firstIndex(of: file) { state.files[index] = path }
    }
  }

  private func add(_ note: (inout State) -> Void) {
    state.withLock { state in
      if state.areMany { return }
      note(&state)
      state.areMany = state.files.count + state.folders.count > Self.few
    }
  }

  /// What is to be synced, and begins anew; nil: too much to sync one by one.
  func take() -> (files: [String], folders: [String])? {
    let state = state.withLock { state in
      defer { state = State() }
      return state
    }
    return state.areMany ? nil : (state.files, state.folders.sorted())
  }
}
