import HTTP

/// A second, in the two ways that access lines write it.
struct LogTime {
  /// `10/Oct/2000:13:55:36 +0000`
  let common: String
  /// `2000-10-10T13:55:36Z`
  let iso: String

  /// - Parameter seconds: since 1970-01-01T00:00:00Z.
  init(_ seconds: Int64) {
    // "Tue, 10 Oct 2000 13:55:36 GMT" has every part at a fixed place.
    let date = Array(HTTPDate(seconds).description.utf8)
    func part(_ range: Range<Int>) -> String { String(decoding: date[range], as: UTF8.self) }
    let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
    let month = (months.firstIndex(of: part(8..<11)) ?? 0) + 1
    common = "\(part(5..<7))/\(part(8..<11))/\(part(12..<16)):\(part(17..<25)) +0000"
    iso = "\(part(12..<16))-\(month < 10 ? "0" : "")\(month)-\(part(5..<7))T\(part(17..<25))Z"
  }
}
