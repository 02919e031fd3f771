import Manifests
import System
import Testing
import TestSupport
import Values

@testable import Store

/// The newest version made by a rollback is stored with the channel, even if its release is removed.
@Suite struct RollbackNumberTests {
  @Test func migrationRecordsOlderRollbacks() throws {
    let scratch = Scratch()
    let path = scratch.path + "/old.db"
    let all = Migrations.embedded.steps
    let before = Migrations(steps: all.filter { $0.name < "0011" })
    do {
      let db = try Database(path: path, .writing)
      try before.apply(to: db)
      try db.run("INSERT INTO app (id, name, created_at) VALUES (1, 'shop', 0)")
      try db.run("INSERT INTO public_url (id, text) VALUES (1, 'https://cdn.test/x')")
      for (id, name) in [(1, "online"), (2, "test")] {
        try db.run(
          "INSERT INTO channel (id, app_id, name, public_url_id, created_at) VALUES (?, 1, ?, 1, 0)", id, name
        )
      }
      for (version, kind) in [
        (1, "publish"), (2, "publish"), (3, "rollback"), (4, "rollback"), (5, "publish"),
      ] {
        try db.run(
          """
          INSERT INTO release (channel_id, version, kind, at, author, message, digest, added, changed, removed,
            new_bytes, resources, bytes) VALUES (1, ?, ?, 0, '', '', zeroblob(32), 0, 0, 0, 0, 0, 0)
          """, version, kind)
      }
    }
    let db = try Database(path: path, .writing)
    try Migrations.embedded.apply(to: db)
    #expect(try db.required(AppName("shop"), .online).rollback == ManifestVersion(4))
    #expect(try db.required(AppName("shop"), ChannelName("test")).rollback == nil)
    #expect(throws: StoreError.self) { try db.run("UPDATE channel SET rolled_back = 3 WHERE id = 1") }
    #expect(throws: StoreError.self) { try db.run("UPDATE channel SET rolled_back = NULL WHERE id = 1") }
    try db.run("DELETE FROM release WHERE version = 4")
    #expect(try db.required(AppName("shop"), .online).rollback == ManifestVersion(4))
  }

  @Test func settingsAreKept() throws {
    let scratch = Scratch()
    let store = try scratch.open()
    try store.publish(base: 0, set: ["a.js": Sample("one")])
    try store.publish(base: 1, set: ["a.js": Sample("two")])
    var settings = SettingsChange()
    settings.hosts = .some(try HostList(["*.test", "m.example.com"]))
    settings.reports = .some(250)
    let set = try store.set(settings, of: AppName("shop"), .online)
    #expect(set.channel.hosts?.names == ["*.test", "m.example.com"] && set.extras.reports == 250)
    let outcome = try store.rollback(
      RollbackInput(
        app: AppName("shop"), channel: .online, to: .version(.number(ManifestVersion(1))), by: .local))
    #expect(outcome.release.channel?.rollback == ManifestVersion(3))
    let again = try store.shop()
    #expect(again.rollback == ManifestVersion(3) && again.hosts?.names.count == 2)
    // All hosts are allowed if there is no list.
    settings.hosts = .some(nil)
    #expect(try store.set(settings, of: AppName("shop"), .online).channel.hosts == nil)
    let made = try store.createToken(name: "ci", scope: .publish, hosts: HostList(["m.test", "*"]))
    #expect(made.token.hosts == nil)
  }
}
