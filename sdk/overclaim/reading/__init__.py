"""From records to runs that can be judged: chat transcripts, OTLP files, spans of any instrumentor.

input_files.py   files of any known form   -> documents, or a problem with its cause and cure
transcripts.py   chat messages             -> runs
otlp_files.py    OTLP JSON or protobuf     -> spans
traces.py        spans                     -> runs
conventions.py   what each instrumentor calls a tool, an agent, a result, a model, ...: the table
dialects.py      spans by that table: roles, names, arguments, results, answers
dimensions.py    spans by that table: model, versions, session, tokens; instructions.py the system prompt
"""
