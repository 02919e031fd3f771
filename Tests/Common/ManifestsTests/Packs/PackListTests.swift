import System
import Testing

@testable import Manifests
@testable import Values

@Suite struct PackListTests {
  private static let version = ManifestVersion(9)

  static func base() throws -> [ManifestItem] {
    try ["a.js", "b.js", "c.js"].map {
      let url = try ResourceURL("https://m.example.com/\($0)")
      return ManifestItem(
        url: url,
        entry: Entry(
          ctype: "text/javascript", download: "https://c.example/x/1/2/1/u/n", md5: MD5.of([]),
          sha256: SHA256.of(Array($0.utf8)), size: 1, version: 1))
    }
  }

  private static let form = Array(#"{"ctype":"a/b","download":"https://c/x/1"}"#.utf8)

  /// A change list as parts that tests can replace.
  struct List {
    var touched: [Int64] = [1, 1]
    var arrivals: [Int64] = [1]
    var partners: [Int64] = [1]
    var starts: [Int64] = [22]
    var ends: [Int64] = [3]
    var middles: [Int64] = [2]
    var middle = Array("b2".utf8)
    var sources: [UInt8] = [0]
    var others: [Int64] = []
    var identities: [UInt8] = []
    var versions: [Int64] = [1]
    var since: [Int64] = [0]
    var formNumbers: [Int64] = [1]
    var forms: [[UInt8]] = [PackListTests.form]
    var after: [UInt8] = []
    /// The form of the list's pack.
    var format = PackFormat.whole

    var bytes: [UInt8] {
      var out: [UInt8] = []
      for number in touched + arrivals + partners + starts + ends + middles {
        Varint.append(number, to: &out)
      }
      out += middle + sources
      for number in others { Varint.append(number, to: &out) }
      out += identities
      for number in versions + since + formNumbers { Varint.append(number, to: &out) }
      Varint.append(forms.count, to: &out)
      for form in forms {
        Varint.append(form.count, to: &out)
        out += form
      }
      return out + after
    }

    init(_ change: (inout List) -> Void = { _ in }) { change(&self) }
  }

  @Test func validListsAreRead() throws {
    let changes = try PackChanges(List().bytes, version: Self.version, base: Self.base())
    #expect(changes.touched == [1])
    #expect(changes.arrivals.map(\.url.text) == ["https://m.example.com/b2.js"])
    #expect(changes.arrivals.map(\.source) == [.record(base: 1, isRenamed: false)])
    #expect(changes.records == [0])
  }

  private static let lazyForm = Array(#"{"ctype":"a/b","download":"https://c/x/1","lazy":true}"#.utf8)
  private static let file = FileDigest(of: Array("lazy".utf8).span.bytes)
  private static let identity = file.md5.bytes + file.sha256.bytes + [4]

  /// A list with an arrival whose file isn't in the pack.
  static let partial = List { list in
    list.format = .partial
    (list.sources, list.identities, list.forms) = ([8], identity, [lazyForm])
  }

  @Test func filesThatAreLeftOutAreRead() throws {
    let changes = try PackChanges(Self.partial.bytes, .partial, version: Self.version, base: Self.base())
    #expect(changes.arrivals.map(\.source) == [.absent(Self.file)])
    #expect(changes.records == [] && changes.absent == [0] && changes.format == .partial)
    let base = Manifest(version: ManifestVersion(3), items: try Self.base())
    let old = changes.touched.map { base.items[$0] }
    let again = try PackChanges(
      changes.bytes(version: Self.version, old: old), .partial, version: Self.version, base: Self.base())
    #expect(again.arrivals.map(\.source) == [.absent(Self.file)] && again.touched == changes.touched)
    let new = try changes.applied(to: base, version: Self.version, digests: [Self.file])
    let entry = try #require(new[try ResourceURL("https://m.example.com/b2.js")])
    #expect(entry.isLazy && entry.md5 == Self.file.md5 && entry.sha256 == Self.file.sha256 && entry.size == 4)
  }

  /// A list that leaves nothing out is the same in both forms.
  @Test func partialListsMayLeaveNothingOut() throws {
    let changes = try PackChanges(List().bytes, .partial, version: Self.version, base: Self.base())
    #expect(changes.format == .whole)
  }

  struct Invalid: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let list: List
    init(_ what: String, _ change: (inout List) -> Void) { (testDescription, list) = (what, List(change)) }
  }

  private static let huge: Int64 = 1 << 53 - 1

  static let invalid: [Invalid] = [
    Invalid("more touched entries than bytes") { $0.touched = [huge] },
    Invalid("more touched entries than the base has") { $0.touched = [4, 0, 0, 0, 0] },
    Invalid("a touched entry behind the base") { $0.touched = [1, 3] },
    Invalid("a gap that leads behind the base") { $0.touched = [2, 2, 2] },
    Invalid("a gap that no number holds") { $0.touched = [2, 2, huge] },
    Invalid("more arrivals than bytes") { $0.arrivals = [huge] },
    Invalid("a partner behind the touched") { $0.partners = [3] },
    Invalid("a partner before the touched") { $0.partners = [2] },
    Invalid("a partner far away") { $0.partners = [huge] },
    Invalid("a start that the partner hasn't") { $0.starts = [300] },
    Invalid("start and end overlap") { $0.starts = [24] },
    Invalid("a start that no URL has") { $0.starts = [huge] },
    Invalid("a middle longer than the list") { $0.middles = [4000] },
    Invalid("a URL that isn't UTF-8") { $0.middle = [0xC3, 0x28] },
    Invalid("a URL as nobody writes it") { $0.middle = Array("\u{e9}".utf8) },
    Invalid("no URL") { ($0.starts, $0.ends) = ([0], [0]) },
    Invalid("bytes from nowhere") { $0.sources = [8] },
    Invalid("a file left out by a pack that can't") { list in
      (list.sources, list.identities, list.forms) = ([8], identity, [lazyForm])
    },
    Invalid("a source that none is") { ($0.format, $0.sources) = (.partial, [9]) },
    Invalid("a file left out of an entry that isn't lazy") { list in
      (list.format, list.sources, list.identities) = (.partial, [8], identity)
    },
    Invalid("a file left out, and not described") { list in
      (list.format, list.sources, list.forms) = (.partial, [8], [lazyForm])
    },
    Invalid("a file left out whose size no number has") { list in
      list = partial
      list.identities = Array(identity.dropLast()) + [UInt8](repeating: 0xFF, count: 7) + [0x10]
    },
    Invalid("bytes of a file that is left out") { list in
      list = partial
      list.arrivals = [2]
      (list.partners, list.starts, list.ends, list.middles) = ([1, 2], [22, 22], [3, 3], [2, 2])
      list.middle = Array("b2c2".utf8)
      (list.sources, list.others) = ([8, 6], [0])
      (list.versions, list.since, list.formNumbers) = ([1, 1], [0, 0], [1, 1])
    },
    Invalid("bytes of a partner that isn't there") { list in
      list.partners = [0]
      (list.starts, list.ends, list.middles) = ([0], [0], [27])
      list.middle = Array("https://m.example.com/b2.js".utf8)
    },
    Invalid("a base behind the manifest") { ($0.sources, $0.others) = ([2], [3]) },
    Invalid("a held entry behind the manifest") { ($0.sources, $0.others) = ([5], [huge]) },
    Invalid("bytes of itself") { ($0.sources, $0.others) = ([6], [0]) },
    Invalid("resource version 0") { $0.versions = [0] },
    Invalid("manifest version 0") { $0.since = [9] },
    Invalid("a form that isn't there") { $0.formNumbers = [2] },
    Invalid("a form far away") { $0.formNumbers = [huge] },
    Invalid("a form of a partner that isn't there") { list in
      list.partners = [0]
      (list.starts, list.ends, list.middles) = ([0], [0], [27])
      list.middle = Array("https://m.example.com/b2.js".utf8)
      (list.sources, list.formNumbers) = ([4], [0])
    },
    Invalid("a form that isn't JSON") { $0.forms = [[0x7B]] },
    Invalid("a form without ctype") { $0.forms = [Array(#"{"download":"x"}"#.utf8)] },
    Invalid("a form without download") { $0.forms = [Array(#"{"ctype":"x"}"#.utf8)] },
    Invalid("a ctype that no header has") { $0.forms = [Array(#"{"ctype":"x\r\ny","download":"x"}"#.utf8)] },
    Invalid("a form with a digest") { $0.forms = [Array(#"{"ctype":"x","download":"x","md5":"x"}"#.utf8)] },
    Invalid("headers that can't be sent") {
      $0.forms = [
        Array(#"{"ctype":"x","download":"x","headers":{"X-Frame-Options":"a\r\nb"}}"#.utf8)
      ]
    },
    Invalid("a fallback that is empty") {
      $0.forms = [Array(#"{"ctype":"x","download":"x","fallback":[]}"#.utf8)]
    },
    Invalid("a fallback with a prefix of no folder") {
      $0.forms = [Array(#"{"ctype":"x","download":"x","fallback":[{"prefix":"/app"}]}"#.utf8)]
    },
    Invalid("a form that says it isn't lazy") {
      $0.forms = [Array(#"{"ctype":"a/b","download":"https://c/x/1","lazy":false}"#.utf8)]
    },
    Invalid("a form with one member twice") {
      $0.forms = [Array(#"{"ctype":"x","ctype":"y","download":"x"}"#.utf8)]
    },
    Invalid("something behind the end") { $0.after = [0] },
    Invalid("an entry twice") { list in
      list.arrivals = [2]
      (list.partners, list.starts, list.ends, list.middles) = ([1, 2], [22, 22], [3, 3], [2, 2])
      list.middle = Array("b2b2".utf8)
      (list.sources, list.versions, list.since, list.formNumbers) = ([0, 0], [1, 1], [0, 0], [1, 1])
    },
    Invalid("entries out of order") { list in
      list.arrivals = [2]
      (list.partners, list.starts, list.ends, list.middles) = ([1, 2], [22, 22], [3, 3], [2, 2])
      list.middle = Array("b2a2".utf8)
      (list.sources, list.versions, list.since, list.formNumbers) = ([0, 0], [1, 1], [0, 0], [1, 1])
    },
  ]

  @Test(arguments: invalid) func invalidListsAreRefused(list: Invalid) throws {
    let base = try Self.base()
    do {
      _ = try PackChanges(list.list.bytes, list.list.format, version: Self.version, base: base)
      Issue.record("was read")
    } catch {
      if case .damaged = error { return }
      Issue.record("\(error)")
    }
  }

  @Test func truncationsAreNoticed() throws {
    let base = try Self.base()
    for list in [List(), Self.partial] {
      for count in list.bytes.indices {
        #expect(throws: PackFault.self) {
          try PackChanges(Array(list.bytes[..<count]), list.format, version: Self.version, base: base)
        }
      }
    }
  }

  /// A list that needs a few bytes for each large entry is refused before the entries are made.
  @Test func amplificationIsRefused() throws {
    let count = 1000
    let base = try Self.base()
    let numbers = [Int64](repeating: 1, count: count)
    let list = List { list in
      list.touched = [0]
      list.arrivals = [Int64(count)]
      list.partners = [Int64](repeating: 0, count: count)
      list.starts = [0] + [Int64](repeating: 3000, count: count - 1)
      list.ends = [Int64](repeating: 0, count: count)
      list.middles = [3004] + [Int64](repeating: 4, count: count - 1)
      var middle = Array("https://m.example.com/".utf8)
      middle += [UInt8](repeating: UInt8(ascii: "a"), count: 3000 - middle.count) + Array("1000".utf8)
      for number in 1..<count { middle += "\(1000 + number)".utf8 }
      (list.middle, list.sources) = (middle, [UInt8](repeating: 4, count: count))
      (list.versions, list.since, list.formNumbers) = (numbers, numbers, numbers)
    }
    #expect(list.bytes.count < 20_000)
    #expect(throws: PackFault.overLimit) {
      try PackChanges(list.bytes, version: Self.version, base: base, limit: 1 << 20)
    }
    #expect(try PackChanges(list.bytes, version: Self.version, base: base).arrivals.count == count)
  }

  @Test func largeFormsOfManyEntriesAreRefused() throws {
    let place = String(repeating: "p", count: 10_000)
    let list = List { $0.forms = [Array(#"{"ctype":"a/b","download":"\#(place)"}"#.utf8)] }
    let base = try Self.base()
    #expect(throws: PackFault.overLimit) {
      try PackChanges(list.bytes, version: Self.version, base: base, limit: 9_000)
    }
    #expect(throws: Never.self) {
      try PackChanges(list.bytes, version: Self.version, base: base, limit: 12_000)
    }
  }

  @Test func formsThatDifferInOneValueHashDifferently() throws {
    let forms = (0..<20_000).map { number in
      EntryForm(
        ctype: "a/b", others: JSONObject([.init(key: "headers", value: .string("\(number)"))]),
        downloadBase: "https://c/1")
    }
    // All of them in one bucket of a table would take minutes.
    #expect(Set(forms).count == forms.count)
  }

  @Test func arrivalsThatExistAreRefused() throws {
    let base = Manifest(version: ManifestVersion(3), items: try Self.base())
    let url = try ResourceURL("https://m.example.com/b.js")
    let changes = PackChanges(
      touched: [],
      arrivals: [
        PackChanges.Arrival(
          url: url, partner: nil, form: EntryForm(ctype: "", others: JSONObject(), downloadBase: ""),
          version: 1,
          manifestVersion: ManifestVersion(1), source: .held(0))
      ])
    #expect(throws: PackFault.damaged("an entry that is there already")) {
      try changes.applied(to: base, version: Self.version, digests: [PackSample.digest(of: [])])
    }
  }
}
