"""Switches that an operator throws: kill and bypass."""
from bench import App, case, until
from servers import says
from steps import policy, from_the_site


@case("the kill switch, for a time: pages are the network's, then the worker's again")
def _(bench):
    app = App(bench)
    tab = app.visited()
    policy(bench, app, "kill", "--for", "6h")
    until(lambda: tab.update() and tab.state()["policy"] > 0, "the policy")
    from_the_site(app, (b"version 1", b"from the site"))
    tab.open(app.base)
    assert tab.title() == "from the site" and tab.controlled()
    held = tab.state()["policy"]
    # Manifests are followed meanwhile.
    app.release(2)
    app.hold(tab)
    policy(bench, app, "resume")
    until(lambda: tab.update() and tab.state()["policy"] > held, "the policy")
    tab.open(app.base)
    assert tab.title() == "version 2"


@case("the kill switch arrives where the manifest can't be taken")
def _(bench):
    app = App(bench)
    tab = app.visited()
    app.release(2)
    bench.proxy.rules = [("policy.json", says(intercept=False, until="2100-01-01T00:00:00Z", version="5")),
                         ("configure.json", says(policy="5", digest="0" * 64))]
    tab.update()
    assert tab.state()["policy"] == 5 and tab.state()["version"] == "1"


@case("a bypassed page and what it asks for are the network's; others aren't")
def _(bench):
    app = App(bench)
    tab = app.visited()
    policy(bench, app, "bypass", "add", app.base + "help*")
    until(lambda: tab.update() and tab.state()["policy"] > 0, "the policy")
    from_the_site(app, (b"help 1", b"help of the site"), (b"svg", b"SVG"))
    tab.open(app.base + "help.html?x=1")
    assert tab.title() == "help of the site" and tab.fetch("logo.svg")["text"].startswith("<SVG")
    tab.open(app.base)
    assert tab.title() == "version 1" and tab.fetch("logo.svg")["text"].startswith("<svg")
    # Of pages that a worker didn't see open, the address is asked.
    tab.open(app.base + "help.html")
    bench.stop_worker(tab)
    assert tab.fetch("logo.svg")["text"].startswith("<SVG")
