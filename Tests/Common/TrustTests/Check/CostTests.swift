import Manifests
import System
import Testing
import Values

@testable import Trust

/// What the check of a large manifest costs, without signatures: `XCACHE_TRUST_COST=1 swift test -c release`.
@Suite struct CostTests {
  @Test(.enabled(if: Environment.variables["XCACHE_TRUST_COST"] != nil)) func twentyThousandEntries() throws {
    let bundles = (0..<20).map { "bundle-\($0)" }
    let items = try (0..<20_000).map {
      try Pages.item(
        "https://m.example.com/assets/\(1_000_000 + $0).js", "text \($0)", bundle: bundles[$0 % bundles.count]
      )
    }
    let manifest = Manifest(version: ManifestVersion(10), items: items)
    let digest = manifest.map.digest
    let app = try AppName("shop")
    let head = try TrustHead(
      app: app, channel: .online, version: manifest.version, digest: digest, at: try #require(TrustTime(1)),
      until: try #require(TrustTime(2)))
    var offer = TrustOffer(head: .success(try Symbolic.signed(head, by: [CheckSample.headKey])))
    offer.releases = try bundles.map {
      let statement = try ReleaseStatement(
        app: app, bundle: try BundleName($0), channels: [.online], content: Pages.content(items, of: $0),
        serial: try #require(Serial(1)))
      return .success(try Symbolic.signed(statement, by: [CheckSample.publisher]))
    }
    offer.manifest = TrustOffer.Manifest(version: manifest.version, digest: digest, items: items)
    let check = TrustCheck(place: try CheckSample.place(), verifier: Symbolic.Verifier())
    let state = try CheckSample().state()
    let now = try #require(TrustTime(0))
    let clock = ContinuousClock()
    var best = Duration.seconds(60)
    for _ in 0..<10 {
      let start = clock.now
      let verdict = check.check(offer, state: state, now: now)
      best = min(best, clock.now - start)
      #expect(verdict.isGood)
    }
    print("trust: 20,000 entries of 20 bundles in \(best)")
  }
}
