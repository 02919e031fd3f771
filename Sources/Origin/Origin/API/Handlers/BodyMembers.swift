import BuildCheck
import Manifests
import OriginAPI
import Store
import System
import Values

extension VersionName {
  static let rule = "a version is a number, or a time with its offset such as 2026-11-19T14:05+08:00"

  /// Parses a number or a moment.
  init?(_ text: String) {
    if let version = ManifestVersion(text: text) {
      self = .number(version)
    } else if let moment = Timestamp.parse(text) {
      self = .moment(moment)
    } else {
      return nil
    }
  }

  /// How many milliseconds a caller's clock may be ahead of ours.
  private static let tolerance: Int64 = 60_000

  /// Parses a version's name; `place` says where it was found.
  /// - Throws: 400 if it is neither a number nor a time, or a time in the future: what will be live then is unknown, and an
  ///   `ifVersion` of the wrong year would guard nothing.
  static func read(_ text: String, in place: String) throws -> VersionName {
    guard let name = VersionName(text) else { throw Problem.badRequest("\(place)\(text): \(rule)") }
    if case .moment(let moment) = name, moment > Clock.unixMilliseconds() + tolerance {
      throw Problem.badRequest("\(place)\(text) is in the future")
    }
    return name
  }

  /// Parses a member that names a version; nil if it isn't given.
  static func read(_ text: String?, member: String) throws -> VersionName? {
    try text.map { try read($0, in: "\"\(member)\" ") }
  }
}

extension HumanText {
  /// Checks a member that people wrote for people; nil if it isn't given.
  ///
  /// - Throws: 422 if it is too long or contains control characters, or if a message or reason contains a secret: the log and the
  ///   audit trail keep it for good.
  static func checked(_ text: String?, member: String, _ rule: Rule) throws(OriginAPI.Problem) -> String? {
    guard let text else { return nil }
    if let problem = problem(of: text, rule) {
      throw OriginAPI.Problem(.unprocessableContent, "text", "\"\(member)\": \(problem)")
    }
    guard rule == .message || member == "reason",
      let secret = SecretFile.secrets(in: Array(text.utf8), isText: true).first
    else { return text }
    throw OriginAPI.Problem(
      .unprocessableContent, "secret",
      "\"\(member)\" contains \(secret.noun), and the audit trail would keep it for good; leave it out")
  }
}
