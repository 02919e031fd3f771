import System
import Values
import XCacheDevice

/// A script that the policy has the app inject into its pages.
public struct PageScript: Hashable, Sendable {
  /// The name that the policy gives it.
  public let name: String
  /// JavaScript in UTF-8, signed with the key in the app's settings.
  public let source: String
}

extension Runtime {
  /// Returns the scripts to inject into the page at `url`, in the policy's order: before it loads, in a world of its own,
  /// in its main frame and, if the engine supports `scriptPatterns`, in frames of the app's hosts.
  ///
  /// Returns none for a page that is left alone or whose host the app doesn't name; otherwise the same as `scripts()`.
  public func scripts(for url: String) async -> [PageScript] {
    guard let device, let address = try? ResourceURL(url), passReasonForPage(address, device) == nil else {
      return []
    }
    return await scripts()
  }

  /// Returns the scripts to inject into pages that aren't left alone; none while interception is off.
  ///
  /// Each is signed with `DeviceSettings.scriptKey`; without that key there are none. A script that isn't here yet is
  /// fetched first, which takes some seconds at most; one that can't be fetched is left out, and `events` says why. If the
  /// calling task is cancelled this ends within about a second.
  public func scripts() async -> [PageScript] {
    guard let device, isOpen, passReasonForAll(device) == nil else { return [] }
    let names = device.scripts
    if names.isEmpty { return [] }
    let hub = hub
    let signal = StopSignal()
    return await withTaskCancellationHandler {
      await fetchThreads.run { () -> [PageScript] in
        names.compactMap { name in
          do throws(DeviceError) {
            let bytes = try device.script(name, until: signal)
            return bytes.map { PageScript(name: name, source: String(decoding: $0, as: UTF8.self)) }
          } catch {
            if !signal.isSet { hub.send(.failed(error)) }
            return nil
          }
        }
      }
    } onCancel: {
      device.stop(signal)
    }
  }

  /// The documents that may get those scripts, in the form of engines' allow lists: `https://m.example.com/*`,
  /// `https://*.example.com/*`.
  ///
  /// Needed because a view can navigate to other hosts, and can contain frames of theirs.
  public var scriptPatterns: [String] {
    let names = (try? HostList(settings.device.hosts).names) ?? []
    return names.flatMap { ["https://\($0)/*", "http://\($0)/*"] }
  }

  /// Fetches the scripts of a policy that has just arrived, so that no page waits for them.
  func fetchScripts() {
    guard let device, !device.scripts.isEmpty else { return }
    // Errors are reported when a page asks for the script.
    updateThread.add { for name in device.scripts { _ = try? device.script(name) } }
  }
}
