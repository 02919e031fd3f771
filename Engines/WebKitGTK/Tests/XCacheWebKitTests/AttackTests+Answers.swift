import Foundation
import Testing

@testable import XCacheRuntime
@testable import XCacheWebKit

extension WebKitTests {
  /// Servers that answer wrongly.
  @Suite(.serialized)
  @WebActor
  struct AnswerAttackTests: Attacks {
    /// Asks for the answers with numbers `$from` to `$to`, six at a time, and says how each ended.
    private func answers(_ numbers: Range<Int>, _ how: String, in page: WebPage) async throws -> [String] {
      let script = """
        const ends = [];
        let next = \(numbers.lowerBound);
        const one = async seed => {
          const url = `/api/hostile?seed=${seed}\(how)`;
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
          while (next < \(numbers.upperBound)) {
            const seed = next++;
            ends[seed - \(numbers.lowerBound)] = await one(seed);
          }
        }));
        return ends;
        """
      let json = try await page.evaluate(script, timeout: .seconds(600)) ?? "[]"
      return try JSONDecoder().decode([String].self, from: Data(json.utf8))
    }

    /// Each answer ends, as nothing but itself; and as it does without the runtime.
    @Test func answersThatAreWrong() async throws {
      let sites = try Sites()
      let app = try await App(sites)
      let page = try WebPage(app.host)
      try await page.load(sites.url("/second.html"))
      let count = 120 * Self.times
      let ends = try await answers(0..<count, "", in: page)
      let kept = try await answers(count..<count * 2, "&kept", in: page)
      #expect(ends.count == count && kept.count == count)
      let hung = (ends + kept).indices.filter { ["TimeoutError", "AbortError"].contains((ends + kept)[$0]) }
      #expect(hung == [])
      let others = (ends + kept).enumerated().filter { $1.contains("other") || $1.contains("POISON") }.map {
        "\($0): \($1)"
      }
      #expect(others == [])
      // Nothing of them is left on the connections of the page, or of the next one.
      for view in [page, try WebPage(app.host)] {
        try await view.load(sites.url("/index.html"))
        #expect(try await view.evaluate("return (await (await fetch('/digits.txt')).text()).length") == "100")
      }
      // As parts of pages, and as pages.
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

      // Those that are whole come as they do without the runtime.
      try sites.tell("run policy kill -m test")
      let plain = try await App(sites)
      try plain.trustSites()
      let other = try WebPage(plain.host)
      try await other.load(sites.url("/second.html"))
      let theirs = try await answers(0..<count, "", in: other)
      let whole = try JSONDecoder().decode([Int].self, from: Data(sites.tell("whole 0 \(count)").utf8))
      #expect(
        whole.filter { ends[$0] != theirs[$0] }.map { "\($0): \(ends[$0]), without \(theirs[$0])" } == [])
      Self.note("\(whole.count) of \(count) answers are whole")
      await app.end()
      await plain.end()
    }

    /// The device takes nothing of them, pages are of one version, and it updates once the answers are right again.
    @Test func anOriginThatAnswersWrongly() async throws {
      var dice = Dice(41)
      let sites = try Sites()
      try sites.tell("release 1")
      let server = try sites.tell("between 5")
      let app = try await App(sites, server: server)
      #expect(app.runtime.version != "0")
      let page = try WebPage(app.host)
      var (bad, version, taken) = (0, 1, 0)
      for round in 1...3 * Self.times {
        version += 1
        try sites.tell("release \(version)")
        try sites.tell("rage 70")
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
        bad += Int(try sites.tell("rage 0")) ?? 0
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
