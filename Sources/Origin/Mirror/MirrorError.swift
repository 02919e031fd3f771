import HTTPClient
import Store
import System
import Trust

/// Why a mirror couldn't be written, read or restored from; `description` is for people.
package enum MirrorError: Error, Sendable {
  case system(SystemError)
  case store(StoreError)
  /// Thrown when there is no complete answer; for an origin, `message` says what to do.
  case unreachable(url: String, HTTPClientError, message: String? = nil)
  /// Thrown when a server answers with a failure, with its message if it gave one.
  case refused(url: String, status: Int, message: String)
  /// Thrown when the server isn't an origin: `found` says what was missing, `status` is the answer's.
  case notAnOrigin(url: String, found: String, status: Int)
  /// Thrown when `mirror.json` isn't one.
  case noIndex(place: String, reason: String)
  /// Thrown when a document isn't what its name promises.
  case unreadable(path: String, reason: String)
  /// Thrown when no channel of a mirror can be restored, with the first damaged document.
  case damagedMirror(path: String, reason: String)
  /// Thrown when a file that a manifest names doesn't exist.
  case lacksFile(path: String)
  /// Thrown when bytes don't have the expected sha256 or size.
  case wrongBytes(path: String)
  /// Thrown when the origin has lost the bytes of a file.
  case lost(path: String)
  /// Thrown when files that a channel needs are damaged or gone.
  case damaged([MirroredResource])
  /// Thrown when another run is working on the same mirror.
  case locked(place: String, process: Int32?)
  /// Thrown when there is no mirror.
  case noMirror(place: String)
  /// Thrown when the mirror belongs to another origin.
  case otherOrigin(place: String)
  /// Thrown when a newer xcache wrote the copy.
  case newer(place: String)
  /// Thrown when the copy contains channels that the run isn't about and no `mirror.json` lists.
  case unlistedChannels(place: String, [MirroredChannel])
  /// Thrown when there is nothing to mirror.
  case noChannel(String)
  /// Thrown when a given name isn't that of any channel of the copy or the origin.
  case unknownName(String, known: [MirroredChannel])
  /// Thrown when the origin ended the run's lease, and what failed then: a purge does so.
  case interrupted(String)
  /// Thrown when the mirror kept being written while it was read.
  case keepsChanging(place: String)
  /// Thrown when a copy's documents aren't what devices would take, so that no head is signed for them.
  case unsound(MirroredChannel, [Divergence])
  /// Thrown when the root in force doesn't name a key for heads.
  case unlistedKey(MirroredChannel, KeyID, RootNumber)
  /// Thrown when a destination's address or settings can't be used.
  case badPlace(String)

  /// Whether the cause is that a server couldn't be reached, or failed temporarily.
  var isOutage: Bool {
    switch self {
    case .unreachable: true
    case .refused(_, let status, _), .notAnOrigin(_, _, let status): status >= 500
    default: false
    }
  }

  /// Why this one file can't be read, where others in the same place may be; nil if it isn't about a single file.
  var refusal: Divergence.Kind? {
    switch self {
    case .system(let error) where error.isOfFile: .unreadable(error.reason)
    case .refused(_, let status, _) where status < 500: .refused(status)
    default: nil
    }
  }

  /// Whether the origin says that it has no such lease.
  var isLostLease: Bool {
    switch self {
    case .refused(_, 404, _), .store(.unknownLease): true
    default: false
    }
  }

  /// Whether the origin doesn't have the document.
  var isAbsence: Bool {
    switch self {
    case .refused(_, 404, _), .notAnOrigin(_, _, 404), .store(.unknownVersion), .store(.noVersion): true
    default: false
    }
  }

  /// Whether a file's bytes at the origin are damaged or gone.
  var isDamage: Bool {
    switch self {
    case .lost, .damaged, .wrongBytes, .lacksFile, .store(.corruptBlob), .store(.unknownBlob): true
    // "EIO: I/O error": the disk can't read the bytes.
    case .system(let error): error.code == .ioError && ["read", "pread"].contains(error.call.description)
    default: false
    }
  }

  /// Runs a disk operation, and converts its error.
  static func disk<Result: ~Copyable>(_ body: () throws(SystemError) -> Result) throws(MirrorError) -> Result
  {
    do {
      return try body()
    } catch {
      throw .system(error)
    }
  }

  /// Runs a store operation, and converts its error.
  static func store<Result: ~Copyable>(_ body: () throws(StoreError) -> Result) throws(MirrorError) -> Result
  {
    do {
      return try body()
    } catch {
      throw .store(error)
    }
  }
}

extension MirrorError: CustomStringConvertible {
  /// What is wrong, where, and what to do.
  package var description: String {
    switch self {
    case .system(let error): error.description
    case .store(let error): error.description
    case .unreachable(let url, let error, let message): message ?? "\(url): \(error)"
    case .refused(let url, let status, let words):
      "\(url) answered \(status)\(words.isEmpty ? "" : ": \(words)")"
    case .notAnOrigin(let url, let found, _): "\(url) doesn't answer like an xcache origin: \(found)"
    case .noIndex(let place, let reason):
      "no mirror at \(place): \(place)/mirror.json \(reason)"
        + (place.contains("://")
          ? "; the address of a copy is the one that devices download from, with its path"
          : "; where its origin still runs, a run of `xcache mirror` writes it anew")
    case .unreadable(let path, let reason): "\(path) can't be read: \(reason)"
    case .damagedMirror(let path, let reason):
      "nothing was restored: \(path) can't be read: \(reason); restore from another copy or a backup. Where the origin "
        + "still runs, `xcache mirror --repair --to DIR` repairs this copy"
    case .lacksFile(let path): "the mirror lacks \(path), which one of its manifests names"
    case .wrongBytes(let path):
      "\(path) has other bytes than its manifest says; `xcache doctor` shows where"
    case .lost(let path): "the origin's file \(path) is damaged or missing"
    case .damaged(let files):
      "damaged or missing at the origin: \(files.map(\.path.text).joined(separator: ", ")); publish them again"
    case .locked(let place, let process):
      "another run is using \(place)\(process.map { " (process \($0))" } ?? ""); wait for it, or end it"
    case .noMirror(let place): "no mirror at \(place): mirror.json is missing"
    case .otherOrigin(let place):
      "\(place) is the mirror of another origin; use another place, or delete its mirror.json to take it over"
    case .newer(let place): "\(place) was written by a newer xcache; use that version to update it"
    case .unlistedChannels(let place, let channels):
      "mirror.json of \(place) is missing or damaged, so a run for some channels would drop the others that are "
        + "in it (\(channels.map(\.description).joined(separator: ", "))); run once without --channel and --app, with a "
        + "token that may read all of them"
    case .noChannel(let what): "there is nothing to mirror: \(what)"
    case .unknownName(let words, let known):
      "no channel of the copy, or of an origin that was asked, is \(words); there is "
        + known.map(\.description).joined(separator: ", ")
    case .interrupted(let reason):
      "the origin ended this run's lease, probably for a purge (\(reason)); run it again: what is copied already is kept"
    case .keepsChanging(let place): "\(place) kept changing while it was read; try again later"
    case .unsound(let channel, let divergences):
      "no head was signed, because devices would refuse what the copy has of \(channel): "
        + divergences.prefix(5).map { "\($0.path): \($0.message)" }.joined(separator: "; ")
        + (divergences.count > 5
          ? "; and \(divergences.count - 5) more, which `xcache mirror verify` lists" : "")
    case .unlistedKey(let channel, let key, let number):
      "no head was signed: root \(number) of app \(channel.app) doesn't name the key \(key) for heads; "
        + "`xcache trust rotate-head` makes a root that does"
    case .badPlace(let words): words
    }
  }
}
