import HTTP
import Testing

@Suite struct ChunkedDecoderTests {
  static let cases: [(String, String)] = [
    ("0\r\n\r\n", "|end 5"),
    ("5\r\nhello\r\n0\r\n\r\n", "hello|end 15"),
    ("5\r\nhello\r\n0\r\n\r\nGET /", "hello|end 15"),
    ("1\r\na\r\nA\r\n0123456789\r\n0\r\n\r\n", "a0123456789|end 26"),
    ("00000005\r\nhello\r\n000\r\n\r\n", "hello|end 24"),
    ("5;a=b;c=\"d\"\r\nhello\r\n0;x\r\n\r\n", "hello|end 27"),
    ("0\r\nTrailer: x\r\nOther: y\r\n\r\n", "|end 27"),
    ("5\r\nhel", "hel|more"),
    ("", "|more"),
    ("\r\n", "|malformed"), ("g\r\n", "|malformed"), (" 5\r\n", "|malformed"), ("-1\r\n", "|malformed"),
    ("0x5\r\n", "|malformed"), ("5\nhello", "|malformed"), ("5\r\nhelloX", "hello|malformed"),
    ("5\r\nhello\n", "hello|malformed"), ("5 \r\nhello", "|malformed"), ("5;a\nb\r\n", "|malformed"),
    ("FFFFFFFFFFFFFFFFF\r\n", "|malformed"), ("8000000000000000\r\n", "|malformed"),
    ("0\r\nA: b\n\r\n", "|malformed"), ("0\r\n\n", "|malformed"), ("0\r\nA\u{0}\r\n\r\n", "|malformed"),
    (String(repeating: "0", count: 33) + "\r\n\r\n", "|malformed"),
  ]

  private func decode(_ bytes: [UInt8], pieces: [Int]) -> String {
    var framing = BodyFraming.chunked(ChunkedDecoder())
    var body: [UInt8] = []
    var start = 0
    for end in pieces + [bytes.count] {
      let piece = [UInt8](bytes[start..<end])
      let span = piece.span.bytes
      var index = 0
      loop: while true {
        switch framing.next(span, from: &index) {
        case .data(let range): body += piece[range]
        case .more: break loop
        case .end(let place): return String(decoding: body, as: UTF8.self) + "|end \(start + place)"
        case .malformed: return String(decoding: body, as: UTF8.self) + "|malformed"
        }
      }
      start = end
    }
    return String(decoding: body, as: UTF8.self) + "|more"
  }

  @Test(arguments: cases) func decodes(_ input: String, _ wanted: String) {
    let bytes = [UInt8](input.utf8)
    #expect(decode(bytes, pieces: []) == wanted)
    for split in 0...bytes.count { #expect(decode(bytes, pieces: [split]) == wanted, "split at \(split)") }
    #expect(decode(bytes, pieces: Array(0..<bytes.count)) == wanted, "byte by byte")
  }

  @Test func endlessExtensionsAndTrailersAreRefused() {
    let long = String(repeating: "x", count: 9_000)
    #expect(decode([UInt8]("5;\(long)".utf8), pieces: []) == "|malformed")
    let trailers = String(repeating: "A: b\r\n", count: 3_000)
    #expect(decode([UInt8]("0\r\n\(trailers)".utf8), pieces: []) == "|malformed")
  }
}
