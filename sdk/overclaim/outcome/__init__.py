"""Understanding what happened and what was said: pure functions, no spans, no I/O.

results.py     a tool's result           -> outcome and evidence
operations.py  a tool's name + arguments -> the operation: action, object, targets, effect
claims.py      an agent's text           -> claims
binding.py     claims + calls            -> which calls each claim is about
judge.py       calls + bound claims      -> verdicts
model.py       the words all of them share
lexicon.py     the languages, read from lexicons/*.toml
"""
