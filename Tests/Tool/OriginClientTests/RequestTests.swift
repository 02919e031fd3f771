import HTTPClient
import Manifests
import OriginAPI
import OriginClient
import SocketServer
import System
import Testing
import Values

/// The request of each call: method, path, body, and whether it is idempotent.
@Suite struct RequestTests {
  private struct Case: Sendable {
    let line: String
    let body: String
    let call: @Sendable (OriginClient, ChannelAddress) throws -> Void

    /// - Parameter line: method and path after `/api/v1/`; a `*` at the end if the request has an Idempotency-Key.
    init(
      _ line: String, _ body: String = "",
      _ call: @escaping @Sendable (OriginClient, ChannelAddress) throws -> Void
    ) {
      self.line = line
      self.body = body
      self.call = call
    }
  }

  private static let channel = "apps/shop/channels/online"
  private static let time = "2026-11-20T15:17+08:00"
  private static let escapedTime = "2026-11-20T15%3A17%2B08%3A00"

  private static let cases: [Case] = [
    Case("GET apps") { client, _ in _ = try client.channels() },
    Case("GET \(channel)") { _ = try $0.overview(of: $1) },
    Case("POST \(channel)/create *", #"{"publicURL":"https://m.example.com"}"#) {
      _ = try $0.create($1, ChannelRequest(publicURL: BaseURL("https://m.example.com")))
    },
    Case("POST \(channel)/create *", "{}") { _ = try $0.create($1, ChannelRequest(publicURL: nil)) },
    Case("POST \(channel)/remove *", "{}") { _ = try $0.remove($1) },
    Case("POST \(channel)/freeze *", #"{"reason":"a \"sale\""}"#) {
      _ = try $0.freeze($1, FreezeRequest(reason: "a \"sale\""))
    },
    Case("POST \(channel)/thaw *", "{}") { _ = try $0.thaw($1) },
    Case("POST default-app *", #"{"app":"shop"}"#) {
      _ = try $0.nameDefaultApp(DefaultAppRequest(app: $1.app))
    },
    Case("GET \(channel)/log?limit=20") { _ = try $0.log(of: $1, limit: 20) },
    Case("GET \(channel)/log?limit=20&before=9&at=\(escapedTime)") {
      _ = try $0.log(of: $1, limit: 20, before: ManifestVersion(9), at: time)
    },
    Case("GET \(channel)/releases/\(escapedTime)") { _ = try $0.release(time, of: $1) },
    Case("GET \(channel)/diff?from=0&to=a%26b") { _ = try $0.diff(from: "0", to: "a&b", of: $1) },
    Case("GET \(channel)/manifest") { _ = try $0.manifest(of: $1) },
    Case("GET \(channel)/manifest?version=9") { _ = try $0.manifest("9", of: $1) },
    Case("GET \(channel)/bundles/web/entries?since=8") {
      _ = try $0.entries(of: BundleName("web"), in: $1, since: ManifestVersion(8))
    },
    Case("POST \(channel)/protect *", #"{"approvals":2,"by":"mobile-*","share":500}"#) {
      _ = try $0.protect($1, ProtectRequest(approvals: 2, by: "mobile-*", share: 500))
    },
    Case(
      "POST problems/acknowledge *",
      #"{"app":"shop","channel":"online","code":"lagging","reason":"known","until":"2026-11-20T07:17:00.000Z"}"#
    ) {
      _ = try $0.acknowledge(
        AcknowledgeRequest(
          app: $1.app, channel: $1.channel, code: "lagging", reason: "known",
          until: Moment(milliseconds: 1_795_159_020_000)))
    },
    Case("DELETE problems/acknowledge?code=lagging&app=shop&channel=online *") {
      _ = try $0.withdrawAcknowledgement(of: "lagging", in: $1)
    },
    Case("DELETE problems/acknowledge?code=disk *") { client, _ in
      _ = try client.withdrawAcknowledgement(of: "disk", in: nil)
    },
    Case("GET search?q=a%26b%20%25&limit=5") { client, _ in _ = try client.search("a&b %", limit: 5) },
    Case("GET waiting") { client, _ in _ = try client.waitingActs() },
    Case("GET \(channel)/schedules/7/preview") { _ = try $0.preview(7, in: $1) },
    Case("POST \(channel)/schedules/7/approve *", #"{"message":"fine"}"#) {
      _ = try $0.approve(7, ApproveRequest(message: "fine"), in: $1)
    },
    Case("POST \(channel)/schedules/7/reject *", #"{"message":"no"}"#) {
      _ = try $0.reject(7, RejectRequest(message: "no"), in: $1)
    },
    Case("GET identities") { client, _ in _ = try client.identities() },
    Case("DELETE identities/ci%20shop *") { client, _ in _ = try client.removeIdentity("ci shop") },
    Case("DELETE sessions/a1b2 *") { client, _ in try client.endSession("a1b2") },
    Case("GET \(channel)/prefetch") { _ = try $0.prefetch(of: $1) },
    Case("GET \(channel)/policy?version=\(escapedTime)") { _ = try $0.policy(of: $1, version: time) },
    Case("GET \(channel)/policy/log?limit=5") { _ = try $0.versions(of: "policy", in: $1, limit: 5) },
    Case("POST \(channel)/prefetch *", #"{"document":[1.50],"message":"m"}"#) {
      var request = PrefetchPushRequest(document: .array([.number("1.50")]))
      request.message = "m"
      _ = try $0.pushPrefetch(request, to: $1)
    },
    Case("POST \(channel)/prefetch/rollback *", #"{"to":"0"}"#) {
      _ = try $0.rollBackPrefetch(PrefetchRollbackRequest(to: "0"), in: $1)
    },
    Case("POST \(channel)/policy *", #"{"act":"bypass-add","ifVersion":"3","pattern":"https://*"}"#) {
      var request = PolicyRequest(.bypassAdd)
      request.pattern = "https://*"
      request.ifVersion = "3"
      _ = try $0.changePolicy(request, of: $1)
    },
    Case("POST \(channel)/settings *", #"{"interval":null}"#) {
      _ = try $0.change(ChannelSettingsRequest(interval: nil), of: $1)
    },
    Case("POST \(channel)/rollback *", #"{"bundle":"web","dryRun":true,"to":"6"}"#) {
      var request = RollbackRequest()
      (request.bundle, request.to, request.dryRun) = ("web", "6", true)
      _ = try $0.rollback(request, in: $1)
    },
    Case("POST \(channel)/promote *", #"{"from":"test","map":[{"from":"https://a","to":"https://b"}]}"#) {
      var request = PromotionRequest()
      request.from = "test"
      request.map = [PromotionRequest.Rule(from: "https://a", to: "https://b")]
      _ = try $0.promote(request, to: $1)
    },
    Case("POST \(channel)/preparations", #"{"id":"p/1"}"#) { _ = try $0.preparation("p/1", in: $1) },
    Case("GET \(channel)/pins") { _ = try $0.pins(of: $1) },
    Case("POST \(channel)/pins *", #"{"reason":"r","version":"9"}"#) {
      _ = try $0.pin(PinRequest(version: "9", reason: "r"), in: $1)
    },
    Case("DELETE \(channel)/pins/\(escapedTime) *") { _ = try $0.unpin(time, in: $1) },
    Case("GET \(channel)/adoption") { _ = try $0.adoption(of: $1) },
    Case("POST gc *", #"{"dryRun":true,"keepDays":30,"keepVersions":5}"#) { client, _ in
      _ = try client.collect(GCRequest(dryRun: true, keepDays: 30, keepVersions: 5))
    },
    Case("GET tokens") { client, _ in _ = try client.tokens() },
    Case("POST tokens *", #"{"expiresIn":60,"name":"ci","scope":"read"}"#) { client, _ in
      var request = TokenRequest(name: "ci", scope: "read")
      request.expiresIn = 60
      _ = try client.createToken(request)
    },
    Case("DELETE tokens/a%2F..%2Fb *") { client, _ in _ = try client.revokeToken("a/../b") },
    Case("GET audit?limit=5") { client, _ in _ = try client.audit(limit: 5) },
    Case("GET audit?limit=5&before=7") { client, _ in _ = try client.audit(limit: 5, before: 7) },
    Case("GET audit/export?after=7") { client, _ in _ = try client.auditExport(after: 7) },
    Case("GET mirror?channels=*&keep=3") { client, _ in _ = try client.mirrorOverview(channels: "*", keep: 3)
    },
    Case("GET mirrors") { client, _ in _ = try client.mirrors() },
    Case("DELETE mirrors/s3%3A%2F%2Fb%2Fc *") { client, _ in _ = try client.forgetMirror("s3://b/c") },
    Case("POST leases *", #"{"holder":"a mirror","seconds":60}"#) { client, _ in
      _ = try client.acquireLease(LeaseRequest(holder: "a mirror", seconds: 60))
    },
    Case("POST leases/l%201 *", #"{"holder":"h","seconds":1}"#) { client, _ in
      try client.renewLease("l 1", LeaseRequest(holder: "h", seconds: 1))
    },
    Case("DELETE leases/l%201 *") { client, _ in try client.endLease("l 1") },
  ]

  @Test(arguments: cases.indices) func isSentAs(index: Int) throws {
    let sent = Self.cases[index]
    let origin = ScriptedOrigin(ScriptedOrigin.json("{}"))
    let address = ChannelAddress(try AppName("shop"), .online)
    // Most answers can't be decoded, which doesn't matter here.
    _ = try? sent.call(try origin.client(), address)
    let request = try #require(origin.requests.first)
    let key = request.fields["idempotency-key"] == nil ? "" : " *"
    let path = try #require(request.path.hasPrefix("/api/v1/") ? request.path.dropFirst(8) : nil)
    #expect("\(request.method) \(path)\(key)" == sent.line)
    #expect(String(decoding: request.body, as: UTF8.self) == sent.body)
    #expect((request.fields["content-type"] == "application/json") == !sent.body.isEmpty)
    #expect(origin.requests.count == 1)
  }

  /// What gets a token is sent without one, and may arrive twice.
  @Test func signInsHaveNoToken() throws {
    let origin = ScriptedOrigin(ScriptedOrigin.json("{}"))
    let client = try origin.client(token: "secret")
    _ = try? client.signInConfiguration()
    _ = try? client.beginSignIn(DeviceSignInRequest())
    _ = try? client.signInToken(SignInTokenRequest(deviceCode: "d"))
    _ = try? client.trade(TradeRequest(token: "a.b.c", secretHash: "00"))
    #expect(
      origin.requests.map { "\($0.method) \($0.path)" } == [
        "GET /auth/", "POST /auth/device", "POST /auth/token", "POST /auth/trade",
      ])
    for request in origin.requests {
      #expect(request.fields["authorization"] == nil && request.fields["idempotency-key"] == nil)
    }
  }

  /// A job's upload may last longer than its token; a retry of a call keeps the token of the first attempt.
  @Test func tokensAreRenewed() throws {
    let origin = ScriptedOrigin(
      ScriptedOrigin.json("{}"), ScriptedOrigin.problem(503, "busy"), ScriptedOrigin.json("{}"))
    let renewals = Locked(0)
    let late = Clock.unixMilliseconds() + 5000
    let credential = OriginCredential(.init("first", endsAt: late), source: nil, remedy: nil) {
      renewals.withLock { $0 += 1 }
      return .init("second", endsAt: late + 900_000)
    }
    let client = OriginClient(server: try BaseURL(origin.url), credential: credential) { _ in
      RetryPolicy(attempts: 3, first: 1)
    }
    _ = try? client.channels()
    _ = try? client.channels()
    #expect(origin.requests.map { $0.fields["authorization"] } == Array(repeating: "Bearer second", count: 3))
    #expect(renewals.withLock { $0 } == 1)
  }

  @Test func refusedTokensSayWhatHelps() throws {
    let origin = ScriptedOrigin(ScriptedOrigin.problem(401, "token", "the token is unknown"))
    let credential = OriginCredential(.init("t"), source: "xcache login", remedy: "sign in again")
    let client = OriginClient(server: try BaseURL(origin.url), credential: credential)
    let error = originError { () throws(OriginError) in _ = try client.channels() }
    #expect(error?.message == "sign in again" && error?.problem?.code == "token")
  }

  @Test func actNames() {
    #expect(
      PolicyRequest.Act.allCases.map(\.rawValue) == [
        "set", "kill", "resume", "bypass-add", "bypass-remove", "script-add", "script-remove",
      ])
  }
}
