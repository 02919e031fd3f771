import HTTP
import Manifests

/// A page as its site answers it now, beside what a device will answer in its place.
struct LivePage {
  let url: String
  let status: Int
  let fields: HTTPFields
  /// Whether its scripts have a nonce, which the line of `web init` then has, too.
  var hasNonce = false
  /// Whether it is a worker with a root.
  var hasRoot = false

  /// Returns what the site does that a device, which answers the page with `headers` alone, wouldn't.
  func warnings(_ headers: EntryHeaders) -> [String] {
    if [401, 403].contains(status) || (300..<400).contains(status) {
      let answer = status < 400 ? "a redirect (\(status))" : "\(status)"
      return [
        "\(url) is answered with \(answer), and opens from devices all the same: leave pages that need a login out "
          + "of the build, or bypass them with `xcache policy bypass add`"
      ]
    }
    guard status == 200 else { return [] }
    return missing(headers) + differing(headers) + policies(headers) + personal
  }

  // MARK: - Headers

  /// The headers that the site sends and devices wouldn't.
  private func missing(_ headers: EntryHeaders) -> [String] {
    let lost = EntryHeaders.Name.allCases.filter { name in
      name != .serviceWorkerAllowed && fields.contains(name.rawValue)
        && !headers.fields.contains { $0.name == name }
    }
    if lost.isEmpty { return [] }
    return [
      "\(url) has \(lost.map(\.rawValue).joined(separator: ", ")) from its server, which devices don't send: add "
        + "\(lost.count == 1 ? "it" : "them") to \"headers\" in xcache.json"
    ]
  }

  /// The headers that both send, with values that mean something else.
  private func differing(_ headers: EntryHeaders) -> [String] {
    headers.fields.compactMap { field in
      // What only reports changes no page.
      guard ![.serviceWorkerAllowed, .contentSecurityPolicyReportOnly].contains(field.name),
        let live = fields.combined(field.name.rawValue),
        Self.meaning(live, of: field.name) != Self.meaning(field.value.text, of: field.name)
      else { return nil }
      return "\(url) has \(field.name.rawValue): \(Self.cut(live)) from its server, and devices send "
        + "\(Self.cut(field.value.text)), which is in xcache.json: make them the same"
    }
  }

  /// Returns a value without differences that mean nothing: blanks, the order of directives, and a nonce, which is another one in
  /// each answer.
  private static func meaning(_ value: String, of name: EntryHeaders.Name) -> Set<String> {
    let text = name == .xFrameOptions ? value.lowercased() : value
    func parts(_ text: some StringProtocol, by separator: Character) -> [String] {
      text.split(separator: separator).map { part in
        part.split { $0 == " " || $0 == "\t" }.map { $0.hasPrefix("'nonce-") ? "'nonce-" : String($0) }
          .joined(separator: " ")
      }.filter { !$0.isEmpty }
    }
    guard name == .contentSecurityPolicy else { return Set(parts(text, by: ",")) }
    return Set(text.split(separator: ",").map { parts($0, by: ";").sorted().joined(separator: ";") })
  }

  private static func cut(_ value: String) -> String {
    value.utf8.count > 120 ? "\(value.prefix(120))…" : value
  }

  // MARK: - The worker's needs

  /// What a Content-Security-Policy, the site's or a device's, refuses of the script and the worker.
  private func policies(_ headers: EntryHeaders) -> [String] {
    let name = EntryHeaders.Name.contentSecurityPolicy
    let live = fields.values(name.rawValue).flatMap(ContentPolicy.policies(of:)).flatMap {
      $0.advice(hasNonce: hasNonce)
    }
    return live.isEmpty
      ? Self.advice(headers).map { "\(url): \($0)" }
      : live.map { "\(url) has a Content-Security-Policy from its server that stands in the way: \($0)" }
  }

  /// What the Content-Security-Policy in xcache.json refuses of the script and the worker.
  static func advice(_ headers: EntryHeaders) -> [String] {
    headers.fields.filter { $0.name == .contentSecurityPolicy }
      .flatMap { ContentPolicy.policies(of: $0.value.text) }.flatMap { $0.advice() }
      .map { "the Content-Security-Policy in xcache.json stands in the way: \($0)" }
  }

  // MARK: - Users

  /// Signs that the answer is one user's.
  private var personal: [String] {
    let signs = [
      fields.contains("Set-Cookie") ? "Set-Cookie" : nil,
      names("Cache-Control", "private") ? "Cache-Control: private" : nil,
      names("Cache-Control", "no-store") ? "Cache-Control: no-store" : nil,
      names("Vary", "cookie") ? "Vary: Cookie" : nil,
    ].compactMap(\.self)
    if signs.isEmpty { return [] }
    return [
      "\(url) is answered with \(signs.joined(separator: ", ")), so it may differ from user to user; devices "
        + "answer it with the same bytes for all"
    ]
  }

  /// Whether a list field names a member.
  private func names(_ field: String, _ member: String) -> Bool {
    fields.members(field).contains { $0.prefix { $0 != " " && $0 != "=" } == member }
  }
}
