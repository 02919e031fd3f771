import HTTP
import Manifests
import Store
import Values

/// Receives a device's report: `POST /report?app=…&channel=…` with a failure,
/// `{"reason":"integrity","url":"https://…","version":"553"}`, a batch of counts, `{"counts":{"local":12,"passed":3},"version":"553"}`,
/// what a rollout came to, `{"evidence":{"arm":"candidate","failed":0,"opened":1,"version":"554"}}`, which a failure may carry, too, or
/// an example of how pages failed, `{"sample":{…},"version":"553"}`.
final class FailureReceiver: BodyReceiver {
  private let origin: Origin
  private let channel: ChannelCatalog
  private let peer: IPAddress
  private let isForeign: Bool
  private let sender: ReportSender
  private var body: [UInt8] = []

  /// In bytes: room for a URL and a few words.
  static let limit = 8 << 10

  /// `isForeign` is whether another site's page sent it: its evidence doesn't count.
  init(
    _ origin: Origin, _ channel: ChannelCatalog, from peer: IPAddress, _ sender: ReportSender, isForeign: Bool
  ) {
    self.origin = origin
    self.channel = channel
    self.peer = peer
    self.isForeign = isForeign
    self.sender = sender
  }

  func receive(_ bytes: RawSpan) -> Bool {
    bytes.withUnsafeBytes { body.append(contentsOf: $0) }
    return body.count <= Self.limit
  }

  func finish() -> Response {
    let document = try? JSONValue.parse(body)
    if let document, document["sample"] != nil { return finish(sample: document) }
    if let document, document["counts"] != nil { return finish(batch: document) }
    if let evidence = document?["evidence"] {
      if let refusal = take(evidence) { return refusal }
      if document?["reason"] == nil { return Self.accepted }
    }
    guard let document,
      let reason = document["reason"]?.string.flatMap({
        FailureReason(sent: $0, cause: document["cause"]?.string)
      })
    else {
      let reasons = FailureReason.sent.map(\.rawValue).joined(separator: ", ")
      return ClientFailure.response(
        .badRequest,
        "a report must be {\"reason\",\"url\",\"version\"}, {\"counts\",\"version\"}, {\"sample\",\"version\"} or {\"evidence\"}; \"reason\" must be one of \(reasons)"
      )
    }
    let version = document["version"]?.string.flatMap { ManifestVersion(text: $0)?.number } ?? PollCount.none
    let url = document["url"]?.string.flatMap {
      HumanText.problem(of: $0, .line(bytes: 2048)) == nil ? $0 : nil
    }
    origin.adoption.record(
      reason, version: version > channel.highest.number ? PollCount.other : version,
      url: url ?? "", of: channel.channel.id)
    return Self.accepted
  }

  /// - Returns: the refusal of what isn't evidence.
  private func take(_ evidence: JSONValue) -> Response? {
    do throws(JSONError) {
      let report = try EvidenceReport(json: evidence)
      if isForeign {
        origin.adoption.foreignReports.add(1, ordering: .relaxed)
      } else {
        origin.adoption.record(report, from: peer, of: channel.newest.channel)
      }
      return nil
    } catch {
      return ClientFailure.response(
        .badRequest,
        "\"evidence\" must have a \"version\", \"arm\" candidate or control, \"opened\" and \"failed\" 0 or 1, and may have an \"age\" of 0 to \(EvidenceReport.oldest): \(error)"
      )
    }
  }

  private func finish(batch document: JSONValue) -> Response {
    do throws(JSONError) {
      let batch = try DeviceBatch(json: document)
      // Counts for versions that don't exist are ignored.
      if batch.version > .none, batch.version <= channel.highest {
        origin.adoption.record(batch, of: channel.channel.id, channel.extras)
      }
      return Self.accepted
    } catch {
      return ClientFailure.response(
        .badRequest,
        "\"counts\" must have at most \(DeviceCounts.maxNames) names, each 0 to \(DeviceCounts.limit), and \"version\" must be a version: \(error)"
      )
    }
  }

  /// Takes an error sample. What isn't kept is accepted all the same: devices can't do better.
  private func finish(sample document: JSONValue) -> Response {
    guard origin.adoption.takesSample(from: peer), channel.extras.samples != 0 else { return Self.accepted }
    do throws(JSONError) {
      // Which paths are listed is looked up when it is written; everything else is stripped before it is kept in memory.
      let report = try SampleReport(json: document) { _ in true }
      if report.version > .none, report.version <= channel.highest,
        sender.mayReport(about: report.sample.page)
      {
        origin.adoption.record(report, of: channel.channel.id)
      }
      return Self.accepted
    } catch {
      let kinds = ErrorSample.Kind.allCases.map(\.rawValue).joined(separator: ", ")
      return ClientFailure.response(
        .badRequest,
        "\"sample\" must have a \"kind\" (\(kinds)), a \"message\", the URL of a \"page\", and may have an \"engine\" and a \"stack\" of texts; \"version\" must be a version: \(error)"
      )
    }
  }

  func abort() {}

  private static let accepted = Response(
    .ok,
    HeadFields([
      ("Content-Type", "application/json"), ("Cache-Control", "no-store"),
      ("Access-Control-Allow-Origin", "*"),
    ]), .bytes(SharedBytes(Array("{\"code\":200}".utf8))))
}

extension OriginHandler {
  /// Answers `POST /report`.
  func failure(_ request: borrowing Request) -> Answer {
    switch request.method {
    case .post:
      guard request.announcesBody else {
        return .now(ClientFailure.response(.lengthRequired, "a report needs a body; send Content-Length"))
      }
      let query = Self.query(request)
      let catalog = catalog.current
      guard let channel = catalog.channel(query) else { return .now(Self.noApp(query, catalog)) }
      let (peer, sender, isForeign) = (request.peer, ReportSender(request), channel.isForeign(request))
      return .receive(limit: UInt64(FailureReceiver.limit)) { [origin] in
        FailureReceiver(origin, channel, from: peer, sender, isForeign: isForeign)
      }
    case .options: return .now(Self.reportOptions)
    default:
      return .now(
        ClientFailure.response(.methodNotAllowed, "failures are reported by POST", allow: "POST, OPTIONS"))
    }
  }

  private static let reportOptions = Response(
    .noContent,
    HeadFields([
      ("Allow", "POST, OPTIONS"), ("Access-Control-Allow-Origin", "*"),
      ("Access-Control-Allow-Methods", "POST"), ("Access-Control-Allow-Headers", "*"),
      ("Access-Control-Max-Age", "86400"),
    ]))
}

extension ChannelCatalog {
  /// Whether a page sent a request that isn't one of the channel's. Browsers name the page's origin in every POST; devices by the Swift
  /// runtime don't. `null`, the origin of a page whose own is hidden, is no channel's.
  fileprivate func isForeign(_ request: borrowing Request) -> Bool {
    if let page = request.field(.origin) { return !pageOrigins.contains(page.array) }
    guard let site = request.field(named: "sec-fetch-site") else { return false }
    return !site.equals("same-origin") && !site.equals("none")
  }
}
