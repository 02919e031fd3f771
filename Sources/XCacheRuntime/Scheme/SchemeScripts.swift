/// The scripts that pages on the custom scheme need, as an app without a policy of its own has them: `public/runtime/interceptor.js`
/// and `cookies.js`.
public enum SchemeScripts {
  /// The message handler of the page's world that takes what they say: `PageScheme.receive`.
  public static let messages = "xcacheBodies"

  private static func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }

  /// Both, to be run at document start in every frame, before any other script; a script of the policy takes the place of that with
  /// its name, `interceptor.js` or `cookies.js`.
  ///
  /// - Parameters:
  ///   - hosts: of the app, as in `DeviceSettings.hosts`, with spaces between.
  ///   - policy: what `Runtime.scripts` gave for the page, whose signatures are checked.
  public static func all(hosts: String, policy: [PageScript] = []) -> [String] {
    // Names have no characters that a string in JavaScript would end at; others are none.
    let isName = hosts.utf8.allSatisfy { byte in
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"):
        true
      default: " .-*:[]_".utf8.contains(byte)
      }
    }
    return [
      ("interceptor.js", PackageResources.interceptor_js), ("cookies.js", PackageResources.cookies_js),
    ].map { name, own in
      let source = policy.last { $0.name == name }?.source ?? text(own)
      return source.replacing("\"XCACHE_HOSTS\".split", with: "\"\(isName ? hosts : "")\".split")
    }
  }

  /// Whether a script of the policy is one that takes the place of these, and isn't to be run once more.
  public static func replaces(_ script: PageScript) -> Bool {
    script.name == "interceptor.js" || script.name == "cookies.js"
  }
}
