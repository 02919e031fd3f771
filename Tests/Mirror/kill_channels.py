#!/usr/bin/env python3
"""Kills mirror runs of two apps with three channels each at random moments, and looks for what is missing.

kill_channels.py XCACHE [KILLS]      Runs come from the server and from the data folder in turns, about everything or about
some channels, with --prune --grace 0. After each kill another run, about some channels, goes through to its end. Then
every file of those channels must be that of an independent copy, everything that the documents of the others lead to
must be there, and `verify` must say so, and name a file that is taken away. Exit 0: nothing was missing.
NAME_CHANNELS=1: runs about everything name each channel, and no run names apps.
"""
import hashlib, json, os, shutil, signal, subprocess, sys, time, urllib.parse

import served

xcache, kills, seed, dice = served.arguments(30)
origin = served.Origin(xcache, "https://cdn.example.com", ram=True)
work, environment = origin.work, origin.environment
www = work + "/www"
by_name = bool(os.environ.get("NAME_CHANNELS"))
apps, names = ["shop", "mall"], ["online", "test", "beta"]
channels = [(app, name) for app in apps for name in names]
versions = dict.fromkeys(channels, 0)


def folder(app, name):
    return ("xcache" if name == "online" else "xcache_" + name) + "/" + app


def run(*words, status=0):
    done = subprocess.run([xcache, *words], env=environment, capture_output=True, text=True)
    assert status is None or done.returncode == status, f"{' '.join(words)}: {done.stdout}{done.stderr}"
    return done


def publish(app, name):
    """Most files stay, some change, some have new names."""
    versions[app, name] += 1
    version, site = versions[app, name], f"{work}/sites/{app}-{name}"
    os.makedirs(site, exist_ok=True)
    for file in os.listdir(site):
        if file.startswith("new"):
            os.unlink(f"{site}/{file}")
    for i in range(16):
        if version == 1 or i % 4 == version % 4:
            with open(f"{site}/{i}.js", "wb") as f:
                f.write(dice.randbytes(dice.randrange(1, 30_000)))
    for i in range(4):
        with open(f"{site}/new-{version}-{i}.css", "wb") as f:
            f.write(dice.randbytes(3000))
    run("publish", "--create", site, "--app", app, "--channel", name, "--bundle", "main", "--base-url",
        f"https://{app}.example.com/{name}/", "--now")


def choice(may_be_all):
    """What a run is about: its words, and the channels."""
    while True:
        some = dice.sample(names, dice.randrange(1, 4))
        of = apps if by_name else dice.choice([apps, apps[:1], apps[1:]])
        if may_be_all and dice.random() < 0.4:
            some, of = names, apps
        chosen = [(app, name) for app in of for name in some]
        if len(chosen) == len(channels) and not may_be_all:
            continue
        words = []
        if len(some) < len(names) or by_name:
            words += [word for name in some for word in ("--channel", name)]
        if len(of) < len(apps):
            words += [word for app in of for word in ("--app", app)]
        return words, chosen


def source(turn):
    # By server the address and token are in the environment.
    return ["--data", work + "/data"] if turn % 2 else []


def mirror(turn, words):
    return ["mirror", *source(turn), "--to", www, *words, "--prune", "--grace", "0"]


def listed(place):
    """The files of each channel, as mirror.json says them."""
    with open(place + "/mirror.json") as f:
        index = json.load(f)
    return {(c["app"], c["channel"]): c["files"] for c in index["channels"]}


def read(path):
    try:
        with open(path, "rb") as f:
            return f.read()
    except FileNotFoundError:
        return None


def missing_below(app, name):
    """What the documents of a channel lead to and isn't there, or isn't right."""
    place = f"{www}/{folder(app, name)}"
    found = []
    for document in ["configure.json"] + ["configure/" + n for n in sorted(os.listdir(place + "/configure"))]:
        body = read(f"{place}/{document}")
        if body is None:
            found.append(f"{place}/{document}")
            continue
        for entry in json.loads(body)["data"]["resourcemap"].values():
            path = urllib.parse.unquote(urllib.parse.urlsplit(entry["download"]).path)
            file = read(www + path)
            if file is None or hashlib.sha256(file).hexdigest() != entry["sha256"]:
                found.append(f"{document} of {app} {name} names {path}")
    newest = int(json.loads(read(place + "/configure.json"))["data"]["version"])
    if newest > 1 and read(f"{place}/patch/{newest - 1}-{newest}.json") is None:
        found.append(f"{place}/patch/{newest - 1}-{newest}.json")
    for document in ("version.json", "info.json", "policy.json", "prefetchConfig.json"):
        if read(f"{place}/{document}") is None:
            found.append(f"{place}/{document}")
    return found


def check(chosen, fresh):
    now, wanted = listed(www), listed(fresh)
    lost = [channel for channel in channels if channel not in now]
    assert not lost, f"mirror.json doesn't name {lost}"
    assert set(wanted) == set(channels), f"a copy of everything has {sorted(wanted)}"
    for channel in chosen:
        for path in wanted[channel]:
            # What a release's document tells of resource versions is that of the time when it was the newest.
            if "/release/" in path and os.path.exists(f"{www}/{path}"):
                continue
            assert read(f"{www}/{path}") == read(f"{fresh}/{path}"), f"{path} of {channel} is missing or wrong"
    for channel in channels:
        found = missing_below(*channel)
        assert not found, f"{channel}: {found[:3]} and {len(found)} in all"
        absent = [path for path in now[channel] if not os.path.exists(f"{www}/{path}")]
        assert not absent, f"{channel}: mirror.json lists {absent[:3]}"


def verify():
    """What verify says, and whether it is content."""
    done = run("mirror", "verify", www, "--all", "--data", work + "/data", status=None)
    return done.stdout + done.stderr, done.returncode == 0


verdict, step = 1, "start"
try:
    origin.start()
    for channel in channels:
        publish(*channel)
    started = time.monotonic()
    run(*mirror(1, []) if not by_name else mirror(1, [w for name in names for w in ("--channel", name)]))
    span = time.monotonic() - started
    killed = whole = halfway = named = 0
    while killed < kills:
        turn = killed + whole
        if turn % 5 == 4:
            # A killed run's lease ends by itself, after ten minutes; a token holds eight at most.
            made = json.loads(run("token", "create", f"run-{turn}", "--scope", "admin", "--all-apps", "--no-expiry", "--json").stdout)
            environment["XCACHE_TOKEN"] = made["token"]
        for channel in dice.sample(channels, dice.randrange(1, 5)):
            publish(*channel)
        fresh = f"{work}/fresh-{turn}"
        everything = [w for name in names for w in ("--channel", name)] if by_name else []
        run("mirror", *source(turn), "--to", fresh, "--name", "fresh", *everything)
        words, about = choice(True)
        step = f"turn {turn}: killed {' '.join(words) or 'all'}"
        process = subprocess.Popen([xcache, *mirror(turn, words)], env=environment, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.PIPE)
        time.sleep(dice.uniform(0, span * 1.2))
        process.kill()
        _, said = process.communicate()
        if process.returncode == -signal.SIGKILL:
            killed += 1
        else:
            assert process.returncode == 0, said.decode()
            whole += 1
        words, about = choice(turn % 5 == 4)
        step += f", then {' '.join(words) or 'all'}"
        run(*mirror(turn // 2, words))
        check(about, fresh)
        said, content = verify()
        assert "it is missing" not in said, said
        if not content:
            assert "a run was ended before it was done with" in said, said
            halfway += 1
        assert content or len(about) < len(channels), said
        path = dice.choice([path for files in listed(www).values() for path in files])
        os.rename(f"{www}/{path}", work + "/taken")
        said, content = verify()
        assert not content and f"{path}: it is missing" in said, f"{path} was taken away, and verify says: {said}"
        os.makedirs(os.path.dirname(f"{www}/{path}"), exist_ok=True)
        os.rename(work + "/taken", f"{www}/{path}")
        named += 1
        shutil.rmtree(fresh)
    step = "the last run"
    everything = [w for name in names for w in ("--channel", name)] if by_name else []
    run("mirror", "--data", work + "/data", "--to", work + "/fresh", *everything)
    for turn in range(2):
        run(*mirror(turn, everything))
    check(channels, work + "/fresh")
    said, content = verify()
    assert content, said
    print(f"{killed} runs killed, {whole} came through, {sum(versions.values())} releases in {len(channels)} channels: nothing "
          f"was missing; verify named {halfway} times what was left half-way, and all {named} files that were taken away "
          f"(SEED={seed})")
    verdict = 0
except AssertionError as error:
    print(f"FAILED (SEED={seed}), {step}: {error}")
finally:
    origin.stop()
    shutil.rmtree(work, ignore_errors=True)
sys.exit(verdict)
