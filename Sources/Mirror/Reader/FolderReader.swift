import System

/// A mirror in a folder of this machine.
package struct FolderReader: MirrorReader {
  package let name: String
  package var wrongType: Divergence.Severity? { nil }
  package var threads: Int { 2 }

  package init(_ folder: String) { name = folder }

  package func read(_ path: String) throws(MirrorError) -> [UInt8]? {
    try MirrorError.disk { () throws(SystemError) in
      do throws(SystemError) {
        return try DurableFile.read("\(name)/\(path)")
      } catch {
        // read(2) knows no names.
        throw SystemError(error.call, on: error.subject ?? "\(name)/\(path)", code: error.code)
      }
    }
  }

  package func facts(_ path: String) throws(MirrorError) -> FileFacts? {
    try FileCheck.digest("\(name)/\(path)").map { FileFacts(file: $0, type: nil) }
  }

  package func local(_ path: String, at target: String, size: Int64) throws(MirrorError) -> LocalFile? {
    let kind = try MirrorError.disk { () throws(SystemError) -> FileStatus.Kind? in
      do throws(SystemError) {
        return try Kernel.status("\(name)/\(path)")?.kind
      } catch  where error.isOfFile {
        return nil
      }
    }
    return kind == .file ? LocalFile(path: "\(name)/\(path)", isTemporary: false) : nil
  }
}
