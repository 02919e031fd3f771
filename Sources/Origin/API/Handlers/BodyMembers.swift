import Manifests
import OriginAPI
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
  static func read(_ text: String, in place: String) throws -> VersionName {
    guard let name = VersionName(text) else { throw Problem.badRequest("\(place)\(text): \(rule)") }
    if case .moment(let moment) = name, moment > Clock.unixMilliseconds() + tolerance {
      throw Problem.badRequest("\(place)\(text) is in the future")
    }
    return name
  }

  /// What a member names; nil where it isn't given.
  static func read(_ text: String?, member: String) throws -> VersionName? {
    try text.map { try read($0, in: "\"\(member)\" ") }
  }
}

extension HumanText {
  /// A member that people wrote for people; nil where it isn't given.
  ///
  /// - Throws: 422 for one that is too long or holds control characters.
  static func checked(_ text: String?, member: String, _ rule: Rule) throws(OriginAPI.Problem) -> String? {
    guard let text else { return nil }
    if let problem = problem(of: text, rule) {
      throw OriginAPI.Problem(.unprocessableContent, "text", "\"\(member)\": \(problem)")
    }
    return text
  }
}
