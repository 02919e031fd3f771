import Testing

/// What commands print, for people and as `--json`, is golden files; XCACHE_RECORD=1 writes them anew.
@Suite("What commands print") struct CommandGoldenTests {
  @Test("Publishing, reading, going back, promoting, channels") func releases() throws {
    try Site.with(["--public-url", "https://cdn.example.com"]) { site in
      let transcript = Transcript(site)
      let here = " --app shop --bundle main --base-url https://m.example.com/shop"
      func publish(_ files: Files, _ more: String = "") throws {
        try site.scratch.folder("site", files)
        try transcript.run("publish site\(here)\(more)")
      }
      try transcript.show("status --app shop")
      try transcript.show("channel list")
      let text = String(repeating: "a line of the file\n", count: 400)
      try publish(["a.js": text, "b.css": "b"], " --dry-run")
      try publish(["a.js": text, "b.css": "b"], " -m first")
      try publish(["a.js": text, "b.css": "b"], " --json")
      try transcript.show("status --app shop")
      try publish(["a.js": text + "one more", "c.js": "c"], " --dry-run")
      try publish(["a.js": text + "one more", "c.js": "c"], " --dry-run --json")
      try publish(["a.js": text + "one more", "c.js": "c"], " -m second --wait-deltas")
      try publish(["a.js": text], " --if-version 1")
      try publish(["a.js": text], " --max-update 1")
      try transcript.show("log --app shop")
      try transcript.run("log --app shop --limit 1")
      try transcript.run("log --app shop --before 2 --json")
      try transcript.show("show 2 --app shop")
      try transcript.show("show --app shop")
      try transcript.run("show 1 --manifest --app shop")
      try transcript.run("show 9 --app shop")
      try transcript.show("diff 1 2 --app shop")
      try transcript.run("diff 2 --app shop")
      try transcript.run("diff 0 --app shop")
      try transcript.show("rollback --bundle main --steps 1 --dry-run --app shop")
      try transcript.run("rollback --bundle main --steps 1 --with-prefetch --app shop")
      try transcript.run("rollback --bundle main --to 1 --app shop")
      try transcript.run("rollback --all-bundles --to 2 --now --json --app shop")
      try transcript.run("rollback --all-bundles --steps 90 --app shop")
      try transcript.show("channel create --app shop --channel test --public-url https://test.example.com")
      try transcript.run("promote --from online --to test --app shop --dry-run")
      try transcript.run(
        "promote --from online --to test --app shop --map https://m.example.com=https://t.example.com --with-prefetch"
      )
      try transcript.run("promote --from online --to test --app shop --with-prefetch --json")
      try transcript.run("promote --from online --to test --app shop")
      try transcript.show("channel freeze --app shop --channel test --reason sale")
      try transcript.run("unpublish --bundle main --app shop --channel test")
      try transcript.run("status --app shop --channel test")
      try transcript.show("channel list")
      try transcript.run("unpublish --bundle main --app shop --channel test --break-glass fire")
      try transcript.run("show --app shop --channel test")
      try transcript.run("log --app shop --channel test")
      try transcript.show("unpublish --bundle main --app shop --channel test --dry-run")
      try transcript.show("channel thaw --app shop --channel test")
      try transcript.run("promote --from test --to online --app shop")
      try transcript.run("promote --from online --to test --app shop --bundle main -m back --json")
      try transcript.run("unpublish --bundle main --app shop --channel test --json")
      try transcript.run("channel remove --app shop --channel test")
      try transcript.run("channel create --app shop --channel test --json")
      try transcript.run("channel remove --app shop --channel test --json")
      try transcript.run("channel create --app other --channel online")
      try transcript.show("channel default-app")
      try transcript.show("channel default-app other")
      try transcript.show("channel default-app shop")
      try transcript.run("channel default-app none")
      try transcript.run("channel default-app other")
      try transcript.run("channel remove --app other --channel online")
      try transcript.show("channel default-app")
      try transcript.run("channel list --app shop")
      try transcript.check("releases")
    }
  }
}
