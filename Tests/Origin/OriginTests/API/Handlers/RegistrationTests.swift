import System
import Testing
import Values

@testable import Origin
@testable import Store

/// Owners of registrations and leases (issue: a token for one app could replace another app's registration, and block gc).
@Suite struct RegistrationTests {
  private static func names(_ app: String, _ versions: String...) -> JSONValue {
    [
      "name": "s3://bucket",
      "versions": .array(
        versions.map { ["app": .string(app), "channel": "online", "version": .string($0)] }),
    ]
  }

  private static func origin() throws -> TestOrigin {
    let origin = try TestOrigin()
    try origin.publish(["a.js": "a"])
    try origin.publish(["a.js": "b"])
    try origin.publish(["b.js": "b"], app: "bank")
    return origin
  }

  @Test func otherTokenCannotReplaceARegistration() throws {
    let origin = try Self.origin()
    let shop = try origin.newToken(["app": "shop", "name": "shop", "scope": "read"])
    let bank = try origin.newToken(["app": "bank", "name": "bank", "scope": "admin"])
    let all = try origin.newToken(["name": "all", "scope": "read"])
    #expect(try origin.api("POST", "mirrors", Self.names("shop", "1"), token: shop).status == 200)
    for (body, token) in [
      (Self.names("bank", "1"), bank), (Self.names("shop"), bank), (Self.names("shop", "2"), all),
    ] {
      let reply = try origin.api("POST", "mirrors", body, token: token)
      #expect(reply.status == 403 && reply.json["code"]?.string == "not-yours", "\(reply.text)")
    }
    #expect(try origin.store.mirrors().first?.versions.map(\.version.text) == ["1"])
    // It can't read others' registrations either.
    #expect(try origin.api("GET", "mirrors", token: bank).json["mirrors"]?.array?.isEmpty == true)
    // Its own token updates it, and an unrestricted admin may write it without becoming its owner.
    #expect(try origin.api("POST", "mirrors", Self.names("shop", "2"), token: shop).status == 200)
    #expect(try origin.api("POST", "mirrors", Self.names("shop", "1", "2")).status == 200)
    #expect(try origin.api("POST", "mirrors", Self.names("shop", "2"), token: shop).status == 200)
    // After the owner's token is revoked, a new token of the same app can update it; another app's can't.
    #expect(try origin.api("DELETE", "tokens/shop").status == 200)
    let next = try origin.newToken(["app": "shop", "name": "shop-2", "scope": "read"])
    #expect(try origin.api("POST", "mirrors", Self.names("shop"), token: bank).status == 403)
    #expect(try origin.api("POST", "mirrors", Self.names("shop", "2"), token: next).status == 200)
  }

  /// A missing list isn't an empty one, which would end the retention of its versions.
  @Test func registrationWithoutVersionsChangesNothing() throws {
    let origin = try Self.origin()
    #expect(try origin.api("POST", "mirrors", Self.names("shop", "1", "2")).status == 200)
    let bodies: [JSONValue] = [
      ["name": "s3://bucket"], ["name": "s3://bucket", "versions": .null],
      ["name": "s3://bucket", "versions": "1"], ["name": "s3://bucket", "versions": ["1"]],
      ["name": "s3://bucket", "versions": [["app": "shop", "channel": "online"]]],
    ]
    for body in bodies {
      let reply = try origin.api("POST", "mirrors", body)
      #expect(reply.status == 400 && reply.text.contains("versions"), "\(reply.text)")
      #expect(try origin.store.mirrors().first?.versions.map(\.version.text) == ["1", "2"])
    }
    #expect(try origin.api("POST", "mirrors", Self.names("shop")).status == 200)
    #expect(try origin.store.mirrors().first?.versions.isEmpty == true)
  }

  @Test func ownerAndAdminCanRemoveARegistration() throws {
    let origin = try Self.origin()
    let shop = try origin.newToken(["app": "shop", "name": "shop", "scope": "read"])
    let bank = try origin.newToken(["app": "bank", "name": "bank", "scope": "admin"])
    let path = "mirrors/s3:%2F%2Fbucket"
    #expect(try origin.api("DELETE", path, token: shop).json["code"]?.string == "unknown-mirror")
    for token in [shop, nil] {
      let more = Self.names("shop", "1", "2", "3", "19999")
      #expect(try origin.api("POST", "mirrors", more, token: shop).status == 200)
      let listed = try origin.api("GET", "mirrors", token: shop).json["mirrors"]?.array?.first
      #expect(listed?["versions"]?.array?.count == 2 && listed?["keeps"]?.bool == true)
      let refused = try origin.api("DELETE", path, token: bank)
      #expect(refused.status == 403 && refused.json["code"]?.string == "not-yours", "\(refused.text)")
      let reply = try origin.api("DELETE", path, token: token)
      #expect(reply.status == 200 && reply.json["name"]?.string == "s3://bucket", "\(reply.text)")
      #expect(try origin.store.mirrors().isEmpty)
      #expect(try origin.store.auditLog(limit: 1).map(\.act) == ["mirror.forget"])
    }
    // The registration of a revoked token can be removed by a token that may read it.
    #expect(try origin.api("POST", "mirrors", Self.names("shop", "1"), token: shop).status == 200)
    #expect(try origin.api("DELETE", "tokens/shop").status == 200)
    #expect(try origin.api("DELETE", path, token: bank).status == 403)
    let next = try origin.newToken(["app": "shop", "name": "shop-2", "scope": "read"])
    #expect(try origin.api("DELETE", path, token: next).status == 200)
    #expect(try origin.store.verifyAudit().0 == nil)
  }

  /// The list of mirrors tells each token which ones it may remove.
  @Test func listTellsWhetherTheTokenMayRemove() throws {
    let origin = try Self.origin()
    let shop = try origin.newToken(["app": "shop", "name": "shop", "scope": "read"])
    let all = try origin.newToken(["name": "all", "scope": "read"])
    let path = "mirrors/s3:%2F%2Fbucket"
    func mayForget(_ token: String?) throws -> Bool? {
      try origin.api("GET", "mirrors", token: token).json["mirrors"]?.array?.first?["mayForget"]?.bool
    }
    #expect(try origin.api("POST", "mirrors", Self.names("shop", "1"), token: shop).status == 200)
    #expect(try mayForget(all) == false && origin.api("DELETE", path, token: all).status == 403)
    #expect(try mayForget(nil) == true && mayForget(shop) == true)
    #expect(try origin.api("DELETE", path, token: shop).status == 200)
    // The registration of a revoked token has no owner.
    #expect(try origin.api("POST", "mirrors", Self.names("shop", "1"), token: shop).status == 200)
    #expect(try origin.api("DELETE", "tokens/shop").status == 200)
    #expect(try mayForget(all) == true && origin.api("DELETE", path, token: all).status == 200)
  }

  @Test func registrationWithoutOwnerIsKept() throws {
    let origin = try Self.origin()
    let shop = try origin.newToken(["app": "shop", "name": "shop", "scope": "read"])
    let bank = try origin.newToken(["app": "bank", "name": "bank", "scope": "admin"])
    try origin.store.register(mirror: "s3://bucket", [])
    #expect(try origin.api("POST", "mirrors", Self.names("shop", "1"), token: shop).status == 403)
    try origin.forgetOwners()
    #expect(try origin.api("POST", "mirrors", Self.names("shop", "1"), token: shop).status == 200)
    try origin.forgetOwners()
    #expect(try origin.api("POST", "mirrors", Self.names("bank", "1"), token: bank).status == 403)
    #expect(try origin.api("POST", "mirrors", Self.names("shop", "2")).status == 200)
    #expect(try origin.api("POST", "mirrors", Self.names("shop", "2"), token: shop).status == 403)
  }

  @Test func leasesBelongToTokensAndAreLimited() throws {
    let time = Locked<Int64>(1_700_000_000_000)
    let origin = try TestOrigin(clock: { time.withLock { $0 } })
    let (a, b) = (
      try origin.newToken(["name": "a", "scope": "read"]),
      try origin.newToken(["name": "b", "scope": "read"])
    )
    var ids: [String] = []
    for _ in 0..<Store.leasesPerToken {
      let reply = try origin.api("POST", "leases", ["seconds": 3600], token: a)
      ids.append(try #require(reply.json["id"]?.string))
    }
    let more = try origin.api("POST", "leases", ["seconds": 60], token: a)
    #expect(more.status == 409 && more.json["code"]?.string == "too-many-leases", "\(more.text)")
    // Another token has leases of its own, and can neither renew nor end these.
    #expect(try origin.api("POST", "leases", ["seconds": 60], token: b).status == 201)
    #expect(try origin.api("POST", "leases/\(ids[0])", ["seconds": 60], token: b).status == 403)
    #expect(try origin.api("DELETE", "leases/\(ids[0])", token: b).status == 403)
    #expect(try origin.api("DELETE", "leases/\(ids[0])", token: a).status == 200)
    #expect(try origin.api("DELETE", "leases/\(ids[1])").status == 200)
    // It ends, however often it is renewed.
    var renewed = 0
    while try origin.api("POST", "leases/\(ids[2])", ["seconds": 3600], token: a).status == 200 {
      renewed += 1
      time.withLock { $0 += 3_000_000 }
      if renewed > 100 { break }
    }
    #expect(renewed == 28)
    time.withLock { $0 += 3_600_000 }
    #expect(try origin.store.leases().isEmpty)
    // A revoked token's leases end.
    #expect(try origin.api("POST", "leases", ["seconds": 3600], token: a).status == 201)
    #expect(try origin.api("DELETE", "tokens/a").status == 200)
    #expect(try origin.store.leases().isEmpty)
  }

  @Test func registrationsAndLeasesAreAudited() throws {
    let origin = try Self.origin()
    let shop = try origin.newToken(["app": "shop", "name": "shop", "scope": "read"])
    let id = try #require(try origin.api("POST", "leases", ["seconds": 60], token: shop).json["id"]?.string)
    for _ in 0..<2 { _ = try origin.api("POST", "mirrors", Self.names("shop", "1", "2"), token: shop) }
    _ = try origin.api("DELETE", "leases/\(id)", token: shop)
    let rows = try origin.store.auditLog(limit: 3)
    #expect(rows.map(\.act) == ["lease.end", "mirror.register", "lease.take"])
    #expect(rows.allSatisfy { $0.author == "shop" } && rows[1].parameters.contains("\"newest\":\"2\""))
    #expect(try origin.store.verifyAudit().0 == nil)
  }
}

extension TestOrigin {
  /// Makes registrations ownerless, as those of older versions were.
  fileprivate func forgetOwners() throws {
    try store.connections.writing { (db) throws(StoreError) in try db.run("UPDATE mirror SET owner = NULL") }
  }
}
