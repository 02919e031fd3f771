import Testing

/// The output of commands, for people and as `--json`, compared with golden files. XCACHE_RECORD=1 writes them again.
@Suite("Output of commands") struct CommandGoldenTests {
  @Test("Publish, read, roll back, promote, channels") func releases() throws {
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
      try publish(["a.js": text, "b.css": "b"], " --create --dry-run")
      try publish(["a.js": text, "b.css": "b"], " --create -m first")
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
      try transcript.run("rollback --all-bundles --to 2 --dry-run --app shop")
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

  @Test("Prefetch configs, policies, settings") func documents() throws {
    try Site.with { site in
      let transcript = Transcript(site)
      try transcript.run("prefetch show --app shop")
      try site.publish(["a.js": "1"])
      try transcript.show("prefetch show --app shop")
      try transcript.show("prefetch log --app shop")
      for api in ["a", "b", "b"] {
        try site.scratch.write(
          "prefetch.json",
          #"[{"url":"https://m.example.com/p","interfaces":[{"api":"https://m.example.com/\#(api)","method":"GET"}]}]"#
        )
        try transcript.run("prefetch push prefetch.json --app shop -m \(api)")
      }
      try transcript.run("prefetch push prefetch.json --app shop --json")
      try transcript.run("prefetch push prefetch.json --app shop --if-version 1")
      try transcript.show("prefetch rollback --to 1 --app shop")
      try transcript.run("prefetch rollback --to 2 --app shop --json")
      try transcript.run("prefetch rollback --to 9 --app shop")
      try transcript.run("prefetch rollback --app shop")
      try transcript.show("prefetch show --app shop")
      try transcript.run("prefetch show --version 1 --app shop")
      try transcript.show("prefetch log --app shop --limit 3")
      try transcript.show("prefetch check --app shop --url https://m.example.com/p")
      try transcript.show("policy show --app shop")
      try transcript.show("policy log --app shop")
      try transcript.show("policy resume --app shop")
      try transcript.run("policy bypass add https://pay.example.com/* --app shop -m pay")
      try transcript.run("policy bypass add https://third.example.com/* --app shop --json")
      try transcript.run("policy bypass remove https://third.example.com/* --app shop")
      try transcript.run("policy bypass remove https://none.example.com/* --app shop")
      try transcript.run("policy kill --app shop --for 2h -m fire")
      try transcript.show("policy show --app shop")
      try site.scratch.write("policy.json", #"{"bypass":[],"intercept":true}"#)
      try transcript.run("policy set policy.json --app shop")
      try transcript.run("policy kill --app shop")
      try transcript.show("policy log --app shop")
      try transcript.show("status --app shop")
      try transcript.run("policy resume --app shop --if-version 1")
      try transcript.show("channel set --interval 60 --app shop")
      try transcript.show("channel set --interval none --app shop")
      try transcript.run("channel set --interval 5 --app shop")
      try transcript.check("documents")
    }
  }

  @Test("Tokens, pins, gc, the audit trail, mirrors") func operating() throws {
    try Site.with { site in
      let transcript = Transcript(site)
      for text in ["1", "2", "3"] { try site.publish(["a.js": text]) }
      // Not in the transcript: a token's text differs each time.
      for words in [
        ["ci", "--scope", "publish", "--app", "shop", "--no-expiry"],
        ["lead", "--scope", "admin", "--all-apps", "--expires", "90d"],
      ] {
        #expect(try Outcome(try site.start(["token", "create"] + words)).exitCode == 0)
      }
      try transcript.run("token create ci")
      try transcript.run("token create ci --scope publish --app shop --expires 90d")
      try transcript.run("whoami")
      try transcript.run("token create")
      try transcript.run("token revoke ci")
      try transcript.run("token revoke lead --json")
      try transcript.run("token revoke none")
      try transcript.show("token list")
      try transcript.show("pin list --app shop")
      try transcript.run("pin 1 audit --app shop")
      try transcript.run("pin 2 test --app shop --json")
      try transcript.run("pin 9 audit --app shop")
      try transcript.show("pin list --app shop")
      try transcript.run("pin remove 2 --app shop")
      try transcript.run("pin remove 2 --app shop")
      try transcript.run("mirror --to www --name copy --json")
      try transcript.run("mirror --to www --name copy")
      try transcript.run("mirror verify www")
      try transcript.show("mirror list")
      try transcript.show("gc --keep-versions 1 --dry-run")
      try transcript.run("mirror forget none")
      try transcript.run("mirror forget copy")
      try transcript.run("gc --keep-versions 1")
      try transcript.run("gc --keep-versions 1 --json")
      try transcript.show("audit log --limit 6")
      try transcript.run("audit verify")
      try transcript.check("operating")
    }
  }
}
