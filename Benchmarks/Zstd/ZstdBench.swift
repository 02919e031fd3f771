import Compression
import Glibc
import System

/// Measures the zstd decoder in Swift against libzstd, in turn:
///
///     zstd-bench FOLDER
///
/// Every file of FOLDER that is worth coding is coded and decoded by both, and compared; speeds are those of its scripts.
/// Ends with 1 where bytes differ, or where scripts at level 3 or 19 are decoded at less than 150 MB/s.
enum ZstdBench {
  private static let rounds = 7
  private static let least = 150.0

  static func run() {
    guard CommandLine.arguments.count == 2 else {
      print("zstd-bench FOLDER")
      Environment.exit(2)
    }
    var files: [(path: String, bytes: [UInt8])] = []
    collect(CommandLine.arguments[1], into: &files)
    var isHeld = !files.isEmpty
    for level: Int32 in [1, 3, 9, 19] { isHeld = measure(files, level: level) && isHeld }
    Environment.exit(isHeld ? 0 : 1)
  }

  private static func collect(_ folder: String, into files: inout [(path: String, bytes: [UInt8])]) {
    for name in (try? Folder.textNames(folder)) ?? [] {
      let path = "\(folder)/\(name)"
      guard let status = try? Kernel.status(path) else { continue }
      if status.kind == .folder {
        collect(path, into: &files)
      } else if status.size > 500, let bytes = try? DurableFile.read(path) {
        files.append((path, bytes))
      }
    }
  }

  private static func measure(_ files: [(path: String, bytes: [UInt8])], level: Int32) -> Bool {
    var isSame = true
    var scripts: [(coded: [UInt8], size: Int)] = []
    for (path, bytes) in files {
      let coded = Zstd.encode([bytes], level: level)
      for decoder in [ZstdStream.Decoder.library, .swift] where decode(coded, decoder, keep: true) != bytes {
        print("\(path) comes out as other bytes from \(decoder)")
        isSame = false
      }
      if path.hasSuffix(".js") { scripts.append((coded, bytes.count)) }
    }
    let size = Double(scripts.reduce(0) { $0 + $1.size })
    var times: [ZstdStream.Decoder: [Double]] = [:]
    for _ in 0..<rounds {
      for decoder in [ZstdStream.Decoder.library, .swift] {
        times[decoder, default: []].append(
          seconds { for script in scripts { _ = decode(script.coded, decoder, keep: false) } })
      }
    }
    func speed(_ decoder: ZstdStream.Decoder) -> Double {
      size / (times[decoder]?.sorted()[rounds / 2] ?? 1) / 1e6
    }
    let (theirs, ours) = (speed(.library), speed(.swift))
    print(
      "level \(level): \(scripts.count) scripts, \(Int(size)) bytes: libzstd \(Int(theirs)) MB/s,",
      "in Swift \(Int(ours)) MB/s, \((ours / theirs * 100).rounded() / 100) of it (at least \(Int(least)) MB/s)"
    )
    return isSame && (ours >= least || level != 3 && level != 19)
  }

  private static func decode(_ coded: [UInt8], _ decoder: ZstdStream.Decoder, keep: Bool) -> [UInt8] {
    var stream = ZstdStream(windowLog: 23, limit: .max, by: decoder)
    var bytes: [UInt8] = []
    try? stream.push(coded.span.bytes) { piece in
      if keep { piece.withUnsafeBytes { bytes.append(contentsOf: $0) } }
    }
    return bytes
  }

  /// Of processor time: other work on the machine doesn't count.
  private static func seconds(_ act: () -> Void) -> Double {
    let start = clock()
    act()
    return Double(clock() - start) / Double(CLOCKS_PER_SEC)
  }
}
