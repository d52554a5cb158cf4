-- Makes the database of a server's or a cluster's store.
CREATE DATABASE IF NOT EXISTS {database:Identifier}
