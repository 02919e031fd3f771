import DeviceTestSupport
import System
import Testing
import TestSupport
import Values

@testable import XCacheDevice

private let page = "https://m.test/p"
private let script = "https://m.test/a.js"

/// Rollouts on a device; the rules themselves are tested by the conformance cases.
@Suite struct RolloutTests {
  let bench: Bench
  var origin: FakeOrigin { bench.origin }
  private var notes: String { "\(bench.scratch.path)/device/rollout.json" }

  init() throws {
    bench = try Bench()
    try origin.publish([page: bytes("one"), script: bytes("let one")])
  }

  /// A device with version 1, and an open rollout of version 2.
  private func deviceInRollout() throws -> Device {
    let device = try bench.device()
    _ = try device.update()
    try origin.publish([page: bytes("two"), script: bytes("let two")])
    origin.rollOut(2, full: 1)
    _ = origin.takeLog()
    return device
  }

  private func id() throws -> String {
    let document = try JSONValue.parse(try #require(try DurableFile.read(notes)))
    return try #require(document["id"]?.string)
  }

  @Test func installIDIsMadeAtTheFirstStartAndStays() throws {
    let first: String
    do {
      let device = try bench.device()
      first = try id()
      #expect(first.utf8.count == 32)
      device.close()
    }
    let device = try bench.device()
    _ = try device.update()
    #expect(try id() == first)
    #expect(origin.takeLog().allSatisfy { !$0.contains(first) })
    device.close()
    let other = try bench.device("other")
    #expect(other.rollout.withLock { $0.id } != device.rollout.withLock { $0.id })
  }

  @Test(arguments: ["", "{", "[]", "{}", #"{"id":"00"}"#, #"{"id":7,"in":true}"#])
  func damagedStateGivesANewInstallID(text: String) throws {
    do {
      let device = try deviceInRollout()
      _ = try device.update(force: true)
      #expect(device.version == "2")
    }
    try Scratch.write(text, to: notes)
    origin.rollOut(2, full: 1, share: 0)
    let device = try bench.device()
    #expect(try id().utf8.count == 32)
    // The index records the rollout by which the version was taken.
    _ = try device.update(force: true)
    #expect(device.version == "2" && device.holdsCandidate)
  }

  /// If the disk was full at the first start, the id is written with the first poll.
  @Test func installIDIsWrittenLaterIfTheDiskWasFull() throws {
    let isFull = Locked(true)
    let device = try bench.device(
      willChange: { () throws(DeviceError) in
        if isFull.withLock({ $0 }) {
          throw .file(path: "", call: "write", code: Errno.noSpace.rawValue, reason: "full")
        }
      })
    #expect(try DurableFile.read(notes) == nil)
    isFull.withLock { $0 = false }
    _ = try device.update()
    let bytes = device.rollout.withLock { $0.id.bytes }
    let hex = Hex.encode(bytes.span.bytes)
    #expect(try id() == hex)
  }

  @Test func candidatesAreTakenKeptAndLeft() throws {
    let device = try deviceInRollout()
    let report = try device.update(force: true)
    #expect(report.to == "2" && device.holdsCandidate)
    let asked = origin.takeLog().filter { $0.contains("configure.json") }
    #expect(asked.count == 2 && !asked[0].contains("candidate") && asked[1].contains("&candidate=1"))
    origin.rollOut(2, full: 1, share: 0)
    _ = try device.update(force: true)
    #expect(device.version == "2")
    #expect(
      origin.takeLog().filter { $0.contains("configure.json") }.allSatisfy { $0.contains("&candidate=1") })
    device.leaveCandidate()
    _ = try device.update(force: true)
    #expect(device.version == "1" && !device.holdsCandidate)
    origin.rollOut(2, full: 1)
    _ = try device.update(force: true)
    #expect(device.version == "1")
    #expect(origin.takeLog().allSatisfy { !$0.contains("candidate") })
  }

  @Test func completedCandidatesAreOrdinaryVersions() throws {
    let device = try deviceInRollout()
    _ = try device.update(force: true)
    origin.rollOut(nil, full: 2)
    let report = try device.update(force: true)
    #expect(report.kind == .nothing && !device.holdsCandidate)
    _ = origin.takeLog()
    _ = try device.update(force: true)
    #expect(origin.takeLog().allSatisfy { !$0.contains("candidate") })
  }

  /// Wherever the process ends during the update to the candidate: a device that has it keeps it as the share falls.
  @Test func candidatesAreKeptAfterACrashAtAnyStep() throws {
    var step = 0
    var hasEnded = false
    while !hasEnded {
      let bench = try Bench()
      let left = Locked<Int?>(nil)
      try bench.origin.publish([page: bytes("one"), script: bytes("let one")])
      do {
        let device = try bench.device(
          willChange: { () throws(DeviceError) in
            let isOver = left.withLock { left in
              guard let count = left else { return false }
              left = count - 1
              return count <= 0
            }
            if isOver { throw .file(path: "", call: "crash", code: 5, reason: "crashed") }
          })
        _ = try device.update()
        try bench.origin.publish([page: bytes("two"), script: bytes("let two")])
        bench.origin.rollOut(2, full: 1)
        left.withLock { $0 = step }
        hasEnded = (try? device.update(force: true)) != nil
      }
      bench.origin.rollOut(2, full: 1, share: 0)
      let device = try bench.device()
      let held = device.version
      _ = try device.update(force: true)
      #expect(device.version == held, "after \(step) steps")
      step += 1
      try #require(step < 200)
    }
    #expect(step > 5)
  }

  @Test func replacedCandidatesAreTakenAfterACrashAtAnyStep() throws {
    var step = 0
    var hasEnded = false
    while !hasEnded {
      let bench = try Bench()
      let left = Locked<Int?>(nil)
      for text in ["one", "two", "three"] {
        try bench.origin.publish([page: bytes(text), script: bytes("let \(text)")])
      }
      bench.origin.rollOut(2, full: 1)
      do {
        let device = try bench.device(
          willChange: { () throws(DeviceError) in
            let isOver = left.withLock { left in
              guard let count = left else { return false }
              left = count - 1
              return count <= 0
            }
            if isOver { throw .file(path: "", call: "crash", code: 5, reason: "crashed") }
          })
        _ = try device.update()
        #expect(device.version == "2")
        bench.origin.rollOut(3, full: 1, share: 0)
        left.withLock { $0 = step }
        hasEnded = (try? device.update(force: true)) != nil
      }
      let device = try bench.device()
      _ = try device.update(force: true)
      #expect(device.version == "3", "after \(step) steps")
      step += 1
      try #require(step < 200)
    }
  }

  @Test func recreatedFoldersKeepTheInstallID() throws {
    let device = try deviceInRollout()
    let first = try id()
    Scratch.remove("\(bench.scratch.path)/device")
    _ = try device.update(force: true)
    #expect(try id() == first && device.version == "2")
    // So is the rollout by which the version was taken.
    Scratch.remove("\(bench.scratch.path)/device")
    origin.rollOut(2, full: 1, share: 0)
    _ = try device.update(force: true)
    device.close()
    let next = try bench.device()
    _ = try next.update(force: true)
    #expect(next.version == "2" && next.holdsCandidate)
  }

  /// An older app, without rollouts, can read the index.
  @Test func indexOfACandidateIsAnOrdinaryIndex() throws {
    let device = try deviceInRollout()
    _ = try device.update(force: true)
    let index = try #require(try DurableFile.read("\(bench.scratch.path)/device/index.json"))
    let document = try JSONValue.parse(index)
    #expect(document.canonical == index && document["candidate"]?.string == "seed")
  }
}
