import Values
import XCacheDevice

/// For engines that have to decide at once whether they take a request.
extension Runtime {
  /// Whether the manifest lists the file that a request asks for, so that `answer` is likely to have it. Doesn't look at
  /// the disk.
  public func lists(_ request: PageRequest) -> Bool {
    guard request.method == "GET" || request.method == "HEAD", isOfHosts(request), let device,
      let url = try? ResourceURL(request.url), !device.isKilled,
      !device.isDisplaced, !isInterceptionOff
    else { return false }
    return device.listed(url, isPage: request.isPage, isRoute: request.isRoute) != nil
  }

  /// Whether a request is for one of the hosts that the app named.
  public func isOfHosts(_ request: PageRequest) -> Bool {
    guard isOpen, let device, let url = try? ResourceURL(request.url) else { return false }
    return device.isAllowed(url)
  }
}
