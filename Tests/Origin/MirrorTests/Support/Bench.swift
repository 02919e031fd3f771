import Manifests
import SocketServer
import Store
import System
import TestSupport
import Values

@testable import Mirror

/// An origin's store with three versions of a small app, and a mirror of it.
final class Bench: Sendable {
  let store: Store
  private let scratch: Scratch

  static let base = "https://m.example.com/shop/"

  init(versions: Int = 3) throws {
    scratch = try Scratch(in: Scratch.memory)
    store = try Store(path: scratch.path + "/data")
    for version in 0..<versions { try publish(version) }
  }

  func shop(_ store: Store) throws -> ChannelInfo { try store.channel(try AppName("shop"), .online) }

  var folder: String { scratch.path }
  var www: String { folder + "/www" }
  var data: String { folder + "/data" }

  /// One script stays, one changes its bytes, one changes its name.
  func publish(_ version: Int) throws {
    try release(
      "main",
      [
        "index.html": "<p>version \(version)", "app.\(version).js": "run(\(version))", "same.css": "p{}",
      ], remove: version > 0 ? ["app.\(version - 1).js"] : [])
  }

  /// - Parameter place: the app and channel, `shop online`.
  @discardableResult
  func release(
    _ bundle: String, _ files: [String: String], remove: [String] = [], into other: Store? = nil,
    in place: String = "shop online", headers: EntryHeaders = EntryHeaders(),
    fallbacks: PageFallbacks = PageFallbacks(), isLazy: Bool = false
  ) throws -> ReleaseOutcome {
    let store = other ?? self.store
    let place = try Self.channel(place)
    var set: [ResourceURL: ResourceContent] = [:]
    for (name, text) in files {
      let bytes = Array(text.utf8)
      let digest = FileDigest(md5: .of(bytes), sha256: .of(bytes), size: Int64(bytes.count))
      _ = try store.receive(
        bytes.span.bytes, BlobClaim(sha256: digest.sha256, md5: digest.md5, size: digest.size))
      let url = try ResourceURL(Self.base + name)
      set[url] = ResourceContent(
        digest, ctype: .of(fileName: name), headers: headers, fallbacks: fallbacks,
        isLazy: isLazy)
    }
    let name = try BundleName(bundle)
    let channel = try? store.channel(place.app, place.channel)
    let base = try channel.flatMap { try store.bundles(of: $0).first { $0.name == name }?.version } ?? .none
    return try store.commit(
      ReleaseInput(
        app: place.app, channel: place.channel, author: "ci",
        bundles: [
          BundleChange(
            name,
            .update(base: base, set: set, remove: Set(try remove.map { try ResourceURL(Self.base + $0) })))
        ],
        publicURLForNew: try BaseURL("https://cdn.example.com/hxm")))
  }

  /// `shop online`
  static func channel(_ text: String) throws -> MirroredChannel {
    let words = text.split(separator: " ").map(String.init)
    return MirroredChannel(try AppName(words[0]), try ChannelName(words[1]))
  }

  @discardableResult
  func mirror(
    _ folder: String? = nil, from source: (any MirrorSource)? = nil,
    _ change: (inout MirrorOptions) throws -> Void = { _ in }
  ) throws -> MirrorReport {
    var options = MirrorOptions()
    try change(&options)
    return try MirrorRun(from: source ?? DataSource(store: store), to: .folder(folder ?? www), options).run()
  }

  var index: MirrorIndex {
    get throws { try MirrorIndex(parsing: DurableFile.read(www + "/mirror.json") ?? []) }
  }

  /// The files of a copy by path, without mirror.json, which contains the time, and without working files of runs.
  static func files(_ folder: String) throws -> [String: [UInt8]] {
    var files: [String: [UInt8]] = [:]
    var open = try Folder.textNames(folder).filter { !$0.hasPrefix(".") && $0 != "mirror.json" }
    while let name = open.popLast() {
      let path = "\(folder)/\(name)"
      if try Kernel.status(path)?.kind == .folder {
        open += try Folder.textNames(path).map { "\(name)/\($0)" }
      } else {
        files[name] = try DurableFile.read(path)
      }
    }
    return files
  }

  /// Serves the mirror over HTTP with the content types of the manifests, except those in `types`.
  /// - Parameter refusing: suffixes of paths that are answered with 403.
  func serve(_ types: [String: String] = [:], refusing: [String] = []) -> SocketServer {
    SocketServer { [www] request in
      let path = String(request.path.dropFirst().replacing("%25", with: "%"))
      if refusing.contains(where: path.hasSuffix) { return .answer(403) }
      guard let bytes = try? DurableFile.read("\(www)/\(path)") else { return .answer(404) }
      let type =
        types.first { path.hasSuffix($0.key) }?.value
        ?? (MirrorPath.isResource(path) ? ContentType.of(fileName: path).text : MirrorPath.documentType(path))
      return .answer(200, [("Content-Type", type)], body: bytes)
    }
  }

  /// The path of the mirrored file with this suffix.
  func path(_ ending: String) throws -> String {
    let index = try MirrorIndex(parsing: DurableFile.read(www + "/mirror.json") ?? [])
    let path = index.channels.flatMap(\.files).first { $0.path.hasSuffix(ending) }?.path
    return "\(www)/\(path ?? "none")"
  }
}
