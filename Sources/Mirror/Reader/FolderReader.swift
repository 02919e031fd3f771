import Platform

/// A mirror in a folder of this machine.
package struct FolderReader: MirrorReader {
  package let name: String
  package var wrongType: Divergence.Severity? { nil }
  package var threads: Int { 2 }

  package init(_ folder: String) { name = folder }

  package func read(_ path: String) throws(MirrorError) -> [UInt8]? {
    try MirrorError.disk { () throws(SystemError) in try DurableFile.read("\(name)/\(path)") }
  }

  package func facts(_ path: String) throws(MirrorError) -> FileFacts? {
    try FileCheck.digest("\(name)/\(path)").map { FileFacts(file: $0, type: nil) }
  }

  package func local(_ path: String, at target: String, size: Int64) throws(MirrorError) -> LocalFile? {
    let status = try MirrorError.disk { () throws(SystemError) in try Kernel.status("\(name)/\(path)") }
    return status == nil ? nil : LocalFile(path: "\(name)/\(path)", isTemporary: false)
  }
}
