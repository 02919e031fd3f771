import DeviceApple
import UIKit
import XCacheDevice
import XCacheRuntime

/// Starts the runtime and the engine once, before the first page.
@main
final class AppDelegate: UIResponder, UIApplicationDelegate {
  /// What scenes ask for their pages; it is there when the first one needs it.
  static let shop = Task { @MainActor in try await Shop() }

  func application(
    _ application: UIApplication,
    didFinishLaunchingWithOptions launchOptions: [UIApplication.LaunchOptionsKey: Any]?
  ) -> Bool {
    _ = Self.shop
    return true
  }

  func applicationDidReceiveMemoryWarning(_ application: UIApplication) {
    Task { try? await Self.shop.value.runtime.memoryIsShort() }
  }
}
