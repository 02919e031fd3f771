import System
import Testing
import TestSupport

extension Site {
  /// Restores the origin, whose app is `shop` at version 2, from a static copy and from a backup, and compares what both serve with the copy.
  func checkCopies() throws {
    try mirror("--to", "www")
    #expect(try run("mirror", "verify", "www").exitCode == 0)
    let backup = scratch.path + "/backup"
    #expect(try run("backup", "--data", data, "--to", backup).exitCode == 0)
    for words in [["--from", "www"], ["--from-backup", backup]] {
      let data = "\(scratch.path)/restored\(words[0])"
      let restored = try Outcome(start(["restore"] + words + ["--data", data]))
      #expect(restored.exitCode == 0, "\(restored.errors)")
      let checked = try run("doctor", "--data", data, "--deep")
      #expect(checked.exitCode == 0, "\(checked.output)")
      let other = try run("mirror", "--data", data, "--to", data + "-www")
      #expect(other.exitCode == 0, "\(other.errors)")
      for name in ["configure.json", "configure/1.json", "configure/2.json", "patch/1-2.json"] {
        let (copy, original) = ("\(data)-www/xcache/shop/\(name)", "\(scratch.path)/www/xcache/shop/\(name)")
        let bytes = try #require(try DurableFile.read(original))
        #expect(try DurableFile.read(copy) == bytes)
      }
    }
  }
}
