import Glibc
import System

extension SocketServer {
  /// One connection: reads requests, runs steps.
  struct Stream {
    private let connection: Int32
    private var buffer: [UInt8] = []

    init(_ connection: Int32) { self.connection = connection }

    /// The next request, its body whole; nil at the end of the connection.
    mutating func next(_ index: Int) -> Request? {
      guard let head = readHead() else { return nil }
      let lines = String(decoding: head, as: UTF8.self).split(separator: "\r\n")
      let words = lines.first?.split(separator: " ") ?? []
      guard words.count == 3 else { return nil }
      var fields: [String: String] = [:]
      for line in lines.dropFirst() {
        guard let colon = line.firstIndex(of: ":") else { continue }
        fields[line[..<colon].lowercased()] = String(line[line.index(after: colon)...].drop { $0 == " " })
      }
      if fields["expect"] != nil { _ = write("HTTP/1.1 100 Continue\r\n\r\n".utf8) }
      let isChunked = fields["transfer-encoding"]?.lowercased() == "chunked"
      guard
        let body = isChunked ? readChunks() : take(fields["content-length"].flatMap { Int($0) } ?? 0)
      else { return nil }
      return Request(
        method: String(words[0]), path: String(words[1]), fields: fields, body: body, connection: index)
    }

    private mutating func readHead() -> [UInt8]? { take(until: "\r\n\r\n") }

    private mutating func take(_ count: Int) -> [UInt8]? {
      while buffer.count < count { guard fill() else { return nil } }
      defer { buffer.removeFirst(count) }
      return Array(buffer.prefix(count))
    }

    private mutating func take(until end: String) -> [UInt8]? {
      let end = Array(end.utf8)
      var searched = 0
      while true {
        while searched + end.count <= buffer.count {
          if buffer[searched..<searched + end.count].elementsEqual(end) {
            defer { buffer.removeFirst(searched + end.count) }
            return Array(buffer[..<searched])
          }
          searched += 1
        }
        guard fill() else { return nil }
      }
    }

    /// A body in chunks without extensions and trailers.
    private mutating func readChunks() -> [UInt8]? {
      var body: [UInt8] = []
      while let line = take(until: "\r\n"), let count = Int(String(decoding: line, as: UTF8.self), radix: 16)
      {
        guard let chunk = take(count), take(2) != nil else { return nil }
        if count == 0 { return body }
        body += chunk
      }
      return nil
    }

    private mutating func fill() -> Bool {
      var chunk = [UInt8](repeating: 0, count: 65_536)
      let count = recv(connection, &chunk, chunk.count, 0)
      guard count > 0 else { return false }
      buffer.append(contentsOf: chunk[..<count])
      return true
    }

    /// Whether the connection goes on.
    func run(_ steps: [Step]) -> Bool {
      for step in steps {
        switch step {
        case .send(let bytes): guard write(bytes) else { return false }
        case .sleep(let milliseconds): Clock.sleep(for: .milliseconds(milliseconds))
        case .run(let body): body()
        case .close: return false
        case .reset:
          var linger = linger(l_onoff: 1, l_linger: 0)
          setsockopt(
            connection, SOL_SOCKET, SO_LINGER, &linger, socklen_t(MemoryLayout.size(ofValue: linger)))
          return false
        }
      }
      return true
    }

    private func write(_ bytes: some Collection<UInt8>) -> Bool {
      var rest = Array(bytes)[...]
      while !rest.isEmpty {
        let count = rest.withUnsafeBytes {
          send(connection, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
        }
        guard count > 0 else { return false }
        rest = rest.dropFirst(count)
      }
      return true
    }
  }
}

extension [SocketServer.Step] {
  /// One whole answer.
  package static func answer(
    _ status: Int = 200, _ fields: [(String, String)] = [], body: some Sequence<UInt8> = [UInt8]()
  ) -> Self {
    let bytes = [UInt8](body)
    var head = "HTTP/1.1 \(status) Said\r\nContent-Length: \(bytes.count)\r\n"
    for (name, value) in fields { head += "\(name): \(value)\r\n" }
    return [.send([UInt8]((head + "\r\n").utf8) + bytes)]
  }
}
