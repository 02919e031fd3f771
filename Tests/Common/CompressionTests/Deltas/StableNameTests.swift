import Compression
import Testing

/// The parts of a bundler's file names that stay the same when the hash changes.
@Suite struct StableNameTests {
  @Test(arguments: [
    ("assets/index-BBnWuh07.js", "assets/", "index-*.js"), ("main_3f1c0a7e.css", "", "main_*.css"),
    ("static/js/2.7b1c4f0e.chunk.js", "static/js/", "2.*.chunk.js"), ("3f1c0a.js", "", "*.js"),
    ("img/logo.DkwSIiHs.svg", "img/", "logo.*.svg"), ("a/b/c", "a/b/", "c"), ("", "", ""), ("a/", "a/", ""),
    ("fonts/inter-v12.0-latin-A1b2C3d4E5.woff2", "fonts/", "inter-v12.0-*.woff2"),
    // A hash may contain - and _.
    ("entry-a-B_c9Dx.js", "", "entry-*.js"),
  ])
  func hashesAreRemoved(path: String, folder: String, name: String) {
    let stable = StableName(path: path)
    #expect(stable.folder == folder && stable.name(mark: "*") == name, "\(stable.name(mark: "*"))")
  }

  /// Words and versions aren't hashes.
  @Test(arguments: [
    "index.html", "FileHelper.js", "jquery-ui.min.js", "polyfills.js", "vendor~main.js", "1_24_0-beta.js",
    "face.png",
    "de.json", "README", "ChunkLoader.js",
  ])
  func otherNamesStayAsTheyAre(name: String) { #expect(StableName(path: name).name(mark: "*") == name) }

  @Test func namesAreEqualAcrossBuilds() {
    #expect(StableName(path: "js/app-3f1c0a7e.js") == StableName(path: "js/app-99d4b2c1.js"))
    #expect(StableName(path: "js/app-3f1c0a7e.js") != StableName(path: "css/app-3f1c0a7e.js"))
    #expect(StableName(path: "js/app-3f1c0a7e.js") != StableName(path: "js/app-3f1c0a7e.css"))
    #expect(StableName(path: "js/app-3f1c0a7e.js").ending == "js" && StableName(path: "").ending == "")
  }
}
