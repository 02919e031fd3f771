import Foundation
import Testing
import XCacheRuntime

@testable import XCacheWebKit

extension WebKitTests {
  /// Media elements, which read their files in ranges during playback.
  @Suite(.serialized)
  @WebActor
  struct MediaTests {
    /// The source of the file: a tunneled connection, which is WebKit's own behavior, the device, or the network
    /// through the runtime.
    enum Source: String, CaseIterable, Sendable { case tunnel, device, network }

    /// Plays the beginning, seeks to the last seconds, and plays to the end.
    private static let script = """
      const audio = new Audio(url);
      audio.muted = true;
      const until = (name, milliseconds = 60000) => new Promise((done, fail) => {
        const state = () => `at ${audio.currentTime} of ${audio.duration} s, ready ${audio.readyState}`;
        audio.addEventListener(name, done, {once: true});
        audio.onerror = () => fail(new Error(`${name}: ${audio.error.message} ${state()}`));
        setTimeout(() => fail(new Error(`${name} never came ${state()}`)), milliseconds);
      });
      const played = async second => { while (audio.currentTime < second) await until('timeupdate') };
      document.body.append(audio);
      await Promise.all([until('loadedmetadata'), audio.play()]);
      await played(1);
      const ended = until('ended'), sought = until('seeked');
      audio.currentTime = audio.duration - 3;
      await sought;
      const at = audio.duration - audio.currentTime;
      await ended;
      return [Math.round(audio.duration), Math.round(at), audio.ended, Math.round(audio.currentTime)];
      """

    @Test(arguments: Source.allCases) func largeFilePlaysInConstantMemory(_ source: Source) async throws {
      let sites = try Sites()
      let megabytes =
        ProcessInfo.processInfo.environment["XCACHE_WEBKIT_MEGABYTES"].flatMap { Int($0) } ?? 256
      // Files in net/ aren't published.
      let path = source == .device ? "/long.wav" : "/net/long.wav"
      try sites.tell("tone m.example.com\(path) \(megabytes)")
      if source == .tunnel { try sites.tell("run policy kill -m test") }
      let app = try await App(sites, diskLimit: .max)
      if source == .tunnel { try app.trustSites() }
      // WebKit plays no media in hidden windows.
      var settings = WebPageSettings()
      settings.isFullScreen = true
      let page = try WebPage(app.host, settings)
      try await page.load(sites.url("/index.html"))
      _ = try sites.log()
      let ids = [getpid()] + Processes.children(named: "WebKitNetworkPr")
      let before = ids.map(Processes.residentBytes)
      ids.forEach(Processes.beginPeak)
      let seconds = Int((Double((megabytes << 20) - 44) / 4 / 48_000).rounded())
      let played = try await page.evaluate("const url = '\(path)';\n" + Self.script, timeout: .seconds(300))
      #expect(played == "[\(seconds),3,true,\(seconds)]")
      let more = zip(ids, before).map { Processes.peakBytes(of: $0) - $1 }
      print(
        "\(megabytes) MB of sound, from the \(source.rawValue): at most \(more[0] >> 10) KB more in the app, "
          + "\(more[1] >> 10) KB in the network process")
      #expect(more[0] < 48 << 20 && more[1] < 256 << 20)
      #expect(try sites.log().isEmpty == (source == .device))
      await app.end()
    }
  }
}
