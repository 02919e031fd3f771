import Manifests

extension Device {
  /// The hosts of what is held and of the calls that are sent ahead, names alone; those that the app doesn't name are left
  /// out.
  package var hosts: [String] {
    // Entries are in the order of their URLs, so that those of one host follow each other.
    var hosts: [String] = []
    var last: Substring = ""
    for entry in index.entries where entry.url.authority != last {
      last = entry.url.authority
      hosts.append(String(entry.url.host))
    }
    let calls = prefetch.hosts.filter { isAllowed("https://\($0)/") }
    var seen: Set<String> = []
    return (hosts + calls).filter { seen.insert($0).inserted }
  }
}
