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
}
