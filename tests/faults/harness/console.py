"""`overclaim serve` that also runs statements on its store: each line of its input is one, and answered with "done".

Only so can a test make the store fail while the server has it, since nobody else may write to it.
"""

from __future__ import annotations

import argparse
import os
import sys

from overclaim_collector import config
from overclaim_collector.serve_command import COMMAND
from overclaim_collector.server import Server


def main() -> None:
    """Serve until the input ends."""
    parser = argparse.ArgumentParser()
    COMMAND.configure(parser)
    args = parser.parse_args()
    given = {name: value for name, value in vars(args).items() if name in config.ServeConfig.model_fields}
    with Server(config.load(given, os.environ)) as server:
        at = server.addresses
        print(f"ready http={at.http} grpc={at.grpc} store={at.store}", flush=True)
        for line in sys.stdin:
            server.store.command(line)
            print("done", flush=True)


if __name__ == "__main__":
    main()
