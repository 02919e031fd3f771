import System
import XCacheDevice

/// A transport that answers for the origin of a build: its manifest from memory, its files from their folders.
struct BuildTransport: Transport {
  let manifest: [UInt8]
  /// The paths of files by download URL.
  let files: [String: String]
  let others: (any Transport)?

  func get(
    _ request: TransportRequest, receive: (RawSpan) -> Bool
  ) throws(TransportError) -> TransportReply {
    if let file = files[request.url] { return try read(file, receive) }
    if request.url.hasPrefix("\(BuildDevice.server)/configure.json?") {
      guard receive(manifest.span.bytes) else { throw TransportError(.stopped, "stopped") }
      return TransportReply(status: 200, received: Int64(manifest.count))
    }
    if let others, !request.url.hasPrefix(BuildDevice.server) {
      return try others.get(request, receive: receive)
    }
    return TransportReply(status: 404, received: 0)
  }

  private func read(
    _ path: String, _ receive: (RawSpan) -> Bool
  ) throws(TransportError) -> TransportReply {
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 18, alignment: 16)
    defer { buffer.deallocate() }
    var done: Int64 = 0
    do {
      let open = try Kernel.open(path, [.read, .nonBlocking])
      while true {
        let count = try Kernel.read(open, into: buffer)
        if count == 0 { break }
        done += Int64(count)
        guard receive(UnsafeRawBufferPointer(rebasing: buffer[..<count]).bytes) else {
          throw TransportError(.stopped, "stopped")
        }
      }
    } catch let error as TransportError {
      throw error
    } catch {
      throw TransportError(.other, "\(error)")
    }
    return TransportReply(status: 200, received: done)
  }
}
