/// One line of a resourcemap.
package struct ManifestItem: Hashable, Sendable {
  package let url: ResourceURL
  package let entry: Entry

  package init(url: ResourceURL, entry: Entry) {
    self.url = url
    self.entry = entry
  }
}
