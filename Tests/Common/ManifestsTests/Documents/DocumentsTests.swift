import Manifests
import System
import Testing
import Values

@Suite struct DocumentsTests {
  private static let digest = SHA256.of(Array("d".utf8))
  private static let all = AnswerExtras(interval: 60, policy: 3, prefetch: 4)

  private func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }

  @Test func nothingNew() throws {
    let version = ManifestVersion(553)
    #expect(text(Documents.nothingNew(version)) == #"{"code":200,"data":{"update":false,"version":"553"}}"#)
    #expect(text(Documents.nothingNew(.none)) == #"{"code":200,"data":{"update":false,"version":"0"}}"#)
    let full = Documents.nothingNew(version, extras: Self.all)
    #expect(
      text(full)
        == #"{"code":200,"data":{"interval":60,"policy":"3","prefetch":"4","update":false,"version":"553"}}"#)
    #expect(try ConfigureAnswer.parse(full) == .upToDate(version, Self.all))
  }

  @Test func failure() throws {
    let body = Documents.failure(404, "no app named \"foo\"")
    #expect(text(body) == #"{"code":404,"message":"no app named \"foo\""}"#)
    #expect(try ConfigureAnswer.parse(body) == .failure(code: 404, message: "no app named \"foo\""))
  }

  @Test func whole() throws {
    let url = try ResourceURL("https://m.example.com/a.js")
    let map = ResourceMap([ManifestItem(url: url, entry: try Entry(parsing: Array(EntryTests.text.utf8)))])
    let plain = Documents.whole(ManifestVersion(553), map)
    #expect(
      text(plain) == """
        {"code":200,"data":{"digest":"\(map.digest)","resourcemap":{"https://m.example.com/a.js":\
        \(EntryTests.text)},"update":true,"version":"553"}}
        """)
    let base = DocumentBase(ManifestVersion(552))
    let full = Documents.whole(ManifestVersion(553), map, base: base, extras: Self.all)
    #expect(
      text(full) == """
        {"code":200,"data":{"base":"552","deltas":{},"digest":"\(map.digest)","interval":60,"policy":"3",\
        "prefetch":"4","resourcemap":{"https://m.example.com/a.js":\(EntryTests.text)},"update":true,\
        "version":"553"}}
        """)
    for body in [plain, full] { #expect(try JSONValue.parse(body).canonical == body) }
    guard case .whole(let answer) = try ConfigureAnswer.parse(full) else {
      Issue.record("a whole manifest is read as something else")
      return
    }
    #expect(answer.base == base.version)
    #expect(answer.extras == Self.all)
    #expect(try answer.manifest().map.bytes == map.bytes)
  }

  @Test func wholeWithAFirstPack() throws {
    let first = PackOffer(download: "https://cdn/x/shop/pack/0-552-0123456789abcdef.xpk", size: 61_234)
    let body = Documents.whole(ManifestVersion(553), .empty, first: first, extras: Self.all)
    #expect(
      text(body) == """
        {"code":200,"data":{"digest":"\(ResourceMap.empty.digest)","first":{"download":\
        "https://cdn/x/shop/pack/0-552-0123456789abcdef.xpk","size":61234},"interval":60,"policy":"3",\
        "prefetch":"4","resourcemap":{},"update":true,"version":"553"}}
        """)
    #expect(try JSONValue.parse(body).canonical == body)
    guard case .whole(let answer) = try ConfigureAnswer.parse(body) else {
      Issue.record("a whole manifest is read as something else")
      return
    }
    #expect(answer.first == first && answer.extras == Self.all)
  }

  @Test func pack() throws {
    let offer = PackOffer(download: "https://cdn/x/shop/pack/552-553-0123456789abcdef.xpk", size: 8123)
    for extras in [AnswerExtras.none, Self.all] {
      let answer = PackAnswer(
        base: ManifestVersion(552), version: ManifestVersion(553), digest: Self.digest, pack: offer,
        extras: extras)
      let body = Documents.pack(answer)
      #expect(try JSONValue.parse(body).canonical == body)
      #expect(try ConfigureAnswer.parse(body) == .pack(answer))
      #expect(body.count < 500)
    }
  }

  @Test(arguments: [
    #""pack":{"download":"https://cdn/p.xpk"}"#, #""pack":{"size":1}"#, #""pack":7"#,
    #""pack":{"download":"https://cdn/p.xpk","size":-1}"#,
    #""pack":{"download":"https://cdn/p.xpk","size":1},"patch":{}"#,
  ])
  func invalidPackOffersAreRefused(members: String) {
    let body =
      #"{"code":200,"data":{"base":"1","digest":"\#(Self.digest)",\#(members),"update":true,"version":"2"}}"#
    #expect(throws: JSONError.member("pack")) { try ConfigureAnswer.parse(Array(body.utf8)) }
  }

  @Test func patch() throws {
    let url = try ResourceURL("https://m.example.com/a.js")
    let offer = DeltaOffer(url: url, base: Self.digest, download: "https://cdn/d.dcz", size: 1955)
    let base = DocumentBase(ManifestVersion(552), deltas: DeltaOffer.render([offer]))
    var writer = ManifestPatchWriter()
    writer.append(url, from: Samples.entry("x"), to: nil)
    let body = Documents.patch(
      ManifestVersion(553), digest: Self.digest, base: base, writer.finish(), extras: Self.all)
    #expect(
      text(body) == """
        {"code":200,"data":{"base":"552","deltas":{"https://m.example.com/a.js":{"base":"\(Self.digest)",\
        "download":"https://cdn/d.dcz","size":1955}},"digest":"\(Self.digest)","interval":60,\
        "patch":{"https://m.example.com/a.js":null},"policy":"3","prefetch":"4","update":true,\
        "version":"553"}}
        """)
    #expect(try JSONValue.parse(body).canonical == body)
    guard case .patch(let answer) = try ConfigureAnswer.parse(body) else {
      Issue.record("a patch is read as something else")
      return
    }
    #expect(answer.deltas == [offer])
    #expect(answer.changes.map(\.value) == [.null])
    #expect(answer.extras == Self.all)
  }

  @Test func framesGiveTheWholeDocument() {
    let map = ResourceMap.empty
    let frame = Documents.whole(ManifestVersion(1), digest: map.digest, extras: Self.all)
    #expect(frame.around(map.bytes) == Documents.whole(ManifestVersion(1), map, extras: Self.all))
  }
}
