import Glibc
import Manifests

/// The device of this repository with the command protocol of docs/conformance.md: one line of JSON in, one out.
@main enum ConformanceDevice {
  static func main() async {
    let session = Session()
    while let line = readLine() {
      print(String(decoding: await session.answer(to: line).canonical, as: UTF8.self))
      fflush(nil)
    }
    await session.end()
  }
}
