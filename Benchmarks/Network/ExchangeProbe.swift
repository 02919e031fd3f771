import DeviceLinux
import Glibc
import System
import Values
import XCacheDevice
import XCacheRuntime

/// Makes the requests that standard input names, one JSON document a line, and writes what came of each: the half of
/// `Tests/Exchanges/run.py` that is ours.
enum ExchangeProbe {
  /// An engine's cookies, as far as the exchanges need them: by name, on one host.
  private final class Cookies: CookieStore {
    private let values = Locked<[String: String]>([:])

    var all: [String: String] { values.withLock { $0 } }

    func header(for url: String) async -> String? {
      let pairs = values.withLock { $0.map { "\($0.key)=\($0.value)" }.sorted() }
      return pairs.isEmpty ? nil : pairs.joined(separator: "; ")
    }

    func take(_ values: [String], from url: String) async {
      for value in values {
        let parts = value.split(separator: ";").map { $0.drop { $0 == " " } }
        guard let first = parts.first, let equals = first.firstIndex(of: "=") else { continue }
        let isGone = parts.dropFirst().contains { $0.lowercased() == "max-age=0" }
        let (name, text) = (String(first[..<equals]), String(first[first.index(after: equals)...]))
        self.values.withLock { $0[name] = isGone ? nil : text }
      }
    }
  }

  private struct Collected: Sendable {
    var head: NetworkHead?
    var body: [UInt8] = []
    var error: TransportError?
  }

  static func run() async throws {
    let transport = CurlPageTransport(connectSeconds: 5, stallSeconds: 20)
    while let line = readLine() {
      let ask = try JSONValue.parse(Array(line.utf8))
      print(String(decoding: try await answer(ask, transport).canonical, as: UTF8.self))
      // The other side waits for it.
      fflush(nil)
    }
  }

  private static func answer(_ ask: JSONValue, _ transport: CurlPageTransport) async throws -> JSONValue {
    let cookies = Cookies()
    let collected = Locked(Collected())
    let redirects: PageFetcher.Redirects = ask["back"] == nil ? .follow : .giveBack
    do throws(TransportError) {
      try await PageFetcher(transport, cookies: cookies).fetch(request(ask), redirects: redirects) { head in
        collected.withLock { $0.head = head }
        return true
      } receive: { bytes in
        collected.withLock { all in bytes.withUnsafeBytes { all.body.append(contentsOf: $0) } }
        return true
      }
    } catch {
      collected.withLock { $0.error = error }
    }
    let result = collected.withLock { $0 }
    var members = JSONObject()
    members["id"] = ask["id"]
    if let error = result.error {
      members["error"] = .string("\(error)")
      return .object(members)
    }
    members["status"] = .integer(Int64(result.head?.status ?? 0))
    members["url"] = .string(result.head?.url ?? "")
    members["length"] = .integer(Int64(result.body.count))
    members["sha256"] = .string(SHA256.of(result.body).hex)
    members["headers"] = .strings((result.head?.headers ?? []).map { "\($0.name.lowercased()): \($0.value)" })
    members["cookies"] = .strings(cookies.all.map { "\($0.key)=\($0.value)" }.sorted())
    return .object(members)
  }

  private static func request(_ ask: JSONValue) -> NetworkRequest {
    var headers = HTTPFields()
    for pair in ask["headers"]?.array ?? [] {
      guard let name = pair.array?.first?.string, let value = pair.array?.last?.string else { continue }
      headers.add(name, value)
    }
    return NetworkRequest(
      ask["url"]?.string ?? "", method: ask["method"]?.string ?? "GET", headers: headers, body: body(ask))
  }

  private static func body(_ ask: JSONValue) -> NetworkRequest.Body {
    if let text = ask["text"]?.string { return .bytes(Array(text.utf8)) }
    guard let count = ask["count"]?.integer.map({ Int($0) }) else { return .none }
    let bytes = (0..<count).map { pattern(Int64($0)) }
    guard ask["stream"] != nil else { return .bytes(bytes) }
    return .stream(
      length: Int64(count), read: { offset, buffer in fill(buffer, from: offset, of: Int64(count)) })
  }

  private static func pattern(_ place: Int64) -> UInt8 {
    UInt8(truncatingIfNeeded: place &* 31 &+ place >> 8)
  }

  /// In pieces of odd sizes.
  private static func fill(_ buffer: UnsafeMutableRawBufferPointer, from offset: Int64, of length: Int64)
    -> Int
  {
    let count = min(buffer.count, Int(length - offset), 77_777)
    for place in 0..<count { buffer[place] = pattern(offset + Int64(place)) }
    return count
  }

  /// Sends so many bytes that nobody has at once, and says how much memory that took.
  static func upload(_ url: String, bytes length: Int64) async throws {
    let before = peak
    let body = NetworkRequest.Body.stream(length: length) { offset, buffer in
      let count = min(buffer.count, Int(length - offset))
      UnsafeMutableRawBufferPointer(rebasing: buffer[..<count]).initializeMemory(as: UInt8.self, repeating: 7)
      return count
    }
    let start = Clock.monotonicNanoseconds()
    let answer = Locked<[UInt8]>([])
    try await PageFetcher(CurlPageTransport(), cookies: Cookies()).fetch(
      NetworkRequest(url, method: "PUT", body: body)
    ) { _ in
      true
    } receive: { bytes in
      answer.withLock { all in bytes.withUnsafeBytes { all.append(contentsOf: $0) } }
      return true
    }
    let text = String(decoding: answer.withLock { $0 }, as: UTF8.self)
    print("\(text)\t\(NetworkBench.milliseconds(since: start))\t\(before)\t\(peak)")
  }

  /// Kilobytes of memory at most so far.
  private static var peak: Int {
    var usage = rusage()
    getrusage(Int32(RUSAGE_SELF.rawValue), &usage)
    return usage.ru_maxrss
  }
}
