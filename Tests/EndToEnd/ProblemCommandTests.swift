import Testing

@Suite("Problems") struct ProblemCommandTests {
  @Test("acknowledge makes a problem quiet, status says who and why, and --off takes it back")
  func acknowledged() throws {
    try Site.with { site in
      try site.publish(["a.js": "1"])
      let frozen = try site.run("channel", "freeze", "--reason", "sale", "--app", "shop")
      #expect(frozen.exitCode == 0, "\(frozen.errors)")
      let words = ["acknowledge", "frozen", "--app", "shop"]
      let done = try Outcome(site.start(words + ["--message", "on purpose", "--until", "4h"]))
      #expect(done.exitCode == 0, "\(done.errors)")
      let quiet = try site.run("status")
      #expect(
        quiet.output.contains("acknowledged by ") && quiet.output.contains("on purpose"), "\(quiet.output)")
      // Twice is once.
      #expect(try Outcome(site.start(words + ["--message", "on purpose", "--until", "4h"])).exitCode == 0)
      let off = try Outcome(site.start(words + ["--off"]))
      #expect(off.exitCode == 0, "\(off.errors)")
      #expect(!(try site.run("status")).output.contains("acknowledged by "))
      let unknown = try site.run("acknowledge", "killed", "--app", "shop", "--message", "x", "--until", "4h")
      #expect(unknown.exitCode != 0 && unknown.errors.contains("killed"), "\(unknown.errors)")
      let late = try Outcome(site.start(words + ["--message", "on purpose", "--until", "31d"]))
      #expect(late.exitCode != 0, "\(late.output)")
    }
  }
}
