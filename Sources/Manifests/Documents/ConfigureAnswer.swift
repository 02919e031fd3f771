/// An answer of `configure.json`, as a device reads it.
package enum ConfigureAnswer: Hashable, Sendable {
  /// The device has this version, which is the newest.
  case upToDate(ManifestVersion, AnswerExtras)
  case whole(WholeAnswer)
  case patch(PatchAnswer)
  /// The body's `code` isn't 200.
  case failure(code: Int64, message: String)

  /// Reads a body. Members that aren't known are ignored; those that are must be as they should.
  package static func parse(_ bytes: [UInt8]) throws(JSONError) -> ConfigureAnswer {
    var reader = JSONReader(bytes)
    var code: Int64?
    var message = ""
    var data: AnswerReader?
    try reader.members { (key, reader) throws(JSONError) in
      switch key {
      case "code": code = try reader.value().integer
      case "message": message = try reader.value().string ?? ""
      case "data": data = try AnswerReader(reading: &reader)
      default: _ = try reader.value()
      }
    }
    try reader.end()
    guard let code else { throw .member("code") }
    if code != 200 { return .failure(code: code, message: message) }
    guard let data else { throw .member("data") }
    return try data.answer()
  }

  package var extras: AnswerExtras {
    switch self {
    case .upToDate(_, let extras): extras
    case .whole(let answer): answer.extras
    case .patch(let answer): answer.extras
    case .failure: .none
    }
  }
}
