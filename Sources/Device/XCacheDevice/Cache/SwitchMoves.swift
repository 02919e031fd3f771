import Manifests
import System

/// What a switch still has to do with a device's files: set aside those that left the manifest, and put staged ones in place.
///
/// They are few at a time, and any of them first: a page that waits for a file doesn't wait for the others.
struct SwitchMoves {
  enum Step {
    /// The file of a name is set aside.
    case leave
    /// A staged file goes to each of these names.
    case arrive(SHA256, [CachedName])
  }

  /// How many are made at a time.
  static let batch = 32

  /// The manifest that the files matched.
  let before: DeviceIndex
  private var leaving: Set<CachedName> = []
  private var arriving: [SHA256: [CachedName]]

  /// - Parameters:
  ///   - files: the names under which there is a file.
  ///   - before: the manifest that they match.
  ///   - next: the manifest that is in force by now.
  ///   - staged: the staged files.
  init(
    of files: some Sequence<CachedName>, from before: DeviceIndex, to next: DeviceIndex, staged: Set<SHA256>
  ) {
    self.before = before
    arriving = Self.arrivals(of: staged, in: next)
    for name in files {
      if let listed = next.names[name] {
        // If other bytes are now listed under its name but aren't staged, the switch skipped them.
        guard before.names[name] != listed, !staged.contains(listed) else { continue }
      }
      leaving.insert(name)
    }
  }

  /// The names of each staged file that a manifest lists, in their order.
  static func arrivals(of staged: Set<SHA256>, in index: DeviceIndex) -> [SHA256: [CachedName]] {
    if staged.isEmpty { return [:] }
    var names: [SHA256: Set<CachedName>] = [:]
    for entry in index.entries where staged.contains(entry.sha256) {
      names[entry.sha256, default: []].insert(entry.name)
    }
    return names.mapValues { $0.sorted { $0.text < $1.text } }
  }

  /// A name with a step that has to be made; nil if there is none left.
  var next: CachedName? { leaving.first ?? arriving.first?.value.first }

  /// Whether there is a step to make for a name.
  func hasStep(_ name: CachedName, of index: DeviceIndex) -> Bool {
    leaving.contains(name) || index.names[name].map { arriving[$0] != nil } ?? false
  }

  /// Takes the step for a name out of the plan; nil if there is none.
  mutating func take(_ name: CachedName, of index: DeviceIndex) -> Step? {
    if leaving.remove(name) != nil { return .leave }
    guard let sha256 = index.names[name], let names = arriving.removeValue(forKey: sha256) else { return nil }
    return .arrive(sha256, names)
  }
}
