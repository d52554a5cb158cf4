#!/usr/bin/env bash
# Prints the table of the README's "What is installed": the size and the packages of each way to install.
set -euo pipefail
cd "$(dirname "$0")/.."
fresh=$(mktemp -d)
trap 'rm -rf "$fresh"' EXIT
for extra in '' '[clickhouse]' '[server]'; do
    rm -rf "$fresh" && python3 -m venv "$fresh"
    before=$(du -sm "$fresh" | cut -f1)
    "$fresh/bin/pip" install -q -c constraints.txt ".$extra"
    packages=$("$fresh/bin/pip" list --format=freeze --exclude pip --exclude setuptools --exclude wheel | wc -l)
    printf 'overclaim%-13s %4d MB, %d packages\n' "$extra" $(($(du -sm "$fresh" | cut -f1) - before)) "$packages"
done
