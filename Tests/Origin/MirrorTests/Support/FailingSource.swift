import Manifests
import struct Mirror.MirroredChannelState
import Store
import System

@testable import Mirror

/// A data folder whose reads fail after a number of calls, as if the run had been killed.
final class FailingSource: MirrorSource {
  private let source: DataSource
  private let left: Locked<Int>
  private let beforeFailing: @Sendable () -> Void

  /// - Parameters:
  /// - calls: the number of calls that succeed.
  /// - beforeFailing: called before each failure.
  init(_ store: Store, after calls: Int, beforeFailing: @escaping @Sendable () -> Void = {}) {
    source = DataSource(store: store)
    left = Locked(calls)
    self.beforeFailing = beforeFailing
  }

  private func count() throws(MirrorError) {
    let left = left.withLock { left in
      left -= 1
      return left
    }
    if left < 0 {
      beforeFailing()
      throw .badPlace("killed")
    }
  }

  func origin() throws(MirrorError) -> OriginState { try source.origin() }
  func channels(keep: Int) throws(MirrorError) -> [MirroredChannelState] { try source.channels(keep: keep) }

  func resources(of channel: MirroredChannelState) throws(MirrorError) -> [MirroredResource] {
    try count()
    return try source.resources(of: channel)
  }

  func document(_ document: MirrorDocument, of channel: MirroredChannelState) throws(MirrorError) -> [UInt8] {
    try count()
    return try source.document(document, of: channel)
  }

  func file(of resource: MirroredResource, at path: String) throws(MirrorError) -> LocalFile {
    try count()
    return try source.file(of: resource, at: path)
  }

  func file(of delta: DeltaPath, at path: String) throws(MirrorError) -> LocalFile {
    try count()
    return try source.file(of: delta, at: path)
  }

  func file(of pack: PackPath, _ channel: MirroredChannelState, at path: String) throws(MirrorError)
    -> LocalFile
  {
    try source.file(of: pack, channel, at: path)
  }

  func has(_ zip: BundleZip, of channel: MirroredChannelState) throws(MirrorError) -> Bool {
    try source.has(zip, of: channel)
  }

  func file(of zip: BundleZip, _ channel: MirroredChannelState, at path: String) throws(MirrorError)
    -> LocalFile
  {
    try source.file(of: zip, channel, at: path)
  }

  func hold(_ seconds: Int) throws(MirrorError) { try source.hold(seconds) }
  func release() { source.release() }

  func register(_ name: String, _ versions: [ChannelVersion]) throws(MirrorError) {
    try count()
    try source.register(name, versions)
  }
}

/// The source as a token limited to one app sees it.
struct LimitedSource: MirrorSource {
  let source: DataSource
  let app: AppName

  init(_ store: Store, to app: String) throws {
    source = DataSource(store: store)
    self.app = try AppName(app)
  }

  func origin() throws(MirrorError) -> OriginState {
    let state = try source.origin()
    return OriginState(
      id: state.id, defaultApp: state.defaultApp, audit: state.audit, readable: ChannelSelection(apps: [app]))
  }

  func channels(keep: Int) throws(MirrorError) -> [MirroredChannelState] {
    try source.channels(keep: keep).filter { $0.app == app }
  }

  func resources(of channel: MirroredChannelState) throws(MirrorError) -> [MirroredResource] {
    try source.resources(of: channel)
  }

  func document(_ document: MirrorDocument, of channel: MirroredChannelState) throws(MirrorError) -> [UInt8] {
    try source.document(document, of: channel)
  }

  func file(of resource: MirroredResource, at path: String) throws(MirrorError) -> LocalFile {
    try source.file(of: resource, at: path)
  }

  func file(of delta: DeltaPath, at path: String) throws(MirrorError) -> LocalFile {
    try source.file(of: delta, at: path)
  }

  func file(of pack: PackPath, _ channel: MirroredChannelState, at path: String) throws(MirrorError)
    -> LocalFile
  {
    try source.file(of: pack, channel, at: path)
  }

  func has(_ zip: BundleZip, of channel: MirroredChannelState) throws(MirrorError) -> Bool { false }

  func file(of zip: BundleZip, _ channel: MirroredChannelState, at path: String) throws(MirrorError)
    -> LocalFile
  {
    try source.file(of: zip, channel, at: path)
  }

  func hold(_ seconds: Int) throws(MirrorError) {}
  func release() {}

  func register(_ name: String, _ versions: [ChannelVersion]) throws(MirrorError) {
    guard versions.allSatisfy({ $0.app == app }) else { throw .badPlace("403") }
  }
}
