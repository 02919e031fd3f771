import Manifests
import System

/// A listed file, open and verified; updates don't change it while it is open.
public final class LocalResource: Sendable {
  /// The URL under which the manifest lists it.
  public let url: String
  /// The media type with its parameters, e.g. `application/javascript;charset=UTF-8`.
  public let contentType: String
  /// The other headers of an answer with its bytes: the page's own security headers, and `X-Content-Type-Options:
  /// nosniff`.
  public let headers: [String: String]
  /// The size in bytes.
  public let size: Int64
  /// The SHA-256 in hexadecimal.
  public let sha256: String
  private let file: Descriptor
  /// The open file's descriptor, valid as long as this object lives.
  package var descriptor: Int32 { file.raw }

  init(_ entry: HeldEntry, _ file: consuming Descriptor) {
    url = entry.url.text
    contentType = entry.contentType
    var headers = ["X-Content-Type-Options": "nosniff"]
    for field in entry.headers.fields { headers[field.name.rawValue] = field.value.text }
    self.headers = headers
    size = entry.size
    sha256 = entry.sha256.hex
    self.file = file
  }

  /// Returns at most `count` bytes from `offset` on; fewer only at the end.
  ///
  /// - Throws: `file`.
  public func read(at offset: Int64 = 0, count: Int = .max) throws(DeviceError) -> [UInt8] {
    let length = Int(max(0, min(Int64(count), size - max(0, offset))))
    var bytes = [UInt8](repeating: 0, count: length)
    var filled = 0
    while filled < length {
      let step: Result<Int, SystemError> = bytes.withUnsafeMutableBytes { buffer in
        let rest = UnsafeMutableRawBufferPointer(rebasing: buffer[filled...])
        return Result { () throws(SystemError) in
          try Kernel.read(file, at: max(0, offset) + Int64(filled), into: rest)
        }
      }
      let read = try onDisk(url) { () throws(SystemError) in try step.get() }
      if read == 0 { break }
      filled += read
    }
    bytes.removeLast(length - filled)
    return bytes
  }
}
