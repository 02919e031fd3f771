import Foundation
import Testing
import WebKitTestSupport

@testable import XCacheRuntime
@testable import XCacheWebKit

extension WebKitTests {
  /// Malformed and wrong responses from sites and origins.
  @Suite(.serialized)
  @WebActor
  struct AnswerAttackTests: Attacks {
    /// Fetches the responses with these seeds, six at a time, and returns the outcome of each.
    private func outcomes(_ seeds: Range<Int>, _ query: String, in page: WebPage) async throws -> [String] {
      let script = """
        const ends = [];
        let next = \(seeds.lowerBound);
        const one = async seed => {
          const url = `/api/hostile?seed=${seed}\(query)`;
          try {
            const redirect = seed % 3 ? 'follow' : 'manual';
            const answer = await fetch(url, {cache: 'no-store', redirect, signal: AbortSignal.timeout(8000)});
            const text = await answer.text();
            const own = text.startsWith(`[${seed}]`) ? 'own' : answer.redirected ? 'redirected' :
              'other ' + JSON.stringify(text.slice(0, 40));
            return `${answer.status} ${answer.type} ${text.length} ${text.length ? own : ''}${text.includes('POISON') ?
              ' POISON' : ''}`;
          } catch (error) { return error.name }
        };
        await Promise.all([...Array(6)].map(async () => {
          while (next < \(seeds.upperBound)) {
            const seed = next++;
            ends[seed - \(seeds.lowerBound)] = await one(seed);
          }
        }));
        return ends;
        """
      let json = try await page.evaluate(script, timeout: .seconds(600)) ?? "[]"
      return try JSONDecoder().decode([String].self, from: Data(json.utf8))
    }

    /// Every request completes, no response is mistaken for another, and the outcomes match those without the runtime.
    @Test func malformedResponsesAreHandledAsWithoutTheRuntime() async throws {
      let sites = try Sites()
      let app = try await App(sites)
      let page = try WebPage(app.host)
      try await page.load(sites.url("/second.html"))
      let count = 120 * Self.times
      let ends = try await outcomes(0..<count, "", in: page)
      let keptAlive = try await outcomes(count..<count * 2, "&kept", in: page)
      #expect(ends.count == count && keptAlive.count == count)
      let hung = (ends + keptAlive).indices.filter {
        ["TimeoutError", "AbortError"].contains((ends + keptAlive)[$0])
      }
      #expect(hung == [])
      let others = (ends + keptAlive).enumerated().filter { $1.contains("other") || $1.contains("POISON") }
        .map {
          "\($0): \($1)"
        }
      #expect(others == [])
      // No leftover bytes remain on the connections of this page or the next.
      for view in [page, try WebPage(app.host)] {
        try await view.load(sites.url("/index.html"))
        #expect(try await view.evaluate("return (await (await fetch('/digits.txt')).text()).length") == "100")
      }
      // As subresources, and as pages.
      try await page.load(sites.url("/second.html"))
      let left = try await page.evaluate(
        """
        const left = new Set();
        await Promise.all([...Array(\(40 * Self.times)).keys()].map(seed => new Promise(done => {
          const name = ['script', 'img', 'iframe', 'link'][seed % 4], url = '/api/hostile?seed=' + (seed + 5000);
          const part = Object.assign(document.createElement(name), name === 'link' ? {rel: 'stylesheet', href: url} :
            {src: url});
          left.add(name + seed);
          part.onload = part.onerror = () => { left.delete(name + seed); done() };
          document.body.append(part);
          // A frame that fails doesn't say so.
          if (name === 'iframe') { left.delete(name + seed); done() } else setTimeout(done, 30000);
        })));
        return [...left];
        """, timeout: .seconds(120))
      #expect(left == "[]")
      var loads: [String: Int] = [:]
      for seed in 9_000..<9_000 + 8 * Self.times {
        let end = await end("the page \(seed)") {
          try await page.load(sites.url("/api/hostile?seed=\(seed)"))
        }
        loads[end, default: 0] += 1
      }
      Self.note("\(loads)")
      try await page.load(sites.url("/second.html"))
      #expect(registered(app) == 1)

      // Well-formed responses have the same outcome as without the runtime.
      try sites.tell("run policy kill -m test")
      let plain = try await App(sites)
      try plain.trustSites()
      let other = try WebPage(plain.host)
      try await other.load(sites.url("/second.html"))
      let expected = try await outcomes(0..<count, "", in: other)
      let whole = try JSONDecoder().decode([Int].self, from: Data(sites.tell("whole 0 \(count)").utf8))
      #expect(
        whole.filter { ends[$0] != expected[$0] }.map { "\($0): \(ends[$0]), without \(expected[$0])" } == [])
      Self.note("\(whole.count) of \(count) answers are whole")
      await app.end()
      await plain.end()
    }

    /// The device accepts no wrong response, pages are of one version, and updates succeed once responses are correct
    /// again.
    @Test func wrongResponsesOfTheOriginAreRejected() async throws {
      var dice = SplitMix(seed: 41)
      let sites = try Sites()
      try sites.tell("release 1")
      let server = try sites.tell("proxy-origin 5")
      let app = try await App(sites, server: server)
      #expect(app.runtime.version != "0")
      let page = try WebPage(app.host)
      var (bad, version, taken) = (0, 1, 0)
      for round in 1...3 * Self.times {
        version += 1
        try sites.tell("release \(version)")
        try sites.tell("bad-percent 70")
        for _ in 1...3 {
          let before = app.runtime.version
          let updating = Task { await app.runtime.update(force: true) }
          let loading = await end("round \(round)") {
            try await page.load(sites.url("/v/page\(dice.below(4)).html"))
          }
          #expect(loading == "done")
          _ = try await isOfOneVersion(page, "round \(round)")
          _ = await updating.value
          if app.runtime.version != before { taken += 1 }
        }
        bad += Int(try sites.tell("bad-percent 0")) ?? 0
      }
      Self.note("\(bad) bad answers of the origin, \(version) versions, \(taken) taken in spite of them")
      _ = await app.runtime.update(force: true)
      _ = await app.runtime.update(force: true)
      try await page.load(sites.url("/v/page0.html"))
      #expect(try await isOfOneVersion(page, "at the end") == version)
      await app.end()
    }
  }
}
