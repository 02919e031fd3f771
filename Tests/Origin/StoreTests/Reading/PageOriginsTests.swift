import Manifests
import TestSupport
import Testing
import Values

@testable import Store

@Suite struct PageOriginsTests {
  private let scratch = Scratch()

  private func publish(_ urls: [String], in store: Store) throws {
    let sample = Sample("x")
    try store.send([sample])
    var set: [ResourceURL: ResourceContent] = [:]
    for url in urls { set[try ResourceURL(url)] = try sample.content }
    _ = try store.commit(
      store.request([BundleChange(try BundleName("main"), .update(base: .none, set: set, remove: []))]))
  }

  private func origins(_ store: Store) throws -> [String] {
    try store.pageOrigins(of: try store.shop()).map { String(decoding: $0, as: UTF8.self) }.sorted()
  }

  @Test func eachOriginOnce() throws {
    let store = try scratch.open()
    try publish(
      [
        "https://m.example.com/", "https://m.example.com/a?x", "https://m.example.com/~",
        "https://m.example.com:8443/b",
        "https://m.example.com:443/c", "http://m.example.com/a", "https://m.example.com.cdn.example/a",
        "https://m.example.co/a", "http://[2001:db8::1]:8080/a", "http://127.0.0.1/",
      ], in: store)
    #expect(
      try origins(store) == [
        "http://127.0.0.1", "http://[2001:db8::1]:8080", "http://m.example.com", "https://m.example.co",
        "https://m.example.com", "https://m.example.com.cdn.example", "https://m.example.com:8443",
      ])
  }

  /// Neither keeps it going for ever, nor an origin from starting.
  @Test(arguments: ["https://m.example.com?x", "no URL", "https://m.example.com:8443x/a"])
  func damagedRowsArePassedOver(text: String) throws {
    let store = try scratch.open()
    try publish(["https://m.example.com/a", "https://z.example/a"], in: store)
    try store.connections.transaction { (db) throws(StoreError) in
      try db.run("DROP TRIGGER url_is_immutable")
      try db.run("UPDATE url SET text = ? WHERE text = 'https://m.example.com/a'", text)
    }
    #expect(try origins(store).contains("https://z.example"))
  }

  @Test func numberIsBounded() throws {
    let store = try scratch.open()
    try publish((0..<300).map { "https://\($0 + 100).example/a" }, in: store)
    let origins = try origins(store)
    #expect(origins.count == Store.pageOrigins)
    #expect(origins.first == "https://100.example" && Set(origins).count == origins.count)
  }
}
