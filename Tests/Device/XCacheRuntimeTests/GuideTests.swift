import System
import Testing
import TestSupport
import XCacheDevice
import XCacheRuntime

/// The code of docs/guide-runtime.md, compiled as in an app: only with public access.
private enum Guide {
  static func open(
    folder: String, resources: String, transport: any Transport,
    shown: (Int, [UInt8]) -> Void, loaded: (String, PassReason) -> Void
  ) async throws {
    func show(_ status: Int, _ headers: HTTPFields, _ body: [UInt8]) {
      shown(status, body)
    }
    func load(_ url: String, because reason: PassReason) -> Int {
      loaded(url, reason)
      return 200
    }

    // guide
    let device = DeviceSettings(
      folder: folder, server: "https://xcache.example.com", app: "shop", hosts: ["m.example.com"])
    var settings = RuntimeSettings(device)
    settings.preset = "\(resources)/553.zip"
    settings.build = "4.2.0"
    let runtime = try await Runtime(settings, transport: transport)
    if let fault = runtime.fault { print("pages come from the network: \(fault)") }
    // guide
    let events = runtime.events
    let listener = Task {
      for await event in events {
        switch event {
        case .switched(let from, let to): print("version \(from) → \(to)")
        case .failed(let error): print("no update: \(error)")
        case .returned(let from, let to, let cause, _):
          print("version \(from) doesn't work (\(cause)): back to \(to)")
        default: break
        }
      }
    }
    Task { await runtime.handle(.launch) }
    // guide
    let page = runtime.open("https://m.example.com/index.html")
    let request = PageRequest(page.url, destination: .document, mode: .navigate, page: page)
    switch await runtime.answer(request) {
    case .local(let answer):
      show(answer.status, answer.headers, try answer.body.collect())
    case .network(let reason):
      let status = load(request.url, because: reason)
      runtime.passed(request, status: status)
    }
    await runtime.handle(.pageOpened(page))
    // guide
    runtime.reached(.firstPaint, page, after: 140)
    runtime.pageCameUp(page)
    runtime.reached(.load, page, after: 320)

    runtime.close(page)
    await runtime.handle(.pageClosed)
    // guide
    runtime.conditions.network = .metered
    runtime.conditions.isForeground = false
    runtime.memoryIsShort()
    // guide
    runtime.appVersion = "4.2.0"
    runtime.groups = ["qa"]
    if runtime.holdsCandidate { runtime.leaveCandidate() }
    // guide
    if await !runtime.reject("no checkout") { print("there is no version to go back to") }
    await runtime.confirm()
    // guide
    await runtime.close()
    // end
    listener.cancel()
  }
}

/// A network on which no server answers.
private struct UnreachableTransport: Transport {
  func get(_ request: TransportRequest, receive: (RawSpan) -> Bool) throws(TransportError) -> TransportReply {
    throw TransportError(.unreachable, "nobody is there")
  }
}

@Suite struct GuideTests {
  @Test func guidesCodeRuns() async throws {
    let scratch = try Scratch()
    let shown = Locked<[String]>([])
    try await Guide.open(
      folder: "\(scratch.path)/device", resources: scratch.path, transport: UnreachableTransport(),
      shown: { status, _ in shown.withLock { $0.append("\(status)") } },
      loaded: { url, reason in shown.withLock { $0.append("\(url) \(reason)") } })
    #expect(shown.withLock { $0 } == ["https://m.example.com/index.html notListed"])
  }

  /// The code above is the code in the guide.
  @Test func guideHasThisCode() throws {
    let guide = String(
      decoding: try #require(try DurableFile.read("\(Repository.root)/docs/guide-runtime.md")), as: UTF8.self)
    let shown = guide.split(separator: "```swift\n").dropFirst().map { String($0.prefix { $0 != "`" }) }
    let source = String(decoding: try #require(try DurableFile.read(#filePath)), as: UTF8.self)
    let function = try #require(source.split(separator: "\n    // end\n").first)
    let compiled = function.split(separator: "\n    // guide\n").dropFirst().map { block in
      block.split(separator: "\n", omittingEmptySubsequences: false)
        .map { $0.hasPrefix("    ") ? $0.dropFirst(4) : $0 }.joined(separator: "\n") + "\n"
    }
    #expect(shown.count == 8 && shown == compiled)
  }
}
