from __future__ import annotations

from pathlib import Path

import httpx
from tests.support.migrated import made_store

from overclaim_collector.config import ServeConfig
from overclaim_collector.pages.rendering import MENU
from overclaim_collector.server import Server


def test_an_empty_store_says_how_to_fill_it(tmp_path: Path) -> None:
    """Each page of a store without anything answers, and the first one explains itself."""
    config = ServeConfig(store=f"chdb://{made_store(tmp_path / 'empty')}", http_port=0, grpc_port=0, detect=False)
    with Server(config) as server, httpx.Client(trust_env=False, headers={"accept": "text/html"}) as client:
        assert "overclaim.instrument()" in client.get(server.addresses.http).text
        for path, _ in MENU:
            assert (path, client.get(server.addresses.http + path).status_code) == (path, 200)
