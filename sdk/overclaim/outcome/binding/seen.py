"""A claim beside the changes it is about and what the calls of its run mention: what the rules of mismatch look at."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass
from functools import cached_property

from overclaim.outcome.binding.fitting import same_deed
from overclaim.outcome.history import ANYTHING
from overclaim.outcome.lexicon import words
from overclaim.outcome.mentions import MAX_FOUND
from overclaim.outcome.model import Call, Claim, Effect


@dataclass(frozen=True)
class Seen:
    """A claim of success, the changes it is about, and all calls of the run. asked: what the user mentions."""

    claim: Claim
    acts: tuple[Call, ...]
    calls: Sequence[Call]
    asked: Set[str]

    @cached_property
    def changed(self) -> frozenset[str]:
        """What the calls that may have changed something mention."""
        return mentioned(call for call in self.calls if call.operation.effect is not Effect.READ)

    @cached_property
    def targets(self) -> frozenset[str]:
        """The targets of the calls that may have changed something."""
        return frozenset(
            one for call in self.calls if call.operation.effect is not Effect.READ for one in call.operation.targets
        )

    @cached_property
    def looked_at(self) -> frozenset[str]:
        """What the calls that only look mention."""
        return mentioned(call for call in self.calls if call.operation.effect is Effect.READ)

    @cached_property
    def known(self) -> frozenset[str]:
        """What any call mentions."""
        return self.changed | self.looked_at

    def knows(self, value: str) -> bool:
        """Whether any call mentions a value; a target is known without reading what else a call mentions."""
        return any(value in call.operation.targets for call in self.calls) or value in self.known

    @cached_property
    def readable(self) -> bool:
        """Whether it is known what every change was given; a call that runs anything may have done anything."""
        doing = [call for call in self.calls if call.operation.effect is not Effect.READ]
        return all(call.operation.action not in ANYTHING for call in doing) and all(call.mentions for call in doing)

    @cached_property
    def whole(self) -> bool:
        """Whether all that the calls mention is known: of a long payload only a part is kept."""
        return all(len(call.mentions) < MAX_FOUND for call in self.calls)

    @cached_property
    def of_now(self) -> bool:
        """Whether the claim tells what was done now, not how something was found to be."""
        return words("near", "before").isdisjoint(re.findall(r"\w+", self.claim.text.lower()))

    @cached_property
    def same_deed(self) -> bool:
        """Whether the claim tells of the very deed of its acts."""
        return self.of_now and all(same_deed(self.claim, act) for act in self.acts)


def mentioned(calls: Iterable[Call]) -> frozenset[str]:
    """What calls mention; of paths the last part, too."""
    found = frozenset[str]().union(*(call.mentions | set(call.operation.targets) for call in calls))
    return found | {one.rsplit("/", 1)[-1] for one in found if "/" in one}
