import Linux
import System

/// Asks NetworkManager over D-Bus whether the network is metered: a single property, so the few messages that it takes are
/// built by hand (D-Bus Specification, "Message Protocol").
enum MeteredQuery {
  /// Seconds that each answer of the bus may take.
  private static let timeout = 1
  /// The most bytes that the bus may send.
  private static let limit = 1 << 16

  /// Nil if there is no bus or no NetworkManager, or if NetworkManager doesn't know.
  static func ask(_ bus: String) -> Bool? {
    guard let found = try? Kernel.connect(toLocal: bus, seconds: timeout) else { return nil }
    // All messages at once: none depends on the answer to another.
    guard (try? Kernel.write(question.span.bytes, to: found)) != nil else { return nil }
    var answer: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 4096)
    while answer.count < limit {
      let count = buffer.withUnsafeMutableBytes { (try? Kernel.read(found, into: $0)) ?? 0 }
      if count == 0 { return nil }
      answer += buffer[..<count]
      switch read(answer) {
      case .more: continue
      case .none: return nil
      case .value(let value): return isMetered(value)
      }
    }
    return nil
  }

  /// Values of NMMetered: unknown, yes, no, guessed yes, guessed no.
  private static func isMetered(_ value: UInt32) -> Bool? {
    switch value {
    case 1, 3: true
    case 2, 4: false
    default: nil
    }
  }
}

// MARK: - What is sent

extension MeteredQuery {
  /// Authentication by the socket's credentials, the mandatory Hello call, and the call for the property.
  private static var question: [UInt8] {
    let name = "org.freedesktop.NetworkManager"
    return [0] + Array("AUTH EXTERNAL\r\nDATA\r\nBEGIN\r\n".utf8)
      + call(1, "/org/freedesktop/DBus", "org.freedesktop.DBus", "Hello", of: "org.freedesktop.DBus", [])
      + call(
        2, "/org/freedesktop/NetworkManager", "org.freedesktop.DBus.Properties", "Get", of: name,
        [name, "Metered"])
  }

  private static func call(
    _ serial: UInt32, _ path: String, _ interface: String, _ member: String, of destination: String,
    _ arguments: [String]
  ) -> [UInt8] {
    var body: [UInt8] = []
    for argument in arguments { append(argument, to: &body) }
    var fields: [UInt8] = []
    for (code, type, value) in [
      (1, "o", path), (2, "s", interface), (3, "s", member), (6, "s", destination),
    ] as [(UInt8, String, String)] {
      pad(&fields, to: 8)
      fields += [code, 1, type.utf8.first ?? 0, 0]
      append(value, to: &fields)
    }
    if !arguments.isEmpty {
      pad(&fields, to: 8)
      let signature = Array(arguments.map { _ in "s" }.joined().utf8)
      fields += [8, 1, UInt8(ascii: "g"), 0, UInt8(signature.count)] + signature + [0]
    }
    // Little-endian, method call, no flags, protocol version 1.
    var message: [UInt8] = [UInt8(ascii: "l"), 1, 0, 1]
    for number in [UInt32(body.count), serial, UInt32(fields.count)] { append(number, to: &message) }
    message += fields
    pad(&message, to: 8)
    return message + body
  }

  private static func append(_ number: UInt32, to out: inout [UInt8]) {
    for shift in stride(from: 0, to: 32, by: 8) { out.append(UInt8(truncatingIfNeeded: number >> shift)) }
  }

  private static func append(_ text: String, to out: inout [UInt8]) {
    pad(&out, to: 4)
    append(UInt32(text.utf8.count), to: &out)
    out += Array(text.utf8) + [0]
  }

  private static func pad(_ out: inout [UInt8], to size: Int) {
    while out.count % size != 0 { out.append(0) }
  }
}

// MARK: - What comes

extension MeteredQuery {
  enum Reading: Equatable {
    /// More bytes are needed.
    case more
    /// The bus refused, or sent something unexpected.
    case none
    case value(UInt32)
  }

  /// Reads everything that has come from the bus so far.
  static func read(_ bytes: [UInt8]) -> Reading {
    var rest = bytes[...]
    for expected in ["DATA", "OK"] {
      guard let end = rest.firstIndex(of: UInt8(ascii: "\n")) else { return rest.count < 256 ? .more : .none }
      guard rest.starts(with: expected.utf8) else { return .none }
      rest = rest[(end + 1)...]
    }
    // The first method return answers Hello, the second has the property; signals may come in between.
    var returns = 0
    while true {
      guard let message = Message(rest) else { return rest.count < 16 ? .more : .none }
      guard message.count <= rest.count else { return message.count <= limit ? .more : .none }
      if message.kind == 3 { return .none }
      if message.kind == 2 { returns += 1 }
      if returns == 2 { return message.unsigned(in: rest).map { .value($0) } ?? .none }
      rest = rest.dropFirst(message.count)
    }
  }

  /// The offsets of a message's parts.
  private struct Message {
    let kind: UInt8
    let isLittleEndian: Bool
    let body: Int
    let bodyCount: Int
    /// The length of the whole message.
    var count: Int { body + bodyCount }

    /// Nil if fewer than 16 bytes are here, or they don't start a message.
    init?(_ bytes: ArraySlice<UInt8>) {
      guard bytes.count >= 16, let first = bytes.first,
        [UInt8(ascii: "l"), UInt8(ascii: "B")].contains(first)
      else { return nil }
      isLittleEndian = first == UInt8(ascii: "l")
      kind = bytes[bytes.startIndex + 1]
      bodyCount = Int(Self.number(bytes, 4, isLittleEndian))
      body = (16 + Int(Self.number(bytes, 12, isLittleEndian)) + 7) / 8 * 8
    }

    /// Returns the body's value if it is a variant of an unsigned number.
    func unsigned(in bytes: ArraySlice<UInt8>) -> UInt32? {
      let start = bytes.startIndex + body
      guard bodyCount >= 8, Array(bytes[start..<start + 3]) == [1, UInt8(ascii: "u"), 0] else { return nil }
      return Self.number(bytes, body + 4, isLittleEndian)
    }

    private static func number(_ bytes: ArraySlice<UInt8>, _ offset: Int, _ isLittleEndian: Bool) -> UInt32 {
      let four = bytes[(bytes.startIndex + offset)..<(bytes.startIndex + offset + 4)]
      return (isLittleEndian ? Array(four.reversed()) : Array(four)).reduce(0) { $0 << 8 | UInt32($1) }
    }
  }
}
