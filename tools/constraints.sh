#!/usr/bin/env bash
# Writes constraints.txt: the versions of a fresh install of everything, as names and versions only.
set -euo pipefail
cd "$(dirname "$0")/.."
fresh=$(mktemp -d)
trap 'rm -rf "$fresh"' EXIT
python3 -m venv "$fresh" && "$fresh/bin/pip" install -q -U pip && "$fresh/bin/pip" install -q '.[dev]'
{
    echo "# Exact versions that the tests passed with; written by tools/constraints.sh."
    "$fresh/bin/pip" list --format=freeze --exclude overclaim --exclude pip --exclude setuptools --exclude wheel
} >constraints.txt
