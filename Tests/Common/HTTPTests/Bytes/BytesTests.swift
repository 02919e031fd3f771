import Testing

@testable import HTTP

@Suite struct BytesTests {
  private static let alphanumeric = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
  private static let visible = String((0x21...0x7E).map { Character(Unicode.Scalar($0)) })

  static let classes: [(UInt8, String)] = [
    (ByteClass.token.rawValue, alphanumeric + "!#$%&'*+-.^_`|~"),
    (ByteClass.unreserved.rawValue, alphanumeric + "-._~"),
    (ByteClass.target.rawValue, visible.filter { !"\"#<>".contains($0) }),
    (ByteClass.authority.rawValue, alphanumeric + "-._~!$&'()*+,;=:[]%"),
    (ByteClass.notable.rawValue, "%.?\\"),
  ]

  @Test(arguments: classes) func byteClasses(_ bit: UInt8, _ members: String) {
    let wanted = Set(members.utf8)
    for byte in UInt8.min...UInt8.max {
      #expect(ByteClass(byte).has(ByteClass(rawValue: bit)) == wanted.contains(byte), "\(byte)")
    }
  }

  @Test func bytesAreFoundAtEveryOffset() {
    for length in 1...20 {
      for place in 0..<length {
        for byte in UInt8.min...UInt8.max {
          var bytes = [UInt8](repeating: byte == 0x61 ? 0x62 : 0x61, count: length)
          bytes[place] = byte
          let span = bytes.span.bytes
          let isControl = byte < 0x20 || byte == 0x7F
          guard span.firstIndex(of: byte) == place, span.firstControl(from: 0) == (isControl ? place : nil)
          else {
            Issue.record("byte \(byte) at \(place) of \(length)")
            return
          }
        }
      }
    }
  }

  @Test func endOfTargetAndNotableBytesAreFoundAtEveryOffset() {
    for length in 1...20 {
      for place in 0..<length {
        // A line ends at 0x7F before its target is searched for.
        for byte in UInt8.min...UInt8.max where byte != 0x7F {
          var bytes = [UInt8](repeating: 0x61, count: length)
          bytes[place] = byte
          let span = bytes.span.bytes
          guard span.endOfTarget(from: 0) == (ByteClass(byte).has(.target) ? length : place),
            span.firstNotable(from: 0) == (ByteClass(byte).has(.notable) ? place : length)
          else {
            Issue.record("byte \(byte) at \(place) of \(length)")
            return
          }
        }
      }
    }
  }

  @Test func searchesBeginAtTheGivenOffset() {
    let bytes = [UInt8]("a,bc,defghijkl,m".utf8)
    let span = bytes.span.bytes
    #expect(span.firstIndex(of: 0x2C, from: 2) == 4 && span.firstIndex(of: 0x2C, from: 5) == 14)
    #expect(span.firstIndex(of: 0x2C, from: 15) == nil && span.firstIndex(of: 0x2C, from: 99) == nil)
  }

  @Test func comparisonIgnoresOnlyTheCaseOfLetters() {
    for length in [1, 4, 8, 9, 20] {
      for place in 0..<length {
        for byte in UInt8.min...UInt8.max {
          var bytes = [UInt8](repeating: 0x61, count: length)
          bytes[place] = byte
          let span = bytes.span.bytes
          for wanted in UInt8.min...UInt8.max where wanted == wanted.lowercased {
            var other = [UInt8](repeating: 0x61, count: length)
            other[place] = wanted
            let isSame = span.equalsIgnoringCase(other.span.bytes)
            guard isSame == (byte.lowercased == wanted), span.equals(other.span.bytes) == (byte == wanted)
            else {
              Issue.record("\(byte) and \(wanted) at \(place) of \(length)")
              return
            }
          }
        }
      }
    }
  }

  @Test(arguments: FieldName.allCases) func fieldNamesAreKnownInAnyCase(_ name: FieldName) {
    let text = name.name.description
    for spelling in [text, text.uppercased()] {
      let bytes = [UInt8](spelling.utf8)
      #expect(FieldName(bytes.span.bytes) == name)
    }
    let longer = [UInt8]((text + "x").utf8)
    #expect(FieldName(longer.span.bytes) == nil)
    #expect(FieldName.allCases.count == FieldName.count)
  }

  static let numbers: [(String, UInt64?)] = [
    ("0", 0), ("007", 7), ("18446744073709551615", .max), ("18446744073709551616", nil), ("", nil),
    ("1a", nil),
    ("-1", nil), (" 1", nil),
  ]

  @Test(arguments: numbers) func decimals(_ text: String, _ wanted: UInt64?) {
    let bytes = [UInt8](text.utf8)
    #expect(bytes.span.bytes.decimal == wanted)
  }
}
