import System

/// Why a device could not do what it was asked; nothing it held before is lost or changed by it.
public enum ClientError: Error, Hashable, Sendable {
  /// Thrown when a server could not be reached, or its answer didn't arrive whole.
  case noAnswer(url: String, TransportError)
  /// Thrown for an HTTP status other than 200, or a document whose `code` is another; `message` is the
  /// server's, where it gave one.
  case status(url: String, code: Int, message: String?)
  /// Thrown when a document isn't what the design says; `reason` names the place.
  case unreadable(url: String, reason: String)
  /// Thrown when a manifest's `digest` is not that of the resourcemap it leads to.
  case wrongDigest(url: String, version: String, expected: String, computed: String)
  /// Thrown when a manifest's entry can't be kept safely: its `download` isn't an http(s) URL, or gives no
  /// safe file name.
  case unsafeEntry(url: String, download: String)
  /// Thrown when two entries with different bytes want one file name.
  case sameName(name: String, urls: [String])
  /// Thrown when what came from `download` is not the bytes that the manifest lists.
  case wrongBytes(url: String, download: String, expected: Bytes, received: Bytes)
  /// Thrown when more came from `download` than the `size` bytes that the manifest lists.
  case tooLong(url: String, download: String, size: Int64)
  /// Thrown when a preset zip can't be used; `reason` says what is wrong with it.
  case preset(path: String, reason: String)
  /// Thrown when the app's folder would take more bytes than it may, set-aside files not counted.
  case overLimit(needed: Int64, limit: Int64)
  /// Thrown when another process has the device's folder open.
  case inUse(folder: String, process: Int32?)
  /// Thrown when the folder is that of another app or channel.
  case otherContents(folder: String, holds: String, asked: String)
  /// Thrown when a setting can't be right, such as a server without scheme.
  case badSetting(name: String, value: String)
  /// Thrown when the kernel refused: `call` is the system call, `code` its errno, `reason` the kernel's words.
  case file(path: String, call: String, code: Int32, reason: String)

  /// What is known of a file's bytes.
  public struct Bytes: Hashable, Sendable {
    /// 32 hexadecimal digits.
    public let md5: String
    /// 64 hexadecimal digits.
    public let sha256: String
    /// How many there are.
    public let size: Int64

    init(_ digest: FileDigest) {
      md5 = digest.md5.hex
      sha256 = digest.sha256.hex
      size = digest.size
    }
  }

  init(_ error: SystemError, path: String) {
    self = .file(
      path: error.subject ?? path, call: "\(error.call)", code: error.code.rawValue, reason: error.reason)
  }
}
