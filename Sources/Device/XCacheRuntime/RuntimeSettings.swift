import HTTPDNS
import XCacheDevice

/// The settings that an app starts a runtime with.
public struct RuntimeSettings: Sendable {
  /// The channel, the folder, the app's hosts, and limits. If `diskLimit` is nil when these settings are made, it becomes
  /// 100 MB.
  public var device: DeviceSettings
  /// The most bytes of files kept in memory; files over 1 MB never are.
  public var memoryLimit = 10 << 20
  /// A zip that ships with the app, the origin's `bundle/N.zip`. It is taken at the first start of each build of the app,
  /// and whenever the file changes, if it is newer than what was downloaded. `Runtime.presetFault` says why it couldn't be
  /// used.
  public var preset: String?
  /// Identifies the build of the app; a new build switches interception back on after crashes.
  public var build = ""
  /// The milliseconds within which a page answered from the device has to come up, 1 to 600,000.
  public var pageDeadline: Int64 = 10_000

  /// Whether the device goes back by itself to the version before if the first pages of a new one fail, or the app ends while they start.
  /// Turn it off only if the app doesn't tell which pages come up.
  public var goesBack = true
  /// The milliseconds that a process has to live after a page came up, so that its version has proved itself.
  package var proofDelay: Int64 = 10_000

  /// Resolves host names; use the same one as in the transport. The policy may switch it off. The hosts of the manifest
  /// held are looked up at the start.
  public var names: HTTPDNSResolver?
  /// Sends the calls that the prefetch config names, on behalf of pages; if nil, none are sent ahead.
  public var fetcher: PageFetcher?

  /// Creates settings for `device`.
  public init(_ device: DeviceSettings) {
    self.device = device
    if device.diskLimit == nil { self.device.diskLimit = 100 << 20 }
  }
}

/// Something that happened in a runtime; events arrive in the order in which they happen.
public enum RuntimeEvent: Sendable {
  /// A newer version was found and is being fetched.
  case updateFound(version: String)
  /// How far the download has come.
  case progress(Progress)
  /// Pages opened from now on get this version.
  case switched(from: String, to: String)
  /// Every file of this version is here, but for lazy ones: pages of it need no network. Sent once for each version, after the switch to
  /// it; also for a version that was held before the start, once an update has found nothing newer.
  case completed(version: String)
  /// An update, or a file that a page waited for, couldn't be fetched; what was held stays.
  case failed(DeviceError)
  /// The policy changed.
  case policyChanged(version: String)
  /// A page failed to load twice in a row; it goes to the network until the next version.
  case pageFailed(url: String, version: String)
  /// The device went back to the version before, and skips the other one until there is a higher one. `reason` is what the app said to
  /// `Runtime.reject`; it is empty otherwise. If it happened at the start, nobody was listening yet.
  case returned(from: String, to: String, cause: ReturnCause, reason: String)
}

/// How often each thing happened since the runtime was started.
public struct RuntimeCounts: Hashable, Sendable {
  /// Requests answered from memory.
  public internal(set) var memory = 0
  /// Requests answered from the disk, or by fetching a listed file.
  public internal(set) var disk = 0
  /// Listed files that were missing or damaged when a page asked for them, and so were copied or fetched.
  public internal(set) var misses = 0
  /// Files evicted from memory.
  public internal(set) var evictions = 0
  /// Listed files evicted from the disk because of its limit.
  public internal(set) var diskEvictions = 0
  /// Requests that went to the network, by reason.
  public internal(set) var passed: [PassReason: Int] = [:]
  /// Bytes of files in memory.
  public internal(set) var memoryBytes = 0
}
