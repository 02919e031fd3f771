import Foundation
import SocketServer
import System
import Testing

@testable import HTTPClient

@Suite struct HTTPPoolTests {
  /// The bodies that many threads get at the same time, by the number in their paths.
  private func bodies(_ count: Int, _ ask: @escaping @Sendable (Int) throws -> HTTPReply) -> [Int: HTTPReply]
  {
    let replies = Locked<[Int: HTTPReply]>([:])
    Parallel.forEach(count, threads: 32) { index in
      guard let reply = try? ask(index) else { return }
      replies.withLock { $0[index] = reply }
    }
    return replies.withLock { $0 }
  }

  @Test func manyThreadsShareFewConnections() throws {
    let server = SocketServer { request in
      [.sleep(milliseconds: 5)] + .answer(200, body: Array("body of \(request.path)".utf8))
    }
    let pool = HTTPPool(connections: 4)
    let replies = bodies(100) { try pool.send(HTTPRequest("GET", "\(server.url)/\($0)")) }
    #expect(replies.count == 100)
    for (index, reply) in replies {
      #expect(reply.body == Array("body of /\(index)".utf8) && reply.status == 200 && !reply.isMultiplexed)
    }
    #expect(server.connections <= 4)
  }

  @Test func aSinkThatStopsEndsItsRequestAlone() throws {
    let server = SocketServer { _ in .answer(200, body: [UInt8](repeating: 1, count: 300_000)) }
    struct Stop: Error {}
    let pool = HTTPPool()
    let replies = bodies(40) { index in
      try pool.send(
        HTTPRequest("GET", "\(server.url)/"),
        into: .stream(limit: .max, write: { _ in if index % 2 == 0 { throw Stop() } }))
    }
    #expect(Set(replies.keys) == Set((0..<40).filter { $0 % 2 == 1 }))
  }

  @Test func failuresAreTold() throws {
    let pool = HTTPPool()
    let server = SocketServer { request in request.path == "/reset" ? [.reset] : .answer(404) }
    #expect(throws: HTTPClientError.self) { try pool.send(HTTPRequest("GET", "\(server.url)/reset")) }
    #expect(throws: HTTPClientError.self) { try pool.send(HTTPRequest("GET", "not a url")) }
    #expect(try pool.send(HTTPRequest("GET", "\(server.url)/x")).status == 404)
  }

  /// The head comes before the first byte, once.
  @Test(arguments: [false, true]) func theHeadComesFirst(isPooled: Bool) throws {
    let server = SocketServer { _ in .answer(206, [("ETag", "\"a\"")], body: Array("message".utf8)) }
    var told: [String] = []
    let sink = HTTPSink.stream(
      limit: 100, write: { told.append(String(decoding: $0, as: UTF8.self)) },
      begin: { told.append("\($0.status) \($0.field("etag") ?? "")") })
    let request = HTTPRequest("GET", server.url)
    _ = try isPooled ? HTTPPool().send(request, into: sink) : HTTPClient().send(request, into: sink)
    #expect(told == ["206 \"a\"", "message"])
  }

  @Test(.enabled(if: TLSServer.isPossible)) func aServerOfHTTP2GetsOneConnection() throws {
    let server = try TLSServer()
    let pool = HTTPPool()
    let (url, certificate) = (server.url, server.certificate)
    let replies = bodies(200) { _ in
      var request = HTTPRequest("GET", "\(url)/file")
      request.authorities = certificate
      return try pool.send(request)
    }
    #expect(replies.count == 200)
    #expect(replies.values.allSatisfy { $0.isMultiplexed && $0.body == TLSServer.file })
    let log = try server.stop()
    #expect(log.count == 200 && Set(log).count == 1 && log.allSatisfy { $0.hasSuffix("HTTP/2.0") })
  }
}

/// nginx with TLS and HTTP/2, and a certificate of its own.
private final class TLSServer {
  static let file = [UInt8](repeating: 42, count: 20_000)
  static var isPossible: Bool {
    ["/usr/sbin/nginx", "/usr/bin/openssl"].allSatisfy { FileManager.default.isExecutableFile(atPath: $0) }
  }

  let url: String
  let certificate: String
  private let folder: String
  private let process: Process

  init() throws {
    folder = NSTemporaryDirectory() + "xcache-tls-" + UUID().uuidString
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    certificate = folder + "/certificate.pem"
    let openssl = try Self.run(
      "/usr/bin/openssl",
      [
        "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=localhost", "-days", "2", "-addext",
        "subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout", folder + "/key.pem", "-out", certificate,
      ])
    openssl.waitUntilExit()
    try Data(Self.file).write(to: URL(fileURLWithPath: folder + "/file"))
    // A port that was free just now.
    let port = SocketServer { _ in [.close] }.port
    url = "https://127.0.0.1:\(port)"
    let configuration = """
      daemon off; master_process off; pid \(folder)/pid; error_log \(folder)/error.log;
      events { worker_connections 256; }
      http {
        log_format connections "$connection $server_protocol"; access_log \(folder)/access.log connections;
        client_body_temp_path \(folder)/1; proxy_temp_path \(folder)/2; fastcgi_temp_path \(folder)/3;
        uwsgi_temp_path \(folder)/4; scgi_temp_path \(folder)/5;
        server {
          listen 127.0.0.1:\(port) ssl http2; root \(folder);
          ssl_certificate \(certificate); ssl_certificate_key \(folder)/key.pem;
        }
      }

      """
    try Data(configuration.utf8).write(to: URL(fileURLWithPath: folder + "/nginx.conf"))
    process = try Self.run(
      "/usr/sbin/nginx", ["-p", folder, "-e", folder + "/error.log", "-c", folder + "/nginx.conf"])
    for _ in 0..<200 where !FileManager.default.fileExists(atPath: folder + "/pid") {
      Clock.sleep(for: .milliseconds(20))
    }
  }

  private static func run(_ program: String, _ arguments: [String]) throws -> Process {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: program)
    process.arguments = arguments
    process.standardError = FileHandle.nullDevice
    try process.run()
    return process
  }

  /// Ends it, and gives the connection and protocol of each request.
  func stop() throws -> [String] {
    // Not by SIGTERM, which the threads of tests may have blocked for it.
    kill(process.processIdentifier, SIGKILL)
    return try String(contentsOfFile: folder + "/access.log", encoding: .utf8).split(separator: "\n")
      .map(String.init)
  }

  deinit {
    kill(process.processIdentifier, SIGKILL)
    try? FileManager.default.removeItem(atPath: folder)
  }
}
