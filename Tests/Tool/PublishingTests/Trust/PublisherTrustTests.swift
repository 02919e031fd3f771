import Manifests
import OriginAPI
import System
import Testing
import Trust
import Values

@testable import Publishing

/// Which roots and statements of an origin are believed, and what is signed next.
@Suite struct PublisherTrustTests {
  private let main: BundleName
  private let urls: [ResourceURL]
  private let content = SHA256.of([2])

  init() throws {
    main = try BundleName("main")
    urls = [
      try ResourceURL("https://m.example.com/main/a.js"), try ResourceURL("https://m.example.com/b.js"),
    ]
  }

  private func serial(
    _ bundles: [TrustedChannel.Bundle], _ app: SignedApp, now: Int64 = 1000, raising: Bool = false
  ) throws -> ReleaseStatement {
    var options = SigningOptions()
    options.raisesFloor = raising
    return try PublisherTrust(app.overview(bundles: bundles))
      .statement(of: main, content, in: .online, options, now: now)
  }

  @Test func serialIsTheTimeOrAboveAValidOne() throws {
    let app = try SignedApp()
    #expect(try serial([], app).serial.number == 1000)
    #expect(try serial([app.bundle(serial: 999, by: [app.releaseKey])], app).serial.number == 1000)
    #expect(try serial([app.bundle(serial: 5000, by: [app.releaseKey])], app).serial.number == 5001)
    // Another bundle's doesn't count.
    #expect(try serial([app.bundle("help", serial: 5000, by: [app.releaseKey])], app).serial.number == 1000)
  }

  /// Who has stolen a key that is valid no more can't use up the serials.
  @Test func serialOfAKeyThatIsNotListedIsIgnored() throws {
    let app = try SignedApp()
    let stolen = try app.bundle(serial: Serial.highest.number, floor: 9000, by: [app.otherKey])
    #expect(try serial([stolen], app).serial.number == 1000)
    #expect(try serial([stolen], app).floor == .zero)
    var forged = try app.bundle(serial: 7000, by: [app.releaseKey])
    forged.envelope = stolen.envelope
    #expect(try serial([forged], app).serial.number == 1000)
  }

  @Test func lastSerialOfAValidKeyIsTheEnd() throws {
    let app = try SignedApp()
    let last = try app.bundle(serial: Serial.highest.number, by: [app.releaseKey])
    let error = #expect(throws: TrustFault.self) { try serial([last], app) }
    #expect(error?.name == "signing")
  }

  /// A later release goes on with the floor, or else a new device could be given what an earlier one ruled out.
  @Test func floorIsRaisedOrKept() throws {
    let app = try SignedApp()
    let earlier = [try app.bundle(serial: 500, floor: 400, by: [app.releaseKey])]
    #expect(try serial(earlier, app).floor.number == 400)
    #expect(try serial(earlier, app, raising: true).floor.number == 1000)
    let lowered = try SignedApp(floors: [main: SignedApp.serial(300)])
    let before = try lowered.bundle(serial: 500, floor: 400, by: [lowered.releaseKey])
    #expect(try serial([before], lowered).floor == .zero)
  }

  /// Devices that a rollout lets in may have to go back to the full version.
  @Test func rolloutCarriesNoFloorAboveTheFullVersion() throws {
    let app = try SignedApp()
    let test = try ChannelName("test")
    let both: Set<ChannelName> = [.online, test]
    func overview(_ raised: TrustedChannel.Bundle) throws -> TrustOverview {
      let here = try app.overview(bundles: [app.bundle(serial: 500, floor: 400, by: [app.releaseKey])])
      return TrustOverview(
        app: here.app, roots: here.roots, headKeys: [],
        channels: here.channels + (try app.overview(bundles: [raised], channel: test).channels))
    }
    let fix = SHA256.of([7])
    let trust = try PublisherTrust(
      overview(app.bundle("main", fix, serial: 600, floor: 600, channels: both, by: [app.releaseKey])))
    var options = SigningOptions()
    func statement(_ vouched: SHA256? = nil) throws -> ReleaseStatement {
      try trust.statement(of: main, vouched ?? content, in: .online, options, vouched: vouched, now: 1000)
    }
    #expect(try statement().floor.number == 600)
    #expect(trust.above(main, fix, in: .online, options) == nil)
    options.isRollout = true
    #expect(try statement().floor.number == 400)
    // What is promoted has a statement for this channel, too; devices get the one with the higher serial.
    #expect(trust.above(main, fix, in: .online, options)?.number == 601)
    let promoted = try statement(fix)
    #expect(promoted.serial.number == 601 && promoted.floor.number == 400)
    #expect(trust.above(main, content, in: .online, options) == nil)
    // A bundle that the full version doesn't have splits nothing.
    let new = try BundleName("new")
    #expect(trust.above(new, fix, in: .online, options) == nil)
  }

  @Test func serialIsNotBelowTheRootsFloor() throws {
    let app = try SignedApp(floors: [main: SignedApp.serial(8000)])
    #expect(try serial([], app).serial.number == 8000)
  }

  // MARK: - Roots

  private func next(_ app: SignedApp, _ number: Int64 = 2, by keys: [P256PrivateKey], isOff: Bool = false)
    throws -> Signed<TrustRoot>
  {
    let before = app.root.document
    var root = try Signed(
      TrustRoot(
        app: before.app, number: #require(RootNumber(number)), keys: Array(before.keys.values),
        roots: before.roots,
        grants: before.grants, prefetch: Set(before.prefetch), heads: Set(before.heads), isOff: isOff))
    for key in keys { root = try root.signed(by: key) }
    return root
  }

  @Test func rootInForceIsTheLastOfAChain() throws {
    let app = try SignedApp()
    let roots = [
      app.root, try next(app, by: [app.rootKey]), try next(app, 3, by: [app.rootKey], isOff: true),
    ]
    #expect(try PublisherTrust(app.overview(roots: Array(roots[..<2]))).root.number.number == 2)
    #expect(try PublisherTrust(app.overview(roots: roots)).root.isOff)
  }

  @Test func rootsThatDoNotFollowAreRefused() throws {
    let app = try SignedApp()
    let stranger = try SignedApp()
    let chains: [[Signed<TrustRoot>]] = [
      [], [app.root, try next(app, by: [app.releaseKey])], [app.root, try next(app, by: [])],
      [app.root, try next(app, 3, by: [app.rootKey])], [try next(app, by: [app.rootKey])],
      [try Signed(app.root.document)], [app.root, try next(stranger, by: [stranger.rootKey])],
    ]
    for roots in chains {
      let error = #expect(throws: TrustFault.self) { try PublisherTrust(app.overview(roots: roots)) }
      #expect(error?.name == "root-refused" && error?.exitCode == 3)
    }
  }

  /// The root that an app is built with is not for the origin to choose.
  @Test func builtInRootIsTheOneThatCounts() throws {
    let app = try SignedApp()
    let stranger = try SignedApp()
    let file = RootFile(path: "root.json", signed: app.root)
    #expect(try PublisherTrust(app.overview(), builtIn: file).root == app.root.document)
    #expect(throws: TrustFault.self) {
      try PublisherTrust(app.overview(roots: [stranger.root]), builtIn: file)
    }
  }

  // MARK: - Scopes

  private func check(
    _ grants: @escaping (_ release: KeyID, _ other: KeyID) throws -> [ReleaseGrant], bundle: String = "main",
    channels: [ChannelName] = [.online], bothSign: Bool = false
  ) throws {
    let app = try SignedApp(grants)
    let keys = [app.releaseKey] + (bothSign ? [app.otherKey] : [])
    try PublisherTrust(app.overview())
      .check(BundleName(bundle), urls: urls, in: channels, by: keys.map(\.trustKey.id))
  }

  @Test func scopeIsCheckedForEachChannelBundleAndURL() throws {
    func name(_ body: () throws -> Void) -> String? {
      do {
        try body()
        return nil
      } catch {
        return "\(error)".prefix { $0 != "(" }.description
      }
    }
    let test = try ChannelName("test")
    #expect(name { try check { release, _ in [try ReleaseGrant(signers: SignedApp.group(release))] } } == nil)
    #expect(
      name { try check { _, other in [try ReleaseGrant(signers: SignedApp.group(other))] } } == "unlisted")
    #expect(
      name {
        try check(
          { release, _ in [try ReleaseGrant(signers: SignedApp.group(release), channels: .some([.online]))] },
          channels: [.online, test])
      } == "outOfScope")
    #expect(
      name {
        try check(
          { release, _ in
            [
              try ReleaseGrant(
                signers: SignedApp.group(release),
                bundles: .some([#require(ReleaseGrant.BundlePattern("main"))]))
            ]
          },
          bundle: "help")
      } == "outOfScope")
    #expect(
      name {
        try check { release, _ in
          [
            try ReleaseGrant(
              signers: SignedApp.group(release),
              prefixes: .some([#require(ReleaseGrant.URLPrefix("https://m.example.com/main/"))]))
          ]
        }
      } == "urlsOutOfScope")
    let two: (KeyID, KeyID) throws -> [ReleaseGrant] = { release, other in
      [try ReleaseGrant(signers: SignedApp.group(release, other, threshold: 2))]
    }
    #expect(name { try check(two) } == "tooFewSignatures")
    #expect(name { try check(two, bothSign: true) } == nil)
  }

  @Test func messageNamesTheURLsThatAreOutOfScope() throws {
    let error = #expect(throws: TrustFault.self) {
      try check { release, _ in
        [
          try ReleaseGrant(
            signers: SignedApp.group(release),
            prefixes: .some([#require(ReleaseGrant.URLPrefix("https://m.example.com/main/"))]))
        ]
      }
    }
    #expect(error?.message.contains("\n  https://m.example.com/b.js") == true)
    #expect(error?.message.contains("main/a.js") == false)
  }
}
