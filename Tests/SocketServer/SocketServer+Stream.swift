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
      let length = fields["content-length"].flatMap { Int($0) } ?? 0
      while buffer.count < length { guard fill() else { return nil } }
      let body = Array(buffer.prefix(length))
      buffer.removeFirst(length)
      return Request(
        method: String(words[0]), path: String(words[1]), fields: fields, body: body, connection: index)
    }

    private mutating func readHead() -> [UInt8]? {
      var searched = 0
      while true {
        while searched + 4 <= buffer.count {
          if buffer[searched..<searched + 4].elementsEqual("\r\n\r\n".utf8) {
            defer { buffer.removeFirst(searched + 4) }
            return Array(buffer[..<searched])
          }
          searched += 1
        }
        guard fill() else { return nil }
      }
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
