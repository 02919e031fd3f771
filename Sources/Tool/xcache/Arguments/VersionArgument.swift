import Manifests
import System

/// A version on the command line: a number, or a time at which it was live.
enum VersionArgument {
  /// Returns the version in the API's format. `place` is the option it was given for; empty for an operand.
  /// - Throws: `UsageError` if it is neither.
  static func read(_ text: String, in place: String) throws(UsageError) -> String {
    if ManifestVersion(text: text) != nil { return text }
    if let moment = TimeArgument.wireText(text, isWholeSecond: true) { return moment }
    let isNewest = ["latest", "newest", "head", "live", "current"].contains(text.lowercased())
    throw UsageError(
      "\(place.isEmpty ? "" : place + " ")\(text) is not a version: expected a number, or a time such as \(TimeArgument.forms)"
        + (isNewest ? "; where no version has to be given, the newest is meant" : ""))
  }

  /// Returns the value of an option for a time in the API's format, or nil if it isn't given.
  static func at(_ arguments: Arguments, _ name: String = "at") throws(UsageError) -> String? {
    guard let text = try arguments.value(name) else { return nil }
    guard let moment = TimeArgument.wireText(text, isWholeSecond: name == "at") else {
      throw UsageError("--\(name) \(text) is not a time; expected one such as \(TimeArgument.forms)")
    }
    return moment
  }

  /// Returns the version given as an operand or with `--at`, or nil if neither is given.
  static func one(_ arguments: Arguments, _ operand: String?) throws(UsageError) -> String? {
    let at = try at(arguments)
    if let operand, at != nil { throw UsageError("give either a version (\(operand)) or --at, not both") }
    return try operand.map { (text) throws(UsageError) in try read(text, in: "") } ?? at
  }

  static let option = Option.value(
    "at", "TIME",
    "the version that was live at this time: 2026-11-19T14:05+08:00, '10m ago', 'yesterday 14:05' (local time)"
  )
}
