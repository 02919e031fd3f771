# make demo, make test: what a newcomer needs. The rest: make help.
SHELL := /bin/bash
.DEFAULT_GOAL := help

LIBRARIES := libsqlite3-dev zlib1g-dev libbrotli-dev libzstd-dev libssl-dev libcurl4-openssl-dev pkg-config
# Warnings are errors, and a target may import only what Package.swift gives it.
STRICT := --explicit-target-dependency-import-check error -Xswiftc -warnings-as-errors
# Dynamic exclusivity checks would be a third of what a poll costs; debug builds, which every test runs, keep them.
RELEASE := -c release --static-swift-stdlib $(STRICT) -Xswiftc -cross-module-optimization -Xswiftc -enforce-exclusivity=unchecked
# CONFIG=debug takes the binary of the tests for what runs `build` first, and spares the optimised build: CI does.
CONFIG := release
XCACHE := .build/$(CONFIG)/xcache

# One list: the targets below. "## " says what a target does, "##@" begins a group, of at most ten (.ci/gates).
.PHONY: $(shell sed -nE 's/^([a-z][a-z0-9-]*):.*/\1/p' $(firstword $(MAKEFILE_LIST)))

packages:
	@command -v swift >/dev/null || { echo "There is no Swift toolchain on this machine: https://www.swift.org/install/linux/" >&2; exit 1; }
	@.ci/packages $(LIBRARIES)

tools: # what tests read the program's files with
	@command -v python3 >/dev/null || .ci/packages python3
	@command -v zip >/dev/null || .ci/packages zip
	@command -v unzip >/dev/null || .ci/packages unzip
	@command -v bsdtar >/dev/null || .ci/packages libarchive-tools
	@command -v openssl >/dev/null || .ci/packages openssl

##@ Every day

help: ## print this list
	@awk '/^##@ / { printf "%s\n%s\n", group++ ? "" : "make TARGET\n", substr($$0, 5) } \
	  /^[a-z][a-z0-9-]*:.*## / { name = $$0; sub(/:.*/, "", name); sub(/^[^#]*## /, ""); printf "  %-20s %s\n", name, $$0 }' \
	  $(firstword $(MAKEFILE_LIST))

demo: packages ## publish, poll and pull a small web app, step by step
	@# An optimised build takes longer, and nothing here needs it.
	swift build --product xcache $(STRICT)
	@public/demo/run.sh .build/debug/xcache
	@# The same in a browser, where somebody sits before one.
	@if [ -t 0 ] && [ -n "$$DISPLAY$$WAYLAND_DISPLAY" ]; then Examples/web/run.py .build/debug/xcache; fi

build: packages ## build the release binary, .build/release/xcache
	swift build $(if $(filter debug,$(CONFIG)),$(STRICT),$(RELEASE)) --product xcache

build-tests: packages
	swift build --build-tests $(STRICT)

test: tools build-tests ## run every test
	@command -v nginx >/dev/null || .ci/packages nginx-light
	.ci/side-by-side '^EndToEnd\.' '^(XCacheRuntimeTests|XCacheDeviceTests|DeviceLinuxTests|DeviceAppleTests|HTTPDNSTests|HTTPClientTests)\.'
	XCACHE_ZSTD=swift swift test --skip-build --filter 'CompressionTests|ManifestsTests|XCacheDeviceTests'
	XCACHE_TEST_TLS=1 swift test --skip-build --filter ServerTests

lint: ## check the format of every Swift file
	swift format lint --strict --parallel --recursive Package.swift Sources Engines Tests

gates: ## check what no compiler checks
	@.ci/gates

clean: ## remove what was built
	rm -rf .build

##@ Packages and documents

deb: build ## build the Debian package, .build/packages/xcache_VERSION_ARCH.deb
	@.ci/packages debhelper dpkg-dev chrpath
	@deploy/package.sh deb $(XCACHE) .build/packages

deb-webkit: build webkit ## build both Debian packages, xcache and xcache-webkit (installs 340 MB)
	@.ci/packages debhelper dpkg-dev chrpath
	@deploy/package.sh deb $(XCACHE) .build/packages .build/release/xcache-webkit

tarball: build ## build .build/packages/xcache-VERSION-linux-ARCH.tar.gz
	@.ci/packages chrpath binutils
	@deploy/package.sh tarball $(XCACHE) .build/packages

check-deploy: build ## check what deploy/ has: alerts, manifests, unit, CI jobs, nginx and Caddy in front of an origin
	@command -v nginx >/dev/null || .ci/packages nginx-light
	@.ci/packages systemd python3 python3-venv openssl nodejs curl
	Tests/Deploy/check.sh $(XCACHE)

test-deb: build webkit ## install, upgrade and remove the packages in a fresh Debian, and run the drills of OPERATIONS.md; needs root
	@.ci/packages debhelper dpkg-dev chrpath lintian debootstrap
	Tests/Deploy/package.sh $(XCACHE) .build/release/xcache-webkit

test-container: deb-webkit ## run both Containerfiles' steps in chroots, then the images' commands; needs root (15 minutes; BUILT=1)
	@.ci/packages debootstrap python3 rsync
	Tests/Deploy/container.py .build/packages $(if $(BUILT),$(XCACHE))

docs: packages ## the documentation of the library products, DocC archives in .build/docs; a warning fails it
	@.ci/docs $(STRICT)

site: ## build the documentation as a website, .build/site/pages; a warning fails it
	@.ci/packages python3 python3-venv
	@docs/site/python docs/site/build.py .build/site

test-docs: build ## check the documentation: its links, its examples and their output, its JSON Schemas, its website
	@.ci/packages python3 python3-venv python3-zstandard curl openssl
	Tests/Docs/run.sh $(XCACHE)

screenshots: ## every page of the console in Chromium, 1440, 1100 and 390 px, light and dark: .build/screenshots, and docs/images
	@.ci/packages chromium python3 fonts-inter libfaketime
	swift build --product xcache $(STRICT)
	Tests/Browser/screenshots.py .build/debug/xcache

##@ The origin, more tests

test-long: packages ## the end-to-end tests with what takes long: 2 GB files, many crashes (about 5 minutes)
	swift build --build-tests $(STRICT)
	XCACHE_LONG_TESTS=1 swift test --skip-build --filter EndToEnd

test-large: packages ## the tests of zip entries over 4 GB: minutes, and 10 GB of disk
	swift build --build-tests $(STRICT)
	XCACHE_LARGE_TESTS=1 swift test --skip-build --filter LargeTests

test-lives: packages ## random lives of an origin, with crashes, and of a replica of its database, for SEEDS seeds (200)
	swift build --build-tests $(STRICT)
	XCACHE_SEEDS=$(or $(SEEDS),200) swift test --skip-build --filter 'StoreTests.(LifeTests|ReplicaTests)'

test-rollout-model: packages ## random rollouts with 200 devices, a copy and killed servers, for SEEDS seeds (500: about 20 minutes)
	swift build --build-tests $(STRICT)
	XCACHE_ROLLOUT_SEEDS=$(or $(SEEDS),500) swift test --skip-build --filter RolloutLifeTests

test-sanitizers: packages tools ## every test under ThreadSanitizer, then under AddressSanitizer (about 20 minutes)
	@command -v nginx >/dev/null || .ci/packages nginx-light
	Tests/Sanitizers/run.sh thread
	Tests/Sanitizers/run.sh address

test-damage: build ## flip bits of blobs, coded files and database pages of a server under load, ROUNDS (50) times
	@.ci/packages python3
	Tests/Damage/damage.py $(XCACHE) $(or $(ROUNDS),50)

test-tls: build ## handshakes as fast as they go for SECONDS (60), rude clients among them: nothing is kept
	@.ci/packages python3 openssl
	Tests/TLS/load.py $(XCACHE) $(or $(SECONDS),60)

test-fairness: build ## 35 kinds of costly requests, and what others notice (6 minutes; KINDS="diff log"; SHORT=1)
	@command -v python3 >/dev/null || .ci/packages python3
	Tests/Fairness/fairness.py $(XCACHE) $(if $(SHORT),--short) $(KINDS)

test-secrets: build ## check 22 published front ends for secrets: no alarm, and what is planted is found (downloads 280 MB once)
	@.ci/packages python3 python3-pip
	Tests/Secrets/published.py $(XCACHE)

kills: build ## kill -9 gc, backup and rollback 30 times each; doctor --deep must stay clean (minutes)
	Benchmarks/kills.sh
	XCACHE_KILLS=30 swift test --filter StoreTests.KillTests

##@ The static copy

test-mirror: build ## lose the origin of a mirrored app and bring it back, with devices at each version (2 minutes)
	@.ci/packages nginx-light python3 python3-pip curl
	XCACHE_BINARY=$(abspath $(XCACHE)) Tests/Mirror/fallback.sh
	Tests/Mirror/kill_channels.py $(XCACHE) 6

test-mirror-kills: build ## kill mirror runs at 50 random moments, and of six channels at 30, while a device reads
	@.ci/packages nginx-light python3
	Tests/Mirror/kill.py $(XCACHE) 50
	Tests/Mirror/kill_channels.py $(XCACHE) 30

test-s3: build ## mirror into a three-node OpenStack Swift cluster, one object server killed on the way
	@.ci/packages python3-venv curl
	swift build --build-tests $(STRICT)
	Tests/S3/run.sh $(XCACHE)

##@ Caches in front of an origin

test-edge: build ## Varnish, nginx and HAProxy of deploy/edge in front of an origin: keys, poisoning, staleness, purges (EDGES="nginx …"; 3 minutes)
	@command -v nginx >/dev/null || .ci/packages nginx-light
	@.ci/packages varnish haproxy python3
	Tests/Edge/run.py $(XCACHE) $(EDGES)

test-edge-fleet: build ## 20,000 simulated devices through two Varnish: polls at the origin, how soon releases are seen (7 minutes; FLEET="--devices 100000 --compare 10000")
	@.ci/packages varnish gcc libc6-dev zlib1g-dev libzstd-dev python3
	Tests/Edge/fleet.py $(XCACHE) $(FLEET)

test-edge-poison: build ## hostile requests through each cache, beside devices that must be told the truth (4 minutes; POISON="--requests 10000000")
	@command -v nginx >/dev/null || .ci/packages nginx-light
	@.ci/packages varnish haproxy gcc libc6-dev zlib1g-dev libzstd-dev python3
	for edge in varnish nginx haproxy; do Tests/Edge/poison.py $(XCACHE) --edge $$edge $(POISON) || exit 1; done

test-edge-death: build ## how long real devices take to the static copy when the origin dies behind caches (7 minutes)
	@command -v nginx >/dev/null || .ci/packages nginx-light
	@.ci/packages varnish haproxy python3
	Tests/Edge/death.py $(XCACHE)

test-edge-counts: packages ## adoption and gc of a million simulated devices behind a shared cache, and of 20,000, by a part of their batches (a minute)
	swift build $(RELEASE) --product xcache-fleet
	.build/release/xcache-fleet counts 1000000 1
	.build/release/xcache-fleet counts 20000 10
	.build/release/xcache-fleet counts 20000 1

##@ Devices and the protocol

conformance: packages tools ## run our device against the cases of docs/conformance.md, with each zstd decoder
	swift build --product conformance-device $(STRICT)
	Tests/Conformance/run.py .build/debug/conformance-device
	XCACHE_ZSTD=swift Tests/Conformance/run.py --books answer,budget,delta,file,first,large,lazy,pack .build/debug/conformance-device

conformance-python: ## run the devices in Python (Examples/python) against the cases that apply to them
	@.ci/packages python3 python3-zstandard python3-cryptography
	Tests/Conformance/python.sh

mutants: packages tools ## wake each fault of Tests/Mutants: the conformance cases must notice it (15 minutes; ONLY=TEXT)
	@.ci/packages python3
	Tests/Mutants/run.py $(if $(ONLY),--only "$(ONLY)") .build/mutants

test-vectors: ## run docs/vectors against the decoder in Python that was written from docs/protocol.md alone
	@python3 -c 'import zstandard' 2>/dev/null || .ci/packages python3 python3-zstandard
	docs/vectors/run.py
	@python3 -c 'import cryptography' 2>/dev/null || .ci/packages python3-cryptography
	Tests/Conformance/trust/make.py --check

test-rollouts: packages ## 100,000 random decisions about rollouts: JavaScript and Swift have to decide as Python does (COUNT, SEED)
	@python3 -c 'import zstandard' 2>/dev/null || .ci/packages python3 python3-zstandard
	@.ci/packages nodejs
	mkdir -p .build
	docs/vectors/rollout.py --random $(or $(COUNT),100000) --seed $(or $(SEED),1) >.build/rollouts.jsonl
	Tests/Conformance/python_rollouts.py .build/rollouts.jsonl
	node Tests/WebRuntime/rollouts.mjs .build/rollouts.jsonl
	swift build --build-tests $(STRICT)
	XCACHE_ROLLOUTS=$(abspath .build/rollouts.jsonl) swift test --skip-build --filter RolloutVectorTests

test-broken-release: build ## a broken build at 1 %, before 100 devices: paused, halted, everyone back (4 minutes; DEVICES=N RECORD=FILE)
	@.ci/packages python3 python3-pip gir1.2-webkit2-4.1 xvfb python3-gi fonts-dejavu-core
	swift build --product conformance-device $(STRICT)
	@mkdir -p .build/wheels
	@for v in 1.49.0 1.49.1; do [ -f .build/wheels/streamlit-$$v-py3-none-any.whl ] || \
	  python3 -m pip download -q --no-deps -d .build/wheels streamlit==$$v || exit 1; done
	Tests/Rollouts/broken_release.py $(XCACHE) .build/debug/conformance-device \
	  .build/wheels/streamlit-1.49.0-py3-none-any.whl .build/wheels/streamlit-1.49.1-py3-none-any.whl $(if $(DEVICES),--devices $(DEVICES)) $(if $(RECORD),--record $(RECORD))

test-exchanges: packages ## 200 requests of pages by our fetcher and by other clients, and a body of 1 GB in flat memory
	@.ci/packages python3 python3-zstandard curl
	swift build --product network-bench $(STRICT)
	PATH=/usr/bin:$$PATH Tests/Exchanges/run.py .build/debug/network-bench

test-pack-kills: build ## kill devices at 30 random moments of an update by a pack, over a line that breaks off
	@.ci/packages python3
	Tests/Mirror/kill_packs.py $(XCACHE) 30

check-apple: ## type-check what apps link in against stand-ins for Apple's modules
	Tests/AppleStubs/check.sh

##@ Trust and sign-in

test-approvals-model: packages ## random lives of a protected channel: people, retries, races and kills, for SEEDS seeds (300)
	swift build --build-tests $(STRICT)
	XCACHE_APPROVAL_SEEDS=$(or $(SEEDS),300) swift test --skip-build --filter ApprovalModelTests

test-attacks: packages tools ## attack devices of an app with a root: ours, the worker and the one in Python (Tests/Trust)
	@.ci/packages python3 python3-zstandard python3-cryptography nodejs
	swift build --product conformance-device $(STRICT)
	Tests/Trust/attacks.py .build/debug/conformance-device
	Tests/Trust/attacks.py node Tests/WebRuntime/Device/device.mjs
	Tests/Trust/attacks.py python3 Examples/python/conformance.py --complete

test-trust-interop: build ## openssl, SoftHSM2 and securesystemslib verify what we sign, and we what they sign
	@.ci/packages python3 python3-venv openssl softhsm2 opensc
	Tests/Trust/run.sh $(XCACHE)

test-trust-drills: build ## the drills of docs/trust.md, as they are printed there: stolen and lost keys, a stolen origin, one that is gone
	@.ci/packages python3 python3-cryptography openssl
	Tests/Trust/drills.py $(XCACHE)

test-sso: ## sign-in at canaille, LemonLDAP::NG and a hostile provider, CI trades, approvals, in Chromium (10 minutes; CASES=WORDS)
	@.ci/packages chromium python3 python3-venv python3-pip openssl libfaketime starman liblemonldap-ng-portal-perl \
	  libio-string-perl libstring-random-perl libcrypt-openssl-bignum-perl libconvert-pem-perl
	@python3 -c 'import cryptography' 2>/dev/null || .ci/packages python3-cryptography
	swift build --product xcache $(STRICT)
	Tests/Teams/run.py .build/debug/xcache $(CASES)

##@ Browsers: the web runtime and the console

runtime: ## build the web runtime, public/runtime/dist, of its sources; commit what it makes
	@.ci/packages node-typescript esbuild
	public/runtime/build.sh

test-runtime: ## the web runtime outside of a browser: types, decoder against libzstd, vectors, rules
	@.ci/packages nodejs node-typescript esbuild python3 python3-zstandard
	Tests/WebRuntime/run.sh

test-worker: ## the web runtime's cases in headless Chromium, but for the longest (4 minutes; CI runs them)
	@.ci/packages chromium python3
	@python3 -c 'import cryptography' 2>/dev/null || .ci/packages python3-cryptography
	swift build --product xcache $(STRICT)
	timeout -k 10 900 Tests/Browser/Worker/run.py .build/debug/xcache -j3 -stops '-beside a large pack' '-a manifest of 10,000' '-a deferred script'

test-browser: ## the web runtime, versions as deltas, and the console in headless Chromium; worker cases in WebKitGTK
	@.ci/packages chromium python3 python3-pip gir1.2-webkit2-4.1 xvfb python3-gi python3-cryptography
	swift build --product xcache $(STRICT)
	Tests/Browser/dictionary.py .build/debug/xcache
	Tests/Browser/console.py .build/debug/xcache
	Tests/Browser/console_details.py .build/debug/xcache
	Tests/Browser/console_people.py .build/debug/xcache
	Tests/Browser/console_failures.py .build/debug/xcache
	Tests/Browser/console_reader.py .build/debug/xcache
	node --expose-internals --test Tests/Browser/pretty.test.mjs
	Tests/Browser/release_engineer.py .build/debug/xcache
	Tests/Browser/Worker/run.py .build/debug/xcache -j3 '-beside a large pack' '-a manifest of 10,000'
	@# These measure how long the worker is busy.
	Tests/Browser/Worker/run.py .build/debug/xcache 'beside a large pack' 'a manifest of 10,000'
	ENGINE=webkit /usr/bin/python3 Tests/Browser/Worker/run.py .build/debug/xcache opening routes updates copies

test-builds: packages webkit ## published builds of each bundler, and what builds contain, in Chromium and WebKitGTK (15 minutes; installs 340 MB)
	@.ci/packages chromium python3 python3-pip esbuild gir1.2-webkit2-4.1 python3-gi
	swift build --product xcache $(STRICT)
	Tests/Browser/Builds/run.py .build/debug/xcache
	ENGINE=webkit /usr/bin/python3 Tests/Browser/Builds/run.py .build/debug/xcache features
	Engines/WebKitGTK/display.sh Tests/Browser/Builds/smoke.py .build/debug/xcache .build/release/xcache-webkit

##@ WebKitGTK (each installs 340 MB)

webkit: packages ## build .build/release/xcache-webkit, the engine of preview and smoke
	@.ci/packages libwebkit2gtk-4.1-dev xvfb fonts-dejavu-core
	swift build $(RELEASE) --package-path Engines/WebKitGTK --scratch-path .build/webkit --product xcache-webkit
	@mkdir -p .build/release
	install .build/webkit/release/xcache-webkit .build/release/xcache-webkit

test-webkit: packages tools ## run real pages from a runtime's cache, under a virtual display (FILTER=REGEX; XCACHE_WEBKIT_ATTACK=N)
	@.ci/packages libwebkit2gtk-4.1-dev xvfb openssl fonts-dejavu-core
	swift build --product xcache $(STRICT)
	Engines/WebKitGTK/test.sh .build/debug/xcache $(FILTER)

test-webkit-ci: packages tools ## most of test-webkit, without what takes long (3 minutes after building)
	@.ci/packages libwebkit2gtk-4.1-dev xvfb openssl fonts-dejavu-core
	swift build --product xcache $(STRICT)
	timeout -k 10 900 Engines/WebKitGTK/test.sh .build/debug/xcache 'PageTests|SecurityTests|LifeTests.(recovers|page|serviceWorker|proxy)|PoolTests|PolicyTests.hidden|LoadingTests|DownloadTests|NavigationTests.(responses|pages|downloads)'

test-webkit-pages: packages tools ## open and close 500 pages, read a file of 1 GB, and what each leaves in memory (10 minutes; PAGES=N MEGABYTES=N)
	@.ci/packages libwebkit2gtk-4.1-dev xvfb openssl fonts-dejavu-core
	swift build --product xcache $(STRICT)
	XCACHE_WEBKIT_PAGES=$(or $(PAGES),500) XCACHE_WEBKIT_MEGABYTES=$(or $(MEGABYTES),1024) Engines/WebKitGTK/test.sh .build/debug/xcache 'LifeTests.(opening|largeFile)|MediaTests'

test-webkit-helper: packages tools ## real pages in front of xcache-webkit: errors, crashes, hostile ones (2 minutes after building; CASES=WORDS)
	@.ci/packages libwebkit2gtk-4.1-dev xvfb fonts-dejavu-core
	swift build --product xcache $(STRICT)
	swift build --package-path Engines/WebKitGTK --scratch-path .build/webkit --product xcache-webkit $(STRICT)
	Engines/WebKitGTK/Tests/Helper/run.py .build/debug/xcache .build/webkit/debug/xcache-webkit $(CASES)

test-preview: packages webkit ## preview, smoke and publish --smoke with the real engine, on planted pages (a minute after building)
	@.ci/packages python3
	swift build --product xcache $(STRICT)
	Tests/Preview/run.py .build/debug/xcache .build/release/xcache-webkit

test-kiosk: packages tools ## Examples/kiosk: a release, a killed web process, a second kiosk (2 minutes after building)
	@.ci/packages libwebkit2gtk-4.1-dev xvfb openssl fonts-dejavu-core
	swift build --product xcache $(STRICT)
	swift build --package-path Examples/kiosk --scratch-path .build/kiosk
	Engines/WebKitGTK/display.sh Engines/WebKitGTK/Tests/Kiosk/run.py .build/debug/xcache .build/kiosk/debug/kiosk

test-healing: packages tools ## devices leave builds with planted faults, and no good one in COUNT (500) starts; kill -9 at KILLS (100) steps (an hour)
	@.ci/packages libwebkit2gtk-4.1-dev xvfb openssl fonts-dejavu-core python3-pip gcc
	swift build --product xcache $(STRICT)
	swift build --package-path Engines/WebKitGTK --scratch-path .build/webkit --product healing-app $(STRICT)
	Engines/WebKitGTK/display.sh Engines/WebKitGTK/Tests/Healing/faults.py .build/debug/xcache .build/webkit/debug/healing-app
	Engines/WebKitGTK/display.sh Engines/WebKitGTK/Tests/Healing/kills.py .build/debug/xcache .build/webkit/debug/healing-app $(or $(KILLS),100)
	Engines/WebKitGTK/display.sh Engines/WebKitGTK/Tests/Healing/openings.py .build/debug/xcache .build/webkit/debug/healing-app $(or $(COUNT),500)

test-scheme: packages ## run real pages on the custom scheme, PAGES times (1): bodies, cookies, redirects
	@.ci/packages libwebkit2gtk-4.1-dev xvfb fonts-dejavu-core
	Tests/Scheme/run.sh $(or $(PAGES),1)

##@ Fuzzing, for FUZZ_SECONDS (600)

fuzz-api: build ## what every command sends, with hostile values, to a real server
	@.ci/packages python3
	@XCACHE_BINARY=$(abspath $(XCACHE)) Tests/Fuzz/run.sh api $(or $(FUZZ_SECONDS),600)

fuzz-archive: packages ## the zip reader
	@Tests/Fuzz/run.sh archive $(or $(FUZZ_SECONDS),600)

fuzz-dns: packages ## the readers of what name services send
	@Tests/Fuzz/run.sh dns $(or $(FUZZ_SECONDS),600)

fuzz-identity: packages ## the readers of ID tokens, of their claims, of key sets, and of rules of roles
	@Tests/Fuzz/run.sh identity $(or $(FUZZ_SECONDS),600)

fuzz-pack: packages ## the pack reader
	@Tests/Fuzz/run.sh pack $(or $(FUZZ_SECONDS),600)

fuzz-sourcemap: packages ## the parser of source maps
	@Tests/Fuzz/run.sh sourcemap $(or $(FUZZ_SECONDS),600)

fuzz-trust: packages ## the readers of envelopes, of what is in them, of signatures and keys
	@Tests/Fuzz/run.sh trust $(or $(FUZZ_SECONDS),600)

fuzz-zstd: packages ## the zstd decoder, beside libzstd
	@Tests/Fuzz/run.sh zstd $(or $(FUZZ_SECONDS),600)

##@ Benchmarks: publishing and keeping

bench: ## measure publishing: real input, against rsync, and at 100,000 resources (about 5 minutes)
	Benchmarks/real-input.sh
	Benchmarks/rsync.sh
	Benchmarks/scale.sh

bench-scale: build ## large channels, and many: publishing against rsync, memory, starts (30 minutes)
	@.ci/packages rsync python3 curl
	XCACHE_BINARY=$(abspath $(XCACHE)) Benchmarks/scale-publish.sh
	XCACHE_BINARY=$(abspath $(XCACHE)) Benchmarks/scale-memory.sh

bench-archive: build ## a bundle zip against zip -6
	@Benchmarks/archive.sh

bench-check: build ## check published web builds: no false error, and how long it takes
	XCACHE_BINARY=$(abspath $(XCACHE)) Benchmarks/check.sh

bench-deltas: build ## measure what updates of a published app cost
	swift build -c release --product delta-bench
	Benchmarks/deltas.sh

bench-packs: packages ## measure the parts of a pack: renaming, change lists, long frames
	swift build $(RELEASE) --product pack-bench
	@f=$$(find Sources public -type f -size +1k -printf '%s %p\n' | sort -n | tail -1 | cut -d' ' -f2); .build/release/pack-bench "$${FILE:-$$f}"

bench-patches: build ## a publisher's requests beside clients that cycle 40 versions of a large channel (2 minutes)
	@.ci/packages wrk python3
	XCACHE_BINARY=$(abspath $(XCACHE)) Benchmarks/patches.sh

bench-mirror: build ## measure the static copy against rsync (about 3 minutes)
	XCACHE_BINARY=$(abspath $(XCACHE)) Benchmarks/mirror.sh

keeping: build ## gc, the database's size and polls meanwhile, at 1,000 releases over 20,000 resources (minutes)
	Benchmarks/keeping.sh

##@ Benchmarks: requests

bench-http: build ## what requests cost against nginx: CPU, rate, latency (about 5 minutes)
	@command -v nginx >/dev/null || .ci/packages nginx-light
	@.ci/packages wrk python3
	Benchmarks/http.sh

bench-http-tls: build ## what https costs against nginx: requests, handshakes, system calls (about 7 minutes)
	@command -v nginx >/dev/null || .ci/packages nginx-light
	@.ci/packages wrk python3 openssl strace
	Benchmarks/http-tls.sh

bench-http-calm: build ## polls while thousands of others idle, read or write slowly, against nginx (about 6 minutes)
	@command -v nginx >/dev/null || .ci/packages nginx-light
	@.ci/packages wrk python3
	Benchmarks/http-calm.sh

bench-http-cost: build ## system calls, instructions and allocations of a poll
	@.ci/packages wrk python3 strace valgrind binutils
	Benchmarks/http-cost.sh

bench-cold: build ## what a large file costs that nobody asked for yet, and whom (2 minutes; OTHER=BINARY compares it)
	@command -v python3 >/dev/null || .ci/packages python3
	Benchmarks/cold.py $(XCACHE) $(OTHER)

bench-console: build ## the console with 200 channels, 5,000 releases and 100,000 resources: first view, polls of 50 that are open
	@.ci/packages chromium python3 python3-pip
	Benchmarks/console.py .build/release/xcache

##@ Benchmarks: devices

bench-update: build ## what an update costs through a bad line, and for a fleet at once; needs root (about 10 minutes)
	@.ci/packages iproute2 curl python3
	XCACHE_BINARY=$(abspath $(XCACHE)) Benchmarks/update.sh

bench-runtime: packages ## what a page's request costs, on a manifest of 20,000 URLs, and the memory it takes
	swift build $(RELEASE) --product runtime-bench
	@d=$$(mktemp -d) && trap 'rm -rf "$$d"' EXIT && .build/release/runtime-bench prepare "$$d/device" && .build/release/runtime-bench run "$$d/device"

bench-fleet: packages ## a million simulated devices take a good release by a ramp, and a bad one (1 minute; FLEET="OPTIONS", docs/evidence.md)
	swift build $(RELEASE) --product xcache-fleet
	.build/release/xcache-fleet $(or $(FLEET),--every 6h)
	$(if $(FLEET),,.build/release/xcache-fleet --fails 5% --auto-halt --every 6h)

bench-prefetch: packages ## a page's data behind a slow line, with and without its call sent ahead
	swift build $(RELEASE) --product network-bench
	@f=$$(mktemp -d); .build/release/network-bench prefetch $$f; r=$$?; rm -rf $$f; exit $$r

bench-names: packages ## first byte with resolvers that hang, lie and are down; needs root for a network namespace
	@.ci/packages python3 openssl iproute2
	swift build $(RELEASE) --product network-bench
	Benchmarks/names.sh

bench-zstd: packages ## measure the zstd decoder in Swift against libzstd, on published web builds
	swift build $(RELEASE) --product zstd-bench
	Benchmarks/zstd.sh

bench-open: build ## how fast pages open by the web runtime, over a slow line (15 minutes; RECORD=FILE RUNS=N PAIRS=N)
	@.ci/packages chromium
	Benchmarks/open.py $(XCACHE) $(if $(RECORD),--record $(RECORD)) $(if $(RUNS),--runs $(RUNS)) $(if $(PAIRS),--pairs $(PAIRS))

bench-open-builds: build ## how fast whole front ends open (5 minutes each and run; BUILDS=NAME,… RUNS=N FIRST=N RECORD=FILE TLS=1)
	@.ci/packages chromium python3 python3-pip $(if $(TLS),nginx openssl)
	Benchmarks/open_builds.py $(XCACHE) $(if $(BUILDS),--builds $(BUILDS)) --runs $(or $(RUNS),3) --first $(or $(FIRST),1) $(if $(RECORD),--record $(RECORD)) $(if $(TLS),--tls)

bench-open-webkit: build ## how fast pages open in WebKitGTK, over a slow line (30 minutes; RECORD=FILE RUNS=N CHART=FILE; installs 340 MB)
	@.ci/packages libwebkit2gtk-4.1-dev xvfb openssl fonts-dejavu-core python3 python3-pip
	swift build -c release --package-path Engines/WebKitGTK --scratch-path .build/webkit --product open-bench
	Engines/WebKitGTK/display.sh Benchmarks/open_webkit.py $(XCACHE) .build/webkit/release/open-bench $(if $(RECORD),--record $(RECORD)) $(if $(RUNS),--runs $(RUNS)) $(if $(CHART),--chart $(CHART))

bench-preview: build webkit ## what smoke and preview say of five published front ends, and of planted faults (2 minutes; installs 340 MB)
	@.ci/packages python3 python3-pip
	Tests/Preview/run.py $(XCACHE) .build/release/xcache-webkit --fronts

##@ Benchmarks: whole front ends

bench-first-install: build ## what first installs cost: bytes, requests, time on a slow line, memory; needs root (20 minutes; BUILDS="NAME …" ONLY=sizes,line,memory)
	@.ci/packages iproute2 curl python3 python3-pip zstd xz-utils
	Benchmarks/first_install.py $(XCACHE) $(BUILDS) $(if $(ONLY),--only $(ONLY)) $(if $(RECORD),--record $(RECORD))

bench-front-routes: build webkit ## published front ends at three routes each, in Chromium and WebKitGTK (10 minutes; BUILDS=NAME,…; installs 340 MB)
	@.ci/packages chromium python3 python3-pip
	Benchmarks/front_routes.py $(XCACHE) --webkit .build/release/xcache-webkit $(if $(BUILDS),--builds '$(BUILDS)') $(if $(RECORD),--record $(RECORD))
