-- Takes back a deletion that fails.
KILL MUTATION WHERE database = currentDatabase() AND table = {table:String} AND mutation_id = {id:String}
