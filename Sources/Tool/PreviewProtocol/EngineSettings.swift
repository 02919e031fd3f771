/// The settings of a run, the first line that the program reads.
public struct EngineSettings: Codable, Hashable, Sendable {
  /// Limits of the network that pages see.
  public struct Network: Codable, Hashable, Sendable {
    /// Milliseconds before an answer starts.
    public let delay: Double
    /// The bandwidth for everything received.
    public let kilobitsPerSecond: Double

    /// Creates the limits.
    public init(delay: Double, kilobitsPerSecond: Double) {
      self.delay = delay
      self.kilobitsPerSecond = kilobitsPerSecond
    }

    /// Writes the limits, whole numbers without a fraction.
    public func encode(to encoder: any Encoder) throws {
      var line = encoder.container(keyedBy: CodingKeys.self)
      try line.encode(number: delay, forKey: .delay)
      try line.encode(number: kilobitsPerSecond, forKey: .kilobitsPerSecond)
    }
  }

  /// The device folder that holds the release.
  public let folder: String
  /// The origin's URL. It is never polled; only listed files that are missing in the folder are fetched.
  public let server: String
  /// The app's name.
  public let app: String
  /// The channel's name; `online` if it is missing.
  public let channel: String?
  /// The hosts that the device answers for.
  public let hosts: [String]
  /// Nil for the full speed of the network.
  public var network: Network?
  /// Whether all access to the network is blocked.
  public var offline: Bool?
  /// Whether the device answers at all; true if it is missing.
  public var local: Bool?
  /// The width of the view, in CSS pixels.
  public var width: Int?
  /// The height of the view, in CSS pixels.
  public var height: Int?
  /// The number of pages open at a time.
  public var parallel: Int?
  /// Megabytes that a page's process may take; 2,048 if it is missing.
  public var memory: Int?
  /// Whether all access to the network is blocked, and files of `hosts` that the device doesn't hold are answered with 404.
  public var confined: Bool?
  /// A PEM file of the certificates to trust for servers of `hosts`, instead of the system's.
  public var authorities: String?
  /// Addresses of hosts by name, used instead of the system's.
  public var addresses: [String: String]?

  /// Creates settings; what isn't set has the program's default.
  public init(folder: String, server: String, app: String, channel: String, hosts: [String]) {
    self.folder = folder
    self.server = server
    self.app = app
    self.channel = channel
    self.hosts = hosts
  }

  /// Writes the settings; without a limit of the network, it is `null`.
  public func encode(to encoder: any Encoder) throws {
    var line = encoder.container(keyedBy: CodingKeys.self)
    try line.encode(folder, forKey: .folder)
    try line.encode(server, forKey: .server)
    try line.encode(app, forKey: .app)
    try line.encodeIfPresent(channel, forKey: .channel)
    try line.encode(hosts, forKey: .hosts)
    try line.encode(network, forKey: .network)
    try line.encodeIfPresent(offline, forKey: .offline)
    try line.encodeIfPresent(local, forKey: .local)
    try line.encodeIfPresent(width, forKey: .width)
    try line.encodeIfPresent(height, forKey: .height)
    try line.encodeIfPresent(parallel, forKey: .parallel)
    try line.encodeIfPresent(memory, forKey: .memory)
    try line.encodeIfPresent(confined, forKey: .confined)
    try line.encodeIfPresent(authorities, forKey: .authorities)
    try line.encodeIfPresent(addresses, forKey: .addresses)
  }
}

/// A page to open.
public struct EngineJob: Codable, Hashable, Sendable {
  /// The number that the report repeats.
  public let id: Int
  /// The page's URL.
  public let url: String
  /// The path for a screenshot; nil for none.
  public let screenshot: String?
  /// In seconds; 30 if it is missing.
  public let timeout: Double?

  /// Creates a job; `timeout` is in seconds.
  public init(id: Int, url: String, screenshot: String?, timeout: Int) {
    self.id = id
    self.url = url
    self.screenshot = screenshot
    self.timeout = Double(timeout)
  }

  /// Writes the job; without a screenshot, it is `null`.
  public func encode(to encoder: any Encoder) throws {
    var line = encoder.container(keyedBy: CodingKeys.self)
    try line.encode(id, forKey: .id)
    try line.encode(url, forKey: .url)
    try line.encode(screenshot, forKey: .screenshot)
    if let timeout { try line.encode(number: timeout, forKey: .timeout) }
  }
}

extension KeyedEncodingContainer {
  /// Writes a number, one that is whole without a fraction: 400, not 400.0.
  fileprivate mutating func encode(number: Double, forKey key: Key) throws {
    if let whole = Int64(exactly: number) {
      try encode(whole, forKey: key)
    } else {
      try encode(number, forKey: key)
    }
  }
}
