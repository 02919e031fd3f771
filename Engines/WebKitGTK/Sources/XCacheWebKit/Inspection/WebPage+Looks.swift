import CWebKitGTK
import Foundation

/// Measurements that a page reports once it is loaded.
public struct PageMeasures: Sendable, Decodable {
  /// The document's title.
  public var title: String
  /// Milliseconds after the navigation started; nil if nothing was painted.
  public var firstContentfulPaint: Double?
  /// Milliseconds after the navigation started; nil if the page isn't loaded.
  public var load: Double?
  /// Whether there is text, or something drawn, in the visible area.
  public var hasContent: Bool
}

extension WebHost {
  /// The version of the engine's library: `2.50.6`.
  public nonisolated static var engineVersion: String {
    "\(webkit_get_major_version()).\(webkit_get_minor_version()).\(webkit_get_micro_version())"
  }
}

extension WebPage {
  /// The status of the response that the document came with; nil if there was none.
  public var status: Int? {
    guard let resource = webkit_web_view_get_main_resource(view),
      let response = webkit_web_resource_get_response(resource)
    else { return nil }
    let status = Int(webkit_uri_response_get_status_code(response))
    return status == 0 ? nil : status
  }

  /// Stops the running load.
  public func stopLoading() { webkit_web_view_stop_loading(view) }

  /// Measures the page in a world that its own scripts can't see.
  ///
  /// - Throws: `WebKitError` if the page doesn't answer in time, for example because one of its scripts never ends.
  public func measures(timeout: Duration = .seconds(5)) async throws -> PageMeasures {
    let script = """
      // What was painted last is in the list after the next frame; a page that isn't painted has none.
      await new Promise(done => { requestAnimationFrame(() => requestAnimationFrame(done)); setTimeout(done, 500) });
      const paint = performance.getEntriesByName('first-contentful-paint')[0];
      const [entry] = performance.getEntriesByType('navigation');
      const seen = element => {
        const {width, height, bottom, right} = element.getBoundingClientRect();
        return width > 1 && height > 1 && bottom > 0 && right > 0 && element.checkVisibility({visibilityProperty: true});
      };
      const drawn = 'img, svg, canvas, video, iframe, embed, object, input, button, select, textarea';
      const {body} = document;
      const hasContent = !!body && (body.innerText.trim() !== '' || [...body.querySelectorAll(drawn)].slice(0, 2000).some(seen));
      return {title: document.title.slice(0, 1000), hasContent,
        firstContentfulPaint: paint ? paint.startTime : null,
        load: entry && entry.loadEventEnd > 0 ? entry.loadEventEnd : null};
      """
    let view = view
    let json = try await awaiting(timeout: timeout) {
      webkit_web_view_call_async_javascript_function(
        view, script, -1, nil, PageInspector.world, nil, nil, $0, $1)
    } _: { result, error -> String? in
      guard let value = webkit_web_view_call_async_javascript_function_finish(view, result, error) else {
        return nil
      }
      defer { g_object_unref(value) }
      return takeString(jsc_value_to_json(value, 0))
    }
    return try JSONDecoder().decode(PageMeasures.self, from: Data((json ?? "null").utf8))
  }

  /// Takes a snapshot of the visible area, and writes it as a PNG if a path is given.
  ///
  /// - Returns: whether it is all one colour.
  /// - Throws: an error if it can't be drawn or written.
  public func picture(to path: String?, timeout: Duration = .seconds(10)) async throws -> Bool {
    let view = view
    let drawn = try await awaiting(timeout: timeout) {
      webkit_web_view_get_snapshot(
        view, WEBKIT_SNAPSHOT_REGION_VISIBLE, WEBKIT_SNAPSHOT_OPTIONS_NONE, nil, $0, $1)
    } _: { result, error -> (isPlain: Bool, isWritten: Bool)? in
      guard let surface = webkit_web_view_get_snapshot_finish(view, result, error) else { return nil }
      defer { cairo_surface_destroy(surface) }
      let isWritten = path.map { cairo_surface_write_to_png(surface, $0) == CAIRO_STATUS_SUCCESS }
      return (xcache_is_plain(surface) != 0, isWritten ?? true)
    }
    guard let drawn else { throw WebKitError("the page couldn't be drawn") }
    if !drawn.isWritten { throw WebKitError("the picture couldn't be written to \(path ?? "")") }
    return drawn.isPlain
  }
}
