/// What an update did.
public struct UpdateReport: Hashable, Sendable {
  /// How the device came to what it holds now.
  public enum Kind: String, Hashable, Sendable {
    /// It didn't ask: too early, see `wait`.
    case notDue
    /// There is nothing newer.
    case nothing
    /// A patch turned the manifest held into the next one.
    case patch
    /// A pack, which brought files and manifest in one.
    case pack
    /// A whole manifest came.
    case whole
  }

  /// Who was asked.
  public enum Source: String, Hashable, Sendable {
    /// The origin.
    case origin
    /// Its static copy on the CDN.
    case fallback
  }

  /// How the device came to `to`, or why it stayed.
  public let kind: Kind
  /// Nil where nobody was asked.
  public internal(set) var source: Source?
  /// Milliseconds until the next poll is due, where this one wasn't.
  public internal(set) var wait: Int64 = 0
  /// The manifest version that the answer named; nil where nobody was asked.
  public internal(set) var polled: String?
  /// The version held before; `0`: none.
  public let from: String
  /// The version held now.
  public let to: String
  /// Listed files; each is one of `fetched`, `copied`, `kept`, `missing` and `backlog`.
  public internal(set) var files = 0
  /// Files that came over the network; two URLs with equal bytes are one.
  public internal(set) var fetched = 0
  /// Files made of bytes that the device held already, or that came for another one.
  public internal(set) var copied = 0
  /// Listed files that stayed as they were.
  public internal(set) var kept = 0
  /// Listed files that aren't there: they didn't change, or there is no room for them, so they wait until a page asks, or
  /// for `complete`.
  public internal(set) var missing = 0
  /// Files that were left for later, since the conditions don't allow large updates: they wait until a page asks, or for
  /// better conditions.
  public internal(set) var backlog = 0
  /// Listed files of hosts that the app doesn't name; they are passed over.
  public internal(set) var passedOver = 0
  /// Bytes of the fetched files as they came over the wire, so fewer than their sizes where they were coded.
  public internal(set) var bytesFetched: Int64 = 0
  /// Of the fetched files, those made of a delta on what the device held.
  public internal(set) var deltas = 0
  /// Deltas that were of no use, after which the plain body was fetched.
  public internal(set) var deltasFailed = 0
  /// What came of the pack that was offered; nil where none was.
  public internal(set) var pack: PackReport?
  /// Bytes that gzip bodies of the fetched files would have had; nil unless the settings ask for it.
  public internal(set) var bytesByGzip: Int64?
  /// Bytes of all listed files.
  public internal(set) var bytesTotal: Int64 = 0
  /// Prefetch config and policy.
  public internal(set) var documents = DocumentReport()

  init(_ kind: Kind, from: String, to: String) {
    self.kind = kind
    self.from = from
    self.to = to
  }
}

/// What came of a pack.
public struct PackReport: Hashable, Sendable {
  /// Bytes of it that came over the network.
  public internal(set) var bytes: Int64 = 0
  /// Files made of it.
  public internal(set) var files = 0
  /// Files in it that the device had already.
  public internal(set) var ready = 0
  /// How often it went on behind what had come: after a torn line, or a restart of the app.
  public internal(set) var resumed = 0
  /// Why it was of no use, after which the patch was asked for; nil where it served.
  public internal(set) var failure: String?
}

/// How far an update or a completion is. While a pack comes, bytes are those of the pack.
public struct Progress: Hashable, Sendable {
  /// Files fetched so far.
  public internal(set) var files = 0
  /// Files to fetch.
  public let filesTotal: Int
  /// Bytes of those files so far, decoded.
  public internal(set) var bytes: Int64 = 0
  /// Bytes of all files to fetch.
  public let bytesTotal: Int64
}

/// What a completion did.
public struct CompletionReport: Hashable, Sendable {
  /// Listed files that were there and right.
  public internal(set) var right = 0
  /// Files that were there with other bytes than listed; they are among the fetched and copied ones.
  public internal(set) var wrong = 0
  /// Files that came over the network.
  public internal(set) var fetched = 0
  /// Files made of bytes that the device held under another key, or had set aside.
  public internal(set) var copied = 0
  /// Bytes of the fetched files, as they came over the wire.
  public internal(set) var bytesFetched: Int64 = 0
}

/// What an update did to the documents beside the manifest.
public struct DocumentReport: Hashable, Sendable {
  /// The versions held before and now.
  public struct Change: Hashable, Sendable {
    /// `0` where none was held.
    public let from: String
    /// What the device has now.
    public let to: String
  }

  /// Nil where the policy stayed as it was.
  public internal(set) var policy: Change?
  /// Nil where the prefetch config stayed as it was.
  public internal(set) var prefetch: Change?
  /// Why a document that is new couldn't be had; the next poll tries again.
  public internal(set) var failures: [ClientError] = []
}

/// What became of a preset zip.
public struct PresetReport: Hashable, Sendable {
  /// False where the device holds the zip's version already, or a newer one; then nothing was changed.
  public let isTaken: Bool
  /// The zip's manifest version.
  public let version: String
  /// The version held before; `0`: none.
  public let from: String
  /// Files that came out of the zip.
  public internal(set) var files = 0
  /// Their bytes.
  public internal(set) var bytes: Int64 = 0
  /// Files made of bytes that the device held already, and listed files that stayed as they were.
  public internal(set) var held = 0

  init(isTaken: Bool, version: String, from: String) {
    self.isTaken = isTaken
    self.version = version
    self.from = from
  }
}
