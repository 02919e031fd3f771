import Manifests
import OriginAPI
import Store
import System
import Testing
import Values

@testable import Origin

/// What each scope may ask for, route by route, and what several grants come to.
@Suite struct ScopeTests {
  private static let online = "apps/shop/channels/online"

  /// What a route requires.
  enum Needed: Equatable, Sendable {
    case scope(TokenScope)
    /// The admin's scope without limits.
    case everything
  }

  /// All routes by their shapes, with what each method requires.
  static let routes: [(String, [String: Needed])] = [
    ("apps", ["GET": .scope(.read)]), ("apps/shop/trust", ["GET": .scope(.read)]),
    ("apps/shop/trust/head-key", ["POST": .scope(.admin)]),
    ("apps/shop/trust/root", ["POST": .scope(.admin)]),
    ("apps/shop/trust/statements", ["POST": .scope(.publish)]), ("audit", ["GET": .everything]),
    ("audit/export", ["GET": .everything]), ("audit/verify", ["GET": .everything]),
    ("blobs", ["POST": .scope(.publish)]), ("blobs/missing", ["POST": .scope(.publish)]),
    ("blobs/abc", ["PUT": .scope(.publish)]), ("default-app", ["POST": .everything]),
    ("disk", ["GET": .everything]), ("gc", ["POST": .everything]), ("leases", ["POST": .scope(.read)]),
    ("leases/abc", ["POST": .scope(.read), "DELETE": .scope(.read)]), ("mirror", ["GET": .scope(.read)]),
    ("mirrors", ["GET": .scope(.read), "POST": .scope(.read)]), ("overview", ["GET": .scope(.read)]),
    ("problems/acknowledge", ["POST": .scope(.release), "DELETE": .scope(.release)]),
    ("search", ["GET": .scope(.read)]), ("\(online)/timeline", ["GET": .scope(.read)]),
    ("purge", ["POST": .everything]), ("purges", ["GET": .everything]),
    ("purges/abc", ["DELETE": .everything]),
    ("token", ["GET": .scope(.read)]), ("mirrors/abc", ["DELETE": .scope(.read)]),
    ("tokens", ["GET": .everything, "POST": .everything]), ("tokens/abc", ["DELETE": .everything]),
    ("webhooks", ["GET": .everything, "POST": .everything]),
    ("webhooks/abc", ["GET": .everything, "DELETE": .everything]),
    ("webhooks/abc/deliveries", ["GET": .everything]), ("webhooks/abc/test", ["POST": .everything]),
    (online, ["GET": .scope(.read)]), ("\(online)/log", ["GET": .scope(.read)]),
    ("\(online)/diff", ["GET": .scope(.read)]), ("\(online)/manifest", ["GET": .scope(.read)]),
    ("\(online)/mirror/resources", ["GET": .scope(.read)]),
    ("\(online)/mirror/document", ["GET": .scope(.read)]), ("\(online)/releases", ["POST": .scope(.publish)]),
    ("\(online)/releases/1", ["GET": .scope(.read)]),
    ("\(online)/releases/1/pictures", ["GET": .scope(.read), "POST": .scope(.publish)]),
    ("\(online)/releases/1/pictures/abc", ["GET": .scope(.read)]),
    ("\(online)/preview", ["POST": .scope(.read)]),
    ("\(online)/preparations", ["POST": .scope(.publish)]),
    ("\(online)/bundles/main/entries", ["GET": .scope(.read)]),
    ("\(online)/pins", ["GET": .scope(.read), "POST": .scope(.publish)]),
    ("\(online)/pins/1", ["DELETE": .scope(.publish)]), ("\(online)/adoption", ["GET": .scope(.read)]),
    ("\(online)/adoption/series", ["GET": .scope(.read)]), ("\(online)/samples", ["GET": .scope(.read)]),
    ("\(online)/entry", ["GET": .scope(.read)]),
    ("\(online)/prefetch", ["GET": .scope(.read), "POST": .scope(.publish)]),
    ("\(online)/prefetch/log", ["GET": .scope(.read)]),
    ("\(online)/prefetch/rollback", ["POST": .scope(.release)]),
    ("\(online)/policy", ["GET": .scope(.read), "POST": .scope(.release)]),
    ("\(online)/policy/log", ["GET": .scope(.read)]),
    ("\(online)/settings", ["GET": .scope(.read), "POST": .scope(.publish)]),
    ("\(online)/create", ["POST": .scope(.admin)]), ("\(online)/freeze", ["POST": .scope(.admin)]),
    ("\(online)/promote", ["POST": .scope(.publish)]), ("\(online)/rebase", ["POST": .scope(.admin)]),
    ("\(online)/remove", ["POST": .scope(.admin)]), ("\(online)/rollback", ["POST": .scope(.release)]),
    ("\(online)/rollout", ["GET": .scope(.read)]), ("\(online)/rollout/set", ["POST": .scope(.release)]),
    ("\(online)/rollout/pause", ["POST": .scope(.release)]),
    ("\(online)/rollout/resume", ["POST": .scope(.release)]),
    ("\(online)/rollout/complete", ["POST": .scope(.release)]),
    ("\(online)/rollout/halt", ["POST": .scope(.release)]), ("\(online)/schedules", ["GET": .scope(.read)]),
    ("\(online)/schedules/1", ["GET": .scope(.read), "DELETE": .scope(.release)]),
    ("\(online)/schedules/1/request", ["GET": .scope(.read)]),
    ("\(online)/schedules/1/statements", ["POST": .scope(.publish)]),
    ("\(online)/source-maps", ["POST": .scope(.publish)]), ("\(online)/thaw", ["POST": .scope(.admin)]),
  ]

  /// Each scope is asked on each route; the token for app `shop` is limited.
  @Test(arguments: TokenScope.allCases)
  func scopeDecidesOnEveryRoute(scope: TokenScope) throws {
    let origin = try TestOrigin()
    try origin.publish(["a.js": "a"])
    let limited = try origin.store.createToken(name: "limited", scope: scope, app: AppName("shop")).token
    let wide = try origin.store.createToken(name: "wide", scope: scope).token
    let other = try origin.store.createToken(name: "other", scope: scope, app: AppName("help")).token
    for (path, methods) in Self.routes {
      for (method, needed) in methods {
        let (requirement, request) = try Self.route(method, path)
        let name = "\(scope) on \(method) \(path)"
        switch needed {
        case .scope(let least):
          #expect(Self.may(requirement, limited, request) == (scope >= least), "\(name)")
          #expect(Self.may(requirement, wide, request) == (scope >= least), "\(name)")
          let isOfApp = path.hasPrefix("apps/")
          #expect(Self.may(requirement, other, request) == (scope >= least && !isOfApp), "\(name), other app")
        case .everything:
          #expect(!Self.may(requirement, limited, request), "\(name)")
          #expect(Self.may(requirement, wide, request) == (scope == .admin), "\(name)")
        }
      }
    }
  }

  /// So that a route that is added gets a line here.
  @Test func tableHasEveryRoute() throws {
    for (path, methods) in Self.routes {
      let route = try #require(APIRoute.at(path.split(separator: "/").map(String.init)), "\(path)")
      let known = Set(route.allow.split(separator: ", ").map(String.init)).subtracting(["OPTIONS", "HEAD"])
      #expect(known == Set(methods.keys), "\(path)")
    }
    let shapes = Set(APIRoute.all.map(\.name))
    let known = Set(
      Self.routes.compactMap { APIRoute.at($0.0.split(separator: "/").map(String.init))?.name })
    #expect(shapes.subtracting(known).subtracting(Self.elsewhere) == [])
  }

  /// Routes whose own tests say who may do what.
  static let elsewhere: Set<String> = [
    "identities", "identities/*", "sessions", "sessions/*", "signins/*", "waiting",
    "apps/*/channels/*/protect", "apps/*/channels/*/schedules/*/approve",
    "apps/*/channels/*/schedules/*/reject", "apps/*/channels/*/schedules/*/preview",
  ]

  private static func route(_ method: String, _ path: String) throws -> (Requirement, APIRequest) {
    let segments = path.split(separator: "/").map(String.init)
    let request = APIRequest(scheduled: segments, from: "")
    let operation = try #require(
      APIRoute.at(segments)?.operation(
        for: method == "GET" ? .get : method == "PUT" ? .put : method == "DELETE" ? .delete : .post))
    switch operation {
    case .answer(let requirement, _), .document(let requirement, _, _), .upload(let requirement, _):
      return (requirement, request)
    }
  }

  private static func may(_ requirement: Requirement, _ token: AccessToken, _ request: APIRequest) -> Bool {
    do throws(Problem) {
      _ = try requirement.check(token, request)
      return true
    } catch {
      return false
    }
  }

  // MARK: - Several grants

  /// Signs a person in, and returns the text of the session.
  private func signIn(_ origin: TestOrigin, _ grants: [Grant], name: String = "ana@acme.com") throws -> String
  {
    let secret = TokenSecret()
    let token = try origin.store.createSession(
      name: name, hash: secret.hash, grants: grants,
      identity: SignedInIdentity(issuer: "https://id.acme.com", subject: name, detail: "console"),
      expiresAt: origin.store.now + 3_600_000, by: .local)
    return secret.text(id: token.id)
  }

  /// Apps `shop`, `help` and `news`, each with channels `online` and `test`.
  private func opened() throws -> TestOrigin {
    let origin = try TestOrigin()
    for app in ["shop", "help", "news"] {
      for channel in ["online", "test"] {
        for text in ["1", "2"] {
          try origin.publish(["\(app).js": text], app: app, channel: channel)
          try origin.publish(["\(app)-b.js": text], bundle: "extra", app: app, channel: channel)
        }
      }
    }
    return origin
  }

  @Test func listsShowWhatAnyGrantReads() throws {
    let origin = try opened()
    let ana = try signIn(
      origin,
      [Grant(.publish, app: try AppName("shop")), Grant(.read, app: try AppName("help"), channel: .online)])
    let apps = try origin.api("GET", "apps", token: ana).json["channels"]?.array ?? []
    let names = apps.map { "\($0["app"]?.string ?? "") \($0["channel"]?.string ?? "")" }
    #expect(names.sorted() == ["help online", "shop online", "shop test"], "\(apps)")
    let overview = try origin.api("GET", "overview", token: ana).text
    #expect(overview.contains("\"shop\"") && overview.contains("\"help\"") && !overview.contains("\"news\""))
    let mirror = try origin.api("GET", "mirror?channels=*", token: ana).json
    #expect(mirror["channels"]?.array?.count == 3)
    // Of a channel beyond these limits a mirror says that it may not be read, not that it was removed.
    #expect(mirror["limits"]?["app"]?.string == "shop")
    for path in ["apps/news/channels/online", "apps/help/channels/test"] {
      let reply = try origin.api("GET", path, token: ana)
      #expect(reply.status == 403 && reply.text.contains("you (ana@acme.com) may"), "\(reply.text)")
    }
    // Another person's overview isn't hers.
    let bob = try signIn(origin, [Grant(.read, app: try AppName("news"))], name: "bob@acme.com")
    #expect(try !origin.api("GET", "overview", token: bob).text.contains("\"shop\""))
  }

  @Test func grantsOfAChannelCountAsOne() throws {
    let origin = try opened()
    let (shop, test) = (try AppName("shop"), try ChannelName("test"))
    let ana = try signIn(
      origin,
      [
        Grant(.publish, app: shop, channel: .online, bundles: BundleGlob("main")),
        Grant(.release, app: shop, channel: .online), Grant(.read, app: shop, channel: test),
      ])
    let unpublish: (String) -> JSONValue = { ["bundles": [["bundle": .string($0), "unpublish": true]]] }
    let acts: [(String, JSONValue, Int)] = [
      // Any bundle is rolled back, but only one published.
      ("\(Self.online)/rollback", ["bundle": "extra", "steps": 1], 201),
      ("\(Self.online)/rollback", ["allBundles": true, "steps": 1], 201),
      ("\(Self.online)/releases", unpublish("extra"), 403),
      // Read in one channel, published in another.
      ("\(Self.online)/promote", ["bundle": "main", "from": "test"], 201),
      ("\(Self.online)/promote", ["bundle": "extra", "from": "test"], 403),
      ("\(Self.online)/prefetch", ["document": []], 403), ("\(Self.online)/settings", ["interval": 60], 403),
      ("\(Self.online)/freeze", ["reason": "no"], 403),
      ("apps/shop/channels/test/rollback", ["bundle": "main", "steps": 1], 403),
      ("\(Self.online)/releases", unpublish("main"), 201),
    ]
    for (path, body, status) in acts {
      let reply = try origin.api("POST", path, body, token: ana)
      #expect(reply.status == status || reply.status == 200 && status == 201, "\(path): \(reply.text)")
    }
    #expect(
      try origin.api("GET", "audit").json["rows"]?.array?.contains { $0["author"]?.string == "ana@acme.com" }
        == true)
  }

  /// A grant for all apps and one bundle, and one to read a channel, don't come to one for everything.
  @Test func grantsDontAddUp() throws {
    let origin = try opened()
    let ana = try signIn(
      origin, [Grant(.admin, app: try AppName("shop")), Grant(.publish, bundles: BundleGlob("main"))])
    for (path, body) in [
      ("apps/new/channels/online/releases", ["bundles": [["bundle": "main", "base": "0", "set": [:]]]]),
      ("apps/help/channels/online/settings", ["interval": 60]), ("gc", [:]),
      ("tokens", ["name": "x", "scope": "read"]),
    ] as [(String, JSONValue)] {
      let reply = try origin.api("POST", path, body, token: ana)
      #expect(reply.status >= 400, "\(path): \(reply.text)")
    }
    #expect(
      try origin.api("POST", "gc", [:], token: ana).json["detail"]?.string?.contains("you (ana@acme.com)")
        == true)
    #expect(try origin.api("GET", "apps/new/channels/online").status == 404)
    #expect(try origin.api("GET", "disk", token: ana).status == 403)
    let everything = try signIn(origin, [Grant(.read, app: try AppName("help")), Grant(.admin)], name: "eve")
    #expect(try origin.api("GET", "disk", token: everything).status == 200)
  }

  /// Floors of a statement hold in each channel that it names.
  @Test func statementIsForGrantedBundlesOfGrantedChannels() throws {
    let origin = try opened()
    defer { withExtendedLifetime(origin) {} }
    let store = origin.store
    let (shop, test) = (try AppName("shop"), try ChannelName("test"))
    let ana = try store.createSession(
      name: "ana", hash: SHA256.of([1]),
      grants: [
        Grant(.publish, app: shop, channel: .online, bundles: BundleGlob("main")),
        Grant(.publish, app: shop, channel: test, bundles: BundleGlob("extra")),
      ], identity: SignedInIdentity(issuer: "https://id", subject: "7"), expiresAt: store.now + 1000,
      by: .local)
    func may(_ bundle: String, _ channels: [ChannelName]) -> Bool {
      do throws(Problem) {
        try ana.check(statementFor: channels, .publish, in: shop) { glob in
          (try? BundleName(bundle)).map { glob?.matches($0) ?? true } ?? false
        }
        return true
      } catch {
        return false
      }
    }
    #expect(may("main", [.online]) && may("extra", [test]))
    #expect(!may("main", [test]) && !may("extra", [.online]) && !may("main", [.online, test]))
    #expect(!may("other", [.online]) && !may("other", []))
  }

  @Test func rightsDifferWithGrants() throws {
    let origin = try TestOrigin()
    defer { withExtendedLifetime(origin) {} }
    let store = origin.store
    let identity = SignedInIdentity(issuer: "https://id", subject: "7")
    let shop = try AppName("shop")
    let all: [[Grant]] = [
      [Grant(.read)], [Grant(.read, app: shop)], [Grant(.read), Grant(.publish, app: shop)],
      [Grant(.read), Grant(.release, app: shop)],
      [Grant(.read), Grant(.publish, app: shop, bundles: BundleGlob("main"))],
    ]
    let rights = try all.map {
      try store.createSession(
        name: "ana", hash: SHA256.of([1]), grants: $0, identity: identity, expiresAt: store.now + 1000,
        by: .local
      ).rights
    }
    #expect(Set(rights).count == all.count)
    // As older versions wrote it: a retry may come after the upgrade.
    let token = try store.createToken(
      name: "ci", scope: .publish, app: shop, bundles: BundleGlob("main"), hosts: try HostList(["a.example"])
    ).token
    #expect(token.rights == "publish shop  main a.example")
  }
}
