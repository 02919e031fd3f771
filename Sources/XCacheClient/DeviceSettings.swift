/// Which channel a device follows, and where it keeps what it gets.
public struct DeviceSettings: Hashable, Sendable {
  /// The device's folder; made where it is missing, used by one process at a time.
  public var folder: String
  /// The origin's address, such as `https://xcache.example.com`, with or without a path.
  public var server: String
  /// The app's name.
  public var app: String
  /// The channel's name, `online` where the app doesn't say.
  public var channel: String
  /// The address of the static copy that is asked once the origin has failed five times in a row.
  public var fallback: String?
  /// Files fetched at a time.
  public var connections = 6
  /// Bytes that the listed and the set-aside files may take together; nil: as many as the disk has.
  ///
  /// Set-aside files go first. While an update runs, the files of both manifests are there.
  public var diskLimit: Int64?
  /// Bytes of a manifest, decoded, above which it is refused.
  public var manifestLimit: Int64 = 256 << 20
  /// Whether an update also works out what it would have cost by gzip; that takes time, and no device needs it.
  public var comparesWithGzip = false
  /// The Ed25519 public key, 32 bytes, by which the policy's scripts are signed; nil: the app injects none.
  public var scriptKey: [UInt8]?
  /// Milliseconds before the second attempt to fetch a file, the third, and so on.
  public var retryPauses: [UInt32] = [200, 800]

  /// Settings for `channel` of `app` at `server`, kept in `folder`.
  public init(folder: String, server: String, app: String, channel: String = "online") {
    self.folder = folder
    self.server = server
    self.app = app
    self.channel = channel
  }
}
