import Testing

@testable import Manifests

@Suite struct ShareTextTests {
  @Test(
    arguments: [
      (0, "0 %", "0 %", "0%"), (5, "0.05 %", "0.05 %", "0.05%"), (50, "0.5 %", "0.50 %", "0.50%"),
      (250, "2.5 %", "2.50 %", "2.50%"), (333, "3.33 %", "3.33 %", "3.33%"), (500, "5 %", "5 %", "5%"),
      (10_000, "100 %", "100 %", "100%"),
    ] as [(Int, String, String, String)])
  func shares(share: Int, needed: String, two: String, option: String) {
    #expect(ShareText.percent(share) == needed)
    #expect(ShareText.percent(share, .two) == two)
    #expect(ShareText.option(share) == option)
  }

  @Test(
    arguments: [
      ([], nil, "2.5 % of the devices"), (["qa"], nil, "2.5 % of the devices and group qa"),
      (["dogfood", "qa"], ">=4.2", "2.5 % of the devices and groups dogfood, qa, with app version >=4.2"),
    ] as [([String], String?, String)])
  func audiences(groups: [String], app: String?, words: String) {
    #expect(ShareText.audience(share: 250, groups: groups, app: app) == words)
  }

  @Test func course() {
    func text(_ share: Int, _ steps: [Int] = [], completes: Bool = false, halts: Bool = false) -> String? {
      ShareText.course(from: share, steps: steps, completes: completes, halts: halts)
    }
    #expect(text(500) == nil && text(500, [100, 500]) == nil)
    #expect(text(500, [500, 2_550, 10_000]) == "goes on by itself to 25.50%, 100%")
    #expect(
      text(500, [500, 10_000], completes: true, halts: true)
        == "goes on by itself to 100%, and is completed; is halted by itself if it fails too often")
    #expect(text(500, [500], completes: true) == "is completed by itself")
  }
}
