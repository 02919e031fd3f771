import Testing

@testable import Preview

@Suite("Messages of the engine on standard error") struct EngineErrorLogTests {
  private static let refusal = "Xvfb doesn't start; see what it says: Xvfb -displayfd 1"

  /// Output of Xvfb on Debian 12, and the expected message.
  static let faults: [(lines: [String], says: String)] = [
    (
      [
        "sh: 1: /usr/bin/xkbcomp: not found", "XKB: Failed to compile keymap",
        "Keyboard initialization failed. This could be a missing or incorrect setup of xkeyboard-config.",
        "(EE) ",
        "Fatal server error:", "(EE) Failed to activate virtual core keyboard: 2(EE) ",
      ], "apt-get install x11-xkb-utils xkb-data"
    ),
    (["(EE) ", "Fatal server error:", "(EE) Couldn't add screen 0(EE) "], "it has too little memory"),
    (
      [
        "_XSERVTransmkdir: ERROR: Cannot create /tmp/.X11-unix",
        "_XSERVTransSocketUNIXCreateListener: mkdir(/tmp/.X11-unix) failed, errno = 30",
        "_XSERVTransMakeAllCOTSServerListeners: failed to open listener for unix", "(EE) ",
        "Fatal server error:",
        "(EE) Failed to find a socket to listen on(EE) ",
      ], "make /tmp writable"
    ),
    (
      [
        "_XSERVTransmkdir: Mode of /tmp/.X11-unix should be set to 1777",
        "_XSERVTransmkdir: this may cause subsequent errors",
      ],
      "give it mode 1777"
    ),
  ]

  @Test("A display that can't start is reported with the cause, not in Xvfb's words", arguments: faults)
  func displays(_ lines: [String], _ says: String) {
    let text = EngineErrorLog(lines).explaining(Self.refusal)
    #expect(text.hasPrefix("Xvfb, the display that pages are painted on, didn't start: it "), "\(text)")
    #expect(text.contains(says), "\(text)")
    for word in ["(EE)", "_XSERV", "XKB"] { #expect(!text.contains(word), "\(text)") }
  }

  @Test("Unknown messages are quoted in part") func unknown() {
    let words = EngineErrorLog([
      "_XSERVTransmkdir: x", "(EE) ", "Fatal server error:", "(EE) no such luck(EE) ",
    ])
    #expect(words.explaining(Self.refusal) == Self.refusal + "; it said: no such luck")
    #expect(words.explaining("no right \"hosts\"") == "no right \"hosts\"; it said: no such luck")
    #expect(EngineErrorLog().explaining(Self.refusal) == Self.refusal)
    // Xvfb may print these at every start.
    let noise = [
      "The XKEYBOARD keymap compiler (xkbcomp) reports:",
      "> Warning:          Could not resolve keysym XF86CameraAccessEnable",
      "Errors from xkbcomp are not fatal to the X server",
      "_XSERVTransmkdir: Owner of /tmp/.X11-unix should be set to root",
    ]
    #expect(EngineErrorLog(noise).text == "")
    #expect(EngineErrorLog(noise + ["segmentation fault"]).text == "; it said: segmentation fault")
  }

  @Test("Of many lines, the last ones are shown") func many() {
    let words = EngineErrorLog((1...1000).map { "line \($0)" })
    #expect(words.text == "; it said: line 996 ⏎ line 997 ⏎ line 998 ⏎ line 999 ⏎ line 1000")
  }
}
