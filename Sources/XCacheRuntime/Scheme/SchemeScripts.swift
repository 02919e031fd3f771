/// The scripts that pages on the custom scheme need, as an app without a policy of its own has them: `public/runtime/interceptor.js`
/// and `cookies.js`.
public enum SchemeScripts {
  /// The message handler of the page's world that takes what they say: `PageScheme.receive`.
  public static let messages = "xcacheBodies"

  /// Both, to be run at document start in every frame, before any other script.
  /// - Parameter hosts: of the app, as in `DeviceSettings.hosts`, with spaces between.
  public static func all(hosts: String) -> [String] {
    // Names have no characters that a string in JavaScript would end at; others are none.
    let isName = hosts.utf8.allSatisfy { byte in
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"):
        true
      default: " .-*:[]_".utf8.contains(byte)
      }
    }
    return [interceptor.replacing("XCACHE_HOSTS\".split", with: "\(isName ? hosts : "")\".split"), cookies]
  }
}
