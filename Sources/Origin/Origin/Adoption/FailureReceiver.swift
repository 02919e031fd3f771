import HTTP
import Manifests
import Store
import Values

/// Receives a device's report: `POST /report?app=…&channel=…` with a failure,
/// `{"reason":"integrity","url":"https://…","version":"553"}`, or a batch of counts,
/// `{"counts":{"local":12,"passed":3},"version":"553"}`.
final class FailureReceiver: BodyReceiver {
  private let origin: Origin
  private let channel: ChannelCatalog
  private var body: [UInt8] = []

  /// In bytes: room for a URL and a few words.
  static let limit = 8 << 10

  init(_ origin: Origin, _ channel: ChannelCatalog) {
    self.origin = origin
    self.channel = channel
  }

  func receive(_ bytes: RawSpan) -> Bool {
    bytes.withUnsafeBytes { body.append(contentsOf: $0) }
    return body.count <= Self.limit
  }

  func finish() -> Response {
    let document = try? JSONValue.parse(body)
    if let document, document["counts"] != nil { return finish(batch: document) }
    guard let document, let reason = document["reason"]?.string.flatMap({ FailureReason(rawValue: $0) })
    else {
      let reasons = FailureReason.allCases.map(\.rawValue).joined(separator: ", ")
      return ClientFailure.response(
        .badRequest,
        "a report must be {\"reason\",\"url\",\"version\"} or {\"counts\",\"version\"}; \"reason\" must be one of \(reasons)"
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

  private func finish(batch document: JSONValue) -> Response {
    do throws(JSONError) {
      let batch = try DeviceBatch(json: document)
      // Counts for versions that don't exist are ignored.
      if batch.version > .none, batch.version <= channel.highest {
        origin.adoption.record(batch, of: channel.channel.id)
      }
      return Self.accepted
    } catch {
      return ClientFailure.response(
        .badRequest,
        "\"counts\" must have at most \(DeviceCounts.maxNames) names, each 0 to \(DeviceCounts.limit), and \"version\" must be a version: \(error)"
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
      return .receive(limit: UInt64(FailureReceiver.limit)) { [origin] in FailureReceiver(origin, channel) }
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
