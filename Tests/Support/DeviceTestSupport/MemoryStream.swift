import System
import XCacheDevice

@testable import XCacheRuntime

/// One end of a connection in memory.
package final class MemoryStream: ProxyStream {
  /// One direction of a connection.
  package final class Pipe: Sendable {
    private let state = Monitor((bytes: [UInt8](), isOver: false, isBroken: false))

    func add(_ bytes: [UInt8]) { state.broadcasting { if !$0.isOver { $0.bytes += bytes } } }
    func putBack(_ bytes: [UInt8]) { state.broadcasting { $0.bytes = bytes + $0.bytes } }
    func end() { state.broadcasting { $0.isOver = true } }
    func breakOff() { state.broadcasting { ($0.isOver, $0.isBroken) = (true, !$0.isOver) } }
    var isOver: Bool { state.withLock { $0.isOver } }
    var isBroken: Bool { state.withLock { $0.isBroken && $0.bytes.isEmpty } }

    func take(_ count: Int, within milliseconds: Int) -> [UInt8]? {
      state.waiting(for: .milliseconds(min(milliseconds, 60_000))) { state -> [UInt8]? in
        guard !state.bytes.isEmpty || state.isOver else { return nil }
        defer { state.bytes.removeFirst(min(count, state.bytes.count)) }
        return Array(state.bytes.prefix(count))
      }
    }
  }

  private let input: Pipe
  private let output: Pipe

  private init(_ input: Pipe, _ output: Pipe) {
    self.input = input
    self.output = output
  }

  /// Both ends of a connection.
  package static func pair() -> (MemoryStream, MemoryStream) {
    let (one, other) = (Pipe(), Pipe())
    return (MemoryStream(one, other), MemoryStream(other, one))
  }

  package func read(into buffer: UnsafeMutableRawBufferPointer, within milliseconds: Int) -> Int? {
    guard let bytes = input.take(buffer.count, within: milliseconds) else { return nil }
    buffer.copyBytes(from: bytes)
    return bytes.count
  }

  package func write(_ bytes: UnsafeRawBufferPointer, within milliseconds: Int) -> Bool {
    if output.isOver { return false }
    output.add(Array(bytes))
    return true
  }

  package var isBroken: Bool { input.isBroken }
  package var isGone: Bool { input.isOver }
  package func finishWriting() { output.end() }

  /// Ends the input like a reset.
  package func breakInput() { input.breakOff() }

  /// Makes `read` return these bytes first.
  package func putBack(_ bytes: [UInt8]) { input.putBack(bytes) }

  package func close() {
    input.end()
    output.end()
  }

  package func reset() {
    input.end()
    output.breakOff()
  }
}

extension MemoryStream {
  /// Sends text.
  package func say(_ text: String) { _ = write(Array(text.utf8)) }

  /// Reads until `end`, or the end of the input. It waits on its own thread: what it waits for needs the threads of
  /// Swift's concurrency, of which a small machine has two.
  package func hear(until end: String) async -> String {
    await Self.onOwnThread { self.hearBlocking(until: end) }
  }

  /// Reads an answer: its head, and the body by its length.
  package func answer() async -> String { await Self.onOwnThread { self.answerBlocking() } }

  /// Runs blocking work on its own thread.
  package static func onOwnThread<Value: Sendable>(_ body: @escaping @Sendable () -> Value) async -> Value {
    await withCheckedContinuation { continuation in
      do {
        _ = try OSThread(name: "engine") { continuation.resume(returning: body()) }
      } catch {
        continuation.resume(returning: body())
      }
    }
  }

  private func hearBlocking(until end: String) -> String {
    var all = ""
    var buffer = [UInt8](repeating: 0, count: 1)
    while !all.hasSuffix(end), buffer.withUnsafeMutableBytes({ read(into: $0, within: 60_000) }) == 1 {
      all += String(decoding: buffer, as: UTF8.self)
    }
    return all
  }

  private func answerBlocking() -> String {
    let head = hearBlocking(until: "\r\n\r\n")
    let length = head.split(separator: "\r\n").compactMap { line -> Int? in
      line.lowercased().hasPrefix("content-length: ") ? Int(line.dropFirst(16)) : nil
    }
    if head.lowercased().contains("transfer-encoding: chunked") {
      return head + hearBlocking(until: "0\r\n\r\n")
    }
    var body = ""
    for _ in 0..<(length.first ?? 0) {
      var byte = [UInt8](repeating: 0, count: 1)
      guard byte.withUnsafeMutableBytes({ read(into: $0, within: 60_000) }) == 1 else { break }
      body += String(decoding: byte, as: UTF8.self)
    }
    return head + body
  }
}

/// A network in memory: TLS that changes nothing, and servers that send their name and echo.
package final class FakeProxyNetwork: ProxyNetwork {
  private let state = Locked<(secured: [String], connected: [String], isDown: Bool)>(([], [], false))

  package init() {}

  /// Hosts for which TLS was terminated.
  package var secured: [String] { state.withLock { $0.secured } }
  /// Servers that were connected to.
  package var connected: [String] { state.withLock { $0.connected } }
  /// No server answers.
  package func goDown() { state.withLock { $0.isDown = true } }

  package func secure(
    _ stream: any ProxyStream, after early: [UInt8], as host: String
  ) -> (any ProxyStream)? {
    state.withLock { $0.secured.append(host) }
    (stream as? MemoryStream)?.putBack(early)
    return stream
  }

  package func connect(
    to host: String, port: Int, isSecure: Bool, isCancelled: () -> Bool
  ) throws(TransportError) -> any ProxyStream {
    let isDown = state.withLock { state in
      state.connected.append("\(isSecure ? "tls " : "")\(host):\(port)")
      return state.isDown
    }
    if isDown { throw TransportError(.unreachable, host) }
    let (here, there) = MemoryStream.pair()
    _ = try? OSThread(name: "echo") {
      there.say("\(host): ")
      var buffer = [UInt8](repeating: 0, count: 1024)
      while let count = buffer.withUnsafeMutableBytes({ there.read(into: $0, within: 60_000) }), count > 0 {
        guard there.write(Array(buffer[..<count])) else { break }
      }
      there.close()
    }
    return here
  }
}
