import Testing
import Values

@testable import BuildCheck

/// Template expressions left in a page, and text that only looks like them.
@Suite struct TemplateMarksTests {
  private static func marks(_ page: String) -> [String] {
    PageScanner.content(Array(page.utf8)).templateMarks.map(\.text)
  }

  @Test(arguments: [
    ("<title>{{ title }}</title>", ["{{ title }}"]), ("<title>%APP_NAME%</title>", ["%APP_NAME%"]),
    ("<link rel=icon href='%PUBLIC_URL%/favicon.ico'>", ["%PUBLIC_URL%"]),
    ("<script src='<%= BASE_URL %>app.js'></script>", ["<%= BASE_URL %>"]),
    ("<body>%sveltekit.body%<img src=%sveltekit.assets%/a.png>", ["%sveltekit.assets%"]),
    ("<p>before <% if (user) { %> after", ["<% if (user) { %>"]),
    ("{% block content %}{% endblock %}", ["{% block content %}", "{% endblock %}"]),
    ("<meta name=description content='{{ about }}'>", ["{{ about }}"]),
    ("<html lang={{lang}}>", ["{{lang}}"]),
    // A page without scripts: nothing could replace it.
    ("<p>{{ name }}</p><b data-mode='{{ mode }}'>x</b>", ["{{ name }}", "{{ mode }}"]),
    // If the head contains template expressions, those in the body count, too.
    (
      "<title>{{ title }}</title><script src=a.js></script><x-mode data-mode='{{ mode }}'>",
      ["{{ title }}", "{{ mode }}"]
    ),
    ("<script src='${BASE}/a.js'></script>", ["${BASE}"]), ("<html lang=${lang}>", ["${lang}"]),
    ("<p>${user.name}</p>", ["${user.name}"]), ("<p th:text=\"${name}\">x<script></script>", ["${name}"]),
    ("<link rel=icon href='__PUBLIC_PATH__/a.ico'>", ["__PUBLIC_PATH__"]),
    ("<meta name=version content=__VERSION__>", ["__VERSION__"]),
    ("<title>@APP_NAME@</title>", ["@APP_NAME@"]), ("<p>@@include('head.html')", ["@@include('head.html')"]),
    ("<p>[[${user}]]<b>[(${html})]</b>", ["[[${user}]]", "[(${html})]"]),
    ("<img src='#{base}/a.png'>", ["#{base}"]), ("<p>#{name}", ["#{name}"]),
    ("<a href='$ENV{HOME}/a'>x</a>", ["$ENV{HOME}"]),
    ("<!--#include virtual='/head.html' --><p>x", ["<!--#include virtual='/head.html' -->"]),
    ("<?php echo 1 ?><p>x</p><?= $x ?>", ["<?php echo 1 ?>", "<?= $x ?>"]),
    ("<img src='<?= $base ?>a.png'>", ["<?= $base ?>"]), ("{# a note #}<p>x", ["{# a note #}"]),
    ("<title>[% title %]</title>", ["[% title %]"]), ("<a href='{$url}'>x</a>", ["{$url}"]),
    (
      "<jsp:include page='a.jsp'/><c:out value='x'/><esi:include src=a>",
      ["<jsp:include>", "<c:out>", "<esi:include>"]
    ),
    ("<p><#if user>x</#if>", ["<#if user>"]),
    ("#parse('head.vm')<p>#set($x = 1)", ["#parse('head.vm')", "#set($x = 1)"]),
    ("<base href='%%BASE%%'>", ["%BASE%"]), ("<title>{{{ title }}}</title>", ["{{{ title }}"]),
    // Though a script could replace it, one in the head shows that a template is involved.
    ("<title>${title}</title><script src=a.js></script><p>${text} #{other}", ["${title}", "${text}"]),
  ])
  func found(_ page: String, _ marks: [String]) {
    #expect(Self.marks("<!doctype html>" + page) == marks)
  }

  @Test(arguments: [
    // In-DOM templates of Vue, petite-vue, Alpine and AngularJS.
    "<div id=app>{{ message }}</div><script src=vue.js></script>",
    "<html ng-app><title>{{title}}</title><a ng-repeat='x in y' href='{{x.url}}'>{{x.name}}</a><script src=a.js></script>",
    "<div v-scope='{ count: 0 }'><img src='{{ no }}'>{{ count }}</div>", "<div x-data='{}'>{{ x }}</div>",
    "<template><a href='{{ url }}'>{{ text }}</a></template>",
    "<script type=text/x-template><a href='{{ url }}'><%= text %></a></script>",
    "<script>const t = '<title>{{ x }}</title> <%= y %> %PUBLIC_URL%'</script>",
    "<style>a::after{content:'<% %>'}</style>",
    "<!-- <%= htmlWebpackPlugin.options.title %> {{ x }} -->",
    "<pre>{% block %}</pre><code>{{ x }} <%= y %></code>",
    "<textarea>{{ x }}</textarea>", "<a href='/%E4%BD%A0%E5%A5%BD'>x</a>", "<a href='/%ABSALE%20'>x</a>",
    "<title>100% or 50%</title>", "<a href='?q=%7B%7B'>x</a>", "<p>a {{}} b { % } c", "<p>{{ never closed",
    "<p>a &lt;%= x %&gt;", "<p>5 <% 6", "<?xml version='1.0'?><p>x",
    "<!-- #include 'x' --><!--# a heading -->",
    "<p>costs ${5}, {$5}, #{1} or [%]", "<a href='#a'>x</a><a href='#{{x'>y</a>",
    "<a href='?a=__b__&c=__D_'>x</a>",
    "<p>a@b.c @ANNA @BERT", "<a href='mailto:a@EXAMPLE.COM'>x</a>",
    "<pre>${x} #{y} <?php z ?> __FILE__</pre>",
    "<p>${x} #{y} {$z} __NAME__ [% a %]</p><script src=a.js></script>",
    "<script>const a = `${b}`, c = '__D__', e = '<?= f ?>'</script><p>x",
    "<p>{#if x}a{/if}</p><script src=a.js></script>", "<p>#set the table, #parse this (please)",
    "<p>a <# b", "<svg><c:x/></svg><math></math>",
  ])
  func none(_ page: String) {
    #expect(Self.marks("<!doctype html>" + page) == [])
  }

  @Test func partsOfPagesBelongToScripts() throws {
    let url = try ResourceURL("https://m.example.com/index.html")
    let part = ReadText(.page, Array("<a href='{{ url }}'>x</a>".utf8), at: url)
    #expect(part.templateMarks.isEmpty)
    let page = ReadText(.page, Array("<!doctype html><a href='{{ url }}'>x</a>".utf8), at: url)
    #expect(page.templateMarks.map(\.at) == [24])
  }

  @Test func oneWarningPerPage() {
    let url = "a"
    let finding = Finding(
      rule: .template, severity: .warning, place: url, position: nil, problem: .template("{{\n title }}"))
    #expect(finding.message.hasPrefix("{{ title }} was left by a template"))
  }
}
