import Manifests
import Testing

/// Releases that name the version they replace.
@Suite struct OvertakenReleaseTests {
  @Test func releaseReplacesTheNamedVersion() throws {
    let origin = try TestOrigin()
    let releases = "apps/shop/channels/online/releases"
    func release(_ text: String, bundle: String = "main", replacing version: String) throws
      -> TestOrigin.Reply
    {
      var body = try #require(
        try origin.release(["\(bundle).js": text], bundle: bundle).object)
      body["replaces"] = .string(version)
      return try origin.api("POST", releases, .object(body))
    }
    #expect(try release("1", replacing: "0").status == 201)
    // Even if another bundle was released meanwhile.
    #expect(try release("2", bundle: "other", replacing: "1").status == 201)
    for version in ["0", "1", "3"] {
      let refused = try release("3", replacing: version)
      #expect(refused.status == 409 && refused.json["code"]?.string == "other-version", "\(refused.text)")
    }
    let planned = try origin.api(
      "POST", "apps/shop/channels/online/preparations", try origin.release(["main.js": "3"]))
    #expect(planned.json["base"]?.string == "2", "\(planned.text)")
    #expect(try release("3", replacing: "2").json["version"]?.string == "3")
  }
}
