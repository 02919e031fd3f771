#if canImport(Darwin)
  import Foundation
  import XCacheDevice

  extension DeviceSettings {
    /// Creates settings for `channel` of `app` at `server`, with a folder of its own in the app's Caches folder.
    ///
    /// The system may empty that folder while the app isn't running; the device then starts from scratch. The folder is
    /// excluded from backups, and can be read from the first unlock after a restart on, so that a background update can use
    /// it. `appVersion` is the app's own, `CFBundleShortVersionString`.
    /// - Throws: a Foundation error if the folder can't be created.
    public init(server: String, app: String, hosts: [String], channel: String = "online") throws {
      let caches = try FileManager.default.url(
        for: .cachesDirectory, in: .userDomainMask, appropriateFor: nil, create: true)
      // Encoded into one path component, whatever the names contain; they are validated when the device is opened.
      let name = "\(app)@\(channel)".addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? "device"
      var folder = caches.appendingPathComponent("xcache", isDirectory: true)
        .appendingPathComponent(name, isDirectory: true)
      try FileManager.default.createDirectory(
        at: folder, withIntermediateDirectories: true,
        attributes: [.protectionKey: FileProtectionType.completeUntilFirstUserAuthentication])
      // The attributes above only apply to a new folder; an existing one of an older build gets them here.
      try FileManager.default.setAttributes(
        [.protectionKey: FileProtectionType.completeUntilFirstUserAuthentication], ofItemAtPath: folder.path)
      var values = URLResourceValues()
      values.isExcludedFromBackup = true
      try folder.setResourceValues(values)
      self.init(folder: folder.path, server: server, app: app, hosts: hosts, channel: channel)
      appVersion = Bundle.main.object(forInfoDictionaryKey: "CFBundleShortVersionString") as? String
    }
  }
#endif
