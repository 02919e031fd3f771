import System
import Values

/// How the files of a new manifest get staged: only changed entries are, and of those only bytes that the device doesn't
/// hold under another name are fetched. Files of lazy entries aren't: they are used where they are here.
struct UpdatePlan: Equatable, Sendable {
  struct Copy: Equatable, Sendable {
    let entry: HeldEntry
    let source: Source
  }

  /// Where the device already has the bytes.
  enum Source: Equatable, Sendable {
    /// Staged by an unfinished update, or by a pack.
    case staged
    case file(CachedName)
    case aside
  }

  /// The entries to fetch, one for each sha256.
  var fetch: [HeldEntry] = []
  var copy: [Copy] = []
  /// Changed lazy entries in place of which the device has the file of the manifest held: fetched after the switch.
  var later: [HeldEntry] = []
  /// The other lazy entries whose file isn't here; fetched when a page requests them.
  var lazy: [HeldEntry] = []
  /// Files that stay where they are.
  var kept = 0
  /// Unchanged entries whose file is missing, and entries without room on the disk; fetched when a page requests them.
  var missing = 0
  /// Changed entries whose bytes are already staged for another entry.
  var shared = 0
  /// The entries in `fetch` that replace a file the device has.
  private var replacing: Set<ResourceURL> = []

  /// - Parameters:
  ///   - old: the manifest held.
  ///   - new: the manifest to switch to.
  ///   - present: the names under which there is a file.
  ///   - aside: the set-aside files.
  ///   - staged: the staged files.
  init(
    from old: DeviceIndex, to new: DeviceIndex, present: Set<CachedName>, aside: Set<SHA256>,
    staged: Set<SHA256>
  ) {
    var holders: [SHA256: CachedName] = [:]
    for entry in old.entries where present.contains(entry.name) { holders[entry.sha256] = entry.name }
    func source(of sha256: SHA256) -> Source? {
      if staged.contains(sha256) { return .staged }
      if let holder = holders[sha256] { return .file(holder) }
      return aside.contains(sha256) ? .aside : nil
    }
    var planned: Set<SHA256> = []
    // After the others: bytes that one of those needs are fetched.
    var changedLazy: [(entry: HeldEntry, hasOld: Bool)] = []
    var rest = old.entries[...]
    for entry in new.entries {
      while let next = rest.first, next.url < entry.url { rest.removeFirst() }
      let was = rest.first.flatMap { $0.url == entry.url ? $0 : nil }
      if old.names[entry.name] == entry.sha256, present.contains(entry.name) {
        kept += 1
      } else if let was, was.sha256 == entry.sha256, was.name == entry.name, entry.isLazy || !was.isLazy {
        if entry.isLazy { lazy.append(entry) } else { missing += 1 }
      } else if entry.isLazy {
        changedLazy.append((entry, hasOld: was.map { present.contains($0.name) } ?? false))
      } else if !planned.insert(entry.sha256).inserted {
        shared += 1
      } else if let source = source(of: entry.sha256) {
        copy.append(Copy(entry: entry, source: source))
      } else {
        fetch.append(entry)
        if let was, present.contains(was.name) { replacing.insert(entry.url) }
      }
    }
    for (entry, hasOld) in changedLazy {
      if planned.contains(entry.sha256) {
        shared += 1
      } else if let source = source(of: entry.sha256) {
        planned.insert(entry.sha256)
        copy.append(Copy(entry: entry, source: source))
      } else if hasOld {
        planned.insert(entry.sha256)
        later.append(entry)
      } else {
        lazy.append(entry)
      }
    }
  }

  /// Has files of lazy entries fetched with the others, where that costs no download.
  mutating func takeLazy(where isFree: (HeldEntry) -> Bool) {
    var taken = Set(fetch.map(\.sha256))
    for entry in later + lazy where isFree(entry) {
      if taken.insert(entry.sha256).inserted { fetch.append(entry) } else { shared += 1 }
    }
    later.removeAll(where: isFree)
    lazy.removeAll(where: isFree)
  }

  /// Removes from `fetch` what there is no room for on the disk; it is fetched when a page requests it. Files that replace
  /// present ones have priority, then small ones, and lazy ones come last.
  mutating func leaveOut(beyond room: Int64) {
    if room == .max { return }
    var left = room - copy.clampedSum(\.entry.blocks)
    var fitting: Set<SHA256> = []
    for entry in fetch.sorted(by: { rank($0) < rank($1) }) where entry.blocks <= left {
      left -= entry.blocks
      fitting.insert(entry.sha256)
    }
    missing += fetch.count - fitting.count
    fetch = fetch.filter { fitting.contains($0.sha256) }
  }

  private func rank(_ entry: HeldEntry) -> (Int, Int64) {
    (replacing.contains(entry.url) ? 0 : entry.isLazy ? 2 : 1, entry.size)
  }
}
