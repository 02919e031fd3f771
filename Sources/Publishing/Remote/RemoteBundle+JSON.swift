import Manifests

/// What the origin answers when asked for a bundle's entries.
struct EntriesAnswer {
  let version: ManifestVersion
  /// The version that `changes` start from; nil: they are all there is.
  let base: ManifestVersion?
  /// By URL, each once; nil: gone since `base`.
  let changes: [(url: String, entry: RemoteBundle.Entry?)]

  /// - Throws: `JSONError` with the member that is missing or wrong.
  init(json: JSONValue) throws(JSONError) {
    version = try json.version("version")
    base = json["base"]?.isNull == false ? try json.version("base") : nil
    guard let entries = json["entries"]?.object else { throw .member("entries") }
    // The members of an object are sorted by their keys' bytes, each once.
    var changes: [(url: String, entry: RemoteBundle.Entry?)] = []
    changes.reserveCapacity(entries.count)
    for member in entries.members {
      changes.append(
        (member.key, member.value.isNull ? nil : try EntriesAnswer.entry(member.key, member.value)))
    }
    self.changes = changes
  }

  private static func entry(_ url: String, _ json: JSONValue) throws(JSONError) -> RemoteBundle.Entry {
    RemoteBundle.Entry(
      url: url, ctype: try json.string("ctype"), md5: try json.md5("md5"), sha256: try json.sha256("sha256"),
      size: try json.size("size"))
  }
}
