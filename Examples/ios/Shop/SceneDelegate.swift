import UIKit

/// One window with one page.
final class SceneDelegate: UIResponder, UIWindowSceneDelegate {
  var window: UIWindow?

  func scene(
    _ scene: UIScene, willConnectTo session: UISceneSession,
    options connectionOptions: UIScene.ConnectionOptions
  ) {
    guard let scene = scene as? UIWindowScene else { return }
    let window = UIWindow(windowScene: scene)
    window.rootViewController = PageViewController(Shop.home)
    window.makeKeyAndVisible()
    self.window = window
  }

  func sceneWillEnterForeground(_ scene: UIScene) {
    Task { try? await AppDelegate.shop.value.enteredForeground() }
  }

  func sceneDidEnterBackground(_ scene: UIScene) {
    Task { try? await AppDelegate.shop.value.enteredBackground() }
  }
}
