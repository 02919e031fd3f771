import DeviceLinux
import SocketServer
import System
import XCacheDevice
import XCacheRuntime

/// A page's data: a call of 300 ms behind a line of 100 ms each way.
enum PrefetchBench {
  private struct NoCookies: CookieStore {
    func header(for url: String) async -> String? { nil }
    func take(_ values: [String], from url: String) async {}
  }

  private struct NotUsed: Error { let counts: PrefetchCounts }

  static func run(in base: String) async throws {
    let known = Locked<Set<Int>>([])
    let server = SocketServer { request in
      // A connection takes a way there and back before the request goes out.
      let isNew = known.withLock { $0.insert(request.connection).inserted }
      return [.sleep(milliseconds: (isNew ? 400 : 200) + 300)]
        + .answer(200, [("Content-Type", "application/json")], body: [UInt8](repeating: 32, count: 2_000))
    }
    print("the script asks after\twithout prefetch\twith it (ms from the page's opening to its data)")
    for wait in [0, 200, 600, 1_200] {
      let plain = try await time(server, "\(base)/\(wait)-plain", wait: wait, isAhead: false)
      let ahead = try await time(server, "\(base)/\(wait)-ahead", wait: wait, isAhead: true)
      print("\(wait)\t\(plain)\t\(ahead)")
    }
  }

  /// From the opening of a page until its data is there, on new connections.
  private static func time(
    _ server: SocketServer, _ folder: String, wait: Int, isAhead: Bool
  ) async throws -> Int {
    let (page, call) = ("\(server.url)/index.html", "\(server.url)/api/list")
    var settings = RuntimeSettings(
      DeviceSettings(folder: folder, server: server.url, app: "bench", hosts: ["127.0.0.1"]))
    let fetcher = PageFetcher(CurlPageTransport(), cookies: NoCookies())
    settings.fetcher = fetcher
    // A folder that was a device's before, with a config in it.
    let first = try await Runtime(settings, transport: CurlTransport())
    await first.close()
    let config =
      #"{"code":200,"data":{"config":[{"url":"\#(page)","interfaces":[{"api":"\#(call)","method":"GET"}]}],"#
    try DurableFile.write(Array((config + #""version":"1"}}"#).utf8), to: "\(folder)/prefetchConfig.json")
    let runtime = try await Runtime(settings, transport: CurlTransport())
    let start = Clock.monotonicNanoseconds()
    let open = runtime.open(page)
    if isAhead { await runtime.prefetch(for: open, PageContext(userAgent: "bench")) }
    try await Task.sleep(for: .milliseconds(wait))
    if await runtime.prefetched(PageRequest(call, destination: .fetch, mode: .cors, page: open)) == nil {
      try await fetcher.fetch(NetworkRequest(call)) { _ in
        true
      } receive: { _ in
        true
      }
    }
    let time = NetworkBench.milliseconds(since: start)
    // A row that says it was sent ahead must have been.
    guard runtime.prefetchCounts.used == (isAhead ? 1 : 0) else {
      throw NotUsed(counts: runtime.prefetchCounts)
    }
    await runtime.close()
    return time
  }
}
