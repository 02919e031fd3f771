import Manifests
import Trust

// What is wrong with signatures, where, and what to do.
extension StoreError {
  static func noRootMessage(_ app: AppName) -> String {
    "app \"\(app)\" has no root, so nothing of it is signed; `xcache trust init --app \(app)` makes one"
  }

  static func rootRefusedMessage(_ app: AppName, _ failure: TrustFailure, _ inForce: RootNumber?) -> String {
    let now = inForce.map { "root \($0) is in force" } ?? "it has none yet"
    return
      "devices of app \"\(app)\" would refuse the root (\(failure.rawValue); \(now)); nothing was changed"
  }

  static func unsignedMessage(_ app: AppName, _ bundles: [UnsignedBundle]) -> String {
    let list = bundles.prefix(10).map { "\($0.bundle) in \($0.channel) (\($0.problem.rawValue))" }
    let more = bundles.count > 10 ? ", and \(bundles.count - 10) more" : ""
    let what = "\(list.joined(separator: ", "))\(more)"
    guard let target = bundles.first?.target else {
      return
        "devices of app \"\(app)\" would refuse what isn't signed as its root says: \(what); \(unsignedAdvice(bundles)); "
        + "nothing was changed"
    }
    return
      "devices of app \"\(app)\" would refuse what version \(target) has, to which the rollback goes: \(what); "
      + "\(rollbackAdvice(bundles)); nothing was changed"
  }

  private static func unsignedAdvice(_ bundles: [UnsignedBundle]) -> String {
    let low = bundles.filter { $0.problem == .releaseFloor }
    let floor =
      "what is below the floor that was raised is released again by publishing the older files, signed anew"
    if low.count == bundles.count { return floor }
    let key = "publish and promote sign with --sign-key"
    return low.isEmpty ? key : "\(key); \(floor)"
  }

  /// A rollback signs nothing: it goes to what keys have signed that count now.
  private static func rollbackAdvice(_ bundles: [UnsignedBundle]) -> String {
    let low = bundles.contains { $0.problem == .releaseFloor }
    let unsigned = bundles.contains { $0.problem != .releaseFloor }
    return [
      unsigned
        ? "a rollback signs nothing, and no key that the root in force names for it has signed that content: go back to another version, "
          + "or publish that build again, with --sign-key"
        : nil,
      low
        ? "its signature is below the floor that was raised to keep older files out: go back to a newer version, or publish the older "
          + "files, signed anew; if the floor was raised by mistake, a root lowers it (`xcache trust set-floor`)"
        : nil,
    ].compactMap(\.self).joined(separator: "; ")
  }

  static func unsignedPrefetchMessage(_ app: AppName, _ channel: ChannelName, _ failure: TrustFailure)
    -> String
  {
    "devices of app \"\(app)\" would refuse the prefetch config in \(channel) (\(failure.rawValue)); `xcache prefetch push` "
      + "signs one with --sign-key, also an empty one (a file with []); a rollback signs nothing; nothing was changed"
  }

  static func sharedURLsMessage(_ app: AppName, _ shared: [SharedURL]) -> String {
    let list = shared.prefix(10).map {
      "\($0.url) in \($0.channel) (\($0.bundles.map(\.text).joined(separator: ", ")))"
    }
    let more = shared.count > 10 ? ", and \(shared.count - 10) more" : ""
    return
      "in an app with a root, a URL belongs to one bundle, so that one team signs it: \(list.joined(separator: "; "))\(more); "
      + "leave it out of the others; nothing was changed"
  }

  static func floorBesideRolloutMessage(
    _ app: AppName, _ channel: ChannelName, _ candidate: ManifestVersion, _ bundles: [String]
  ) -> String {
    let what = bundles.isEmpty ? "prefetch configs" : bundles.prefix(10).joined(separator: ", ")
    let more = bundles.count > 10 ? ", and \(bundles.count - 10) more" : ""
    return
      "channel \"\(channel)\" of app \"\(app)\" would have a floor of \(what)\(more) above what is signed of the full version or of its "
      + "candidate, version \(candidate), so that devices couldn't go from one to the other; nothing was changed. "
      + "Complete or halt the rollout first, or begin one without --raise-floor, and raise the floor once it is complete"
  }

  static func noHeadKeyMessage(_ app: AppName) -> String {
    "this origin has none of the keys for heads that the root of app \"\(app)\" names; `xcache trust rotate-head --app \(app)` names one"
  }
}
