import DeviceTestSupport
import Testing

@testable import HTTPDNS

/// Which source is asked when, without a clock and without sources.
@Suite struct LookupPlanTests {
  static let a = LookupAnswer.of("192.0.2.1")
  static let b = LookupAnswer.of("192.0.2.2")
  static let old = LookupAnswer.of("192.0.2.9")

  /// The outcomes that are known at a time, and the steps that follow.
  struct Moment: Sendable {
    let time: Int64
    let known: LookupPlan.Outcomes
    let steps: [LookupPlan.Step]
    init(_ time: Int64, _ known: LookupPlan.Outcomes, _ steps: LookupPlan.Step...) {
      (self.time, self.known, self.steps) = (time, known, steps)
    }
  }

  struct Case: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let order: HTTPDNSSettings.Order
    var hasService = true
    var stale: LookupAnswer?
    let moments: [Moment]
  }

  @Test(arguments: [
    Case(
      testDescription: "the service answers", order: .serviceFirst,
      moments: [
        Moment(0, [:], .ask(.service), .wait(until: 400)),
        Moment(30, [.service: .success(a)], .take(a, .service)),
      ]),
    Case(
      testDescription: "the service fails", order: .serviceFirst,
      moments: [
        Moment(0, [:], .ask(.service), .wait(until: 400)),
        Moment(30, [.service: .failure(.timedOut)], .ask(.system), .wait(until: 3000)),
        Moment(40, [.service: .failure(.timedOut), .system: .success(b)], .take(b, .system)),
      ]),
    Case(
      testDescription: "the service hangs", order: .serviceFirst,
      moments: [
        Moment(0, [:], .ask(.service), .wait(until: 400)),
        Moment(400, [:], .ask(.system), .wait(until: 3000)),
        Moment(420, [.system: .success(b)], .take(b, .system)),
      ]),
    Case(
      testDescription: "the service answers late, and before the system", order: .serviceFirst,
      moments: [
        Moment(0, [:], .ask(.service), .wait(until: 400)),
        Moment(400, [:], .ask(.system), .wait(until: 3000)),
        Moment(450, [.service: .success(a), .system: .success(b)], .take(a, .service)),
      ]),
    Case(
      testDescription: "the service hangs, and an older answer is held", order: .serviceFirst, stale: old,
      moments: [
        Moment(0, [:], .ask(.service), .wait(until: 400)), Moment(400, [:], .takeStale(old)),
      ]),
    Case(
      testDescription: "the service is known to be down", order: .serviceFirst, hasService: false, stale: old,
      moments: [Moment(0, [:], .takeStale(old))]),
    Case(
      testDescription: "there is no service", order: .serviceFirst, hasService: false,
      moments: [
        Moment(0, [:], .ask(.system), .wait(until: 3000)), Moment(3000, [:], .leave),
      ]),
    Case(
      testDescription: "everybody fails", order: .systemFirst,
      moments: [
        Moment(0, [:], .ask(.system), .wait(until: 400)),
        Moment(5, [.system: .failure(.noAddress)], .ask(.service), .wait(until: 3000)),
        Moment(50, [.system: .failure(.noAddress), .service: .failure(.timedOut)], .leave),
      ]),
    Case(
      testDescription: "the system hangs", order: .systemFirst,
      moments: [
        Moment(0, [:], .ask(.system), .wait(until: 400)),
        Moment(400, [:], .ask(.service), .wait(until: 3000)),
        Moment(450, [.service: .success(a)], .take(a, .service)),
      ]),
    Case(
      testDescription: "the system hangs, the service too, and an older answer is held", order: .systemFirst,
      stale: old,
      moments: [
        Moment(0, [:], .ask(.system), .wait(until: 400)), Moment(400, [:], .ask(.service), .wait(until: 800)),
        Moment(800, [:], .takeStale(old)),
      ]),
    Case(
      testDescription: "a race", order: .race,
      moments: [
        Moment(0, [:], .ask(.system), .ask(.service), .wait(until: 3000)),
        Moment(20, [.service: .success(a)], .take(a, .service)),
      ]),
    Case(
      testDescription: "a race in which all hang", order: .race,
      moments: [
        Moment(0, [:], .ask(.system), .ask(.service), .wait(until: 3000)), Moment(3001, [:], .leave),
      ]),
  ])
  func plans(_ item: Case) {
    var plan = LookupPlan(
      item.order, hasService: item.hasService, stale: item.stale, headStart: 400, timeout: 3000, at: 0)
    for moment in item.moments {
      for step in moment.steps { #expect(plan.next(moment.known, at: moment.time) == step) }
    }
  }
}
