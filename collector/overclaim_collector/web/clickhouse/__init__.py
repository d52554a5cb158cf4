"""ClickHouse's HTTP protocol on the embedded store, for reading: what its clients, Grafana and curl speak."""
