import Store
import System
import Testing
import Values

@testable import Origin

extension ScheduleTests {
  /// No one sees the output of a scheduled act.
  @Test func webhooksReportFailedAndMissedActs() throws {
    let origin = try opened()
    let url = try ResourceURL("https://hooks.example.com/x")
    let hook = try origin.store.addWebhook(WebhookDraft(url: url))
    func delivered() throws -> [JSONValue] {
      var bodies: [JSONValue] = []
      while let head = try origin.store.webhookHeads().first(where: { $0.webhook == hook.id }) {
        let job = try #require(try origin.store.webhookJob(head.row))
        bodies.append(try JSONValue.parse(job.body))
        _ = try origin.store.record(.answered(status: 200), of: job)
      }
      return bodies
    }
    let done = try schedule(origin, "releases", origin.release(["a.js": "second"]))
    let cancelled = try schedule(origin, "releases", origin.release(["a.js": "third"]))
    #expect(try origin.api("DELETE", "\(Self.online)/schedules/\(cancelled)").status == 200)
    pass(origin)
    #expect(try state(origin, done)["state"]?.string == "done")
    // A successful release has its own event.
    #expect(try delivered().map { $0["type"]?.string } == ["release"])
    let failed = try schedule(origin, "releases", origin.release(["a.js": "third"]), in: 1)
    let missed = try schedule(origin, "rollback", ["allBundles": true, "to": "1"], in: 2)
    #expect(try origin.api("POST", "\(Self.online)/freeze", ["reason": "sale <now>"]).status == 200)
    _ = try delivered()
    pass(origin)
    let bodies = try delivered()
    let data = bodies.first?["data"]
    #expect(bodies.count == 1 && bodies.first?["type"]?.string == "schedule", "\(bodies)")
    #expect(data?["schedule"]?.integer == failed && data?["act"]?.string == "publish", "\(bodies)")
    #expect(data?["state"]?.string == "failed" && data?["code"]?.string == "frozen", "\(bodies)")
    #expect(data?["summary"]?.string?.hasPrefix("publish of main") == true, "\(bodies)")
    #expect(data?["author"]?.string == "admin", "\(bodies)")
    #expect(data?["app"]?.string == "shop" && data?["channel"]?.string == "online", "\(bodies)")
    #expect(data?["due"]?.string == Timestamp.text(now.withLock { $0 }), "\(bodies)")
    #expect(data?["reason"]?.string?.contains("sale <now>") == true, "\(bodies)")
    #expect(
      data?["hint"]?.string?.contains("`xcache schedule show \(failed) --app shop --channel online`") == true,
      "\(bodies)")
    let receipt = try origin.store.auditRows(after: 0, limit: 1000).last { $0.act == "schedule.fail" }
    #expect(data?["receipt"]?.string?.hasPrefix("\(receipt?.id ?? 0):") == true, "\(bodies)")
    now.withLock { $0 += 26 * Self.hour }
    run(origin)
    let late = try delivered()
    #expect(late.count == 1 && late.first?["data"]?["state"]?.string == "missed", "\(late)")
    #expect(late.first?["data"]?["schedule"]?.integer == missed, "\(late)")
    #expect(late.first?["data"]?["code"]?.string == "missed", "\(late)")
  }
}
