import Store

// How answers speak of whoever asked: tokens are things, and people are spoken to.
extension AccessToken {
  /// The caller, as the subject of a sentence.
  var who: String {
    switch kind {
    case .token: "token \"\(name)\""
    case .session: "you (\(name))"
    case .job: "job \"\(name)\""
    }
  }

  /// "is", or "are" for a person.
  var isWord: String { kind == .session ? "are" : "is" }

  private var has: String { kind == .session ? "have" : "has" }

  /// What the caller may do, as a clause: of one grant the scope, of several each with its place.
  var may: String {
    more.isEmpty ? "\(who) \(has) the scope \(scope.rawValue)" : "\(who) may \(Self.words(of: grants))"
  }

  /// The same with the place of the only grant, too.
  var mayHere: String { more.isEmpty ? may + grants[0].place : may }

  private static func words(of grants: [Grant]) -> String {
    let first = grants.prefix(namedGrants).map(\.words).joined(separator: "; ")
    return grants.count > namedGrants ? "\(first) and \(grants.count - namedGrants) more" : first
  }

  /// How many grants are named.
  private static let namedGrants = 5
}

extension Grant {
  /// The scope with its place.
  fileprivate var words: String {
    let everywhere = isUnlimited ? " everywhere" : ""
    return scope.rawValue + place + (bundles.map { " for bundles \($0)" } ?? "") + everywhere
  }

  /// Where it holds; empty if that is everywhere.
  fileprivate var place: String {
    let limits = [app.map { "app \($0)" }, channel.map { "channel \($0)" }].compactMap(\.self)
    return limits.isEmpty ? "" : " in " + limits.joined(separator: ", ")
  }
}
