import Manifests
import System

/// Which listed resource a URL means (DESIGN "URLs and matching"); made when the first page asks.
struct URLTable {
  private var digest: SHA256?
  private var entries: [String: HeldEntry] = [:]

  /// The entry that `url` matches in `index`.
  mutating func entry(for url: ResourceURL, in index: DeviceIndex) -> HeldEntry? {
    if digest != index.digest { fill(from: index) }
    return entries[url.matchKey]
  }

  private mutating func fill(from index: DeviceIndex) {
    digest = index.digest
    entries = [:]
    entries.reserveCapacity(index.entries.count)
    for entry in index.entries {
      entries[entry.url.matchKey] = entry
    }
  }
}
