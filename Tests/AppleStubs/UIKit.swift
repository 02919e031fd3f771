// swift-format-ignore-file
// A stand-in for Apple's UIKit: what `Examples/ios` uses, from Apple's documentation.

@_exported import Foundation

@MainActor open class UIResponder: NSObject {}

@MainActor open class UIView: WKPlatformView {
  public struct AutoresizingMask: OptionSet, Sendable {
    public let rawValue: UInt
    public init(rawValue: UInt) { self.rawValue = rawValue }
    public static var flexibleWidth: AutoresizingMask { AutoresizingMask(rawValue: 2) }
    public static var flexibleHeight: AutoresizingMask { AutoresizingMask(rawValue: 16) }
  }
}

// WKWebView is a UIView on iOS; the stand-ins share a class above both.
extension WKPlatformView {
  public var bounds: CGRect { CGRect.zero }
  public var frame: CGRect { get { CGRect.zero } set {} }
  public var autoresizingMask: UIView.AutoresizingMask { get { [] } set {} }
  public func addSubview(_ view: WKPlatformView) {}
}

@MainActor open class UIViewController: UIResponder {
  public init(nibName nibNameOrNil: String?, bundle nibBundleOrNil: Bundle?) {}
  public required init?(coder: NSCoder) {}
  open var view: WKPlatformView! { get { nil } set {} }
  open func viewDidLoad() {}
}

@MainActor open class UIScene: UIResponder {
  public final class ConnectionOptions {}
}
@MainActor open class UIWindowScene: UIScene {}
@MainActor open class UISceneSession: NSObject {}
@MainActor open class UIWindow: UIView {
  public init(windowScene: UIWindowScene) {}
  open var rootViewController: UIViewController?
  open func makeKeyAndVisible() {}
}

@MainActor public protocol UISceneDelegate: NSObjectProtocol {
  func scene(_ scene: UIScene, willConnectTo session: UISceneSession, options connectionOptions: UIScene.ConnectionOptions)
  func sceneWillEnterForeground(_ scene: UIScene)
  func sceneDidEnterBackground(_ scene: UIScene)
}
@MainActor public protocol UIWindowSceneDelegate: UISceneDelegate {
  var window: UIWindow? { get set }
}

@MainActor open class UIApplication: UIResponder {
  public struct LaunchOptionsKey: Hashable, Sendable {}
}
@MainActor public protocol UIApplicationDelegate: NSObjectProtocol {
  func application(
    _ application: UIApplication, didFinishLaunchingWithOptions launchOptions: [UIApplication.LaunchOptionsKey: Any]?
  ) -> Bool
  func applicationDidReceiveMemoryWarning(_ application: UIApplication)
}
extension UIApplicationDelegate {
  public static func main() {}
}
