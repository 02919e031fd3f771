import DeviceLinux
import Manifests
import Publishing
import System
import XCacheClient
import XCacheRuntime

/// `xcache prefetch run PAGE`: sends what a device would, and says how long each call takes.
struct PrefetchRun {
  let plan: PrefetchPlan
  let page: String

  /// One call and what came of it.
  struct Outcome: Sendable {
    let request: PrefetchRequest
    var status: Int?
    var bytes = 0
    var headMilliseconds: Double?
    var milliseconds = 0.0
    var failure: String?

    /// Why a device wouldn't hand the answer to a page; nil: it would, or there is none.
    var drop: String? {
      guard failure == nil, let status else { return nil }
      guard (200..<300).contains(status) else { return "a device drops it: its status isn't 2xx" }
      return bytes > PrefetchTable.answerLimit
        ? "a device drops it: it is over \(PrefetchTable.answerLimit >> 20) MB" : nil
    }

    var json: JSONValue {
      let number: (Double?) -> JSONValue = { $0.map { .integer(Int($0.rounded())) } ?? .null }
      return [
        "bytes": .integer(bytes), "dropped": drop.map { .string($0) } ?? .null,
        "error": failure.map { .string($0) } ?? .null,
        "headMilliseconds": number(headMilliseconds), "method": .string(request.method),
        "milliseconds": number(milliseconds), "status": status.map { .integer($0) } ?? .null,
        "url": .string(request.url),
      ]
    }
  }

  /// Nobody's cookies: the person at the terminal has no session.
  private struct NoCookies: CookieStore {
    func header(for url: String) async -> String? { nil }
    func take(_ values: [String], from url: String) async {}
  }

  /// All calls at once, as a device sends them; in the config's order.
  func run() throws -> [Outcome] {
    guard let url = try? ResourceURL(page) else {
      throw UsageError(SettingsError.message(ofPage: page, in: "--url"))
    }
    let requests = plan.requests(for: page)
    let fetcher = PageFetcher(CurlPageTransport(stallSeconds: 30), cookies: NoCookies())
    let context = PageContext(userAgent: "xcache")
    let results = Monitor<[Int: Outcome]>([:])
    for (place, request) in requests.enumerated() {
      Task {
        let outcome = await Self.send(request, of: url, by: fetcher, context)
        results.broadcasting { $0[place] = outcome }
      }
    }
    return results.waiting { results in
      results.count == requests.count ? requests.indices.compactMap { results[$0] } : nil
    }
  }

  private static func send(
    _ request: PrefetchRequest, of page: ResourceURL, by fetcher: PageFetcher, _ context: PageContext
  ) async -> Outcome {
    let start = Clock.monotonicNanoseconds()
    let outcome = Locked(Outcome(request: request))
    guard let sent = NetworkRequest(ahead: request, of: page, context) else {
      return Outcome(request: request)
    }
    do throws(TransportError) {
      try await fetcher.fetch(sent) { head in
        outcome.withLock { $0.status = head.status }
        outcome.withLock { $0.headMilliseconds = DeviceNames.milliseconds(since: start) }
        return true
      } receive: { bytes in
        outcome.withLock { $0.bytes += bytes.byteCount }
        return true
      }
    } catch {
      outcome.withLock { $0.failure = error.reason }
    }
    outcome.withLock { $0.milliseconds = DeviceNames.milliseconds(since: start) }
    return outcome.withLock { $0 }
  }

  // MARK: - Words

  static func lines(_ outcomes: [Outcome]) -> [String] {
    var table = Table(
      ["method", "status", "bytes", "first ms", "all ms", "url"], rightAligned: [1, 2, 3, 4])
    for outcome in outcomes {
      table.add([
        outcome.request.method, outcome.status.map { "\($0)" } ?? "—", "\(outcome.bytes)",
        outcome.headMilliseconds.map { "\(Int($0.rounded()))" } ?? "—",
        "\(Int(outcome.milliseconds.rounded()))",
        outcome.request.url + ((outcome.failure ?? outcome.drop).map { "  \($0)" } ?? ""),
      ])
    }
    return table.lines
  }
}
