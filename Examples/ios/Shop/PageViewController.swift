import DeviceApple
import UIKit
import WebKit

/// Shows one page. The page ends with this controller: nothing else holds it.
final class PageViewController: UIViewController {
  private let address: String
  private var page: WebPage?
  private var task: Task<Void, Never>?

  init(_ address: String) {
    self.address = address
    super.init(nibName: nil, bundle: nil)
  }

  @available(*, unavailable)
  required init?(coder: NSCoder) { nil }

  deinit { task?.cancel() }

  override func viewDidLoad() {
    super.viewDidLoad()
    let address = address
    task = Task { [weak self] in
      do {
        let page = WebPage(try await AppDelegate.shop.value.host, Self.settings)
        self?.show(page)
        try await page.load(address)
      } catch {
        self?.failed(error)
      }
    }
  }

  /// What pages of the app's hosts may ask of it.
  private static var settings: WebPageSettings {
    var settings = WebPageSettings()
    settings.messages["log"] = { json in print("page: \(json)") }
    settings.replies["version"] = { _ in
      let shop = try await AppDelegate.shop.value
      return "\"\(shop.runtime.version)\""
    }
    return settings
  }

  private func show(_ page: WebPage) {
    self.page = page
    page.view.frame = view.bounds
    page.view.autoresizingMask = [.flexibleWidth, .flexibleHeight]
    view.addSubview(page.view)
    page.onEvent = { event in print("page: \(event)") }
  }

  private func failed(_ error: any Error) {
    // The app's own page for a first start without a network and without a preset.
    print("\(address): \(error)")
  }
}
