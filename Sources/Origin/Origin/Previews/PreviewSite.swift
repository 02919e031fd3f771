import HTTP
import Manifests
import OriginAPI
import Store
import System
import Values

/// Answers the listener of previews: pages of releases, under the hosts of their tickets, and nothing else.
///
/// It knows no token, no cookie and no route of the API. What a page does there can be read by its own release only, and no call of it
/// leaves (`PreviewPolicy`).
final class PreviewSite: Handler, Sendable {
  private let tickets: PreviewTickets
  private let store: Store
  private let files: DownloadEndpoint
  private let failures: FailureLog

  init(_ tickets: PreviewTickets, _ store: Store, _ files: DownloadEndpoint, failures: FailureLog) {
    self.tickets = tickets
    self.store = store
    self.files = files
    self.failures = failures
  }

  func handle(_ request: borrowing Request) -> Answer {
    guard request.method == .get || request.method == .head else {
      return .now(
        PreviewPolicy.refusal(
          .methodNotAllowed, "a preview answers GET and HEAD only; it is for looking", allow: "GET, HEAD"))
    }
    // Whoever makes a browser look for another name at this address gets nothing (DNS rebinding).
    guard let authority = request.authority, let label = tickets.address.label(of: authority) else {
      return .now(PreviewPolicy.refusal(Status(421), "previews aren't served under this host"))
    }
    guard let (version, host) = tickets.find(label) else {
      return .now(
        PreviewPolicy.refusal(
          .notFound,
          "this preview has ended: they last for an hour, and until the origin restarts; open it again in the console"
        ))
    }
    // One would go on answering after the preview has ended, and stand between it and the files that are looked at.
    if request.field(named: "service-worker") != nil {
      return .now(PreviewPolicy.refusal(.forbidden, "a preview has no service workers"))
    }
    let target = Target(request, host)
    let stored = StoredRequest(request)
    return .later { [self] in answer(target, version, host, stored) }
  }

  /// What is asked for.
  private struct Target: Sendable {
    /// The same path and query at the version's host, by each of its schemes.
    let urls: [ResourceURL]
    /// Whether a page is opened: then a query may be left out, and a route is answered by its page.
    let isPage: Bool
    /// Where it is asked from, if not from there.
    let origin: String?

    init(_ request: borrowing Request, _ host: PreviewedVersion.Host) {
      var target = request.path.text
      if let query = request.query { target += "?\(query.text)" }
      urls = host.schemes.compactMap { try? ResourceURL("\($0)://\(host.authority)\(target)") }
      origin = request.field(.origin)?.text
      if let destination = request.field(named: "sec-fetch-dest") {
        isPage = destination.equals("document") || destination.equals("iframe") || destination.equals("frame")
      } else {
        isPage = request.field(.accept)?.text.contains("text/html") ?? false
      }
    }
  }

  private func answer(
    _ target: Target, _ version: PreviewedVersion, _ host: PreviewedVersion.Host, _ stored: StoredRequest
  ) -> Response {
    do throws(StoreError) {
      guard let found = try find(target, version) else {
        let url = target.urls.first?.text ?? "that"
        return PreviewPolicy.refusal(
          .notFound, "version \(version.version) lists nothing under \(url); a device would ask the network",
          version,
          host, tickets.address)
      }
      return try response(found.content, target, version, host).response(to: stored.request)
    } catch {
      if case .unknownVersion = error {
        return PreviewPolicy.refusal(
          .notFound, "version \(version.version) isn't kept any more", version, host, tickets.address)
      }
      failures.note(Problem(error), "preview of version \(version.version): \(error)")
      return PreviewPolicy.refusal(
        .internalServerError, "the origin can't read this file; its log says why", version, host,
        tickets.address)
    }
  }

  /// Returns what a device would answer with.
  private func find(_ target: Target, _ version: PreviewedVersion) throws(StoreError) -> ListedResource? {
    for url in target.urls {
      if let found = try store.listed(url, of: version.channel, at: version.version) { return found }
    }
    guard target.isPage else { return nil }
    for url in target.urls where url.query != nil {
      guard let plain = try? ResourceURL(String(url.withoutQuery)),
        let found = try store.listed(plain, of: version.channel, at: version.version)
      else { continue }
      return found
    }
    for url in target.urls {
      guard let page = version.fallbacks[url] else { continue }
      return try store.listed(page, of: version.channel, at: version.version)
    }
    return nil
  }

  // MARK: - Bytes

  /// Bytes up to which a text is searched for the version's hosts: it is in memory for that.
  private static let textLimit: Int64 = 16 << 20

  private func response(
    _ content: ResourceContent, _ target: Target, _ version: PreviewedVersion, _ host: PreviewedVersion.Host
  ) throws(StoreError) -> Representation {
    let fields = PreviewPolicy.fields(content.ctype.text, version, host, tickets.address, from: target.origin)
    guard Self.isText(content.ctype), content.size <= Self.textLimit else {
      return Representation(fields, tag: nil, body: try files.openFile(content.sha256).body)
    }
    let blob = try store.open(content.sha256)
    let text = try blob.bytes()
    let isPage = PageFallbacks.isDocument(content.ctype.text)
    let edits = PreviewText(version, tickets.address).edits(in: text.span.bytes, isPage: isPage)
    let body = files.file(blob, content.sha256).body
    return Representation(fields, tag: nil, body: Self.changed(body, edits), allowsRanges: false)
  }

  /// Whether URLs in such files lead to others.
  private static func isText(_ type: ContentType) -> Bool {
    let essence = type.essence
    return essence.hasPrefix("text/") || essence.hasSuffix("+json") || essence.hasSuffix("+xml")
      || [
        "application/javascript", "application/json", "application/x-javascript", "application/ecmascript",
        "application/xml",
      ].contains(essence)
  }

  /// The file with its changes, sent from the file: what is in memory is what is changed.
  private static func changed(_ body: Body, _ edits: [PreviewText.Edit]) -> Body {
    guard case .file(let file) = body, !edits.isEmpty else { return body }
    var segments: [BodySegment] = []
    var at = 0
    for edit in edits {
      if edit.range.lowerBound > at {
        segments.append(.file(file.part(UInt64(at)..<UInt64(edit.range.lowerBound))))
      }
      let bytes = SharedBytes(edit.text)
      segments.append(.bytes(bytes, 0..<bytes.count))
      at = edit.range.upperBound
    }
    if UInt64(at) < file.count { segments.append(.file(file.part(UInt64(at)..<file.count))) }
    return .segments(segments)
  }
}
