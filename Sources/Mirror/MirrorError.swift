import HTTPClient
import Store
import System

/// Why a mirror could not be made, read or restored from; `description` says it to people.
package enum MirrorError: Error, Sendable {
  case system(SystemError)
  case store(StoreError)
  /// Thrown when there is no whole answer.
  case unreachable(url: String, HTTPClientError)
  /// Thrown when a server answers with a failure; its own words where it gave some.
  case refused(url: String, status: Int, words: String)
  /// Thrown when a document isn't what its name says.
  case unreadable(path: String, reason: String)
  /// Thrown when no channel of a mirror can be restored; with the first document that is damaged.
  case damagedMirror(path: String, reason: String)
  /// Thrown when a file isn't there that a manifest names.
  case lacksFile(path: String)
  /// Thrown when bytes have another sha256 or size than was said of them.
  case wrongBytes(path: String)
  /// Thrown when the origin doesn't have the bytes of a file any more.
  case lost(path: String)
  /// Thrown when files are damaged or gone that a channel can't do without.
  case damaged([MirroredResource])
  /// Thrown when another run works on the same mirror.
  case locked(place: String, process: Int32?)
  /// Thrown when no mirror is there.
  case noMirror(place: String)
  /// Thrown when the mirror is another origin's.
  case otherOrigin(place: String)
  /// Thrown when a newer xcache wrote the copy.
  case newer(place: String)
  /// Thrown when no `mirror.json` tells of channels that are in the copy and that the run isn't about.
  case untold(place: String, [MirroredChannel])
  /// Thrown when nothing was found to mirror.
  case noChannel(String)
  /// Thrown when a name that was given is no channel's, of the copy or of the origin.
  case unknownName(String, known: [MirroredChannel])
  /// Thrown when the mirror was written again and again while it was read.
  case keepsChanging(place: String)
  /// Thrown when a destination's address or settings can't be used.
  case badPlace(String)

  /// Whether a server that could not be reached, or had a bad time, is the cause.
  var isOutage: Bool {
    switch self {
    case .unreachable: true
    case .refused(_, let status, _): status >= 500
    default: false
    }
  }

  /// Whether a file's bytes at the origin turned out to be damaged or gone.
  var isDamage: Bool {
    switch self {
    case .lost, .damaged, .wrongBytes, .lacksFile, .store(.corruptBlob), .store(.unknownBlob): true
    // "EIO: I/O error": the disk can't read it back.
    case .system(let error): error.code == .ioError && ["read", "pread"].contains(error.call.description)
    default: false
    }
  }

  /// Runs a call on the disk and says its error as this type.
  static func disk<Result: ~Copyable>(_ body: () throws(SystemError) -> Result) throws(MirrorError) -> Result
  {
    do {
      return try body()
    } catch {
      throw .system(error)
    }
  }

  /// Runs a call on the store and says its error as this type.
  static func store<Result: ~Copyable>(_ body: () throws(StoreError) -> Result) throws(MirrorError) -> Result
  {
    do {
      return try body()
    } catch {
      throw .store(error)
    }
  }
}
