import DeviceTestSupport
import System
import Testing

@testable import XCacheDevice

/// Pages while a device switches to a manifest of many files, on a slow disk.
@Suite struct SwitchWaitTests {
  private static let count = 300

  private static func url(_ number: Int) -> String { "https://m.test/\(number).js" }

  private static func files(_ text: String) -> [String: [UInt8]] {
    Dictionary(uniqueKeysWithValues: (0..<count).map { (url($0), bytes("\(text) \($0)")) })
  }

  private struct Asked: Sendable {
    var longest: UInt64 = 0
    var news = 0
    var wrong: [String] = []
    /// When the new version took effect.
    var switched: UInt64?
  }

  @Test func pagesDoNotWaitForTheWholeSwitch() throws {
    let bench = try Bench()
    try bench.origin.publish(Self.files("one"))
    let isSlow = Locked(false)
    let device = try bench.device(willChange: { () throws(DeviceError) in
      if isSlow.withLock({ $0 }) { Clock.sleep(for: .milliseconds(2)) }
    })
    _ = try device.update()
    try bench.origin.publish(Self.files("two"))
    let isOver = Locked(false)
    let asked = Locked(Asked())
    let reader = try OSThread(name: "page") {
      // Backwards, so that it asks for files that are moved late.
      var number = Self.count - 1
      while !isOver.withLock({ $0 }) {
        let isNew = device.version == "2"
        let start = Clock.monotonicNanoseconds()
        let answer = try? device.resource(for: Self.url(number))?.read()
        let time = Clock.monotonicNanoseconds() - start
        asked.withLock { asked in
          if isNew, asked.switched == nil { asked.switched = start }
          if isNew { asked.longest = max(asked.longest, time) }
          if answer == bytes("two \(number)") { asked.news += 1 }
          if answer != bytes("two \(number)"), isNew || answer != bytes("one \(number)") {
            asked.wrong.append("\(number)")
          }
        }
        number = (number + Self.count - 1) % Self.count
      }
    }
    _ = try device.update(
      force: true, progress: { if $0.files == $0.filesTotal { isSlow.withLock { $0 = true } } })
    let end = Clock.monotonicNanoseconds()
    isOver.withLock { $0 = true }
    reader.join()
    let result = asked.withLock { $0 }
    let time = end - (try #require(result.switched))
    #expect(result.wrong == [] && result.news > 0)
    #expect(time > 500_000_000, "the disk isn't slow")
    #expect(result.longest < time / 2, "\(result.longest) of \(time) ns")
    // No page fetched a staged file.
    #expect(bench.origin.takeLog().filter { $0.contains("cdn.test") }.count == 2 * Self.count)
    #expect(try bench.state() == bench.fresh())
    #expect(try Folder.textNames("\(bench.scratch.path)/device/staging") == [])
  }
}
