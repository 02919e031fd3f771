import PreviewProtocol
import Synchronization
import XCacheRuntime
import XCacheWebKit

/// The requests of one page: those that went through its proxy, and those that only the engine knows about.
final class RequestLog: Sendable {
  private struct Entry {
    var report: ProxyReport
    let began: ContinuousClock.Instant
  }

  private struct State {
    var entries: [Entry] = []
    var indices: [UInt64: Int] = [:]
    var loading = 0
    var last = ContinuousClock.now
  }

  private let state = Mutex(State())

  /// Records a report of the proxy, on any thread.
  func take(_ report: ProxyReport) {
    state.withLock { state in
      if report.isOver {
        state.loading -= 1
        if let index = state.indices[report.id] { state.entries[index].report = report }
        return
      }
      state.loading += 1
      state.last = .now
      guard state.entries.count < PageInspector.mostResources else { return }
      state.indices[report.id] = state.entries.count
      state.entries.append(Entry(report: report, began: state.last))
    }
  }

  /// How many requests are still running, and when the last one started.
  var activity: (loading: Int, last: ContinuousClock.Instant) { state.withLock { ($0.loading, $0.last) } }

  /// Returns all requests; those that only the engine saw come last.
  func requests(with resources: [PageInspector.Resource]) -> [PageReport.Request] {
    let entries = state.withLock { $0.entries }
    let seen = Set(entries.map { PageInspector.cut(Self.withoutFragment($0.report.url)) })
    let others = resources.filter { !seen.contains(Self.withoutFragment($0.url)) }
    let all =
      entries.map { PageReport.Request($0.report, now: .now - $0.began) }
      + others.map(PageReport.Request.init)
    return Array(all.prefix(PageInspector.mostResources))
  }

  static func withoutFragment(_ url: String) -> String { String(url.prefix { $0 != "#" }) }
}

extension PageReport.Request {
  /// Creates a request from the proxy's report.
  init(_ report: ProxyReport, now lasted: Duration) {
    let source: PageReport.Source =
      switch (report.source, report.status) {
      case (.device, _): .device
      case (.network, .some(let status)): status < 400 ? .network : .missing
      default: .failed
      }
    self.init(
      url: PageInspector.cut(report.url), source: source, status: report.status.map { Int64($0) },
      bytes: report.bytes, kind: Self.kind(report.destination),
      ms: report.isOver ? report.milliseconds : Int64(lasted / .milliseconds(1)))
  }

  /// Creates a request from the engine's record.
  init(_ resource: PageInspector.Resource) {
    let isOwn = ["data:", "blob:", "about:"].contains { resource.url.hasPrefix($0) }
    let source: PageReport.Source =
      switch resource.status {
      case _ where isOwn: .engine
      case .some(let status) where status >= 400: .missing
      case .some where resource.failure == nil: .network
      default: .failed
      }
    self.init(
      url: resource.url, source: source, status: resource.status.map { Int64($0) }, bytes: resource.bytes,
      kind: Self.kind(resource), ms: resource.milliseconds ?? 0)
  }

  private static func kind(_ destination: PageRequest.Destination) -> String {
    switch destination {
    case .document, .frame: "document"
    case .script, .worker: "script"
    case .style: "style"
    case .image: "image"
    case .font: "font"
    case .fetch: "fetch"
    case .audio, .video, .manifest, .other: "other"
    }
  }

  private static func kind(_ resource: PageInspector.Resource) -> String? {
    switch resource.destination ?? "" {
    case "document", "iframe", "frame": return "document"
    case "script", "worker", "sharedworker", "serviceworker": return "script"
    case "style", "image", "font": return resource.destination
    case "empty": return "fetch"
    case "": break
    default: return "other"
    }
    let type = resource.type ?? ""
    if type.hasPrefix("image/") { return "image" }
    if type.hasPrefix("font/") { return "font" }
    if type.contains("javascript") { return "script" }
    if type == "text/css" { return "style" }
    return type == "text/html" ? "document" : nil
  }
}
