import HTTPDNS
import XCacheClient

/// What an app tells the runtime at its start.
public struct RuntimeSettings: Sendable {
  /// The channel, the folder, the app's hosts, and limits: 100 MB on the disk where `diskLimit` doesn't say otherwise when
  /// these settings are made.
  public var device: DeviceSettings
  /// Bytes of files that are kept in memory; those with more than 1 MB never are.
  public var memoryLimit = 10 << 20
  /// A zip that the app ships, the origin's `bundle/N.zip`: taken at the first start of each build of the app, and when the file
  /// is another one, where it is newer than what was downloaded. `Runtime.presetFault` says why it couldn't be used.
  public var preset: String?
  /// Says which build of the app this is: another one is another chance for what was off after crashes.
  public var build = ""
  /// Milliseconds in which a page that was answered from the device has to come up, 1 to 600,000.
  public var pageDeadline: Int64 = 10_000

  /// Says where hosts are, the same one as in the transport; the policy may switch it off. The hosts of what is held are
  /// looked up at the start.
  public var names: HTTPDNSResolver?
  /// Makes requests on behalf of pages: the calls that the prefetch config names; nil: none are sent ahead.
  public var fetcher: PageFetcher?

  /// Settings for `device`.
  public init(_ device: DeviceSettings) {
    self.device = device
    if device.diskLimit == nil { self.device.diskLimit = 100 << 20 }
  }
}

/// What happens in a runtime, in the order in which it happens.
public enum RuntimeEvent: Sendable {
  /// A newer version is there; it is being fetched.
  case updateFound(version: String)
  /// How far the fetching is.
  case progress(Progress)
  /// Pages that are opened from now on get this version.
  case switched(from: String, to: String)
  /// An update, or a file that a page waited for, couldn't be had; what was held is held on.
  case failed(ClientError)
  /// The policy is another one now.
  case policyChanged(version: String)
  /// A page failed to load twice in a row; it goes to the network until the next version.
  case pageFailed(url: String, version: String)
}

/// How often what happened, since the runtime was started.
public struct RuntimeCounts: Hashable, Sendable {
  /// Requests that were answered from memory.
  public internal(set) var memory = 0
  /// Requests that were answered from the disk, or by a fetch of a listed file.
  public internal(set) var disk = 0
  /// Listed files that weren't there, or were damaged, when a page asked: they were copied or fetched.
  public internal(set) var misses = 0
  /// Files that made way in memory.
  public internal(set) var evictions = 0
  /// Listed files that made way on the disk, because of its limit.
  public internal(set) var diskEvictions = 0
  /// Requests that went to the network, by the reason.
  public internal(set) var passed: [PassReason: Int] = [:]
  /// Bytes of files in memory.
  public internal(set) var memoryBytes = 0
}
