import Manifests
import System
import XCacheClient

/// A script that the policy has the app inject into its pages.
public struct PageScript: Hashable, Sendable {
  /// As the policy names it.
  public let name: String
  /// JavaScript, in UTF-8, signed by the key of the app's settings.
  public let source: String
}

extension Runtime {
  /// What to inject into the page at `url`, in the policy's order: before it loads, in its own world, in its main frame and, where
  /// the engine can be told `scriptPatterns`, in frames of the app's hosts.
  ///
  /// None for a page that is left alone or whose host the app doesn't name, and else as `scripts()`.
  public func scripts(for url: String) async -> [PageScript] {
    guard let device, let address = try? ResourceURL(url), passesPage(address, device) == nil else {
      return []
    }
    return await scripts()
  }

  /// What to inject into pages that aren't left alone; none while interception is off.
  ///
  /// Each is signed by `DeviceSettings.scriptKey`; without that key there are none. One that isn't here yet is fetched first, some
  /// seconds at most; one that can't be had is left out, and `events` tells why. Where the calling task is cancelled this ends
  /// within about a second.
  public func scripts() async -> [PageScript] {
    guard let device, isOpen, passesAll(device) == nil else { return [] }
    let names = device.scripts
    if names.isEmpty { return [] }
    let hub = hub
    let signal = StopSignal()
    return await withTaskCancellationHandler {
      await fetchThreads.run { () -> [PageScript] in
        names.compactMap { name in
          do throws(ClientError) {
            let bytes = try device.script(name, until: signal)
            return bytes.map { PageScript(name: name, source: String(decoding: $0, as: UTF8.self)) }
          } catch {
            if !signal.isSet { hub.tell(.failed(error)) }
            return nil
          }
        }
      }
    } onCancel: {
      device.stop(signal)
    }
  }

  /// Which documents may get those scripts, as engines' allow lists have it: `https://m.example.com/*`, `https://*.example.com/*`.
  ///
  /// A view goes on to other hosts by itself, and has frames of theirs.
  public var scriptPatterns: [String] {
    let names = (try? HostList(settings.device.hosts).names) ?? []
    return names.flatMap { ["https://\($0)/*", "http://\($0)/*"] }
  }

  /// Fetches the scripts of a policy that has just come, so that no page waits for them.
  func fetchScripts() {
    guard let device, !device.scripts.isEmpty else { return }
    // Whoever asks for one is told what is wrong with it.
    updateThread.add { for name in device.scripts { _ = try? device.script(name) } }
  }
}
