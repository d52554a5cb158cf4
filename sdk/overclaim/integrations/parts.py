"""Parts of a library that are imported by those only who use them: each is switched on after its own import."""

from __future__ import annotations

from collections.abc import Callable

from opentelemetry.trace import TracerProvider

from overclaim.integrations.patching import Patches


class Part:
    """The switch of one part.

    watch: puts its patches; where the library lacks one of the functions, none of them stay.
    """

    def __init__(self, name: str, watch: Callable[[Patches], None]) -> None:
        self._patches, self._watch = Patches(name), watch

    def probe(self) -> str:
        """Nothing is known to be in the way."""
        return ""

    def on(self, provider: TracerProvider, /) -> None:
        """Watch it.

        Raises:
            AttributeError: this version of the library lacks one of the functions.
        """
        try:
            self._watch(self._patches)
        except AttributeError:
            self.off()
            raise

    def off(self) -> None:
        """Stop watching."""
        self._patches.undo()
