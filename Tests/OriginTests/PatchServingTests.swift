import HTTP
import Manifests
import Platform
import Testing

@testable import Origin

@Suite struct PatchServingTests {
  /// An app with as many versions, each of which changes one file.
  private static func origin(versions: Int) throws -> TestOrigin {
    let origin = try TestOrigin()
    for version in 1...versions { try origin.publish(["a.js": "\(version)", "b.js": "b"]) }
    return origin
  }

  private static func target(_ base: Int) -> String { "/configure.json?app=shop&version=\(base)&patch=1" }

  /// Whether a poll is answered on the spot.
  private static func isReady(_ base: Int, _ origin: TestOrigin) throws -> Bool {
    if case .now = try origin.answer("GET", target(base), [], length: 0) { true } else { false }
  }

  @Test func whatWasAskedInTurnIsThereInTheSecondRound() throws {
    let origin = try Self.origin(versions: 81)
    for base in 1...80 { #expect(try origin.ask("GET", Self.target(base)).json["data"]?["base"] != nil) }
    let made = try (1...80).filter { try !Self.isReady($0, origin) }
    #expect(made == [], "these are made again")
  }
}
