import Manifests

/// What the origin made of a release.
package struct ReleaseAnswer: Hashable, Sendable {
  package struct Bundle: Hashable, Sendable {
    package let name: String
    package let added: Int64
    package let changed: Int64
    package let removed: Int64
    /// The release of this bundle that came after the plan was made and is replaced by this one.
    package let replaced: Replaced?
  }

  package struct Replaced: Hashable, Sendable {
    package let version: String
    package let author: String
    package let at: String
  }

  /// False: everything was there already, live at `version`.
  package let isChanged: Bool
  package let version: ManifestVersion
  package let previous: ManifestVersion?
  package let at: String?
  package let bundles: [Bundle]
  package let createdApp: Bool
  package let createdChannel: Bool
  /// The whole answer.
  package let json: JSONValue

  /// - Throws: `JSONError` with the member that is missing or wrong.
  init(json: JSONValue) throws(JSONError) {
    self.json = json
    guard let isChanged = json["changed"]?.bool else { throw .member("changed") }
    self.isChanged = isChanged
    version = try json.version("version")
    previous = json["previous"]?.string.flatMap { ManifestVersion(text: $0) }
    at = json["at"]?.string
    createdApp = json["createdApp"]?.bool ?? false
    createdChannel = json["createdChannel"]?.bool ?? false
    var bundles: [Bundle] = []
    for item in json["bundles"]?.array ?? [] { bundles.append(try Bundle(json: item)) }
    self.bundles = bundles
  }
}

extension ReleaseAnswer.Bundle {
  fileprivate init(json: JSONValue) throws(JSONError) {
    name = try json.string("bundle")
    added = json["added"]?.integer ?? 0
    changed = json["changed"]?.integer ?? 0
    removed = json["removed"]?.integer ?? 0
    replaced = json["replaced"].flatMap { $0.object == nil ? nil : $0 }.map {
      ReleaseAnswer.Replaced(
        version: $0["version"]?.string ?? "?", author: $0["author"]?.string ?? "?",
        at: $0["at"]?.string ?? "?")
    }
  }

  package var isChanged: Bool { added + changed + removed > 0 }
}
