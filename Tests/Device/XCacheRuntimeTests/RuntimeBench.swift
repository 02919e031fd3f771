import DeviceTestSupport
import Manifests
import System

@testable import XCacheDevice
@testable import XCacheRuntime

/// Makes runtimes with an origin in memory, one after another on one folder.
struct RuntimeBench {
  static let page = "https://m.test/index.html"
  static let script = "https://m.test/app.js"

  let bench: Bench
  var origin: FakeOrigin { bench.origin }
  var folder: String { bench.settings().folder }

  /// An origin with a page and its script.
  init() throws {
    bench = try Bench()
    try origin.publish([Self.page: bytes("<p>one"), Self.script: bytes("let one")])
  }

  func runtime(_ change: (inout RuntimeSettings) -> Void = { _ in }) async throws -> Runtime {
    var device = bench.settings()
    device.hosts = ["m.test"]
    var settings = RuntimeSettings(device)
    change(&settings)
    return try await Runtime(settings, transport: origin)
  }

  /// What a page gets: `200 text`, or the reason why the request went to the network.
  func ask(
    _ runtime: Runtime, _ url: String, method: String = "GET",
    _ headers: HTTPFields = [],
    destination: PageRequest.Destination = .other, page: OpenPage? = nil
  ) async throws -> String {
    let request = PageRequest(url, method: method, headers: headers, destination: destination, page: page)
    switch await runtime.answer(request) {
    case .local(let answer):
      return "\(answer.status) \(String(decoding: try answer.body.collect(), as: UTF8.self))"
    case .network(let reason): return reason.rawValue
    }
  }

  /// Makes the origin serve a policy from now on.
  func serve(policy version: Int, _ members: String) {
    let document = #"{"code":200,"data":{"version":"\#(version)",\#(members),"scripts":[]}}"#
    origin.serve(bytes(document), at: "\(FakeOrigin.server)/policy.json?app=shop&channel=online")
    origin.say(#","policy":"\#(version)""#)
  }

  /// The number of files that were requested since the last call.
  func fetches() -> Int { origin.takeLog().count { $0.hasPrefix("https://cdn.test/") } }
}

/// Blocks one side, without using a thread of Swift's concurrency, until the other side opens it.
final class Barrier: Sendable {
  private let state = Monitor((isReached: false, isOpen: false))

  /// Arrives at the barrier, and waits until it is opened.
  func wait() {
    state.broadcasting { $0.isReached = true }
    state.waiting { $0.isOpen ? () : nil }
  }

  func open() { state.broadcasting { $0.isOpen = true } }

  /// Waits until a thread has arrived.
  func reached() async {
    while !state.withLock({ $0.isReached }) { try? await Task.sleep(for: .milliseconds(1)) }
  }
}
