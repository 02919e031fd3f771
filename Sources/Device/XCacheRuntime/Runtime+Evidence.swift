import System
import XCacheDevice

/// What an open rollout comes to on this device: docs/protocol.md §11, "Evidence of a rollout". No page waits for any of it.
extension Runtime {
  /// Notes the first page that counts.
  func countOpening(_ request: PageRequest, _ answer: PageAnswer, from version: String?) {
    guard request.destination == .document, let page = request.page, let device else { return }
    let hasFailed: Bool
    switch answer {
    case .local: hasFailed = false
    // Otherwise a page that never comes up on this device would count as a failure only where a candidate is tried anew.
    case .network(.pageFailed): hasFailed = true
    case .network: return
    }
    let source = version ?? device.version
    // Of a page that loads its document again nobody will know what became of it.
    guard device.awaitsOpening(from: source), let time = state.withLock({ $0.pages[page.id]?.undecidedSince })
    else { return }
    writeNote { device.recordOpening(at: time, from: source, hasFailed: hasFailed) }
  }

  /// Notes that a page failed which was answered from `source`.
  func countFailure(of page: OpenPage, from source: String) {
    guard let device, let time = state.withLock({ $0.pages[page.id]?.begun }) else { return }
    writeNote { device.recordPageFailure(at: time, from: source) }
  }
}

extension Runtime.Open {
  /// When the page was opened; nil if it is known what became of it.
  fileprivate var undecidedSince: Int64? { isDecided ? nil : begun }
}
