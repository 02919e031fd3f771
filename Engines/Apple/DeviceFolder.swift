#if canImport(Darwin)
  import Foundation
  import XCacheClient

  extension DeviceSettings {
    /// Settings for `channel` of `app` at `server`, kept in a folder of their own below the app's Caches folder.
    ///
    /// The system may empty that folder while the app isn't running: then the device starts anew. It isn't part of backups,
    /// and can be read from the first unlock after a restart on, so that an update in the background finds it.
    /// - Throws: an error of Foundation's, where the folder can't be made.
    public init(server: String, app: String, hosts: [String], channel: String = "online") throws {
      let caches = try FileManager.default.url(
        for: .cachesDirectory, in: .userDomainMask, appropriateFor: nil, create: true)
      // One path component, whatever the names hold: they are checked where the device is opened.
      let name = "\(app)@\(channel)".addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? "device"
      var folder = caches.appendingPathComponent("xcache", isDirectory: true)
        .appendingPathComponent(name, isDirectory: true)
      try FileManager.default.createDirectory(
        at: folder, withIntermediateDirectories: true,
        attributes: [.protectionKey: FileProtectionType.completeUntilFirstUserAuthentication])
      // The attributes above are for a folder that is made now; one of an older build gets them, too.
      try FileManager.default.setAttributes(
        [.protectionKey: FileProtectionType.completeUntilFirstUserAuthentication], ofItemAtPath: folder.path)
      var values = URLResourceValues()
      values.isExcludedFromBackup = true
      try folder.setResourceValues(values)
      self.init(folder: folder.path, server: server, app: app, hosts: hosts, channel: channel)
    }
  }
#endif
