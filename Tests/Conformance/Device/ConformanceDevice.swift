import Glibc
import Manifests

/// Our device behind the command protocol of docs/conformance.md: a line of JSON in, a line of JSON out.
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
