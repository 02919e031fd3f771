import HTTP
import XCacheDevice

/// An answer made from a file on the device.
public struct LocalAnswer: Sendable {
  /// 200, 206, 304 or 416.
  public let status: Int
  /// In the order in which they should be sent; includes `Content-Length` if there is a body.
  public let headers: HTTPFields
  /// Empty for HEAD, 304 and 416.
  public let body: Body
  /// Whether it was answered without reading the disk.
  public let isFromMemory: Bool

  /// The body of an answer.
  public enum Body: Sendable {
    case empty
    case bytes([UInt8])
    /// The bytes of an open file from `start` on; read them off the main thread.
    case file(LocalResource, start: Int64, count: Int64)

    /// The number of bytes.
    public var count: Int64 {
      switch self {
      case .empty: 0
      case .bytes(let bytes): Int64(bytes.count)
      case .file(_, _, let count): count
      }
    }

    /// Returns all bytes at once.
    /// - Throws: `DeviceError.file`.
    public func collect() throws(DeviceError) -> [UInt8] {
      switch self {
      case .empty: []
      case .bytes(let bytes): bytes
      case .file(let resource, let start, let count):
        try resource.read(at: start, count: Int(clamping: count))
      }
    }
  }

  /// Returns the value of the first header with this name, in any case.
  @available(*, deprecated, message: "use headers[name]")
  public func header(_ name: String) -> String? { headers[name] }
}
