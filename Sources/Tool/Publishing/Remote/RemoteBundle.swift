import Manifests
import System
import Values

/// A bundle as the origin has it.
package struct RemoteBundle: Hashable, Sendable {
  /// A resource of the bundle.
  package struct Entry: Hashable, Sendable {
    package let url: String
    package let form: Form
    package let md5: MD5
    package let sha256: SHA256
    /// The size in bytes.
    package let size: Int64

    /// An entry's metadata, verbatim from the origin, so that members unknown to this version count, too.
    package struct Form: Hashable, Sendable {
      package let ctype: String
      /// The headers as a canonical JSON object.
      package let headers: String
      /// The fallbacks as a canonical JSON array.
      package let fallbacks: String
      /// Whether updates leave the file out.
      package let isLazy: Bool

      package static let noHeaders = "{}"
      package static let noFallbacks = "[]"

      package init(
        ctype: String, headers: String = noHeaders, fallbacks: String = noFallbacks, isLazy: Bool = false
      ) {
        self.ctype = ctype
        self.headers = headers
        self.fallbacks = fallbacks
        self.isLazy = isLazy
      }

      init(_ content: ResourceContent) {
        ctype = content.ctype.text
        headers = content.headers.isEmpty ? Self.noHeaders : Self.text(content.headers.json)
        fallbacks = content.fallbacks.isEmpty ? Self.noFallbacks : Self.text(content.fallbacks.json)
        isLazy = content.isLazy
      }

      init(_ json: JSONValue) throws(JSONError) {
        ctype = try json.string("ctype")
        headers = json["headers"].map(Self.text) ?? Self.noHeaders
        fallbacks = json["fallback"].map(Self.text) ?? Self.noFallbacks
        isLazy = json[Manifests.Entry.lazyKey]?.bool == true
      }

      private static func text(_ json: JSONValue) -> String {
        String(decoding: json.canonical, as: UTF8.self)
      }
    }

    func holds(_ content: ResourceContent) -> Bool {
      sha256 == content.sha256 && md5 == content.md5 && size == content.size && form == Form(content)
    }
  }

  /// The channel's version in which the bundle last changed; `none` if it never existed.
  package let version: ManifestVersion
  /// The entries by URL, each URL once.
  package let entries: [Entry]

  package static let none = RemoteBundle(version: .none, entries: [])

  /// The size of all entries, in bytes.
  package var bytes: Int64 { entries.clampedSum(\.size) }

  /// A URL with its new entry; nil means removed.
  typealias Change = (url: String, entry: Entry?)

  /// Parses the entries of an answer. They are sorted by URL, each once, like the members of every JSON object.
  /// - Throws: `JSONError` with the member that is missing or wrong.
  static func changes(_ entries: JSONValue) throws(JSONError) -> [Change] {
    guard let entries = entries.object else { throw .member("entries") }
    var changes: [Change] = []
    changes.reserveCapacity(entries.count)
    for member in entries.members {
      changes.append((member.key, member.value.isNull ? nil : try Entry(member.value, of: member.key)))
    }
    return changes
  }

  /// Returns the bundle at `version`, after `changes`, which are sorted by URL.
  func applying(_ changes: [Change], version: ManifestVersion) -> RemoteBundle {
    var merged: [Entry] = []
    merged.reserveCapacity(entries.count + changes.count)
    var old = entries[...]
    for change in changes {
      while let first = old.first, first.url < change.url { merged.append(old.removeFirst()) }
      if old.first?.url == change.url { old.removeFirst() }
      if let entry = change.entry { merged.append(entry) }
    }
    merged.append(contentsOf: old)
    return RemoteBundle(version: version, entries: merged)
  }
}

extension RemoteBundle.Entry {
  fileprivate init(_ json: JSONValue, of url: String) throws(JSONError) {
    self.init(
      url: url, form: try Form(json), md5: try json.md5("md5"), sha256: try json.sha256("sha256"),
      size: try json.size("size"))
  }
}
