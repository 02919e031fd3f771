import Manifests
import OriginAPI
import Testing
import Values

/// Each document of the API, and the members that an older origin may omit.
@Suite struct DocumentTests {
  /// A document, and its required members.
  struct Case: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let text: String
    let required: Set<String>
    /// Members with any kind of JSON.
    let free: Set<String>
    /// Reads a document, and writes it again.
    let copy: @Sendable (JSONValue) throws(JSONError) -> JSONValue

    init<Document: Codable & SendableMetatype>(
      _ type: Document.Type, _ text: String, required: String = "", free: String = ""
    ) {
      testDescription = "\(type)"
      self.text = text
      self.required = Set(required.split(separator: " ").map(String.init))
      self.free = Set(free.split(separator: " ").map(String.init))
      copy = { json throws(JSONError) in JSONValue(encoding: try json.decode(Document.self)) }
    }

    var json: JSONObject {
      get throws { try #require(try JSONValue.parse(Array(text.utf8)).object) }
    }

    /// The text with sorted members.
    var canonical: String {
      get throws { String(decoding: JSONValue.object(try json).canonical, as: UTF8.self) }
    }
  }

  private static let sha256 = String(repeating: "0a", count: 32)
  private static let md5 = String(repeating: "b1", count: 16)
  private static let at = "2026-11-20T15:17:27.000Z"
  private static let counts = #""counts":{"added":1,"changed":2,"removed":3}"#
  private static let reference = #"{"at":"\#(at)","author":"ann","version":"8"}"#
  private static let cost =
    #"{"answer":5,"bytes":40,"deltas":1,"files":3,"pack":30,"plainBytes":90,"requests":2,"total":35}"#
  private static let release =
    #""added":1,"at":"\#(at)","bundles":[{"added":1,"bundle":"web","changed":2,\#(counts),"removed":3,"#
    + #""replaced":\#(reference)}],"bytes":900,"changed":true,"changed_count":2,\#(counts),"#
    + #""createdApp":false,"createdChannel":true,"deltasStored":true"#
  private static let releaseEnd =
    #""missing":["\#(sha256)"],"newBytes":77,"previous":"8""#
  private static let releaseRequired =
    "added at bundles bytes changed changed_count createdApp createdChannel deltasStored missing newBytes "
    + "previous removed resources version"
  private static let version =
    #""at":"\#(at)","author":"ann","kind":"push","manifestVersion":"12","message":"m","source":"2","version":"3""#
  private static let summary =
    #""app":"shop","at":"\#(at)","bytes":900,"channel":"online","freeze":{"at":"\#(at)","author":"ann","#
    + #""reason":"sale"},"hosts":["m.example.com"]"#
  private static let summaryEnd = #""publicURL":"https://m.example.com","resources":4,"version":"9""#

  static let cases: [Case] = releases + channels + operating

  private static let releases: [Case] = [
    Case(
      ReleaseAnswer.self,
      #"{\#(release),\#(releaseEnd),"receipt":"7:ab","removed":3,"resources":4,"version":"9"}"#,
      required: releaseRequired),
    Case(
      PromotionAnswer.self,
      #"{\#(release),"from":"test","fromVersion":"5","left":["old"],\#(releaseEnd),"prefetch":{"changed":true,"#
        + #""kept":false,"source":"2","version":"3"},"receipt":null,"removed":3,"resources":4,"version":"9","#
        + #""warnings":["https://m.example.com/a.js"]}"#,
      required: releaseRequired + " from fromVersion left warnings"),
    Case(
      RollbackAnswer.self,
      #"{\#(release),"changes":{"https://m.example.com/a.js":"removed"},"cost":{"fileBytes":1,"files":2,"#
        + #""patchBytes":3,"patchGzipBytes":4,"update":\#(cost)},\#(releaseEnd),"patch":{"a":null},"#
        + #""prefetch":null,"preparation":"p1","receipt":null,"removed":3,"resources":4,"takesBack":[{"added":1,"#
        + #""bundle":"web","changed":2,\#(counts),"releases":[\#(reference)],"removed":3}],"target":"6","version":"9"}"#,
      required: releaseRequired + " target takesBack", free: "patch"),
    Case(TransferCost.self, cost, required: "bytes deltas files plainBytes"),
    Case(
      PreparationAnswer.self,
      #"{"base":"8","cost":{"last1":\#(cost),"last2":\#(cost),"last5":\#(cost),"new":\#(cost)},"deltas":2,"#
        + #""done":false,"files":9,"filesDone":5,"id":"p1","late":true,"milliseconds":1200,"plan":"\#(sha256)","ready":true}"#,
      required: "cost deltas done files filesDone id late milliseconds ready"),
    Case(
      RollbackRequest.self,
      #"{"allBundles":true,"breakGlass":"b","bundle":"web","dryRun":true,"ifVersion":"9","message":"m","now":true,"#
        + #""steps":2,"to":"6","withPrefetch":false}"#),
    Case(
      PromotionRequest.self,
      #"{"breakGlass":"b","bundle":"web","dryRun":true,"from":"test","ifVersion":"9","map":[{"from":"https://a.example","#
        + #""to":"https://b.example"}],"message":"m","now":false,"version":"5","withPrefetch":true}"#),
    Case(MissingBlobsAnswer.self, #"{"missing":["\#(sha256)"]}"#),
    Case(MissingBlobsAnswer.self, #"{"present":[]}"#),
    Case(BlobAnswer.self, #"{"stored":true}"#, required: "stored"),
    Case(PackUploadAnswer.self, #"{"stored":17}"#, required: "stored"),
  ]

  private static let channels: [Case] = [
    Case(
      ChannelSummary.self, #"{\#(summary),\#(summaryEnd)}"#,
      required: "app bytes channel publicURL resources version"),
    Case(
      ChannelList.self, #"{"channels":[{\#(summary),\#(summaryEnd)}],"defaultApp":null}"#,
      required: "channels"),
    Case(
      ChannelRemovalAnswer.self, #"{\#(summary),"leavesNoDefault":true,\#(summaryEnd)}"#,
      required: "app bytes channel leavesNoDefault publicURL resources version"),
    Case(
      ChannelOverview.self,
      #"{"app":"shop","at":"\#(at)","bundles":[{"bytes":900,"name":"web","resources":4,"version":"9"}],"#
        + #""bytes":900,"channel":"online","damaged":["\#(sha256)"],"damagedURLs":[{"bundle":"web","#
        + #""sha256":"\#(sha256)","url":"https://m.example.com/a.js"}],"deltas":{"failing":1,"fault":"no space","#
        + #""files":3,"filesDone":1,"pending":null,"version":"9"},"digest":"\#(sha256)","freeze":null,"hosts":null,"interval":60,"#
        + #""isDefaultApp":true,"isDiskFull":false,"origin":"o1","policy":{"policy":{"kill":true},\#(version)},"#
        + #""prefetch":{\#(version)},"#
        + #""publicURL":"https://m.example.com","reports":10000,"resources":4,"rollback":"7","rollout":null,"scrub":{"bytes":900,"#
        + #""files":4,"oldest":null},"staged":[],"version":"9"}"#,
      required: "app bundles bytes channel damaged damagedURLs isDefaultApp origin publicURL resources scrub "
        + "version"),
    Case(
      FreezeAnswer.self,
      #"{"changed":true,"freeze":{"at":"\#(at)","author":"ann","reason":""},"replaced":{"at":"\#(at)","author":"bob","#
        + #""reason":"old"}}"#,
      required: "changed freeze"),
    Case(ThawAnswer.self, #"{"changed":false,"lifted":null}"#, required: "changed"),
    Case(
      DefaultAppAnswer.self, #"{"changed":true,"defaultApp":"shop","was":null}"#,
      required: "changed defaultApp"),
    Case(
      ReleaseInfo.self,
      #"{"added":1,"at":"\#(at)","author":"ann","breakGlass":{"frozenBy":"bob","reason":"r"},"bundles":[{"added":1,"#
        + #""bundle":"web","changed":2,\#(counts),"removed":3}],"bytes":900,"changed":2,"cost":\#(cost),\#(counts),"#
        + #""digest":"\#(sha256)","kind":"promote","message":"m","newBytes":77,"removed":3,"resources":4,"#
        + #""source":{"bundle":null,"channel":"test","version":"5"},"version":"9"}"#,
      required: "added at author bundles bytes changed digest kind message newBytes removed resources version"
    ),
    Case(
      DiffAnswer.self,
      #"{"added":[{"ctype":"text/html","delta":3,"md5":"\#(md5)","plain":9,"sha256":"\#(sha256)","size":12,"#
        + #""renamedFrom":{"ctype":"text/html","md5":"\#(md5)","sha256":"\#(sha256)","size":11,"url":"https://m.example.com/x"},"#
        + #""url":"https://m.example.com/"}],"changed":[],"cost":\#(cost),"from":"0","removed":[],"renamed":1,"to":"9"}"#,
      required: "added changed cost from removed to"),
    Case(
      BundleEntries.self,
      #"{"base":null,"bundle":"web","channelVersion":"9","entries":{"https://m.example.com/":null},"version":"8"}"#,
      required: "bundle channelVersion entries version", free: "entries"),
    Case(
      DocumentAnswer.self, #"{"config":[{"url":"https://m.example.com/"}],\#(version)}"#,
      required: "at author kind manifestVersion message version", free: "config"),
    Case(DocumentAnswer.self, #"{"policy":{},"version":"0"}"#, required: "version", free: "policy"),
    Case(
      DocumentChangeAnswer.self,
      #"{"at":"\#(at)","author":"ann","calls":4,"changed":true,"kind":"push","manifestVersion":"12","message":"m","#
        + #""pages":2,"remarks":[{"x":1}],"replaced":{\#(version)},"source":null,"version":"3"}"#,
      required: "at author changed kind manifestVersion message version"),
    Case(
      DocumentChangeAnswer.self, #"{"changed":false,"manifestVersion":"12","version":"3"}"#,
      required: "changed manifestVersion version"),
    Case(DocumentVersions.self, #"{"versions":[{\#(version)}]}"#, required: "versions"),
    Case(ChannelSettings.self, #"{"hosts":["a.example"],"interval":60,"reports":null}"#),
  ]

  private static let operating: [Case] = [
    Case(
      AdoptionAnswer.self,
      #"{"day":{"polls":7,"versions":[{"polls":7,"version":"none"}]},"failures":[{"failures":2,"reason":"md5","#
        + #""url":"","version":"9"}],"hour":{"polls":0,"versions":[]},"reports":[{"counts":{"hits":3},"version":"9"}],"#
        + #""week":{"polls":9,"versions":[]}}"#,
      required: "day failures hour week"),
    Case(
      Pin.self, #"{"at":"\#(at)","author":"ann","reason":"r","version":"9"}"#,
      required: "at author reason version"),
    Case(
      GCReport.self,
      #"{"blobs":{"bytes":1,"files":1},"channels":[{"app":"shop","channel":"online","dropped":["1"],"kept":[{"#
        + #""reasons":[{"hours":2,"last":"\#(at)","polls":5,"why":"reported"},{"author":"ann","reason":"r","#
        + #""why":"pinned"},{"mirror":"s3://b","why":"mirrored"}],"version":"2"}]}],"derived":{"bytes":0,"files":0},"#
        + #""dryRun":true,"entries":1,"freedBytes":2,"longestWriteMilliseconds":3,"orphans":{"bytes":0,"files":0},"#
        + #""promised":4,"resources":5,"stoppedFor":["a mirror"],"temporary":{"bytes":0,"files":0},"urls":6}"#,
      required: "blobs channels derived dryRun entries freedBytes longestWriteMilliseconds orphans promised "
        + "resources stoppedFor temporary urls"),
    Case(
      TokenInfo.self,
      #"{"app":"shop","bundles":"web*","channel":"online","createdAt":"\#(at)","detail":"console","expiresAt":null,"#
        + #""grants":[{"app":"shop","bundles":"web*","channel":"online","scope":"publish"}],"hosts":["a.example"],"#
        + #""id":"t1","issuer":"https://id.acme.com","kind":"session","lastUsedAt":null,"name":"ci","revokedAt":"\#(at)","#
        + #""scope":"publish","subject":"u-1"}"#,
      required: "id name scope"),
    Case(TokenAnswer.self, #"{"id":"t1","token":"xc_secret"}"#, required: "id"),
    Case(AuditRows.self, #"{"rows":[{"n":1.50},null]}"#, required: "rows"),
    Case(
      MirrorOverview.self,
      #"{"audit":"7:ab","channels":[{"app":"shop","appID":9007199254740991,"channel":"online","digest":"\#(sha256)","#
        + #""interval":null,"policy":3,"prefetch":null,"publicURL":"https://m.example.com","reports":0,"#
        + #""rollback":"7","scripts":["\#(sha256)"],"version":"9","versions":["8","9"]}],"defaultApp":"shop","#
        + #""limits":{"app":null,"channel":"online"},"origin":"o1"}"#,
      required: "channels origin"),
    Case(
      MirrorInfo.self,
      #"{"at":"\#(at)","keeps":false,"name":"/backup","versions":[{"app":"shop","channel":"online","version":"9"}]}"#,
      required: "at name versions"),
  ]

  @Test(arguments: cases) func roundTrips(document: Case) throws {
    let copy = try document.copy(.object(document.json))
    #expect(try String(decoding: copy.canonical, as: UTF8.self) == document.canonical)
  }

  /// A missing required member is named; members that only newer origins write are optional.
  @Test(arguments: cases) func missingMemberIsNamed(document: Case) throws {
    for member in try document.json.members {
      var older = try document.json
      older[member.key] = nil
      guard document.required.contains(member.key) else {
        #expect(throws: Never.self, "\(member.key)") { try document.copy(.object(older)) }
        continue
      }
      #expect(throws: JSONError.member(member.key)) { try document.copy(.object(older)) }
    }
    #expect(try document.required.isSubset(of: document.json.members.map(\.key)))
  }

  /// A member with a value of another kind is an error.
  @Test(arguments: cases) func memberOfAnotherKindIsNamed(document: Case) throws {
    for member in try document.json.members where !document.free.contains(member.key) {
      var wrong = try document.json
      // A Boolean isn't a string, number, list or object, and a string isn't a Boolean.
      wrong[member.key] = member.value.bool == nil ? true : "true"
      let error = #expect(throws: JSONError.self, "\(member.key)") { try document.copy(.object(wrong)) }
      #expect(error == .member(member.key))
    }
  }

  @Test(arguments: cases) func unknownMemberIsIgnored(document: Case) throws {
    var newer = try document.json
    newer["zzz"] = ["more": [1, "two"]]
    let copy = try document.copy(.object(newer))
    #expect(try String(decoding: copy.canonical, as: UTF8.self) == document.canonical)
  }

  @Test(arguments: cases) func onlyObjectsAreDocuments(document: Case) {
    for json: JSONValue in [.null, [], "x", 1, true] {
      #expect(throws: JSONError.self, "\(json)") { try document.copy(json) }
    }
  }
}
