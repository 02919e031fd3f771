import HTTP
import Manifests
import OriginAPI
import Store
import System
import Values

/// `GET /search`: releases, files, people and changes that have a text in them.
struct SearchHandler: APIHandler {
  let context: RequestContext

  /// `GET /search?q=…&limit=N`
  func search() throws -> Response {
    let given = try HumanText.checked(request.text("q"), member: "q", .line(bytes: 200))
    let text = given.map { $0.trimmingBlanks } ?? ""
    guard (2...100).contains(text.utf8.count) else {
      throw Problem.badRequest("q= must have 2 to 100 bytes")
    }
    let limit = try request.number("limit", in: 1...Self.most) ?? Self.most
    let caller = caller
    let channels = try store.channels().filter { caller.allows(.read, app: $0.app, channel: $0.name) }
    let finds = try store.search(SearchInput(text: text, channels: channels, limit: limit))
    return .json(SearchAnswer(finds, channels))
  }

  /// Finds of each sort.
  private static let most = 20
}

extension String {
  /// Without white space at both ends.
  fileprivate var trimmingBlanks: String {
    guard let first = firstIndex(where: { !$0.isWhitespace }),
      let last = lastIndex(where: { !$0.isWhitespace })
    else { return "" }
    return String(self[first...last])
  }
}

extension SearchAnswer {
  fileprivate init(_ finds: SearchFinds, _ channels: [ChannelInfo]) {
    self.init()
    isCut = finds.isCut
    releases = finds.releases.map { found in
      let channel = channels[found.channel]
      return Release(
        app: channel.app, channel: channel.name, version: ManifestVersion(found.version),
        at: Moment(milliseconds: found.at), author: found.author, message: found.message, kind: found.kind)
    }
    files = finds.files.map { found in
      let channel = channels[found.channel]
      return File(
        app: channel.app, channel: channel.name, version: ManifestVersion(found.version), url: found.url)
    }
    people = finds.people.map {
      Person(name: $0.name, lastAt: Moment(milliseconds: $0.last), releases: Int64($0.releases))
    }
    changes = finds.changes.map { found in
      let channel = channels[found.channel]
      return Change(
        app: channel.app, channel: channel.name, kind: found.kind, version: ManifestVersion(found.version),
        at: Moment(milliseconds: found.at), author: found.author, message: found.message)
    }
  }
}
