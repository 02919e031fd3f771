import Foundation
import Testing
import WebKitTestSupport

@testable import XCacheRuntime
@testable import XCacheWebKit

extension SplitMix {
  mutating func one(in count: Int) -> Bool { below(count) == 0 }
}

/// The versions that a page's parts report.
struct PageReport: Decodable {
  let versions: [Int?]
  let parts: String
  let wrong: [String]
}

/// Helpers of tests with killed processes, malformed responses, damaged files and hostile pages, random with fixed
/// seeds.
@WebActor
protocol Attacks {}

extension Attacks {
  /// Factor on the number of rounds: XCACHE_WEBKIT_ATTACK.
  static var times: Int {
    ProcessInfo.processInfo.environment["XCACHE_WEBKIT_ATTACK"].flatMap { Int($0) } ?? 1
  }
  static var webProcess: String { "WebKitWebProces" }
  static var networkProcess: String { "WebKitNetworkPr" }

  nonisolated static func note(_ text: String) {
    FileHandle.standardError.write(Data("attack: \(text)\n".utf8))
  }

  /// The outcome of an operation, which has to end within 40 s.
  func end(_ what: String, _ body: @escaping @WebActor () async throws -> Void) async -> String {
    let end = await outcome(within: 40, body)
    #expect(end != "never", "\(what) hangs")
    return end
  }

  // MARK: Versions

  /// Collects the version of every part of a page of `attacks.release`, and the names of incomplete files.
  private static var look: String {
    """
    const versions = {...seen}, wrong = [];
    versions.style = Number(getComputedStyle(document.documentElement).getPropertyValue('--seen'));
    versions.frame = document.querySelector('iframe').contentWindow.seen;
    versions.lazy = (await import('/v/lazy.js')).default;
    const whole = (version, size) => {
      let text = '';
      for (let i = 0; i < size / 16; i++)
        text += String(version).padStart(7, '0') + ' ' + String(i).padStart(7, '0') + '\\n';
      return text;
    };
    for (const [name, size] of [['small', 3200], ['large', 1200000]]) {
      const answer = await fetch(`/v/${name}.txt`, {cache: 'no-store'}), text = await answer.text();
      versions[name] = Number(text.slice(0, 7));
      if (text !== whole(versions[name], size)) wrong.push(`${name} ${answer.status} ${text.length}`);
      const start = 167, end = start + 1000;
      const part = await fetch(`/v/${name}.txt`, {headers: {Range: `bytes=${start}-${end - 1}`}, cache: 'no-store'});
      const bytes = await part.text(), of = Number(bytes.slice(9, 16));
      versions['part of ' + name] = of;
      if (part.status !== 206 || bytes !== whole(of, size).slice(start, end)) wrong.push(`part of ${name} ${part.status}`);
    }
    return {versions: [...new Set(Object.values(versions))], parts: Object.entries(versions).join(' '), wrong};
    """
  }

  func look(at page: WebPage) async throws -> PageReport {
    let json = try await page.evaluate(Self.look, timeout: .seconds(20)) ?? "{}"
    return try JSONDecoder().decode(PageReport.self, from: Data(json.utf8))
  }

  /// Checks that the page is complete and of one version, and returns the version.
  func isOfOneVersion(_ page: WebPage, _ when: String) async throws -> Int? {
    let look = try await look(at: page)
    #expect(look.wrong == [], "\(when)")
    #expect(look.versions.count == 1, "\(when): \(look.parts)")
    return look.versions.first ?? nil
  }

  /// The number of pages registered with the proxy.
  func registered(_ app: App) -> Int {
    app.host.proxy?.pages.candidates(referrer: nil, origin: nil, for: "", site: nil).count ?? -1
  }

  /// Kills processes that have finished starting: if one ends before it has sent its PID, WebKitGTK 2.50 aborts the app
  /// (`readPIDFromPeer` calls g_error, which can't be caught).
  func kill(_ name: String) -> Int {
    let ids = Processes.children(named: name).filter { Processes.threads(of: $0).contains("ReceiveQueue") }
    for id in ids { Foundation.kill(id, SIGKILL) }
    return ids.count
  }
}
