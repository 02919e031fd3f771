import DeviceTestSupport
import Manifests
import System
import Testing

@testable import XCacheDevice

private let page = "https://m.test/index.html"
private let bank = "https://bank.test/index.html"

/// An origin that lists files of hosts that aren't the app's.
@Suite struct HostTests {
  let bench: Bench
  var origin: FakeOrigin { bench.origin }

  init() throws {
    bench = try Bench()
    try origin.publish([page: bytes("one"), bank: bytes("give me your password")])
  }

  private func device() throws -> Device { try bench.device(change: { $0.hosts = ["m.test"] }) }

  @Test func entriesOfOtherHostsAreNeitherFetchedNorServed() throws {
    let device = try device()
    let report = try device.update()
    #expect(report.to == "1" && report.fetched == 1 && report.passedOver == 1)
    #expect(try device.page(for: page)?.read() == bytes("one"))
    #expect(try device.page(for: bank) == nil && device.resource(for: bank) == nil)
    #expect(try device.resource(for: bank, on: page) == nil)
    #expect(try device.complete().right == 1)
    #expect(origin.takeLog().allSatisfy { !$0.contains("bank") })
    // Reported once per version, by its URL.
    try origin.publish([page: bytes("two"), bank: bytes("password!")])
    #expect(try device.update(force: true).kind == .patch)
    #expect(try device.page(for: page)?.read() == bytes("two"))
    device.finishReports(milliseconds: 60_000)
    let reported = origin.takeTold().compactMap { $0.document["url"]?.string }
    #expect(reported == [bank, bank])
  }

  /// The digest is of the complete manifest, so that patches and polls work as for any device.
  @Test func manifestIsStoredCompletely() throws {
    let all = try bench.device("all")
    let device = try device()
    _ = try all.update()
    _ = try device.update()
    #expect(device.digest == all.digest)
    #expect(try device.update(force: true).kind == .nothing)
  }

  @Test func addedHostsAreServed() throws {
    do { _ = try device().update() }
    let wider = try bench.device(change: { $0.hosts = ["*.test"] })
    #expect(try wider.page(for: bank)?.read() == bytes("give me your password"))
  }

  @Test func filesOfRemovedHostsAreRemoved() throws {
    do { _ = try bench.device().update() }
    let device = try device()
    #expect(try device.page(for: bank) == nil && device.page(for: page) != nil)
    #expect(try Folder.textNames("\(bench.settings().folder)/files").count == 1)
  }

  @Test func requestsToOtherHostsAreLeftOut() throws {
    let config =
      #"{"code":200,"data":{"config":[{"interfaces":[{"api":"https://bank.test/a","method":"GET"},"#
      + #"{"api":"https://m.test/b","method":"GET"}],"url":"\#(page)"},"#
      + #"{"interfaces":[{"api":"https://m.test/c","method":"GET"}],"url":"\#(bank)"}],"#
      + #""name":"prefetchConfig","version":"1"}}"#
    origin.serve(bytes(config), at: "\(FakeOrigin.server)/prefetchConfig?app=shop&channel=online")
    origin.say(#","prefetch":"1""#)
    let device = try device()
    _ = try device.update()
    #expect(device.prefetch.requests(for: page).count == 2)
    #expect(device.prefetchRequests(for: page).map(\.url) == ["https://m.test/b"])
    #expect(device.prefetchRequests(for: bank).isEmpty)
  }

  @Test(arguments: [[], [""], ["https://m.test"], ["m.test/"]])
  func invalidHostListsAreRefused(hosts: [String]) {
    #expect(throws: DeviceError.self) { try bench.device(change: { $0.hosts = hosts }) }
  }
}
