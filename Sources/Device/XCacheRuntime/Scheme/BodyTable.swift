import Manifests
import System
import Values

/// The body of a request, as a page handed it over.
public struct PageBody: Sendable, Equatable {
  /// The whole body.
  public let bytes: [UInt8]
  /// The `Content-Type`; empty if there is none.
  public let type: String
  /// The origin of the document that it is from, as its server knows it: `https://m.example.com`.
  public let origin: String
}

/// Request bodies that are passed from a page to the network outside the engine, each under an id that its request carries.
///
/// A body is taken once, by the request that it was handed over for: same method, URL and origin.
struct BodyTable {
  struct Limits {
    /// The most bytes of all bodies, including those that are incomplete.
    var bytes = 64 << 20
    var count = 1024
    /// The most parts of one body.
    var parts = 1024
    /// How long a body is kept after its last part, in nanoseconds.
    var age: UInt64 = 60_000_000_000
  }

  enum TakeResult: Equatable {
    case body(PageBody)
    /// The body isn't here, or not all of it, and may still come.
    case missing
    /// It was handed over for another request.
    case refused
  }

  private struct Entry {
    let method: String
    let url: String
    let origin: String
    let type: String
    let size: Int
    /// By number: a page's messages may overtake one another on their way through the app's tasks.
    var parts: [Int: [UInt8]] = [:]
    var count = 0
    var time: UInt64

    /// The whole body; nil if a part is missing.
    var bytes: [UInt8]? {
      guard count == size, !parts.isEmpty else { return nil }
      var bytes: [UInt8] = []
      bytes.reserveCapacity(size)
      for number in 0..<parts.count {
        guard let part = parts[number] else { return nil }
        bytes += part
      }
      return bytes
    }
  }

  private let limits: Limits
  private var entries: [String: Entry] = [:]
  /// The bytes reserved for bodies.
  private(set) var used = 0

  init(_ limits: Limits = Limits()) { self.limits = limits }

  var count: Int { entries.count }

  /// Adds a part of a body from a document of `origin`; parts may come in any order.
  /// - Returns: false if there is no room, or if the part doesn't fit the others, in which case the body is dropped.
  mutating func add(_ part: BodyPart, from origin: String, at now: UInt64) -> Bool {
    dropOld(now)
    if entries[part.id] == nil {
      guard entries.count < limits.count, part.size <= limits.bytes - used else { return false }
      used += part.size
      entries[part.id] = Entry(
        method: part.method, url: part.url, origin: origin, type: part.type, size: part.size, time: now)
    }
    // A page of another origin must not end a body that isn't its own.
    guard let entry = entries[part.id], entry.origin == origin else { return false }
    guard entry.parts[part.number] == nil, entry.parts.count < limits.parts, entry.method == part.method,
      entry.url == part.url, entry.type == part.type, entry.size == part.size,
      part.bytes.count <= entry.size - entry.count
    else {
      drop(part.id)
      return false
    }
    entries[part.id]?.parts[part.number] = part.bytes
    entries[part.id]?.count += part.bytes.count
    entries[part.id]?.time = now
    return true
  }

  /// Takes the body for a request and removes it.
  ///
  /// `origin` is the one that the request names; nil if it names none, which a request to its own origin may do.
  mutating func take(
    _ id: String, method: String, url: String, origin: String?, at now: UInt64
  ) -> TakeResult {
    dropOld(now)
    guard let entry = entries[id] else { return .missing }
    let asked = origin ?? ProxyPages.origin(url)
    guard entry.method.uppercased() == method.uppercased(), entry.url == url, entry.origin == asked else {
      return .refused
    }
    guard let bytes = entry.bytes else { return .missing }
    drop(id)
    return .body(PageBody(bytes: bytes, type: entry.type, origin: entry.origin))
  }

  private mutating func drop(_ id: String) {
    if let entry = entries.removeValue(forKey: id) { used -= entry.size }
  }

  private mutating func dropOld(_ now: UInt64) {
    for (id, entry) in entries where now > entry.time && now - entry.time > limits.age { drop(id) }
  }
}

/// A part of a body, as a page's script hands it over: a line of JSON, a line break, base64.
struct BodyPart: Equatable {
  let id: String
  let method: String
  /// The URL that the request goes to, as its server knows it.
  let url: String
  let type: String
  /// The size of the whole body in bytes.
  let size: Int
  /// The number of the part, from 0.
  let number: Int
  let bytes: [UInt8]
}

/// A message from a page's scripts.
enum SchemeMessage: Equatable {
  case body(BodyPart)
  /// The body with this id is to be sent; nobody waits for the answer.
  case beacon(id: String, url: String)

  /// Nil for anything that our scripts don't send.
  init?(_ text: String) {
    guard let end = text.utf8.firstIndex(of: UInt8(ascii: "\n")),
      let head = try? JSONValue.parse(Array(text[..<end].utf8)),
      let id = head["id"]?.string, Hex.decode(id, count: 16) != nil,
      let asked = head["url"]?.string.flatMap(CustomScheme.real), let url = try? ResourceURL(asked).text
    else { return nil }
    switch head["kind"]?.string {
    case "beacon": self = .beacon(id: id, url: url)
    case "body":
      guard let method = head["method"]?.string, let type = head["type"]?.string,
        let size = head["size"]?.integer.flatMap({ Int(exactly: $0) }), size >= 0,
        let number = head["part"]?.integer.flatMap({ Int(exactly: $0) }), number >= 0,
        let bytes = Base64.decode(String(text[text.utf8.index(after: end)...]))
      else { return nil }
      self = .body(
        BodyPart(id: id, method: method, url: url, type: type, size: size, number: number, bytes: bytes))
    default: return nil
    }
  }
}
