import OriginAPI
import Values

extension TokenInfo {
  /// Whether it is a person's session, or what a CI job got: not made by an admin.
  var isSignedIn: Bool { kind == "session" || kind == "job" }
}

/// The people who are signed in, and the CI jobs that ask, for `token list --sessions`.
enum SessionOutput {
  static func table(_ sessions: [TokenInfo]) -> [String] {
    if sessions.isEmpty { return ["nobody is signed in, and no CI job has a token"] }
    var table = Table(["KIND", "NAME", "MAY", "BY", "SUBJECT", "SINCE", "LAST USED", "EXPIRES", "ID"])
    for session in sessions {
      let kind = session.kind == "job" ? "job" : session.detail ?? "session"
      table.add([
        kind + (session.revokedAt == nil ? "" : " (revoked)"), session.name, rights(session),
        session.issuer ?? "", session.subject ?? "", session.createdAt.formatted,
        session.lastUsedAt.formatted, session.expiresAt.formatted, session.id,
      ])
    }
    return table.lines
  }

  /// The grants in short: `publish@shop/online:main, read`.
  private static func rights(_ token: TokenInfo) -> String {
    let grants =
      token.grants
      ?? [.init(scope: token.scope, app: token.app, channel: token.channel, bundles: token.bundles)]
    return grants.map { grant in
      let channel = grant.channel.map { "/\($0)" } ?? ""
      return grant.scope + (grant.app.map { "@\($0)\(channel)" } ?? "")
        + (grant.bundles.map { ":\($0)" } ?? "")
    }.joined(separator: ", ")
  }

  /// What a revocation means. A person's name ends all their sessions, an id just one.
  static func revoked(_ token: TokenInfo, by word: String) -> String {
    let log = "`xcache audit log` shows what was done with"
    guard token.kind == "session" else {
      return "it is refused from now on, what it released stays; \(log) it"
    }
    let (what, it) =
      word == token.id ? ("this session is", "it") : ("all sessions of \(token.name) are", "them")
    return
      "\(what) refused from now on; what \(it) released stays, what \(it) scheduled or asked for isn't carried out; \(log) \(it)"
  }

  /// `2 people are signed in, and 1 CI job has a token`
  static func summary(_ sessions: [TokenInfo]) -> String {
    let all = Set(sessions.filter { $0.kind == "session" }.map { [$0.issuer ?? "", $0.subject ?? $0.id] })
    // The origin itself vouches for the sessions that the console begins with a token.
    let people = all.filter { $0[0] != "xcache" }
    let tokens = all.count - people.count
    let jobs = sessions.count { $0.kind == "job" }
    let words =
      (people.isEmpty
        ? [] : [people.count == 1 ? "1 person is signed in" : "\(people.count) people are signed in"])
      + (tokens == 0
        ? [] : ["\(Count.text(tokens, "token")) \(tokens == 1 ? "is" : "are") used in the console"])
      + (jobs == 0 ? [] : ["\(Count.text(jobs, "CI job")) \(jobs == 1 ? "has" : "have") a token"])
    return words.joined(separator: ", and ")
  }

  /// Returns a list's document with the sessions only.
  static func only(_ document: JSONValue) -> JSONValue {
    let tokens = (document["tokens"]?.array ?? []).filter { ["session", "job"].contains($0["kind"]?.string) }
    return ["tokens": .array(tokens)]
  }
}
