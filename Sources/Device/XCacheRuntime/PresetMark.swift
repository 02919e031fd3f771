import System
import XCacheDevice

/// Records which build of the app took which preset, so that each is taken once.
struct PresetMark {
  let path: String
  let subject: [UInt8]

  /// The number of bytes at the end of a zip that identify it: they hold its directory, whose last entry has the checksum
  /// of the manifest.
  private static let tail = 1 << 16

  /// - Throws: `preset` if there is no such file or it can't be read.
  init(of preset: String, _ settings: RuntimeSettings) throws(DeviceError) {
    path = "\(settings.device.folder)/preset"
    let (size, digest) = try Self.content(preset)
    // Not the path, which changes with each installation on some systems, nor a timestamp, which builds set at will.
    subject = Array("\(settings.build) \(size) \(digest.hex)\n".utf8)
  }

  private static func content(_ preset: String) throws(DeviceError) -> (size: Int64, digest: SHA256) {
    let content: (size: Int64, digest: SHA256)?
    do throws(SystemError) {
      content = try read(preset)
    } catch {
      throw .preset(path: preset, reason: error.reason)
    }
    guard let content else { throw .preset(path: preset, reason: "no such file") }
    return content
  }

  private static func read(_ preset: String) throws(SystemError) -> (size: Int64, digest: SHA256)? {
    guard let file = try Kernel.openExisting(preset, .read) else { return nil }
    let size = try Kernel.status(file).size
    var bytes = [UInt8](repeating: 0, count: tail)
    let count: Result<Int, SystemError> = bytes.withUnsafeMutableBytes { buffer in
      Result { () throws(SystemError) in
        try Kernel.read(file, at: max(0, size - Int64(tail)), into: buffer)
      }
    }
    return (size, SHA256.of(Array(bytes[..<(try count.get())])))
  }

  /// Whether the preset was taken.
  var isTaken: Bool { (try? DurableFile.read(path, limit: 1 << 16)) == .some(subject) }

  /// Records that the preset was taken. If that can't be written, the next start checks the preset again.
  func write() { try? DurableFile.write(subject, to: path) }
}

extension Device {
  /// Takes the preset at the first start of a build of the app. If it can't be used, only its files are missing.
  /// - Returns: why it can't be used, or nil.
  func takePreset(_ settings: RuntimeSettings) -> DeviceError? {
    guard let preset = settings.preset else { return nil }
    do throws(DeviceError) {
      let mark = try PresetMark(of: preset, settings)
      if version != "0", mark.isTaken { return nil }
      _ = try install(preset: preset)
      mark.write()
      return nil
    } catch {
      return error
    }
  }
}
