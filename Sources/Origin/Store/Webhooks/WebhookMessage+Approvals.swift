import Manifests
import Values

// What receivers are told of acts that others have to approve.
extension AuditEvent {
  /// An act that waits for approvals.
  func approvalNeeded(_ actor: Actor, _ receipt: AuditHead) -> WebhookMessage {
    let (id, missing) = (result["schedule"]?.integer ?? 0, result["approvals"]?.integer ?? 0)
    let summary = parameters["summary"]?.string ?? "act"
    let approve = "xcache approve \(id)"
    let data = approvalData(
      actor, receipt,
      [
        ("act", parameters["act"]), ("due", parameters["due"]), ("hint", .string(approve)),
        ("missing", .integer(missing)), ("schedule", .integer(id)), ("summary", .string(summary)),
      ])
    return approvalMessage(
      .approvalNeeded, data,
      "\(actor.name) asks for \(missing == 1 ? "an approval" : "\(missing) approvals"): "
        + "\(HumanText.line(summary, limit: 300)). `\(approve)` shows it and approves it")
  }

  /// An act that somebody rejected.
  func rejection(_ actor: Actor, _ receipt: AuditHead) -> WebhookMessage {
    let reason = parameters["message"]?.string ?? ""
    let data = approvalData(
      actor, receipt,
      [
        ("act", result["act"]), ("code", .string(ScheduledAct.rejected)), ("due", result["due"]),
        ("reason", .string(reason)), ("schedule", parameters["schedule"]),
        ("state", .string(ScheduledAct.State.cancelled.rawValue)), ("summary", result["summary"]),
      ])
    return approvalMessage(
      .schedule, data,
      "\(actor.name) rejected what \(result["author"]?.string ?? "") asked for, the "
        + "\(HumanText.line(result["summary"]?.string ?? "act", limit: 300)): "
        + HumanText.line(reason, limit: 300))
  }

  private func approvalData(_ actor: Actor, _ receipt: AuditHead, _ more: [(String, JSONValue?)]) -> JSONValue
  {
    var data = JSONObject()
    (data["author"], data["receipt"]) = (.string(actor.name), .string(receipt.text))
    if let app { data["app"] = .string(app.text) }
    if let channel { data["channel"] = .string(channel.text) }
    for (key, value) in more { data[key] = value }
    return .object(data)
  }

  private func approvalMessage(_ type: WebhookEvent, _ data: JSONValue, _ text: String) -> WebhookMessage {
    var message = WebhookMessage(
      type: type.rawValue, data: data, text: "\(app?.text ?? "") \(channel?.text ?? ""): \(text)")
    if let app, let channel { message.places = [EventChannel(app: app, channel: channel)] }
    return message
  }
}
