import Manifests
import Store
import System

extension VersionName {
  static let rule = "a version is a number, or a time with its offset such as 2026-11-19T14:05+08:00"

  /// Reads a number or a moment.
  init?(_ text: String) {
    if let version = ManifestVersion(text: text) {
      self = .number(version)
    } else if let moment = Timestamp.parse(text) {
      self = .moment(moment)
    } else {
      return nil
    }
  }

  /// The milliseconds by which a caller's clock may be ahead of ours.
  private static let tolerance: Int64 = 60_000

  /// What `text` names; `place` says where it stands.
  /// - Throws: 400 for what is neither number nor time, and for times to come: what will be live then nobody knows, and
  ///   an `ifVersion` of the wrong year would guard nothing.
  static func read(_ text: String, in place: String) throws(Problem) -> VersionName {
    guard let name = VersionName(text) else { throw .badRequest("\(place)\(text): \(rule)") }
    if case .moment(let moment) = name, moment > Clock.unixMilliseconds() + tolerance {
      throw .badRequest("\(place)\(text) lies in the future")
    }
    return name
  }
}

extension JSONValue {
  /// A member that names a version; nil where it is absent or null.
  func versionName(_ key: String) throws(Problem) -> VersionName? {
    guard let value = self[key], !value.isNull else { return nil }
    guard let text = value.string else { throw .badRequest("\"\(key)\": \(VersionName.rule), as a string") }
    return try VersionName.read(text, in: "\"\(key)\" ")
  }

  /// `ifVersion`: what a request is refused for when something changed after it. A moment stands for the version of
  /// then.
  func ifVersion(_ names: ChannelNames, _ store: Store) throws(Problem) -> ManifestVersion? {
    switch try versionName("ifVersion") {
    case nil: return nil
    case .number(let version): return version
    case let moment?:
      return try APIEndpoint.store { () throws(StoreError) in
        do throws(StoreError) {
          return try store.version(moment, of: store.channel(names.app, names.channel))
        } catch {
          // Nothing changed after it where there is nothing.
          switch error {
          case .unknownApp, .unknownChannel: return ManifestVersion.none
          default: throw error
          }
        }
      }
    }
  }
}
