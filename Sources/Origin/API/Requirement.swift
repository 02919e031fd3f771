import Manifests
import Store

/// What a route takes of the token that asks. All of it is known from the head, so that nothing of a body is taken from
/// one who may not send it; limits that only a body tells, such as a token's bundles, are checked with it.
enum Requirement: Sendable {
  /// The scope, in whatever the token reaches.
  case scope(TokenScope)
  /// The scope in the channel that the path names.
  case channel(TokenScope)
  /// The scope in that channel, and all its bundles: what is done is about the whole channel.
  case wholeChannel(TokenScope)
  /// An admin without limits.
  case everything

  /// - Throws: 403, naming what the token may do; 400 where the path names no app or channel.
  func check(_ caller: AccessToken, _ call: APIRequest) throws(Problem) {
    switch self {
    case .scope(let scope):
      guard caller.scope >= scope else {
        throw Self.refusal(
          "token \"\(caller.name)\" has the scope \(caller.scope.rawValue); this takes \(scope.rawValue)")
      }
    case .channel(let scope):
      try ChannelNames(call).check(caller, may: scope)
    case .wholeChannel(let scope):
      try ChannelNames(call).check(caller, may: scope)
      try caller.checkReachesAllBundles()
    case .everything:
      guard caller.scope >= .admin, caller.isUnlimited else {
        throw Self.refusal("token \"\(caller.name)\" may not do this; it takes an admin token without limits")
      }
    }
  }

  private static func refusal(_ detail: String) -> Problem { Problem(.forbidden, "scope", detail) }
}
