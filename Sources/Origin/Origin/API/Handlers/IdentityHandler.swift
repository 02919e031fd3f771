import HTTP
import Identity
import Manifests
import OriginAPI
import Store
import System
import Values

/// CI jobs that trade their ID tokens, for unrestricted admins.
struct IdentityHandler: APIHandler {
  let context: RequestContext

  /// `GET /identities`
  func list() throws -> Response {
    .json(IdentityList(identities: try store.identities().map(IdentityInfo.init)))
  }

  /// `POST /identities`
  func add(_ body: IdentityRequest) throws -> Response {
    let identity = try identity(body)
    return try context.answering {
      APIAnswer(IdentityInfo($0), .created)
    } to: { (record) in
      try store.addIdentity(identity, by: actor, record: record)
    }
  }

  /// `DELETE /identities/{name}`
  func remove() throws -> Response {
    try context.answering {
      APIAnswer(IdentityInfo($0))
    } to: { (record) in
      try store.removeIdentity(request.path[1], by: actor, record: record)
    }
  }

  private func identity(_ body: IdentityRequest) throws -> JobIdentity {
    guard let name = body.name, Self.isName(name) else {
      throw Problem.badRequest(
        "\"name\" must be 1 to \(JobIdentity.nameLimit) of a-z 0-9 . - _, a letter or digit first")
    }
    guard let scope = body.scope.flatMap(TokenScope.init), scope < .admin else {
      throw Problem.badRequest(
        "\"scope\" must be one of read, release and publish: a job can't be an admin, since it could make itself a token that "
          + "lasts")
    }
    guard let subject = body.subject.flatMap(SubjectPattern.init) else {
      throw Problem.badRequest(
        "\"subject\" must be the ID tokens' \"sub\" without blanks, with * for any characters but : and /, and at least "
          + "\(SubjectPattern.leastPrefix) characters before the first *")
    }
    let issuer = try issuer(body)
    guard !Self.sharedIssuers.contains(issuer) || Self.namesOwner(subject.text) else {
      throw Problem.badRequest(
        "\"subject\": at \(issuer), anybody has jobs, so the owner has to stand there without a *, as in "
          + "repo:acme/*:ref:refs/heads/main")
    }
    let app = try body.app.map { try AppName($0) }
    let channel = try body.channel.map { try ChannelName($0) }
    if app == nil, channel != nil {
      throw Problem.badRequest("an identity for a channel must also name its app")
    }
    return JobIdentity(
      name: name, issuer: issuer, subject: subject, audience: try audience(body), scope: scope,
      app: app, channel: channel, bundles: try bundles(body),
      hosts: try body.hosts.flatMap { try HostList.checked($0) })
  }

  private static func isName(_ name: String) -> Bool {
    func isPlain(_ byte: UInt8) -> Bool {
      (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte)
        || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
    }
    return (1...JobIdentity.nameLimit).contains(name.utf8.count) && isPlain(name.utf8.first ?? 0)
      && name.utf8.allSatisfy { isPlain($0) || ".-_".utf8.contains($0) }
  }

  /// The issuers of services where anybody can have jobs.
  private static let sharedIssuers: Set<String> = [
    "https://token.actions.githubusercontent.com", "https://gitlab.com",
  ]

  /// Whether a pattern has a wildcard only after the owner: what follows the first colon, up to the next separator.
  private static func namesOwner(_ subject: String) -> Bool {
    guard let colon = subject.firstIndex(of: ":") else { return !subject.contains("*") }
    let owner = subject[subject.index(after: colon)...].prefix { $0 != "/" && $0 != ":" }
    return !owner.isEmpty && !owner.contains("*") && !subject[..<colon].contains("*")
  }

  private func issuer(_ body: IdentityRequest) throws -> String {
    guard let text = body.issuer else {
      throw Problem.badRequest("\"issuer\" must be the ID tokens' \"iss\", a URL")
    }
    do {
      return try IssuerURL(text).text
    } catch {
      throw Problem.badRequest("\"issuer\": \(error.message)")
    }
  }

  private func audience(_ body: IdentityRequest) throws -> String {
    guard let text = try HumanText.checked(body.audience, member: "audience", .line(bytes: 512)),
      !text.isEmpty
    else {
      throw Problem.badRequest(
        "\"audience\" must be what the ID tokens' \"aud\" has, such as this origin's URL, in 1 to 512 bytes")
    }
    return text
  }

  private func bundles(_ body: IdentityRequest) throws -> BundleGlob? {
    guard let text = body.bundles else { return nil }
    guard let glob = BundleGlob(text) else {
      throw Problem.badRequest(
        "\"bundles\" must be bundles' names, with * and ? as wildcards, separated by commas")
    }
    return glob
  }
}

extension IdentityInfo {
  init(_ identity: JobIdentity) {
    self.init(
      name: identity.name, issuer: identity.issuer, subject: identity.subject.text,
      audience: identity.audience,
      scope: identity.scope.rawValue, app: identity.app, channel: identity.channel,
      bundles: identity.bundles?.text, hosts: identity.hosts?.names,
      createdAt: Moment(milliseconds: identity.createdAt), removedAt: identity.removedAt.map(Moment.init))
  }
}
