/// The scripts that pages on the custom scheme need if the policy doesn't provide them: `public/runtime/interceptor.js` and
/// `cookies.js`.
public enum SchemeScripts {
  /// The message handler in the page's world that receives their messages for `PageScheme.receive`.
  public static let messages = "xcacheBodies"

  private static func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }

  /// Returns both scripts, to be run at document start in every frame, before any other script. A script of the policy
  /// named `interceptor.js` or `cookies.js` replaces the built-in one.
  ///
  /// - Parameters:
  ///   - hosts: the app's hosts, as in `DeviceSettings.hosts`, separated by spaces.
  ///   - policy: what `Runtime.scripts` returned for the page; their signatures have been checked.
  public static func all(hosts: String, policy: [PageScript] = []) -> [String] {
    // Host names can't contain characters that would end a JavaScript string; anything else is rejected.
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

  /// Whether a script of the policy replaces one of these, and so must not be run again.
  public static func replaces(_ script: PageScript) -> Bool {
    script.name == "interceptor.js" || script.name == "cookies.js"
  }
}
