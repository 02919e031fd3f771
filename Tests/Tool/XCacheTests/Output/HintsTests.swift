import Testing
import Values

@testable import xcache

/// Commands in messages, completed so that they can be run.
@Suite struct HintsTests {
  private static let named = [
    "publish", "dist", "--app", "shop", "--channel", "test", "--server", "http://o:1",
  ]

  @Test(
    arguments: [
      ("see `xcache log`", "see `xcache log --app shop --channel test --server http://o:1`"),
      // A command that names the app either names the channel, too, or means the default one.
      ("`xcache channel thaw --app a` or", "`xcache channel thaw --app a --server http://o:1` or"),
      ("`xcache channel list --all`", "`xcache channel list --all --server http://o:1`"),
      ("`xcache token revoke 7`", "`xcache token revoke 7 --server http://o:1`"),
      ("`xcache mirror list`", "`xcache mirror list --server http://o:1`"),
      ("`xcache promote --from a --to b`", "`xcache promote --from a --to b --app shop --server http://o:1`"),
      ("`xcache version`", "`xcache version`"), ("no `code` here", "no `code` here"), ("", ""),
      ("an `open one xcache log", "an `open one xcache log"),
    ])
  func completed(text: String, expected: String) { #expect(Hints(Self.named).completed(text) == expected) }

  @Test func otherCommandsAreUnchanged() {
    #expect(Hints(["log", "--limit", "1"]).completed("`xcache show 1`") == "`xcache show 1`")
    #expect(Hints(["frob", "--app", "a"]).completed("`xcache show 1`") == "`xcache show 1`")
    #expect(Hints().completed("`xcache show 1`") == "`xcache show 1`")
  }

  @Test func folderIsRepeated() {
    let hints = Hints(["publish", "my site", "--app", "shop"])
    #expect(hints.completed("`xcache check --all`") == "`xcache check --all 'my site'`")
    let based = Hints(["publish", "dist", "--base-url", "https://m.org/a/"])
    #expect(
      based.completed("`xcache check --all`") == "`xcache check --all dist --base-url https://m.org/a/`")
    #expect(based.completed("`xcache publish`") == "`xcache publish`")
    #expect(Hints(["publish"]).completed("`xcache check --all`") == "`xcache check --all`")
  }

  @Test func prefetchLog() {
    let hints = Hints(["prefetch", "rollback", "--to", "9", "--app", "shop"])
    #expect(hints.completed("`xcache log`") == "`xcache prefetch log --app shop`")
    #expect(Hints(["policy", "show", "--version", "3"]).completed("`xcache log`") == "`xcache policy log`")
  }

  /// Without the option, the command would use XCACHE_CHANNEL.
  @Test func explicitDefaultChannelIsNamed() {
    let hints = Hints(["publish", "dist", "--app", "shop", "--channel", "online"])
    #expect(
      hints.completed("`xcache channel thaw --app shop`")
        == "`xcache channel thaw --app shop --channel online`")
    let other = Hints(["publish", "dist", "--app", "shop", "--channel", "test"])
    #expect(other.completed("`xcache channel thaw --app shop`") == "`xcache channel thaw --app shop`")
  }

  @Test func scheduleOfAPromotionIsInItsTarget() {
    let hints = Hints(["promote", "--from", "test", "--to", "online", "--schedule", "2026-12-01T02:00Z"])
    #expect(hints.completed("`xcache schedule cancel 1`") == "`xcache schedule cancel 1 --channel online`")
  }

  @Test func promotionHintsNameTheSource() {
    let hints = Hints(["promote", "--from", "test", "--to", "online", "--app", "shop"])
    #expect(hints.completed("`xcache log`") == "`xcache log --app shop --channel test`")
  }

  @Test(arguments: [
    ("a b", "'a b'"), ("it's", "'it'\\''s'"), ("", "''"), ("https://x.org/a?b", "'https://x.org/a?b'"),
  ])
  func quoted(word: String, expected: String) { #expect(ShellWord.quoted(word) == expected) }
}
