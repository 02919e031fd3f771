import Glibc

/// A minimal HTTP client that sends exactly what it is given, and returns everything it receives.
struct Web: Sendable {
  let port: UInt16

  struct Answer: Sendable {
    let status: Int
    let fields: [(name: String, value: String)]
    let body: [UInt8]

    subscript(name: String) -> String? {
      fields.first { $0.name == name.lowercased() }?.value
    }

    var text: String { String(decoding: body, as: UTF8.self) }
  }

  struct Broken: Error {
    let reason: String
  }

  /// One exchange on a new connection.
  /// - Parameter path: sent as it is.
  func ask(
    _ path: String, _ method: String = "GET", _ fields: [String: String] = [:], body: [UInt8]? = nil
  ) throws -> Answer {
    let socket = try WebSocket(port)
    var head = "\(method) \(path) HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\nConnection: close\r\n"
    for (name, value) in fields { head += "\(name): \(value)\r\n" }
    if let body { head += "Content-Length: \(body.count)\r\n" }
    socket.send(Array((head + "\r\n").utf8) + (body ?? []))
    return try Web.answer(try socket.receiveAll(), to: method)
  }

  /// Parses what a server sent, and checks it against Content-Length.
  static func answer(_ bytes: [UInt8], to method: String) throws -> Answer {
    guard let end = bytes.indices.first(where: { bytes[$0...].starts(with: Array("\r\n\r\n".utf8)) }) else {
      throw Broken(
        reason: "no whole head in \(bytes.count) bytes: \(String(decoding: bytes.prefix(200), as: UTF8.self))"
      )
    }
    let lines = String(decoding: bytes[..<end], as: UTF8.self).split(separator: "\r\n")
    guard let line = lines.first, line.hasPrefix("HTTP/1.1 "),
      let status = Int(line.dropFirst(9).prefix(3))
    else { throw Broken(reason: "no status line") }
    var fields: [(name: String, value: String)] = []
    for line in lines.dropFirst() {
      guard let colon = line.firstIndex(of: ":") else { throw Broken(reason: "no field: \(line)") }
      let value = line[line.index(after: colon)...].drop { $0 == " " }
      fields.append((line[..<colon].lowercased(), String(value)))
    }
    let answer = Answer(status: status, fields: fields, body: Array(bytes[(end + 4)...]))
    let hasBody = method != "HEAD" && ![204, 304].contains(status)
    if hasBody, answer["content-length"].flatMap(Int.init) != answer.body.count {
      throw Broken(
        reason: "\(answer.body.count) bytes of body, Content-Length \(answer["content-length"] ?? "absent")")
    }
    if !hasBody, !answer.body.isEmpty { throw Broken(reason: "a body where there must be none") }
    return answer
  }
}

/// A connection to this machine.
final class WebSocket {
  let descriptor: Int32

  init(_ port: UInt16) throws {
    descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
    let connected = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    if connected != 0 { throw Web.Broken(reason: "can't connect: \(String(cString: strerror(errno)))") }
    var limit = timeval(tv_sec: 30, tv_usec: 0)
    setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
  }

  deinit { close(descriptor) }

  /// Sets the size of the kernel's receive buffer: a small one makes a slow reader.
  func limitReceiving(to bytes: Int32) {
    var bytes = bytes
    setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &bytes, socklen_t(MemoryLayout<Int32>.size))
  }

  /// Sends everything, or as much as the other side accepts.
  func send(_ bytes: [UInt8]) {
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes {
        Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
      }
      if count <= 0 { return }
      rest = rest.dropFirst(count)
    }
  }

  /// Receives up to `count` bytes; empty at the end.
  func receive(_ count: Int) throws -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: count)
    let received = recv(descriptor, &bytes, count, 0)
    if received < 0 { throw Web.Broken(reason: "reading: \(String(cString: strerror(errno)))") }
    return Array(bytes[..<received])
  }

  func receiveAll() throws -> [UInt8] {
    var all: [UInt8] = []
    while true {
      let more = try receive(1 << 16)
      if more.isEmpty { return all }
      all += more
    }
  }
}
