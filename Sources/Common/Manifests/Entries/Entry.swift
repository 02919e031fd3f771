import System
import Values

/// What a manifest says about a URL. All members are fixed when the resource version is created.
package struct Entry: Hashable, Sendable {
  /// The media type with its parameters.
  package let ctype: String
  /// The absolute URL of the bytes; also the device's cache key.
  package let download: String
  /// The digest of the bytes.
  package let md5: MD5
  /// The digest of the bytes.
  package let sha256: SHA256
  /// The size in bytes.
  package let size: Int64
  /// The resource version, from 1.
  package let version: Int64
  /// Further members: `headers`, `fallback`, `lazy`, and those that this version of xcache doesn't know. They are part of the
  /// manifest's digest.
  package let others: JSONObject

  package init(
    ctype: String, download: String, md5: MD5, sha256: SHA256, size: Int64, version: Int64,
    others: JSONObject = JSONObject()
  ) {
    self.ctype = ctype
    self.download = download
    self.md5 = md5
    self.sha256 = sha256
    self.size = size
    self.version = version
    self.others = others
  }

  /// - Parameter bundle: the bundle's name in a channel with a root (docs/protocol.md §14); nil in any other.
  package init(_ content: ResourceContent, download: String, version: Int64, bundle: BundleName? = nil) {
    var others = content.others
    others["bundle"] = bundle.map { .string($0.text) }
    self.init(
      ctype: content.ctype.text, download: download, md5: content.md5, sha256: content.sha256,
      size: content.size, version: version, others: others)
  }

  private static let keys: Set<String> = ["ctype", "download", "md5", "sha256", "size", "version"]

  /// Parses an entry of a resourcemap.
  ///
  /// - Throws: `member` with the name of the one that is missing or wrong.
  package init(json: JSONValue) throws(JSONError) {
    guard let object = json.object else { throw .member("resourcemap") }
    ctype = try json.string("ctype")
    // It becomes a header of the answer to a page.
    guard ctype.utf8.allSatisfy({ $0 >= 0x20 && $0 < 0x7F }) else { throw .member("ctype") }
    download = try json.string("download")
    md5 = try json.md5("md5")
    sha256 = try json.sha256("sha256")
    size = try json.size("size")
    version = try json.version("version").number
    guard version > 0 else { throw .member("version") }
    others =
      object.count == Self.keys.count
      ? JSONObject() : JSONObject(sorted: object.members.filter { !Self.keys.contains($0.key) })
    if let name = Self.unfit(in: others) { throw .member(name) }
  }

  /// The name of a further member that this version knows and that can't be used; nil if there is none.
  static func unfit(in others: JSONObject) -> String? {
    if others.isEmpty { return nil }
    if EntryHeaders(of: others) == nil { return EntryHeaders.key }
    if PageFallbacks(of: others) == nil { return PageFallbacks.key }
    return isLazy(others) == nil ? lazyKey : nil
  }

  /// The headers to send when the entry is answered from a local file; those that this version doesn't know are left out.
  package var headers: EntryHeaders {
    others.isEmpty ? EntryHeaders() : EntryHeaders(of: others) ?? EntryHeaders()
  }

  /// For which navigations that nothing else answers the page answers; none for most entries.
  package var fallbacks: PageFallbacks {
    others.isEmpty ? PageFallbacks() : PageFallbacks(of: others) ?? PageFallbacks()
  }

  /// Whether updates leave the file out: a device fetches it when a page asks for it.
  package var isLazy: Bool { others.isEmpty ? false : Self.isLazy(others) ?? false }

  /// The bundle that the entry belongs to, in a channel with a root; nil if it names none.
  package var bundle: BundleName? { others["bundle"]?.string.flatMap { try? BundleName($0) } }

  /// The entry without one of its further members.
  package func without(_ member: String) -> Entry {
    if others[member] == nil { return self }
    var rest = others
    rest[member] = nil
    return Entry(
      ctype: ctype, download: download, md5: md5, sha256: sha256, size: size, version: version, others: rest)
  }

  /// Whether there are no members besides those that this version knows, in the form that it writes.
  package var holdsOnlyKnown: Bool {
    if others.isEmpty { return true }
    var known = headers.members
    known[PageFallbacks.key] = fallbacks.member
    known[Self.lazyKey] = isLazy ? .bool(true) : nil
    known["bundle"] = bundle.map { .string($0.text) }
    return others == known
  }

  /// Parses an entry from its canonical bytes.
  package init(parsing bytes: [UInt8]) throws(JSONError) {
    try self.init(json: JSONValue.parse(bytes))
  }

  /// The entry as a JSON object.
  package var json: JSONValue {
    var object = others
    object["ctype"] = .string(ctype)
    object["download"] = .string(download)
    object["md5"] = .string(md5.hex)
    object["sha256"] = .string(sha256.hex)
    object["size"] = .integer(size)
    object["version"] = .string(String(version))
    return .object(object)
  }

  /// The entry as in a resourcemap.
  package var canonicalJSON: [UInt8] {
    var out: [UInt8] = []
    appendCanonicalJSON(to: &out)
    return out
  }

  /// Appends the entry to `out`, without building a JSON tree: a manifest can have 100,000 entries.
  package func appendCanonicalJSON(to out: inout [UInt8]) {
    guard others.isEmpty else { return CanonicalJSON.append(json, to: &out) }
    CanonicalJSON.append(raw: "{\"ctype\":", to: &out)
    CanonicalJSON.append(string: ctype, to: &out)
    CanonicalJSON.append(raw: ",\"download\":", to: &out)
    CanonicalJSON.append(string: download, to: &out)
    CanonicalJSON.append(raw: ",\"md5\":\"", to: &out)
    md5.appendHex(to: &out)
    CanonicalJSON.append(raw: "\",\"sha256\":\"", to: &out)
    sha256.appendHex(to: &out)
    CanonicalJSON.append(raw: "\",\"size\":", to: &out)
    CanonicalJSON.append(integer: size, to: &out)
    CanonicalJSON.append(raw: ",\"version\":\"", to: &out)
    CanonicalJSON.append(integer: version, to: &out)
    CanonicalJSON.append(raw: "\"}", to: &out)
  }
}

extension Entry {
  /// The name of the member of a lazy entry.
  package static let lazyKey = "lazy"

  /// Whether an entry's members make it lazy; nil if `lazy` isn't `true`, the one value that it may have.
  fileprivate static func isLazy(_ members: JSONObject) -> Bool? {
    guard let value = members[lazyKey] else { return false }
    return value.bool == true ? true : nil
  }
}

/// What a publish says about a URL: the digests and size of its bytes, their type, the headers to send when they are
/// answered from a local file, for which navigations the page answers that nothing else does, and whether updates leave the
/// file out.
package struct ResourceContent: Hashable, Sendable {
  package let md5: MD5
  package let sha256: SHA256
  /// The size in bytes.
  package let size: Int64
  /// The media type with its parameters.
  package let ctype: ContentType
  /// The page's security headers; mostly none.
  package let headers: EntryHeaders
  /// What the page is the fallback of; mostly nothing.
  package let fallbacks: PageFallbacks
  /// Whether updates leave the file out: a device fetches it when a page asks for it.
  package let isLazy: Bool

  package init(
    md5: MD5, sha256: SHA256, size: Int64, ctype: ContentType, headers: EntryHeaders = EntryHeaders(),
    fallbacks: PageFallbacks = PageFallbacks(), isLazy: Bool = false
  ) {
    self.md5 = md5
    self.sha256 = sha256
    self.size = size
    self.ctype = ctype
    self.headers = headers
    self.fallbacks = fallbacks
    self.isLazy = isLazy
  }

  package init(
    _ digest: FileDigest, ctype: ContentType, headers: EntryHeaders = EntryHeaders(),
    fallbacks: PageFallbacks = PageFallbacks(), isLazy: Bool = false
  ) {
    self.init(
      md5: digest.md5, sha256: digest.sha256, size: digest.size, ctype: ctype, headers: headers,
      fallbacks: fallbacks, isLazy: isLazy)
  }

  /// The members that `init(json:)` reads.
  package static let members: Set = ["ctype", "fallback", "headers", "lazy", "md5", "sha256", "size"]

  /// Parses `{"ctype","fallback","headers","lazy","md5","sha256","size"}`; `fallback`, `headers` and `lazy` may be missing, other
  /// members are ignored.
  ///
  /// - Throws: `member` with the name of the one that is missing or wrong.
  package init(json: JSONValue) throws(JSONError) {
    try self.init(json: json) { ContentType($0) }
  }

  /// - Parameters:
  ///   - json: the object.
  ///   - type: parses a content type, and can cache the few that recur.
  package init(json: JSONValue, type: (String) -> ContentType?) throws(JSONError) {
    md5 = try json.md5("md5")
    sha256 = try json.sha256("sha256")
    size = try json.size("size")
    guard let ctype = json["ctype"]?.string.flatMap(type) else { throw .member("ctype") }
    self.ctype = ctype
    do {
      headers =
        try json["headers"].map { (value) throws(EntryHeaders.Fault) in
          try EntryHeaders(known: value)
        } ?? EntryHeaders()
    } catch {
      throw .member(EntryHeaders.key)
    }
    do {
      fallbacks =
        try json[PageFallbacks.key].map { (value) throws(PageFallbacks.Fault) in
          try PageFallbacks(json: value)
        } ?? PageFallbacks()
    } catch {
      throw .member(PageFallbacks.key)
    }
    guard let isLazy = Entry.isLazy(json.object ?? JSONObject()) else { throw .member(Entry.lazyKey) }
    self.isLazy = isLazy
  }

  /// What an entry says of it besides its bytes and type: the members `headers`, `fallback` and `lazy`, where it has them.
  package var others: JSONObject {
    var members = headers.members
    members[PageFallbacks.key] = fallbacks.member
    members[Entry.lazyKey] = isLazy ? .bool(true) : nil
    return members
  }

  /// Whether the file isn't a page: those are opened, also offline, so a publisher can't leave them out of updates.
  package var mayBeLazy: Bool { !PageFallbacks.isDocument(ctype.text) && fallbacks.isEmpty }

  /// The content as JSON.
  package var json: JSONValue {
    var object = others
    object["ctype"] = .string(ctype.text)
    object["md5"] = .string(md5.hex)
    object["sha256"] = .string(sha256.hex)
    object["size"] = .integer(size)
    return .object(object)
  }
}
