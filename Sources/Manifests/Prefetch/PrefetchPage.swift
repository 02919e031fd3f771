/// A page and the calls that are sent ahead when it opens.
package struct PrefetchPage: Hashable, Sendable {
  package let url: ResourceURL
  package let calls: [PrefetchCall]

  /// Reads an entry as a device does; nil where it names no page.
  init?(reading value: JSONValue) {
    guard let url = value["url"]?.string.flatMap({ try? ResourceURL($0) }) else { return nil }
    self.url = url
    calls = (value["interfaces"]?.array ?? []).compactMap(PrefetchCall.init(reading:))
  }

  package var json: JSONValue {
    ["interfaces": .array(calls.map(\.json)), "url": .string(url.text)]
  }
}
