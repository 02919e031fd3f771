import Manifests
import System

/// How the bytes of a new manifest come to be staged: only entries that changed move, and of those only bytes
/// that the device holds under no other key are fetched.
struct UpdatePlan: Equatable, Sendable {
  struct Copy: Equatable, Sendable {
    let entry: HeldEntry
    let source: Source
  }

  /// Where the device already has some bytes.
  enum Source: Equatable, Sendable {
    /// An update that wasn't finished has staged them.
    case staged
    case file(CachedName)
    case aside
  }

  /// One entry for each sha256.
  var fetch: [HeldEntry] = []
  var copy: [Copy] = []
  /// Files that stay where they are.
  var kept = 0
  /// Entries that didn't change and whose file isn't there; fetched when a page asks for one.
  var missing = 0
  /// Changed entries whose bytes are staged for another entry already.
  var shared = 0

  /// - Parameters:
  ///   - present: names under which there is a file
  ///   - aside: what was set aside
  ///   - staged: what an update that wasn't finished has staged
  init(
    from old: DeviceIndex, to new: DeviceIndex, present: Set<CachedName>, aside: Set<SHA256>,
    staged: Set<SHA256>
  ) {
    var holders: [SHA256: CachedName] = [:]
    for entry in old.entries where present.contains(entry.name) { holders[entry.sha256] = entry.name }
    var planned: Set<SHA256> = []
    var rest = old.entries[...]
    for entry in new.entries {
      while let next = rest.first, next.url < entry.url { rest.removeFirst() }
      let was = rest.first.flatMap { $0.url == entry.url ? $0 : nil }
      if old.names[entry.name] == entry.sha256, present.contains(entry.name) {
        kept += 1
      } else if let was, was.sha256 == entry.sha256, was.name == entry.name {
        missing += 1
      } else if !planned.insert(entry.sha256).inserted {
        shared += 1
      } else if staged.contains(entry.sha256) {
        copy.append(Copy(entry: entry, source: .staged))
      } else if let holder = holders[entry.sha256] {
        copy.append(Copy(entry: entry, source: .file(holder)))
      } else if aside.contains(entry.sha256) {
        copy.append(Copy(entry: entry, source: .aside))
      } else {
        fetch.append(entry)
      }
    }
  }
}
