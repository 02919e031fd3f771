import Manifests

extension Device {
  /// The host names of the listed resources and of the prefetch config's calls; those that aren't in the app's list are
  /// left out.
  package var hosts: [String] {
    // Entries are sorted by URL, so those of one host are adjacent.
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
