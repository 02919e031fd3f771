import Mirror
import Origin
import Publishing
import Store
import Values

/// The options of `serve` for static copies: files pushed before a release, and a copy to monitor.
enum ServeMirror {
  static let options: [Option] =
    [
      .value(
        "cdn", "pull|push", choices: ["pull", "push"],
        "pull: the CDN fetches missing files from the origin (default). "
          + "push DIR or push s3://…: releases wait until their files are there; the variable contains both words"
      ),
      .value("watch-mirror", "URL", "check this static copy every minute and report it in /metrics"),
    ] + MirrorCommand.s3Options

  /// Returns the place to which releases are pushed first, or nil.
  static func place(_ arguments: Arguments) throws -> MirrorPlace? {
    // Also as a single value, as in the variable: XCACHE_CDN='push /srv/www'.
    let words = (try arguments.value("cdn") ?? "pull").split(separator: " ", maxSplits: 1).map(String.init)
    switch words.first {
    case "pull" where words.count == 1:
      _ = try arguments.operands()
      return nil
    case "push":
      if words.count > 1 { _ = try arguments.operands() }
      let text =
        try words.count > 1 ? words[1] : arguments.operands("DIR or s3://bucket/prefix after --cdn push")[0]
      return text.hasPrefix("s3://") ? .s3(try MirrorCommand.s3(text, arguments)) : .folder(text)
    default:
      throw UsageError(
        "\(arguments.source("cdn")) \(words.joined(separator: " ")): expected pull or push DIR")
    }
  }

  /// Returns the push of a release's files to `place`.
  static func push(
    to place: MirrorPlace, _ store: Store, _ log: @escaping @Sendable (String) -> Void
  ) throws -> ReleasePush {
    let push = try CDNPush(place, store: store, log: log)
    return ReleasePush { (release) throws(StoreError) in
      do throws(MirrorError) {
        return try push.names(release)
      } catch {
        throw .pushFailed(place: push.place, reason: error.description)
      }
    } push: { (release) throws(StoreError) in
      do throws(MirrorError) {
        try push.push(release)
      } catch {
        log("error: the files of a release could not be pushed to \(push.place): \(error)")
        throw .pushFailed(place: push.place, reason: error.description)
      }
    } pack: { (pack, channel) throws(StoreError) in
      do throws(MirrorError) {
        try push.push(pack, of: channel)
      } catch {
        throw .pushFailed(place: push.place, reason: error.description)
      }
    } deltas: { (offers) throws(StoreError) in
      do throws(MirrorError) {
        try push.push(offers)
      } catch {
        throw .pushFailed(place: push.place, reason: error.description)
      }
    } find: { (purged, urls) throws(StoreError) in
      do throws(MirrorError) {
        return try push.find(purged, urls)
      } catch {
        throw .pushFailed(place: push.place, reason: error.description)
      }
    } remove: { (paths) throws(StoreError) in
      do throws(MirrorError) {
        try push.remove(paths)
      } catch {
        throw .pushFailed(place: push.place, reason: error.description)
      }
    }
  }

  /// Returns the static copy to monitor, or nil.
  static func watched(_ arguments: Arguments) throws -> BaseURL? {
    try arguments.value("watch-mirror").map {
      try SettingsValue.url($0, in: arguments.source("watch-mirror"))
    }
  }

  static func watch(
    _ url: BaseURL?, _ store: Store, _ log: @escaping @Sendable (String) -> Void
  ) -> MirrorMonitor? {
    guard let url else { return nil }
    return MirrorMonitor(
      WebReader(url),
      newest: {
        let channels = ((try? store.channels()) ?? []).map(\.full)
        return channels.filter { $0.version > .none }.map {
          MirrorMonitor.Newest(app: $0.app, channel: $0.name, version: $0.version)
        }
      }, log: log)
  }
}
