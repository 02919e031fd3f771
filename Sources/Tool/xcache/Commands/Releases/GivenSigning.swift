import Manifests
import OriginAPI
import Publishing
import System
import Trust
import Values

/// How a command signs what it releases, in an app with a root.
enum GivenSigning {
  /// The options of commands that sign what they release.
  static let options: [Option] =
    Command.signing + [
      .value(
        "sign-for", "CHANNELS",
        "what is signed holds in these channels, too, so that promoting needs no key: online,test"),
      .flag(
        "raise-floor", "a security fix: nothing that was signed before may come back, by rollback included"),
    ]

  /// Statements that others have signed.
  static let given = Option.value(
    "statement", "FILE", "statements of the same files that others have signed; repeatable")
  /// Where to write statements for others.
  static let out = Option.value(
    "statements-out", "FILE",
    "write the statements, signed with what key there is, for others to complete; release nothing")

  /// Returns what the options, the environment and `xcache.json` say.
  static func terms(_ arguments: Arguments, _ remote: RemoteOrigin, _ terminal: Terminal) throws
    -> SigningOptions
  {
    var terms = SigningOptions()
    terms.raisesFloor = arguments.has("raise-floor")
    if terms.raisesFloor, arguments.isGiven("rollout") {
      throw UsageError(
        "--raise-floor can't be combined with --rollout: it rules out for all devices what most of them would go on with"
      )
    }
    terms.channels = try channels(arguments)
    if arguments.takes("statement") {
      for path in arguments.all("statement") { terms.given += try statements(in: path) }
      if !terms.given.isEmpty, terms.raisesFloor || !terms.channels.isEmpty {
        throw UsageError(
          "--raise-floor and --sign-for are part of what others have signed: give them with --statements-out, not with --statement"
        )
      }
    }
    terms.root = try remote.settings.root.map { try RootFile(path: $0) }
    let settings = try GivenSigner.all(arguments, remote.settings)
    if !settings.isEmpty {
      terms.signers = LazySigners { () throws(SigningError) in
        terminal.endProgress()
        return try GivenSigner.signers(settings, arguments, terminal)
      }
    }
    return terms
  }

  private static func channels(_ arguments: Arguments) throws -> Set<ChannelName> {
    guard let text = try arguments.value("sign-for") else { return [] }
    return Set(
      try text.split(separator: ",", omittingEmptySubsequences: false).map {
        try SettingsValue.channel(String($0), in: "--sign-for")
      })
  }

  // MARK: - Files with statements

  /// Returns the content of a file with statements: `{"statements":[envelope…]}`.
  static func file(_ statements: [Signed<ReleaseStatement>]) -> [UInt8] {
    JSONValue.object(JSONObject([.init(key: "statements", value: .array(statements.map(\.envelope.json)))]))
      .canonical + [0x0A]
  }

  /// Reads a file with statements, or with one envelope.
  static func statements(in path: String) throws -> [Signed<ReleaseStatement>] {
    let bytes = try Arguments.file(path)
    do {
      let json = try JSONValue.parse(bytes)
      return try (json["statements"]?.array ?? [json]).map { try Signed<ReleaseStatement>(json: $0) }
    } catch {
      throw Failure(
        "\(path) has no release statements, as `xcache publish --statements-out` writes them: \(error)",
        code: .usage, name: "statements")
    }
  }

  // MARK: - What is said

  /// Describes what was signed: `signed bundle home with key 60303fd6…, serial 1790000360000, for online and test`.
  static func lines(_ statements: [Signed<ReleaseStatement>]) -> [String] {
    statements.map { signed in
      let statement = signed.document
      let floor = statement.floor == statement.serial ? ", and nothing older may come back" : ""
      return
        "signed bundle \(statement.bundle) with \(keys(signed.envelope.signatures.map(\.key.text))), serial \(statement.serial), "
        + "for \(statement.channels.map(\.text).joined(separator: ", "))\(floor)"
    }
  }

  /// What was signed, for programs.
  static func json(_ statements: [Signed<ReleaseStatement>]) -> JSONValue {
    .array(
      statements.map { signed in
        let statement = signed.document
        return [
          "bundle": .string(statement.bundle.text), "channels": .strings(statement.channels.map(\.text)),
          "content": .string(statement.content.hex), "floor": .integer(statement.floor.number),
          "keys": .strings(signed.envelope.signatures.map(\.key.text)),
          "serial": .integer(statement.serial.number),
        ]
      })
  }

  /// Names keys by the beginnings of their ids.
  static func keys(_ ids: [String]) -> String {
    "\(ids.count == 1 ? "key" : "keys") \(ids.map { $0.prefix(16) + "…" }.joined(separator: ", "))"
  }

  /// A remark about signing; nil for progress that is about something else.
  static func remark(_ progress: Publisher.Progress) -> String? {
    switch progress {
    case .notSigned(let app): "nothing was signed: app \(app) has no root, or one that is off"
    case .lacksKey(let app):
      "app \(app) has a root: the release needs a key, --sign-key, which this dry run does without"
    case .raisesFloor(let bundle, let version):
      "--raise-floor: once this is released, bundle \(bundle) can't go back to version \(version) or any before it; devices "
        + "refuse them, and so does `xcache rollback`"
    case .wouldSign(let bundle, let keys, let channels):
      "would sign bundle \(bundle) with \(Self.keys(keys.map(\.text))), for \(channels.map(\.text).joined(separator: ", "))"
    case .stillWaits(let id, let what):
      "release \(id), \(what), still waits for signatures, and would replace this: `xcache sign \(id)` completes it, and `xcache schedule "
        + "cancel \(id)` takes it back"
    case .signsForUnknown(let channel, let known):
      "warning: --sign-for: there is no channel \(channel), but \(known.map(\.text).joined(separator: ", ")); is it spelt right?"
    case .wouldWait(let lacking):
      "the release would wait for \(AwaitedWords.text(lacking)); `xcache sign` completes it"
    case .waitsAlready(let id):
      "release \(id), of the same files, waits for signatures already: `xcache sign \(id)` completes that one, and `xcache schedule "
        + "cancel \(id)` takes it back"
    default: nil
    }
  }
}

extension ReleaseAnswer {
  /// For a dry run: the bundles that devices would refuse as it is.
  func unsignedLines(_ terminal: Terminal) -> [String] {
    (unsigned ?? []).map { bundle in
      let help =
        bundle.problem == "release-floor"
        ? "it is older than --raise-floor allows" : "the release needs --sign-key"
      return terminal.colour(
        "bundle \(bundle.bundle) isn't signed for \(bundle.channel) as the root says (\(bundle.problem)): \(help)",
        .yellow)
    }
  }
}
