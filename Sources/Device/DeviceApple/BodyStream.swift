import Foundation
import System

#if !canImport(Darwin)
  import FoundationNetworking
#endif

/// The body of a request as a stream that reads the bytes as they are sent, so that a body of any size takes little memory.
enum BodyStream {
  typealias Read = @Sendable (_ offset: Int64, _ into: UnsafeMutableRawBufferPointer) throws -> Int

  /// The most bytes that wait to be sent.
  private static let room = 1 << 18

  #if canImport(Darwin)
    /// Opens a stream that a separate thread writes to; nil if the system has no thread left.
    static func open(_ length: Int64, _ read: @escaping Read) -> InputStream? {
      var input: InputStream?
      var output: OutputStream?
      Stream.getBoundStreams(withBufferSize: room, inputStream: &input, outputStream: &output)
      guard let output else { return nil }
      let end = Output(output)
      guard (try? OSThread(name: "request body") { end.write(length, read) }) != nil else { return nil }
      return input
    }

    /// Unchecked: only the writing thread uses it.
    private struct Output: @unchecked Sendable {  // see above
      private let stream: OutputStream

      init(_ stream: OutputStream) { self.stream = stream }

      /// Writes until everything is written or nobody reads any more. If `read` fails, the stream ends early, and the
      /// exchange with it.
      func write(_ length: Int64, _ read: Read) {
        stream.open()
        defer { stream.close() }
        var buffer = [UInt8](repeating: 0, count: room)
        var sent: Int64 = 0
        while sent < length {
          let wanted = Int(min(Int64(room), length - sent))
          let filled = try? buffer.withUnsafeMutableBytes { bytes in
            try read(sent, UnsafeMutableRawBufferPointer(rebasing: bytes[..<wanted]))
          }
          guard let filled, filled > 0, filled <= wanted, pass(buffer, filled) else { return }
          sent += Int64(filled)
        }
      }

      private func pass(_ buffer: [UInt8], _ count: Int) -> Bool {
        var done = 0
        while done < count {
          let written = buffer.withUnsafeBufferPointer { bytes -> Int in
            guard let start = bytes.baseAddress else { return 0 }
            return stream.write(start + done, maxLength: count - done)
          }
          guard written > 0 else { return false }
          done += written
        }
        return true
      }
    }
  #else
    static func open(_ length: Int64, _ read: @escaping Read) -> InputStream? { Input(length, read) }

    /// Foundation on Linux accepts a custom stream, and has no bound pair of streams.
    private final class Input: InputStream {
      private let length: Int64
      private let source: Read
      private var offset: Int64 = 0
      private var status = Stream.Status.notOpen

      init(_ length: Int64, _ source: @escaping Read) {
        self.length = length
        self.source = source
        super.init(data: Data())
      }

      override func open() { status = .open }
      override func close() { status = .closed }
      override var streamStatus: Stream.Status { status }
      override var hasBytesAvailable: Bool { offset < length }

      override func read(_ buffer: UnsafeMutablePointer<UInt8>, maxLength len: Int) -> Int {
        let wanted = Int(min(Int64(len), length - offset))
        guard wanted > 0 else { return 0 }
        let count = try? source(offset, UnsafeMutableRawBufferPointer(start: buffer, count: wanted))
        guard let count, count > 0 else { return -1 }
        offset += Int64(count)
        return count
      }
    }
  #endif
}
