"""ghostspan reads OTLP/JSON files. It knows no claims; nearest is "error not surfaced to trace root"."""

import json
import tempfile
from pathlib import Path

from ghostspan.detect.runner import run_all
from ghostspan.ingest.loader import build_trace_set

from .recorded import Run
from .spans import export


def accuses(run: Run) -> bool:
    """Tell whether a failed span stands below an agent span that went well."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "trace.json")
        path.write_text(json.dumps(export(run)), "utf-8")
        swallowed = next(one for one in run_all(build_trace_set([str(path)])) if one.detector_id == "D1")
    return any("not surfaced" in finding.title for finding in swallowed.findings)
