import Glibc
import HTTP
import Linux
import Server
import System
import Testing
import TLS
import TLSPeer

/// A running server with a few routes, which stops when it is released.
final class TestServer {
  let server: Server
  let events = Events()

  /// Whether all these tests use TLS: XCACHE_TEST_TLS=1.
  static let speaksTLS = getenv("XCACHE_TEST_TLS") != nil
  /// A connection over the limit gets an answer without TLS, and is closed with it.
  static let answersRefused = ConditionTrait.disabled(if: speaksTLS, "under TLS nobody answers them")
  private static let certificates = Result { try Certificates() }
  private static let files = Result { try certificates.get().make("server", hosts: ["localhost"]) }
  /// The acceptor of the tests' servers.
  static let acceptor = Result {
    try TLSAcceptor(certificate: files.get().certificate, key: files.get().key)
  }

  var address: SocketAddress { server.address }

  init(
    _ address: String = "127.0.0.1:0", speaksTLS: Bool = TestServer.speaksTLS,
    _ configure: (inout ServerConfiguration) -> Void = { _ in }
  ) throws {
    guard let socketAddress = SocketAddress(address) else { throw TestFailure.address }
    var configuration = ServerConfiguration(address: socketAddress)
    configuration.workers = 2
    if speaksTLS { configuration.tls = try Self.acceptor.get() }
    configure(&configuration)
    let events = self.events
    server = try Server(configuration: configuration)
    try server.start { _ in TestHandler(events) }
  }

  deinit { server.stop(graceSeconds: 0) }

  /// Whether the server's counters satisfy `test` within five seconds.
  func waitUntil(_ test: (ServerMetrics) -> Bool) -> Bool {
    for _ in 0..<5_000 {
      if test(server.metrics) { return true }
      Clock.sleep(for: .milliseconds(1))
    }
    return false
  }

  func client(receiveBuffer: Int32? = nil, seconds: Int = 10) -> TestClient {
    TestClient(address, receiveBuffer: receiveBuffer, seconds: seconds)
  }
}

enum TestFailure: Error {
  case address
}

/// Events on the server's side, in order.
final class Events: Sendable {
  private let list = Locked<[String]>([])

  func add(_ event: String) { list.withLock { $0.append(event) } }
  var all: [String] { list.withLock { $0 } }

  /// Whether `event` happens within five seconds.
  func has(_ event: String) -> Bool {
    for _ in 0..<500 {
      if all.contains(event) { return true }
      Clock.sleep(for: .milliseconds(10))
    }
    return false
  }
}

/// Counts a body, and sums its bytes; stops early or delays on request.
final class TestReceiver: BodyReceiver {
  private let events: Events
  private let limit: Int
  private let delay: UInt32
  private var count = 0
  private var sum: UInt64 = 0

  init(_ events: Events, limit: Int = .max, delay: UInt32 = 0) {
    self.events = events
    self.limit = limit
    self.delay = delay
  }

  func receive(_ bytes: RawSpan) -> Bool {
    if bytes.byteCount == 0 { return limit > 0 }
    if delay > 0 { Clock.sleep(for: .microseconds(delay)) }
    if count == 0 { events.add("first") }
    count += bytes.byteCount
    bytes.withUnsafeBytes { for byte in $0 { sum &+= UInt64(byte) } }
    return count <= limit
  }

  func finish() -> Response {
    events.add("finish")
    if count > limit { return Response(.unprocessableContent, contentType: "text/plain", "stopped") }
    return Response(.ok, contentType: "text/plain", "\(count) \(sum)")
  }

  func abort() { events.add("abort") }
}

/// The routes of a test server.
final class TestHandler: Handler {
  private let events: Events
  private static let large = SharedBytes(pattern(1_000_000))
  private static let file = TestFile(pattern(3_000_000))

  init(_ events: Events) { self.events = events }

  /// Bytes from which a reader notices a wrong offset.
  static func pattern(_ count: Int) -> [UInt8] {
    var bytes: [UInt8] = []
    while bytes.count < count { bytes += tile }
    return [UInt8](bytes[..<count])
  }

  /// A prime number of bytes, so that no power of two gives the same offset twice.
  private static let tile = (0..<65_521).map { UInt8(truncatingIfNeeded: $0 &* 31 ^ ($0 >> 8)) }

  func scheduling(of request: borrowing Request) -> Scheduling {
    let path = request.path
    if path.starts(with: "/urgent/") { return Scheduling(.urgent, holder: 0) }
    let holder = request.field(.authorization)?.array.hashValue ?? 0
    if path.starts(with: "/api/") { return Scheduling(.acts, holder: holder) }
    return Scheduling(.open, holder: holder, isInterruptible: path.equals("/read"))
  }

  func handle(_ request: borrowing Request) -> Answer {
    let path = request.path
    let events = self.events
    if path.equals("/large") { return .now(Response(.ok, HeadFields(), .bytes(Self.large))) }
    // More than the kernel buffers.
    if path.equals("/huge") {
      return .now(Response(.ok, HeadFields(), .pieces([SharedBytes](repeating: Self.large, count: 20))))
    }
    // 3 MB that take 30 ms to make.
    if path.equals("/made") {
      let part = MadeBytes(count: 50_000) {
        let end = Clock.monotonicNanoseconds() + 500_000
        while Clock.monotonicNanoseconds() < end {}
        return SharedBytes([UInt8](repeating: 0x61, count: 50_000))
      }
      return .now(Response(.ok, HeadFields(), .segments((0..<60).map { _ in .made(part) })))
    }
    if path.equals("/pieces") {
      return .now(Response(.ok, HeadFields(), .pieces([SharedBytes("a"), Self.large, SharedBytes("z")])))
    }
    if path.equals("/file") {
      let body = Representation(HeadFields(), tag: EntityTag("f"), body: .file(Self.file.body))
      return .now(body.response(to: request))
    }
    if path.equals("/cut") {
      let file = TestFile(Self.pattern(1_000_000), left: 300_000, events)
      return .now(Response(.ok, HeadFields(), .file(file.body)))
    }
    if path.equals("/gated") || path.equals("/gated-later") {
      let file = GatedFile(Self.pattern(3_000_000), events)
      let response = Response(.ok, HeadFields(), .file(file.body))
      return path.equals("/gated") ? .now(response) : .later { response }
    }
    if path.equals("/later") {
      let query = request.query?.text ?? ""
      return .later { Response(.ok, contentType: "text/plain", query) }
    }
    if path.equals("/slow") {
      events.add("slow")
      return .later {
        Clock.sleep(for: .milliseconds(300))
        return Response(.ok, contentType: "text/plain", "slow")
      }
    }
    if path.equals("/hold") || path.equals("/api/hold") {
      return .later {
        events.add("held")
        _ = events.has("release")
        return Response(.ok, contentType: "text/plain", "held")
      }
    }
    if path.equals("/noted") {
      var event = "noted"
      if let query = request.query { event += " " + query.text }
      return .later { [event] in
        events.add(event)
        return Response(.ok, contentType: "text/plain", event)
      }
    }
    if path.equals("/read") {
      return .later {
        events.add("reading")
        while Cancellation.current?.isCancelled == false { Clock.sleep(for: .milliseconds(1)) }
        events.add("broken off")
        return Response(.ok, contentType: "text/plain", "read")
      }
    }
    if path.equals("/awaited") {
      return .abandonable { answer in
        events.add("awaited")
        return {
          events.add("given up")
          answer(Response(.ok, contentType: "text/plain", "given up"))
        }
      }
    }
    if path.equals("/api/count") { return .receive(limit: 20_000_000) { TestReceiver(events) } }
    if path.equals("/count") { return .receive(limit: 20_000_000) { TestReceiver(events) } }
    if path.equals("/stop") { return .receive(limit: 20_000_000) { TestReceiver(events, limit: 10) } }
    if path.equals("/refused") { return .receive(limit: 20_000_000) { TestReceiver(events, limit: -1) } }
    if path.equals("/drip") { return .receive(limit: 20_000_000) { TestReceiver(events, delay: 3_000) } }
    if path.equals("/collect") {
      return .collect(limit: 100) { Response(.ok, HeadFields(), .bytes(SharedBytes($0))) }
    }
    if path.equals("/peer") {
      return .now(Response(.ok, contentType: "text/plain", request.peer.description))
    }
    if path.equals("/empty") { return .now(Response(.noContent)) }
    if path.equals("/bye") {
      var response = Response(.ok, contentType: "text/plain", "bye")
      response.closes = true
      return .now(response)
    }
    var text = path.text
    if let query = request.query { text += "?" + query.text }
    return .now(Response(.ok, contentType: "text/plain", text))
  }
}

/// An unnamed file for bodies.
final class TestFile: FileOwner {
  private let descriptor: Descriptor
  private let count: Int
  private let events: Events?

  /// - Parameter left: how many bytes are left when it is sent, as if it had been truncated.
  init(_ bytes: [UInt8], left: Int? = nil, _ events: Events? = nil) {
    self.events = events
    descriptor = TestFile.unnamed()
    count = bytes.count
    _ = bytes.withUnsafeBytes { write(descriptor.raw, $0.baseAddress, left ?? $0.count) }
  }

  func bytesAreMissing() { events?.add("bytes are missing") }

  /// An open file without a name.
  static func unnamed() -> Descriptor {
    var template = Array("/tmp/server-tests.XXXXXX".utf8CString)
    let descriptor = Descriptor(owning: mkstemp(&template))
    unlink(template)
    return descriptor
  }

  var body: FileBody {
    FileBody(owner: self, descriptor: descriptor.raw, offset: 0, count: UInt64(count))
  }
}

/// A file that is checked while it is sent: the event `open N` makes its first N bytes available, `fail` makes the check fail.
final class GatedFile: FileOwner, FileGate {
  private let file: TestFile
  private let events: Events

  init(_ bytes: [UInt8], _ events: Events) {
    file = TestFile(bytes)
    self.events = events
  }

  var body: FileBody {
    let body = file.body
    return FileBody(owner: self, descriptor: body.descriptor, offset: 0, count: body.count)
  }

  func bytesAreMissing() { events.add("bytes are missing") }

  var gate: (any FileGate)? { self }

  func sendable(at offset: UInt64, upTo count: Int, changed: @escaping @Sendable () -> Void) -> Int? {
    let all = events.all
    let open = all.compactMap { $0.hasPrefix("open ") ? UInt64($0.dropFirst(5)) : nil }.max() ?? 0
    if open > offset { return Int(min(UInt64(count), open - offset)) }
    if all.contains("fail") { return nil }
    events.add("asked for \(offset)")
    let known = all.count
    _ = try? OSThread(name: "gate") { [events] in
      while !events.all.dropFirst(known).contains(where: { $0.hasPrefix("open") || $0 == "fail" }) {
        Clock.sleep(for: .milliseconds(1))
      }
      changed()
    }
    return 0
  }

  var failure: Response { Response(.internalServerError, contentType: "text/plain", "it is bad") }
}
