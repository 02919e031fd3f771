import Manifests
import OriginAPI
import Store
import Values

/// The names that a caller may read, to suggest one of them for a name that doesn't exist.
struct KnownNames {
  private let channels: [ChannelInfo]
  private let store: Store

  init(_ store: Store, readableBy caller: AccessToken) throws(StoreError) {
    self.store = store
    channels = try store.channels().filter { caller.allows(.read, app: $0.app, channel: $0.name) }
  }

  func has(_ names: ChannelNames) -> Bool {
    channels.contains { $0.app == names.app && $0.name == names.channel }
  }

  /// The channels of an app.
  func channels(of app: AppName) -> [String] { channels.filter { $0.app == app }.map(\.name.text).sorted() }

  var apps: [String] { Set(channels.map(\.app.text)).sorted() }

  /// Returns what an error is to say instead if a name was probably misspelt; nil for every other error.
  /// - Parameter request: names the channel of a bundle.
  func words(for error: StoreError, _ request: APIRequest) -> String? {
    switch error {
    case .unknownApp(let app):
      Self.nearest(to: app.text, among: apps).map { "no app named \"\(app)\"\($0)" }
    case .unknownChannel(let app, let channel):
      Self.nearest(to: channel.text, among: channels(of: app)).map {
        "app \"\(app)\" has no channel named \"\(channel)\"\($0)"
      }
    case .unknownBundle(let bundle):
      Self.nearest(to: bundle.text, among: bundles(of: request)).map {
        "no bundle named \"\(bundle)\" in this channel\($0)"
      }
    default: nil
    }
  }

  private func bundles(of request: APIRequest) -> [String] {
    guard request.path.count > 3, let names = try? ChannelNames(request), has(names),
      let channel = try? store.channel(names.app, names.channel)
    else { return [] }
    return ((try? store.bundles(of: channel)) ?? []).filter { $0.resources > 0 }.map(\.name.text)
  }

  private static func nearest(to word: String, among names: [String]) -> String? {
    Spelling.nearest(to: word, among: names).map { "; did you mean \($0)?" }
  }
}

extension APIEndpoint {
  /// Returns the problem for an error, with the nearest name for one that doesn't exist.
  func problem(_ error: any Error, _ request: APIRequest) -> Problem {
    var problem = Problem(error)
    guard let error = error as? StoreError, problem.status == 404,
      let token = request.token, let caller = try? store.check(token: token),
      let words = (try? KnownNames(store, readableBy: caller))?.words(for: error, request)
    else { return problem }
    problem.detail = words
    return problem
  }
}
