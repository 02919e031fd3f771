import HTTP
import Manifests
import Store

/// `POST /default-app`: the app that answers polls which name none (DESIGN §3), for admins of everything.
struct DefaultAppCalls {
  let desk: ReleaseDesk
  let call: APIRequest
  let caller: AccessToken

  func set(_ body: JSONValue) throws(Problem) -> Response {
    guard let app = try body.name("app", { (text) throws(NameError) in try AppName(text) }) else {
      throw .badRequest("\"app\" is the app that answers where none is named")
    }
    return try call.answering { before in
      APIAnswer([
        "changed": .bool(before != app), "defaultApp": .string(app.text),
        "was": before.map { .string($0.text) } ?? .null,
      ])
    } to: { (record) throws(StoreError) in
      try desk.setDefault(app, by: caller.actor(call), record: record)
    }
  }
}
