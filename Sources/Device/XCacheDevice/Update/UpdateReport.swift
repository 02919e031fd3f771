import System

/// The result of an update.
public struct UpdateReport: Hashable, Sendable {
  /// How the device got what it holds now.
  public enum Kind: String, Hashable, Sendable {
    /// It didn't poll: it was too early (see `wait`), or there is no network.
    case notDue
    /// There is nothing newer.
    case nothing
    /// A patch turned the held manifest into the next one.
    case patch
    /// A pack brought files and manifest together.
    case pack
    /// A whole manifest was fetched.
    case whole
  }

  /// The server that was polled.
  public enum Source: String, Hashable, Sendable {
    /// The origin.
    case origin
    /// Its static copy on the CDN.
    case fallback
  }

  /// How the device got to `to`, or why it didn't change.
  public let kind: Kind
  /// The server that was polled; nil if none was.
  public internal(set) var source: Source?
  /// The milliseconds until the next poll is due, if it was too early.
  public internal(set) var wait: Int64 = 0
  /// The manifest version that the answer named; nil if no server was polled.
  public internal(set) var polled: String?
  /// The version held before; `0` if there was none.
  public let from: String
  /// The version held now.
  public let to: String
  /// Listed files; each counts in one of `fetched`, `copied`, `kept`, `missing`, `backlog` and `lazy`.
  public internal(set) var files = 0
  /// Files fetched over the network; two URLs with equal bytes count once.
  public internal(set) var fetched = 0
  /// Files copied from bytes that the device already held, or that were fetched for another file.
  public internal(set) var copied = 0
  /// Listed files that stayed in place.
  public internal(set) var kept = 0
  /// Listed files that the device doesn't have, since they didn't change or there is no room for them; a page's request
  /// or `complete` fetches them.
  public internal(set) var missing = 0
  /// Files left for later, since the conditions don't allow large updates; they are fetched when a page requests them, or
  /// under better conditions.
  public internal(set) var backlog = 0
  /// Files that the release leaves out of updates, and that the device doesn't have: a page's request, or `complete`, fetches
  /// them.
  public internal(set) var lazy = 0
  /// Listed files of hosts that aren't in the app's list, which are ignored.
  public internal(set) var passedOver = 0
  /// The bytes of the fetched files as received over the network, so fewer than their sizes if they were coded.
  public internal(set) var bytesFetched: Int64 = 0
  /// How many of the fetched files were made from a delta over a file that the device held.
  public internal(set) var deltas = 0
  /// Deltas that failed, after which the plain body was fetched.
  public internal(set) var deltasFailed = 0
  /// The result of the offered pack, or of a first pack; nil if there was none.
  public internal(set) var pack: PackReport?
  /// The bytes that gzip bodies of the fetched files would have taken; nil unless the settings ask for it.
  public internal(set) var bytesByGzip: Int64?
  /// The total bytes of all listed files.
  public internal(set) var bytesTotal: Int64 = 0
  /// The changes to the prefetch config and the policy.
  public internal(set) var documents = DocumentReport()

  init(_ kind: Kind, from: String, to: String) {
    self.kind = kind
    self.from = from
    self.to = to
  }

  /// Adds what came after the switch.
  /// - Parameters:
  ///   - left: the files that are still in the backlog.
  ///   - lost: those that can't be had, and won't be asked for again before a page does.
  mutating func add(_ result: BacklogResult, left: Int, lost: Int) {
    bytesFetched = bytesFetched.addingClamped(result.bytes)
    pack = result.pack ?? pack
    // Copies are of files that were fetched for others, which an update counts as copied from the start.
    if from == "0", from != to {
      // Pages may have fetched some.
      fetched += backlog - left - lost
      missing += lost
      backlog = left
    } else {
      fetched += result.fetched
      missing -= min(missing, result.fetched)
    }
  }
}

/// The result of installing a pack.
public struct PackReport: Hashable, Sendable {
  /// The bytes of it received over the network.
  public internal(set) var bytes: Int64 = 0
  /// Files made from it.
  public internal(set) var files = 0
  /// Files in it that the device already had.
  public internal(set) var ready = 0
  /// How often the download was resumed, after a broken connection or a restart of the app.
  public internal(set) var resumed = 0
  /// Why it couldn't be used, after which the patch was requested, or files one by one where it was a first pack; nil if it was used
  /// or abandoned.
  public internal(set) var failure: String?
}

/// The progress of an update or a completion. During the download of a pack, bytes are those of the pack.
public struct Progress: Hashable, Sendable {
  /// Files fetched so far.
  public internal(set) var files = 0
  /// Files to fetch.
  public let filesTotal: Int
  /// The bytes of those files so far, decoded.
  public internal(set) var bytes: Int64 = 0
  /// The total bytes of all files to fetch.
  public let bytesTotal: Int64
}

/// The result of a completion.
public struct CompletionReport: Hashable, Sendable {
  /// Listed files that were present and correct.
  public internal(set) var right = 0
  /// Files that were present with bytes other than listed; once repaired, they also count as fetched or copied.
  public internal(set) var wrong = 0
  /// Files fetched over the network.
  public internal(set) var fetched = 0
  /// Files copied from bytes that the device held under another name, or had set aside.
  public internal(set) var copied = 0
  /// The bytes of the fetched files as received over the network.
  public internal(set) var bytesFetched: Int64 = 0
}

/// What an update did to the documents besides the manifest.
public struct DocumentReport: Hashable, Sendable {
  /// The versions held before and now.
  public struct Change: Hashable, Sendable {
    /// The version held before; `0` if there was none.
    public let from: String
    /// The version held now.
    public let to: String
  }

  /// The change of the policy; nil if there was none.
  public internal(set) var policy: Change?
  /// The change of the prefetch config; nil if there was none.
  public internal(set) var prefetch: Change?
  /// The change of the prefetch config that goes along with a rollout's candidate; nil if there was none.
  public internal(set) var candidatePrefetch: Change?
  /// Why a new document couldn't be fetched or saved; the next poll tries again.
  public internal(set) var failures: [DeviceError] = []
}

/// The result of installing a preset zip.
public struct PresetReport: Hashable, Sendable {
  /// Whether the zip was installed; false, with nothing changed, if the device already holds its version or a newer one.
  public let isTaken: Bool
  /// The zip's manifest version.
  public let version: String
  /// The version held before; `0` if there was none.
  public let from: String
  /// Files taken from the zip.
  public internal(set) var files = 0
  /// The bytes of those files.
  public internal(set) var bytes: Int64 = 0
  /// Files copied from bytes that the device already held, and listed files that stayed in place.
  public internal(set) var held = 0

  init(isTaken: Bool, version: String, from: String) {
    self.isTaken = isTaken
    self.version = version
    self.from = from
  }
}
