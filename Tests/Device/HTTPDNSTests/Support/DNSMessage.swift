import DeviceTestSupport

@testable import HTTPDNS

/// Writes DNS messages, wrong ones too.
struct DNSMessage {
  var id: UInt16 = 0
  var flags: UInt16 = 0x8180
  var questions: UInt16 = 1
  /// Nil: as many as there are.
  var count: UInt16?
  var question: [UInt8]
  var records: [[UInt8]] = []

  init(_ query: DNSQuery) { question = Array(query.bytes.dropFirst(12)) }

  var bytes: [UInt8] {
    [id, flags, questions, count ?? UInt16(records.count), 0, 0].flatMap(Self.word) + question
      + records.flatMap { $0 }
  }

  /// A record; `owner` as bytes, a pointer to the question where nothing is said.
  static func record(
    _ owner: [UInt8] = [0xC0, 12], type: UInt16, group: UInt16 = 1, ttl: UInt32 = 300, _ data: [UInt8]
  ) -> [UInt8] {
    owner + word(type) + word(group) + word(UInt16(ttl >> 16)) + word(UInt16(ttl & 0xFFFF))
      + word(UInt16(data.count)) + data
  }

  static func name(_ text: String) -> [UInt8] { HostName.of(text).wire }

  static func word(_ value: UInt16) -> [UInt8] { [UInt8(value >> 8), UInt8(value & 255)] }
}
