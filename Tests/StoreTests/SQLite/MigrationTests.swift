import Glibc
import System
import Testing

@testable import Store

@Suite struct MigrationTests {
  let scratch = Scratch()

  private var folder: String {
    // Tests/StoreTests/SQLite/MigrationTests.swift -> the root
    let root = #filePath.split(separator: "/").dropLast(4).joined(separator: "/")
    return "/\(root)/Migrations"
  }

  @Test func everyFileIsEmbeddedAsItIs() throws {
    let names = try Folder.textNames(folder).filter { $0.hasSuffix(".sql") }
    #expect(names == Migrations.embedded.steps.map(\.name))
    for step in Migrations.embedded.steps {
      #expect(try DurableFile.read("\(folder)/\(step.name)") == step.sql)
    }
  }

  @Test func theyAreAppliedOnce() throws {
    let path = scratch.path + "/a.db"
    for _ in 1...2 { try Migrations.embedded.apply(to: Database(path: path, .writing)) }
    let db = try Database(path: path, .writing)
    #expect(try db.value(Int.self, "SELECT count(*) FROM migration") == Migrations.embedded.steps.count)
  }

  @Test func aStepThatFailsLeavesNothing() throws {
    let db = try Database(path: scratch.path + "/a.db", .writing)
    let broken = Migrations(
      steps: Migrations.embedded.steps + [
        Migrations.Step(name: "9999_broken.sql", sql: Array("CREATE TABLE half (x); SELECT nonsense;".utf8))
      ])
    #expect(throws: StoreError.self) { try broken.apply(to: db) }
    #expect(try db.value(Int.self, "SELECT count(*) FROM sqlite_schema WHERE name = 'half'") == 0)
    #expect(throws: Never.self) { try Migrations.embedded.apply(to: db) }
  }

  @Test func aNewerDatabaseIsRefused() throws {
    let db = try Database(path: scratch.path + "/a.db", .writing)
    let newer = Migrations(
      steps: Migrations.embedded.steps + [
        Migrations.Step(name: "9999_later.sql", sql: Array("CREATE TABLE later (x);".utf8))
      ])
    try newer.apply(to: db)
    #expect { try Migrations.embedded.apply(to: db) } throws: {
      if case StoreError.newerDatabase("9999_later.sql") = $0 { true } else { false }
    }
  }

  /// A digest of another size is what a damaged file may hold.
  @Test(arguments: ["zeroblob(32)", "zeroblob(31)", "zeroblob(33)", "x''"])
  func anAlteredMigrationIsRefused(digest: String) throws {
    let path = scratch.path + "/a.db"
    let db = try Database(path: path, .writing)
    try Migrations.embedded.apply(to: db)
    try db.script("UPDATE migration SET sha256 = \(digest) WHERE position = 1")
    #expect { try Migrations.embedded.apply(to: db) } throws: {
      guard case StoreError.alteredMigration("0001_origin.sql") = $0, let error = $0 as? StoreError else {
        return false
      }
      return "\(error)".contains("xcache whose 0001_origin.sql differs")
    }
    #expect(throws: StoreError.self) { _ = try Connections(path: path) }
    #expect(throws: StoreError.self) { _ = try Connections(path: path, isBeside: true) }
  }

  @Test func aDatabaseOfAnotherProgramIsLeftAlone() throws {
    let db = try Database(path: scratch.path + "/a.db", .writing)
    try db.script("CREATE TABLE notes (x)")
    #expect { try Migrations.embedded.apply(to: db) } throws: {
      if case StoreError.foreignDatabase = $0 { true } else { false }
    }
    #expect(try db.value(Int.self, "SELECT count(*) FROM sqlite_schema") == 1)
  }
}
