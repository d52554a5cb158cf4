"""Understanding what happened and what was said: pure functions, no spans, no I/O.

results/       a tool's result           -> outcome and evidence
operations.py  a tool's name + arguments -> the operation: action, object, targets, effect
claims/        an agent's text           -> claims
binding/       claims + calls            -> which calls each claim is about, and what disagrees
judge.py       calls + bound claims      -> verdicts
normals.py     other runs                -> what is unusual for a tool
confidence.py  a verdict                 -> how sure it is
model.py       the words all of them share
lexicon.py     the languages, read from lexicons/*.toml
"""
