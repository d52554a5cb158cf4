"""Guards for agents of a framework: an answer that claims too much goes back to the agent, which may mend it.

    openai_agents.py   runs the agent again with what its calls show
    langchain.py       a middleware for `create_agent`
    pydantic_ai.py     an output validator

In a loop of your own, `overclaim.check(answer)` gives the verdict and `feedback(verdict)` what to tell the agent.
"""

from overclaim.outcome.feedback import feedback

__all__ = ["feedback"]
