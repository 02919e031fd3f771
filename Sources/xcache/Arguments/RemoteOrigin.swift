import HTTPClient
import Manifests
import OriginAPI
import Publishing
import System

/// The origin, app and channel that a command is about: from flags, else the environment, else `xcache.json`, else what
/// `xcache login` knows.
struct RemoteOrigin {
  private(set) var settings: Settings
  /// Asks the origin, and whatever else a command asks beside it.
  let http: HTTPClient
  /// A file of the certificates to trust, PEM; nil: the system's.
  let certificates: String?
  /// Where the token came from, for messages; nil: there is none.
  let tokenSource: String?
  private let arguments: Arguments
  /// The servers that `xcache login` knows, where none of them could be taken.
  private let known: [BaseURL]
  /// Told each request, where --verbose asks for that.
  var trace: (@Sendable (String) -> Void)? { arguments.trace }

  /// - Parameters:
  ///   - namesApp: false for commands that may be given several apps.
  ///   - namesChannel: the same of channels.
  init(_ arguments: Arguments, namesApp: Bool = true, namesChannel: Bool = true) throws {
    self.arguments = arguments
    var given = Settings()
    // `value` looks into the environment, too, where the flag isn't given.
    if let text = try arguments.value("server") {
      given.server = try SettingsValue.url(text, in: arguments.source("server"))
    }
    if namesApp, let text = try arguments.value("app") {
      given.app = try SettingsValue.app(text, in: arguments.source("app"))
    }
    if namesChannel, let text = try arguments.value("channel") {
      given.channel = try SettingsValue.channel(text, in: arguments.source("channel"))
    }
    let token = try GivenToken(arguments)
    given.token = token?.text
    var settings = given.over(try Settings.file(from: "."))
    let (profile, known) = try Self.profile(&settings, arguments)
    self.known = settings.server == nil ? known : []
    settings.token = settings.token ?? profile?.token
    self.settings = settings
    tokenSource = token?.source ?? profile?.token.map { _ in "xcache login" }
    certificates = try Self.certificates(arguments) ?? Self.certificates(of: profile)
    http = arguments.http(authorities: certificates)
  }

  /// What is known of the server; where none is named, of the only one that is known.
  private static func profile(_ settings: inout Settings, _ arguments: Arguments) throws
    -> (Profiles.Profile?, known: [BaseURL])
  {
    let needsIt = settings.server == nil || settings.token == nil
    let profiles: Profiles
    do {
      profiles = try Profiles(arguments.environment)
    } catch {
      // A file that is damaged matters to whoever needs it.
      if needsIt { throw error }
      return (nil, [])
    }
    settings.server = settings.server ?? profiles.only?.server
    return (settings.server.flatMap { profiles[$0] }, profiles.profiles.map(\.server))
  }

  /// The file of `--cacert`.
  /// - Throws: `Failure` for one that holds no certificate.
  static func certificates(_ arguments: Arguments) throws -> String? {
    guard let path = try arguments.value("cacert") else { return nil }
    return try checked(path, "\(arguments.source("cacert")) \(path)")
  }

  /// The file that `login --cacert` kept for a server.
  private static func certificates(of profile: Profiles.Profile?) throws -> String? {
    guard let path = profile?.certificates else { return nil }
    return try checked(path, "\(path), which xcache login keeps for \(profile?.server.text ?? "")")
  }

  private static func checked(_ path: String, _ place: String) throws -> String {
    if let kind = try Kernel.status(path)?.kind, kind != .file {
      throw Failure(
        "\(place) is \(kind == .folder ? "a folder" : "not a file"); expected a file of PEM certificates",
        name: "no-files")
    }
    guard try Kernel.status(path) != nil else {
      throw Failure("\(place): no such file; expected a file of PEM certificates", name: "no-files")
    }
    let text = String(decoding: try Arguments.file(path), as: UTF8.self)
    guard text.contains(PEMCertificates.begin) else {
      throw Failure(
        "\(place) contains no PEM certificate, which begins with \(PEMCertificates.begin)", code: .usage,
        name: "certificates")
    }
    if let damaged = PEMCertificates.firstDamaged(in: text) {
      throw Failure(
        "\(place): certificate \(damaged) in it is damaged; copy the file again from its source",
        code: .usage, name: "certificates")
    }
    return path
  }

  var api: OriginClient {
    get throws {
      OriginClient(server: try server, token: settings.token, tokenSource: tokenSource, http: http)
    }
  }

  var server: BaseURL {
    get throws {
      guard let server = settings.server else {
        guard known.isEmpty else {
          throw UsageError(
            "no server given, and you are logged in to \(known.count) servers: choose one with --server or XCACHE_SERVER: "
              + known.map(\.text).alternatives)
        }
        throw UsageError(
          "no server given: use --server URL, set XCACHE_SERVER, add \"server\" to xcache.json, or log in to exactly one: "
            + "xcache login URL")
      }
      return server
    }
  }

  var app: AppName {
    get throws {
      guard let app = settings.app else {
        throw UsageError("no app given: use --app NAME, set XCACHE_APP, or add \"app\" to xcache.json")
      }
      return app
    }
  }

  var channel: ChannelName { settings.channel ?? .online }

  /// The newest version of the channel.
  var newestVersion: String {
    get throws {
      let newest = try api.overview(of: try address).value.version
      if newest == .none { throw try nothingPublished }
      return newest.text
    }
  }

  /// That the channel is empty.
  var nothingPublished: Failure {
    get throws {
      Failure("nothing is published yet in channel \(channel) of app \(try app)", name: "unknown-version")
    }
  }

  /// The channel, as the API's client takes it.
  var address: ChannelAddress {
    get throws { ChannelAddress(try app, channel) }
  }
}

/// Certificates in PEM form (RFC 7468), looked at before a server is asked: what is wrong with them has nothing to do with it.
enum PEMCertificates {
  static let begin = "-----BEGIN CERTIFICATE-----"
  private static let end = "-----END CERTIFICATE-----"

  /// The number, from 1, of the first that can't be one: without its end, not Base64, or not one DER sequence; nil where all
  /// may be.
  static func firstDamaged(in text: String) -> Int? {
    for (index, part) in text.components(after: begin).enumerated() {
      guard let end = part.firstRange(of: end) else { return index + 1 }
      let body = part[..<end.lowerBound].filter { !$0.isWhitespace }
      guard let bytes = Base64.decode(body), isSequence(bytes) else { return index + 1 }
    }
    return nil
  }

  /// Whether bytes are one SEQUENCE in DER, with the length that it says (X.690 §8.1.3).
  private static func isSequence(_ bytes: [UInt8]) -> Bool {
    guard bytes.count > 4, bytes[0] == 0x30 else { return false }
    let first = Int(bytes[1])
    if first < 0x80 { return bytes.count == 2 + first }
    let count = first & 0x7f
    guard (1...3).contains(count), bytes.count > 2 + count else { return false }
    return bytes[2..<2 + count].reduce(0) { $0 << 8 | Int($1) } == bytes.count - 2 - count
  }
}

extension String {
  /// What follows each of a mark's places, up to the next.
  fileprivate func components(after mark: String) -> [Substring] {
    let starts = ranges(of: mark)
    return starts.enumerated().map { index, range in
      self[range.upperBound..<(index + 1 < starts.count ? starts[index + 1].lowerBound : endIndex)]
    }
  }
}
