import Manifests
import Store
import System
import Testing

@testable import Origin

extension ScheduleTests {
  /// Waits for a condition while due acts are started, as the origin does each second.
  private func until(_ service: ScheduleService, _ seconds: Int = 20, _ isSo: () throws -> Bool) rethrows
    -> Bool
  {
    for _ in 0..<(seconds * 20) {
      service.runIfDue()
      if try isSo() { return true }
      Clock.sleep(for: .milliseconds(50))
    }
    return false
  }

  private func service(_ origin: TestOrigin) -> ScheduleService {
    ScheduleService(api: origin.origin.api) { [logged] line in logged.withLock { $0.append(line) } }
  }

  /// The CDN is slow.
  @Test func slowActDelaysNeitherAHaltNorAnotherChannel() throws {
    let cdn = Monitor(false)
    let origin = try TestOrigin(
      publicURL: "https://cdn.example.com/hxm",
      { options in
        options.push = ReleasePush(names: { prepared in
          prepared.changes.contains { $0.url.text.hasSuffix("slow.js") } ? ["slow"] : []
        }) { _ in
          _ = cdn.waiting { $0 ? true : nil }
        }
      }, clock: { [now] in now.withLock { $0 } })
    defer { cdn.broadcasting { $0 = true } }
    #expect(try origin.publish(["a.js": "one"]).status == 201)
    #expect(try origin.publish(["a.js": "tested"], channel: "test").status == 201)
    #expect(try origin.candidate(["a.js": "second"]).status == 201)
    let slow = try schedule(origin, "releases", origin.release(["slow.js": "s"], bundle: "other"))
    let behind = try schedule(origin, "releases", origin.release(["more.js": "m"], bundle: "more"))
    let elsewhere = try schedule(
      origin, "releases", origin.release(["a.js": "more"], channel: "test"), channel: "test")
    let halt = try schedule(origin, "rollout/halt", ["message": "broken"])
    now.withLock { $0 += Self.hour }
    let service = service(origin)
    let isHalted = try until(service) { try state(origin, halt)["state"]?.string == "done" }
    #expect(isHalted, "\(description(origin, halt)) \(logged.withLock { $0 })")
    let other = "apps/shop/channels/test/schedules/\(elsewhere)"
    let isElsewhere = try until(service) { try origin.api("GET", other).json["state"]?.string == "done" }
    #expect(isElsewhere, "\(logged.withLock { $0 })")
    for id in [slow, behind] {
      #expect(try state(origin, id)["state"]?.string == "waiting", "\(description(origin, id))")
    }
    cdn.broadcasting { $0 = true }
    let isDone = try until(service) { try state(origin, behind)["state"]?.string == "done" }
    #expect(try isDone && state(origin, slow)["state"]?.string == "done", "\(description(origin, slow))")
    #expect(
      try Int64(state(origin, slow)["version"]?.string ?? "") ?? 0 < Int64(
        state(origin, behind)["version"]?.string ?? "") ?? 0)
  }

  /// The same for an act that waits for its deltas; those of several channels wait concurrently, as none occupies an API worker.
  @Test func actsThatWaitForDeltasDelayNothing() throws {
    let origin = try TestOrigin({ $0.deltaWait = 600 }, clock: { [now] in now.withLock { $0 } })
    var random = SystemRandomNumberGenerator()
    func large(_ megabytes: Int = 16) -> String {
      var bytes = [UInt8](repeating: 0, count: megabytes << 20)
      for start in stride(from: 0, to: bytes.count, by: 8) {
        var word = random.next()
        for offset in 0..<8 {
          bytes[start + offset] = 33 + UInt8(truncatingIfNeeded: word) % 90
          word >>= 8
        }
      }
      return String(decoding: bytes, as: UTF8.self)
    }
    let (old, new) = (large(), large())
    #expect(try origin.publish(["a.js": "one"]).status == 201)
    #expect(try origin.publish(["big.js": old], bundle: "other").status == 201)
    let others = ["one", "two", "three"]
    for name in others { #expect(try origin.publish(["big.js": large(4)], channel: name).status == 201) }
    #expect(try origin.candidate(["a.js": "second"]).status == 201)
    let slow = try schedule(origin, "releases", origin.release(["big.js": new], bundle: "other"))
    for name in others {
      try schedule(origin, "releases", origin.release(["big.js": large(4)], channel: name), channel: name)
    }
    let halt = try schedule(origin, "rollout/halt", ["message": "broken"])
    now.withLock { $0 += Self.hour }
    let service = service(origin)
    let isHalted = try until(service) { try state(origin, halt)["state"]?.string == "done" }
    #expect(isHalted, "\(description(origin, halt)) \(logged.withLock { $0 })")
    #expect(
      try state(origin, slow)["state"]?.string == "waiting",
      "the halt didn't wait: \(description(origin, slow))")
    let isDone = try until(service, 500) { try origin.store.waitingActs().isEmpty }
    #expect(
      try isDone && state(origin, slow)["state"]?.string == "done",
      "\(description(origin, slow)) \(logged.withLock { $0 })")
    // None was refused because others waited.
    #expect(logged.withLock { $0.allSatisfy { $0.contains("is done") } }, "\(logged.withLock { $0 })")
  }

  /// The lanes that may start besides running ones.
  @Test func lanesAreBounded() {
    var lanes = ScheduleLanes()
    func lane(_ channel: Int64, _ isStep: Bool = false) -> ScheduleLane {
      ScheduleLane(channel: channel, isStep: isStep)
    }
    #expect(lanes.begin([lane(1), lane(2)]) == [lane(1), lane(2)])
    // One act of a lane at a time; rollout steps run besides releases.
    #expect(lanes.begin([lane(1), lane(1, true)]) == [lane(1, true)])
    let more = (3...20).map { lane(Int64($0)) }
    #expect(lanes.begin(more) == Array(more.prefix(ScheduleLanes.maxBusy - 2)))
    #expect(lanes.begin(more + [lane(20, true)]) == [lane(20, true)])
    lanes.end(lane(2))
    #expect(lanes.begin([lane(1), lane(19), lane(2)]) == [lane(19)])
    lanes.end(lane(1, true))
    #expect(lanes.begin([lane(1, true)]) == [lane(1, true)])
  }

  /// A pause that was due after a resume must not be undone by it.
  @Test func rolloutStepsAreDoneInOrder() throws {
    let origin = try opened()
    #expect(try origin.candidate(["a.js": "second"]).status == 201)
    let set = try schedule(origin, "rollout/set", ["share": 2500])
    let resume = try schedule(origin, "rollout/resume", [:], in: 2)
    let pause = try schedule(origin, "rollout/pause", [:], in: 3)
    let channel = try origin.store.channel(try AppName("shop"), .online).id
    now.withLock { $0 += 4 * Self.hour }
    #expect(try origin.store.dueLanes() == [ScheduleLane(channel: channel, isStep: true)])
    let service = service(origin)
    #expect(try until(service) { try state(origin, pause)["state"]?.string == "done" })
    for id in [set, resume] {
      #expect(try state(origin, id)["state"]?.string == "done", "\(description(origin, id))")
    }
    #expect(try origin.api("GET", "\(Self.online)/rollout").json["open"]?["paused"]?.bool == true)
  }

  /// The origin was down at both times: the release that was due first supersedes the candidate.
  @Test func stepIsDoneAfterTheReleaseDueBeforeIt() throws {
    let origin = try opened()
    #expect(try origin.candidate(["a.js": "second"]).status == 201)
    let release = try schedule(origin, "releases", origin.release(["a.js": "third"]))
    let complete = try schedule(origin, "rollout/complete", [:], in: 2)
    now.withLock { $0 += 4 * Self.hour }
    let service = service(origin)
    #expect(try until(service) { try state(origin, complete)["state"]?.string != "waiting" })
    #expect(try state(origin, release)["state"]?.string == "done", "\(description(origin, release))")
    let end = try state(origin, complete)
    #expect(end["state"]?.string == "failed" && end["code"]?.string == "no-rollout", "\(end)")
    #expect(try bytes(origin) == "third".utf8.count)
  }

  /// A step and a release of another bundle in the same second: both are done in either order.
  @Test func stepAppliesToACandidateRemadeAtThatTime() throws {
    for round in 0..<8 {
      let origin = try opened()
      #expect(try origin.candidate(["a.js": "second"]).status == 201)
      let set = try schedule(origin, "rollout/set", ["share": 2500])
      let other = try schedule(origin, "releases", origin.release(["b.js": "b\(round)"], bundle: "other"))
      now.withLock { $0 += Self.hour }
      let service = service(origin)
      let isDone = try until(service) {
        try state(origin, set)["state"]?.string != "waiting"
          && state(origin, other)["state"]?.string != "waiting"
      }
      #expect(isDone)
      for id in [set, other] {
        #expect(try state(origin, id)["state"]?.string == "done", "\(description(origin, id))")
      }
      #expect(try origin.api("GET", "\(Self.online)/rollout").json["open"]?["share"]?.integer == 2500)
    }
  }

  /// The same, forced: another bundle is released while the halt's files are pushed.
  @Test func haltAppliesToACandidateRemadeMeanwhile() throws {
    let isArmed = Locked(false)
    // Used only by the thread that halts.
    nonisolated(unsafe) var made: TestOrigin?
    let origin = try TestOrigin(
      { options in
        options.push = ReleasePush(names: { _ in isArmed.withLock { $0 } ? ["file"] : [] }) { _ in
          let isFirst = isArmed.withLock { armed in
            defer { armed = false }
            return armed
          }
          if isFirst { _ = try? made?.publish(["b.js": "b"], bundle: "other") }
        }
      }, clock: { [now] in now.withLock { $0 } })
    made = origin
    defer { made = nil }
    #expect(try origin.publish(["a.js": "one"]).status == 201)
    #expect(try origin.candidate(["a.js": "second"]).status == 201)
    let halt = try schedule(origin, "rollout/halt", ["message": "broken"])
    isArmed.withLock { $0 = true }
    pass(origin)
    #expect(try state(origin, halt)["state"]?.string == "done", "\(description(origin, halt))")
    #expect(try origin.api("GET", "\(Self.online)/rollout").json["open"]?.isNull == true)
    #expect(try bytes(origin) == 3 && bytes(origin, "b.js") == 1)
  }
}
