import Manifests

/// What an app switches without a new build, as `policy.json` says it.
public struct RuntimePolicy: Hashable, Sendable {
  /// A script that the app injects into its pages; `Device.script` gives its bytes, checked.
  public struct Script: Hashable, Sendable {
    /// By which the app asks for it.
    public let name: String
    /// Absolute.
    public let download: String
    /// In hexadecimal.
    public let sha256: String
    /// Ed25519, in base64.
    public let signature: String
  }

  private let policy: Policy
  let number: Int64

  /// What holds before a policy came: every page is intercepted.
  public static let none = RuntimePolicy(.none, version: 0)

  private init(_ policy: Policy, version: Int64) {
    self.policy = policy
    number = version
  }

  /// Reads a `policy.json` as devices do: what can't be used in it is passed over. Nil where it is no such document.
  public init?(document bytes: [UInt8]) {
    guard let document = try? JSONValue.parse(bytes), document["code"]?.integer == 200,
      let data = document["data"], data["intercept"]?.bool != nil,
      let version = data["version"]?.string.flatMap({ ManifestVersion(text: $0) })
    else { return nil }
    self.init(Policy(reading: data), version: version.number)
  }

  /// The document's version; `0`: there is none yet.
  public var version: String { String(number) }

  /// Whether a page may be answered from the device; otherwise the app uses the network only.
  ///
  /// - Parameters:
  ///   - page: its absolute URL.
  ///   - milliseconds: since 1970; what lapsed by then no longer counts.
  public func intercepts(_ page: String, at milliseconds: Int64) -> Bool {
    let now = Instant(milliseconds: milliseconds)
    guard let page = try? ResourceURL(page) else { return false }
    return policy.intercepts(page, at: now)
  }

  /// Whether interception is off for every page.
  public func isKilled(at milliseconds: Int64) -> Bool {
    policy.isKilled(at: Instant(milliseconds: milliseconds))
  }

  /// Whether hosts are looked up by a service over HTTP, where the app names one; otherwise by the system alone.
  public var usesHTTPDNS: Bool { policy.usesHTTPDNS }

  /// When interception comes back by itself, in milliseconds since 1970; nil where it is on or stays off.
  public var killedUntil: Int64? { policy.intercept ? nil : policy.until?.milliseconds }

  /// The patterns of pages that are left alone, lapsed ones too.
  public var bypass: [String] { policy.bypass.map(\.pattern.text) }

  /// In the policy's order.
  public var scripts: [Script] {
    policy.scripts.map {
      Script(name: $0.name, download: $0.download, sha256: $0.sha256.hex, signature: $0.signature)
    }
  }
}
