"""Statements that must not do what they are made for, whichever way they come in."""

from __future__ import annotations

import socket
import threading

SECRET = "the-words-of-a-file-outside"


class Trap:
    """A listener on loopback that nothing may ever connect to."""

    def __init__(self) -> None:
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._socket.getsockname()[1]
        self.connections = 0
        self._thread = threading.Thread(target=self._listen, daemon=True)
        self._thread.start()

    def _listen(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            self.connections += 1
            connection.close()

    def close(self) -> None:
        """Stop listening."""
        self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        self._thread.join(5)


# {file}: a file that must not be made.
REFUSED = [
    "SELECT 1 INTO OUTFILE '{file}'",
    "SELECT 1 INTO OUTFILE '{file}' FORMAT CSV",
    "INSERT INTO FUNCTION file('{file}', 'CSV', 'a UInt8') SELECT 1",
    "INSERT INTO otel_traces (TraceId) VALUES ('x')",
    "CREATE TABLE t (a UInt8) ENGINE = Memory",
    "CREATE TEMPORARY TABLE t (a UInt8)",
    "DROP TABLE otel_traces",
    "TRUNCATE TABLE otel_traces",
    "ALTER TABLE otel_traces DELETE WHERE 1",
    "DELETE FROM otel_traces WHERE 1",
    "OPTIMIZE TABLE otel_traces FINAL",
    "RENAME TABLE otel_traces TO x",
    "DETACH TABLE otel_traces",
    "SET readonly = 0",
    "SET max_execution_time = 0",
    "USE system",
    "KILL QUERY WHERE 1",
    "SYSTEM FLUSH LOGS",
    "BACKUP TABLE otel_traces TO File('{file}')",
    "SELECT 1 FORMAT JSON",
    "EXPLAIN SELECT 1 FORMAT TSV",
    "SELECT 1; SELECT 2",
    "SELECT 1; DROP TABLE otel_traces",
    "SELECT * FROM file('/etc/passwd', 'LineAsString')",
    "SELECT * FROM file('{file}', 'CSV', 'a UInt8')",
    "SELECT * FROM url('http://127.0.0.1:1/', 'LineAsString')",
    "SELECT * FROM remote('127.0.0.1:1', system.one)",
    "SELECT * FROM s3('http://127.0.0.1:1/x', 'CSV')",
    "SELECT * FROM mysql('127.0.0.1:1', 'd', 't', 'u', 'p')",
    "SELECT * FROM executable('cat', 'CSV', 'a String')",
    "SELECT * FROM otel_traces WHERE TraceId IN (SELECT line FROM file('/etc/passwd', 'LineAsString'))",
    "WITH (SELECT count() FROM url('http://127.0.0.1:1/', 'LineAsString')) AS n SELECT n",
    "SELECT 1 SETTINGS readonly = 0",
    "SELECT 1 SETTINGS max_execution_time = 0",
    "SELECT * FROM numbers(2000000)",
    "EXPLAIN SELECT * FROM file('/etc/passwd', 'LineAsString')",
    "not sql at all",
    "",
]

# {file}: a real file outside of the store; {port}: a real listener on loopback. Neither may be touched.
REACHING = [
    "SELECT file('{file}')",
    "select\tfile\n(\n'{file}'\n)",
    "SELECT /* a */ file /* b */ ('{file}') -- c",
    "SELECT `file`('{file}')",
    "SELECT \"file\"('{file}')",
    "SELECT FILE('{file}')",
    "SELECT file('{file}', 'nothing')",
    "SELECT upper(concat('a', file('{file}')))",
    "SELECT arrayMap(x -> file(x), ['{file}'])",
    "SELECT arrayMap(file, ['{file}'])",
    "SELECT arrayMap(`file`, ['{file}'])",
    "SELECT arrayFilter(file, ['{file}'])",
    "WITH file AS f SELECT arrayMap(f, ['{file}'])",
    "SELECT * APPLY(file) FROM (SELECT '{file}' AS x)",
    "SELECT * APPLY file FROM (SELECT '{file}' AS x)",
    "SELECT COLUMNS('x') APPLY(f -> file(f)) FROM (SELECT '{file}' AS x)",
    "SELECT * REPLACE(file('{file}') AS dummy) FROM system.one",
    "SELECT 1 WHERE file('{file}') != ''",
    "SELECT 1 GROUP BY file('{file}')",
    "SELECT 1 ORDER BY file('{file}')",
    "SELECT count() HAVING length(file('{file}')) > 0",
    "SELECT 1 QUALIFY file('{file}') != ''",
    "SELECT 1 LIMIT length(file('{file}'))",
    "SELECT sum(1) OVER (PARTITION BY file('{file}'))",
    "SELECT sum(1) OVER w WINDOW w AS (ORDER BY file('{file}'))",
    "SELECT number FROM numbers(length(file('{file}')))",
    "SELECT 1 UNION ALL SELECT length(file('{file}'))",
    "SELECT 1 EXCEPT SELECT length(file('{file}'))",
    "SELECT (SELECT file('{file}'))",
    "SELECT * FROM (SELECT file('{file}'))",
    "WITH x AS (SELECT file('{file}')) SELECT * FROM x",
    "WITH file('{file}') AS x SELECT x",
    "SELECT 1 IN (SELECT length(file('{file}')))",
    "SELECT * FROM view(SELECT file('{file}'))",
    "SELECT * FROM otel_traces LEFT JOIN (SELECT file('{file}') AS f) AS t ON t.f = TraceId",
    "SELECT * FROM numbers(1) ARRAY JOIN [file('{file}')] AS x",
    "SELECT CASE WHEN 1 THEN file('{file}') END",
    "SELECT if(0, file('{file}'), 1)",
    "SELECT b FROM values('a UInt8, b String ALIAS file(\\'{file}\\')', (1))",
    "SELECT b FROM generateRandom('a UInt8, b String ALIAS file(\\'{file}\\')') LIMIT 1",
    "SELECT b FROM null('a UInt8, b String ALIAS file(\\'{file}\\')')",
    "SELECT b FROM format(CSV, 'a UInt8, b String ALIAS file(\\'{file}\\')', '1')",
    "EXPLAIN SELECT file('{file}')",
    "EXPLAIN SYNTAX SELECT file('{file}')",
    "EXPLAIN QUERY TREE SELECT file('{file}')",
    "EXPLAIN PIPELINE SELECT file('{file}')",
    "SELECT * FROM (EXPLAIN SELECT file('{file}'))",
    "EXPLAIN SELECT * FROM file('{file}', 'LineAsString')",
    "EXPLAIN TABLE OVERRIDE mysql('127.0.0.1:{port}', 'd', 't', 'u', 'p') PARTITION BY x",
    "SHOW TABLES WHERE name = file('{file}')",
    "SHOW COLUMNS FROM otel_traces WHERE field = file('{file}')",
    "DESCRIBE file('{file}')",
    "DESC TABLE file('{file}', 'LineAsString')",
    "DESCRIBE (SELECT file('{file}'))",
    "DESCRIBE TABLE url('http://127.0.0.1:{port}/x.parquet')",
    "DESC url('http://127.0.0.1:{port}/x.csv')",
    "DESC s3('http://127.0.0.1:{port}/bucket/x.parquet')",
    "DESC remote('127.0.0.1:{port}', 'system', 'one')",
    "DESC mysql('127.0.0.1:{port}', 'd', 't', 'u', 'p')",
    "DESC view(SELECT file('{file}'))",
    "DESCRIBE `{file}`",
    "EXISTS TABLE `{file}`",
    "SHOW CREATE TABLE `{file}`",
    "CHECK TABLE `{file}`",
    "SELECT * FROM `{file}`",
    "SELECT * FROM '{file}'",
    "SELECT 1 IN `{file}`",
    "FROM file('{file}', 'LineAsString') SELECT *",
    "SELECT * FROM File('{file}', 'LineAsString')",
    "SELECT * FROM file('{file}', 'LineAsString', 'line String', 'none')",
    "SELECT * FROM numbers(1) AS n JOIN file('{file}', 'LineAsString') AS f ON 1",
    "SELECT 1 IN file('{file}', 'LineAsString')",
    "SELECT * FROM merge('', '.*')",
    "SELECT * FROM loop(file('{file}', 'LineAsString')) LIMIT 1",
    "SELECT * FROM fileCluster('default', '{file}', 'LineAsString')",
    "SELECT * FROM filesystem('/') LIMIT 1",
    "SELECT * FROM url('http://127.0.0.1:{port}/', 'LineAsString')",
    "SELECT * FROM URL('http://127.0.0.1:{port}/', 'LineAsString')",
    "SELECT * FROM s3('http://127.0.0.1:{port}/bucket/x', 'CSV')",
    "SELECT * FROM gcs('http://127.0.0.1:{port}/bucket/x', 'CSV')",
    "SELECT * FROM hdfs('hdfs://127.0.0.1:{port}/x', 'CSV')",
    "SELECT * FROM azureBlobStorage('http://127.0.0.1:{port}/a', 'c', 'x', 'CSV')",
    "SELECT * FROM iceberg('http://127.0.0.1:{port}/bucket/x')",
    "SELECT * FROM deltaLake('http://127.0.0.1:{port}/bucket/x')",
    "SELECT * FROM deltaLakeLocal('/')",
    "SELECT * FROM remote('127.0.0.1:{port}', system.one)",
    "SELECT * FROM remoteSecure('127.0.0.1:{port}', system.one)",
    "SELECT * FROM mysql('127.0.0.1:{port}', 'd', 't', 'u', 'p')",
    "SELECT * FROM postgresql('127.0.0.1:{port}', 'd', 't', 'u', 'p')",
    "SELECT * FROM mongodb('127.0.0.1:{port}', 'd', 'c', 'u', 'p', 'a String')",
    "SELECT * FROM redis('127.0.0.1:{port}', 'k', 'k String')",
    "SELECT * FROM jdbc('jdbc:x://127.0.0.1:{port}', 't')",
    "SELECT * FROM odbc('DSN=x', 'd', 't')",
    "SELECT * FROM sqlite('{file}', 't')",
    "SELECT * FROM executable('cat {file}', 'LineAsString', 'a String')",
    "SELECT * FROM python('os')",
    "SELECT * FROM eval('SELECT file(\\'{file}\\')')",
    "SELECT * FROM viewIfPermitted(SELECT file('{file}') ELSE null('a String'))",
    "SELECT * FROM dictionary('d')",
    "SELECT dictGet('d', 'a', 1)",
    "SELECT AIGenerate('http://127.0.0.1:{port}', 'x')",
    "SELECT aiGenerate('x')",
    "SELECT showCertificate()",
    "SELECT naiveBayesClassifier('{file}', 'x')",
    "SELECT logTrace('x')",
    "SELECT __getScalar('x')",
    "SELECT " + "(" * 900 + "file('{file}')" + ")" * 900,
    "SELECT " + "[" * 300 + "file('{file}')" + "]" * 300,
    "SELECT '" + "x" * 262144 + "', file('{file}')",
]
