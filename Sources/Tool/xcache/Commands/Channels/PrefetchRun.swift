import DeviceLinux
import Publishing
import System
import Values
import XCacheDevice
import XCacheRuntime

/// `xcache prefetch run PAGE`: sends the calls that a device would, and prints how long each takes.
struct PrefetchRun {
  let plan: PrefetchPlan
  let page: String
  /// The timeout in seconds.
  let timeout: Int64

  /// A call and its result.
  struct Outcome: Sendable {
    let request: PrefetchRequest
    var status: Int?
    var bytes = 0
    var headMilliseconds: Double?
    var milliseconds = 0.0
    var failure: String?
    var isLate = false

    /// Why a device wouldn't give the answer to a page; nil if it would, or there is no answer.
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

  /// A store without cookies: there is no session on the command line.
  private struct NoCookies: CookieStore {
    func header(for url: String) async -> String? { nil }
    func take(_ values: [String], from url: String) async {}
  }

  /// Sends all calls at once, as a device does; returns the outcomes in the config's order.
  func run() throws -> [Outcome] {
    guard let url = try? ResourceURL(page) else {
      throw UsageError(SettingsError.message(ofPage: page, in: "--url"))
    }
    let requests = plan.requests(for: page)
    let fetcher = PageFetcher(CurlPageTransport(stallSeconds: 30), cookies: NoCookies())
    let context = PageContext(userAgent: "xcache")
    let end = Clock.continuousMilliseconds() + timeout * 1000
    let results = Monitor<[Int: Outcome]>([:])
    for (place, request) in requests.enumerated() {
      Task {
        let outcome = await send(request, of: url, by: fetcher, context, until: end)
        results.broadcasting { $0[place] = outcome }
      }
    }
    // Calls that timed out end by themselves within a second or two.
    _ = results.waiting(for: .seconds(timeout + 3)) { $0.count == requests.count ? () : nil }
    let known = results.withLock { $0 }
    return requests.enumerated().map { place, request in
      known[place]
        ?? Outcome(request: request, milliseconds: Double(timeout) * 1000, failure: late, isLate: true)
    }
  }

  private var late: String { "no complete answer within \(timeout) s; --timeout sets the limit" }

  private func send(
    _ request: PrefetchRequest, of page: ResourceURL, by fetcher: PageFetcher, _ context: PageContext,
    until end: Int64
  ) async -> Outcome {
    let start = Clock.monotonicNanoseconds()
    let outcome = Locked(Outcome(request: request))
    guard var sent = NetworkRequest(ahead: request, of: page, context) else {
      return Outcome(request: request)
    }
    sent.isCancelled = { Clock.continuousMilliseconds() >= end }
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
      let isLate = error.kind == .stopped
      outcome.withLock { ($0.failure, $0.isLate) = (isLate ? late : error.reason, isLate) }
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
