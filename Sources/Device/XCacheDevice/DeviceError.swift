import System
import Values

/// An error that stopped a device from doing what it was asked; what it held before is neither lost nor changed.
public enum DeviceError: Error, Hashable, Sendable {
  /// Thrown when a server couldn't be reached, or its answer was cut short.
  case noAnswer(url: String, TransportError)
  /// Thrown for an HTTP status other than 200, or a document whose `code` isn't 200; `message` is the server's, if it
  /// gave one.
  case status(url: String, code: Int, message: String?)
  /// Thrown when a document doesn't follow the protocol; `reason` names the place.
  case unreadable(url: String, reason: String)
  /// Thrown when a manifest's `digest` doesn't match the resourcemap that it leads to.
  case wrongDigest(url: String, version: String, expected: String, computed: String)
  /// Thrown when a manifest's entry can't be kept safely: its `download` isn't an http(s) URL, or doesn't end in a
  /// safe file name.
  case unsafeEntry(url: String, download: String)
  /// Thrown when two entries with different bytes need the same file name.
  case sameName(name: String, urls: [String])
  /// Thrown when what `url` offers as `version` isn't what the app's publisher signed. `check` names the check that failed, such
  /// as `release-key`: docs/protocol.md §14 lists them. Nothing of the offer was taken.
  case untrusted(url: String, version: String, check: String)
  /// Thrown when the bytes received from `download` aren't those that the manifest lists.
  case wrongBytes(url: String, download: String, expected: Bytes, received: Bytes)
  /// Thrown when `download` sent more than the `size` bytes that the manifest lists.
  case tooLong(url: String, download: String, size: Int64)
  /// Thrown when a preset zip can't be used; `reason` says what is wrong with it.
  case preset(path: String, reason: String)
  /// Thrown when a zip's delta for `url` is damaged, or the device lacks its base file; `instead` names the origin's
  /// zips that contain the file itself.
  case presetDelta(path: String, url: String, instead: String)
  /// Thrown when the device has been closed.
  case closed(folder: String)
  /// Thrown when another process has the device's folder open.
  case inUse(folder: String, process: Int32?)
  /// Thrown when the folder belongs to another app or channel, or holds other files.
  case otherContents(folder: String, holds: String, asked: String)
  /// Thrown when a setting is invalid, such as a server without a scheme.
  case badSetting(name: String, value: String)
  /// Thrown when a system call failed: `call` is its name, `code` its errno, `reason` the kernel's message.
  case file(path: String, call: String, code: Int32, reason: String)

  /// The hashes and the size of a file.
  public struct Bytes: Hashable, Sendable {
    /// 32 hexadecimal digits.
    public let md5: String
    /// 64 hexadecimal digits.
    public let sha256: String
    /// In bytes.
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

extension DeviceError: CustomStringConvertible {
  /// What is wrong, where, and what to do about it, in one line: a server's words can't add another one, or anything that a
  /// terminal obeys.
  public var description: String { HumanText.line(words, limit: 20_000) }

  private var words: String {
    switch self {
    case .noAnswer(let url, let error):
      "\(url): \(error.reason). Check the address and the network, then try again."
    case .status(let url, let code, let message):
      "\(url) answered \(code)\(message.map { ": \(HumanText.line($0, limit: 500))" } ?? ""). \(Self.advice(for: code))"
    case .unreadable(let url, let reason):
      "The answer of \(url) can't be used: \(reason). Is this an xcache server?"
    case .wrongDigest(let url, let version, let expected, let computed):
      """
      The manifest \(version) of \(url) has digest \(computed), but says \(expected); \
      nothing was changed. Something between here and the server alters answers.
      """
    case .unsafeEntry(let url, let download):
      "The manifest lists \(url) with the download \(download), which is not an http(s) URL with a safe file name."
    case .sameName(let name, let urls):
      "The manifest lists different bytes under the one file name \(name): \(urls.joined(separator: ", "))."
    case .untrusted(let url, let version, let check):
      """
      Version \(version) of \(url) isn't what the app's publisher signed (\(check)); nothing was changed. \
      \(Self.words(of: check))
      """
    case .wrongBytes(let url, let download, let expected, let received):
      """
      \(download) sent other bytes than the manifest lists for \(url): \(Self.difference(expected, received)); \
      nothing was switched. If a CDN is in between, purge that URL there.
      """
    case .tooLong(let url, let download, let size):
      """
      \(download) sent more than the \(size) bytes that the manifest lists for \(url); nothing was switched. \
      If a CDN is in between, purge that URL there.
      """
    case .preset(let path, let reason):
      "\(path) can't be used as a preset: \(reason). Download it again from the origin's bundle/ path."
    case .presetDelta(let path, let url, let instead):
      """
      \(path) can't be used as a preset: its delta of \(url) is damaged, or the device lacks the file that it is over. \
      Fetch \(instead) from the origin's bundle/ path instead.
      """
    case .closed(let folder): "\(folder) was closed. Open it again."
    case .inUse(let folder, let process):
      """
      \(folder) is in use by \(process.map { "process \($0)" } ?? "another process"). \
      Wait until it has ended, or use another folder.
      """
    case .otherContents(let folder, let holds, let asked):
      "\(folder) holds \(holds), not \(asked). Use another folder, or remove this one."
    case .badSetting(let name, let value) where name.hasPrefix("The root"):
      "\(name) can't be used: \(value.hasPrefix("that of") ? "it is " : "")\(value)."
    case .badSetting(let name, let value):
      "\(name) can't be \"\(value)\"."
    case .file(let path, "mkdir", let code, _):
      "\(SystemError("mkdir", on: path, code: Errno(rawValue: code)))."
    case .file(let path, let call, _, let reason):
      "\(path): \(reason) (\(call))."
    }
  }

  /// What a check's name says.
  private static func words(of check: String) -> String {
    switch check {
    case "head-missing": "It comes without a head, by which the origin says what is current."
    case "root-missing": "The root that it names can't be had, or isn't there yet."
    case "release-missing": "A bundle of it has no statement of the publisher's."
    default: "Section 14 of docs/protocol.md says what each check is."
    }
  }

  private static func advice(for code: Int) -> String {
    switch code {
    case 404: "Check the app and channel names, and the address."
    case 401, 403: "Something in between requires a login."
    case 500...: "The server failed; try again later."
    default: "Check the address."
    }
  }

  private static func difference(_ expected: Bytes, _ received: Bytes) -> String {
    if expected.size != received.size { return "\(received.size) bytes instead of \(expected.size)" }
    if expected.sha256 != received.sha256 {
      return "sha256 \(received.sha256) instead of \(expected.sha256)"
    }
    return "md5 \(received.md5) instead of \(expected.md5)"
  }
}
