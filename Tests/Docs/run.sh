#!/bin/bash
# Checks the documentation against a program: links and anchors, names of the code in documents for maintainers, quoted messages, every
# example (blocks.py says how), pictures, the website, the JSON Schemas against a running origin's documents, and the OpenAPI document
# against the source, what commands send and get, and generated requests.   Tests/Docs/run.sh PROGRAM
set -euo pipefail
cd "$(dirname "$0")/../.."
python=docs/site/python
$python docs/pictures/draw.py --check
$python docs/pictures/timeline.py --check
$python docs/schemas/make.py --check
$python docs/openapi/make.py --check
$python Tests/Docs/links.py
$python Tests/Docs/names.py
$python Tests/Docs/messages.py
$python Tests/Docs/blocks.py
$python Tests/Docs/swift_blocks.py "$(dirname "$1")/Modules"
$python Tests/Docs/texts.py "$1"
$python docs/site/build.py .build/site
$python Tests/Docs/commands.py "$1"
$python Tests/Docs/guides.py "$1"
$python Tests/Docs/schemas.py "$1"
$python Tests/Docs/api.py "$1"
$python Tests/Docs/contract.py "$1" 25
