import Manifests
import OriginAPI
import Values

/// A resource to be published: its URL, its content and its file.
package struct BuildFile: Hashable, Sendable {
  package let url: ResourceURL
  package let content: ResourceContent
  package let file: HashedFile

  init(_ mapped: MappedFile, _ file: HashedFile) {
    url = mapped.url
    content = ResourceContent(
      file.digest, ctype: mapped.ctype, headers: mapped.headers, fallbacks: mapped.fallbacks,
      isLazy: mapped.isLazy)
    self.file = file
  }
}

/// The changes that make a bundle equal to the local files.
package struct Plan: Hashable, Sendable {
  package let bundle: BundleName
  /// The bundle's version that the plan starts from.
  package let base: ManifestVersion
  /// New resources, and those with a changed content, type, headers or fallbacks, or that become lazy or cease to be; by URL.
  package private(set) var put: [BuildFile] = []
  /// URLs to remove, sorted.
  package private(set) var remove: [String] = []
  package private(set) var added = 0
  package private(set) var changed = 0
  package private(set) var unchanged = 0

  /// Compares the `local` files, by URL and each URL once, with what the origin has now.
  package init(_ bundle: BundleName, local: [BuildFile], remote: RemoteBundle) {
    self.bundle = bundle
    base = remote.version
    var old = remote.entries[...]
    for resource in local {
      while let first = old.first, first.url < resource.url.text { remove.append(old.removeFirst().url) }
      guard old.first?.url == resource.url.text else {
        added += 1
        put.append(resource)
        continue
      }
      if old.removeFirst().holds(resource.content) {
        unchanged += 1
      } else {
        changed += 1
        put.append(resource)
      }
    }
    remove.append(contentsOf: old.map(\.url))
  }

  /// Creates a plan that changes nothing.
  init(unchanged bundle: BundleName, base: ManifestVersion, resources: Int) {
    self.bundle = bundle
    self.base = base
    unchanged = resources
  }

  /// The URLs of the live pages, if this plan removes all of them; nil if one stays, or there is none. `elsewhere` are the URLs
  /// that other bundles of the release have: a page that moves to one of them stays.
  func pagesIfNoneStays(live: RemoteBundle, elsewhere: Set<String>) -> [String]? {
    if remove.isEmpty { return nil }
    let pages = live.entries.filter { $0.form.ctype.hasPrefix("text/html") }.map(\.url)
    let removed = Set(remove).subtracting(elsewhere)
    return pages.isEmpty || !pages.allSatisfy(removed.contains) ? nil : pages
  }

  /// The live addresses of folders that this plan removes though their `index.html` is still there: `--index`, or `index` in
  /// `xcache.json`, was dropped.
  func foldersWithoutIndex(local: [BuildFile]) -> [String] {
    let folders = remove.filter { $0.hasSuffix("/") }
    if folders.isEmpty { return [] }
    let urls = Set(local.map(\.url.text))
    return folders.filter { urls.contains($0 + "index.html") }
  }

  /// The change in the release request.
  var change: ReleaseRequest.Change {
    .update(bundle, base: base, set: put.map { ($0.url, $0.content) }, remove: remove)
  }

  package var isEmpty: Bool { put.isEmpty && remove.isEmpty }
}
