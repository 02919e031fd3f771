import Manifests
import Values

/// The channel's policy, as read from `policy.json`: it changes an app's behaviour without a new build.
public struct RuntimePolicy: Hashable, Sendable {
  /// A script that the app injects into its pages; `Device.script(_:)` returns its verified bytes.
  public struct Script: Hashable, Sendable {
    /// The name by which the app requests it.
    public let name: String
    /// The absolute URL of its bytes.
    public let download: String
    /// The SHA-256 of its bytes, in hexadecimal.
    public let sha256: String
    /// The Ed25519 signature, in base64.
    public let signature: String
  }

  private let policy: Policy
  let number: Int64

  /// The policy in force until one is received: every page is intercepted.
  public static let none = RuntimePolicy(.none, version: 0)

  private init(_ policy: Policy, version: Int64) {
    self.policy = policy
    number = version
  }

  /// Reads a `policy.json` leniently, as devices do: unusable parts are ignored. Nil if it isn't such a document.
  public init?(document bytes: [UInt8]) {
    guard let document = try? JSONValue.parse(bytes), document["code"]?.integer == 200,
      let data = document["data"], data["intercept"]?.bool != nil,
      let version = data["version"]?.string.flatMap({ ManifestVersion(text: $0) })
    else { return nil }
    self.init(Policy(reading: data), version: version.number)
  }

  /// The document's version; `0` if there is none yet.
  public var version: String { String(number) }

  /// Whether a page may be answered from the device; otherwise the app uses only the network.
  ///
  /// - Parameters:
  ///   - page: the page's absolute URL.
  ///   - milliseconds: the time, in milliseconds since 1970; parts of the policy that have expired by then are
  ///     ignored.
  public func intercepts(_ page: String, at milliseconds: Int64) -> Bool {
    let now = Instant(milliseconds: milliseconds)
    guard let page = try? ResourceURL(page) else { return false }
    return policy.intercepts(page, at: now)
  }

  /// Whether interception is off for every page.
  public func isKilled(at milliseconds: Int64) -> Bool {
    policy.isKilled(at: Instant(milliseconds: milliseconds))
  }

  /// Whether hosts are resolved by an HTTP DNS service, if the app names one; otherwise only by the system.
  public var usesHTTPDNS: Bool { policy.usesHTTPDNS }

  /// When interception comes back on by itself, in milliseconds since 1970; nil if it is on or stays off.
  public var killedUntil: Int64? { policy.intercept ? nil : policy.until?.milliseconds }

  /// The patterns of pages that are bypassed, including expired ones.
  public var bypass: [String] { policy.bypass.map(\.pattern.text) }

  /// The scripts to inject, in the policy's order.
  public var scripts: [Script] {
    policy.scripts.map {
      Script(name: $0.name, download: $0.download, sha256: $0.sha256.hex, signature: $0.signature)
    }
  }
}
