"""Ask one peer about streams of runs. Runs with the Python of the peer's environment, and knows nothing of overclaim.

    python peer_worker.py FUNCTION < streams.json > alarms.json

A stream has runs and bad runs by the quarter of an hour, and the days of its reference. The answer is the hours after
the reference at which the peer alarms, with its defaults. Peers that look at a window are asked once a day, about the
last day: by the hour they would have two dozen times as many chances. Those that look at sessions get each run as one,
with tools, tokens and times that never change.
"""

from __future__ import annotations

import contextlib
import json
import random
import statistics
import sys
from functools import cache
from types import SimpleNamespace
from typing import Any

PER_DAY, DAY = 96, 24
TOOLS = {"search": 22, "fetch": 18, "read": 14, "write": 12, "verify": 10, "test": 8, "plan": 6, "ask": 5, "notify": 5}


def main() -> None:
    """Answer for all streams of the standard input."""
    answers, sys.stdout = sys.stdout, sys.stderr  # whatever a peer prints is no answer
    ask = globals()[sys.argv[1]]
    json.dump([ask(stream) for stream in json.load(sys.stdin)], answers)


def outcomes(stream: dict[str, Any]) -> list[tuple[int, int]]:
    """Hour and outcome (1: bad) of each run in their order; hours of the reference are negative."""
    dice, start, found = random.Random(7), stream["reference_days"] * PER_DAY, list[tuple[int, int]]()
    for tick, (runs, bad) in enumerate(zip(stream["runs"], stream["bad"], strict=True)):
        ones = [1] * bad + [0] * (runs - bad)
        dice.shuffle(ones)
        found += (((tick - start) // 4, one) for one in ones)
    return found


def days(stream: dict[str, Any]) -> tuple[list[int], dict[int, list[int]]]:
    """The outcomes of the reference, and those of each day after it."""
    reference, after = list[int](), dict[int, list[int]]()
    for hour, one in outcomes(stream):
        (reference if hour < 0 else after.setdefault(hour // DAY, [])).append(one)
    return reference, after


def adwin(stream: dict[str, Any]) -> list[int]:
    """The ADWIN of river."""
    from river.drift import ADWIN

    return _online(stream, ADWIN())


def page_hinkley(stream: dict[str, Any]) -> list[int]:
    """The Page-Hinkley test of river."""
    from river.drift import PageHinkley

    return _online(stream, PageHinkley())


def kswin(stream: dict[str, Any]) -> list[int]:
    """The KSWIN of river."""
    from river.drift import KSWIN

    return _online(stream, KSWIN(seed=1))


def _online(stream: dict[str, Any], detector: Any) -> list[int]:
    alarms = list[int]()
    for hour, one in outcomes(stream):
        detector.update(one)
        if detector.drift_detected and hour >= 0:
            alarms.append(hour)
    return alarms


@cache
def _fet(reference: tuple[int, ...]) -> Any:
    import numpy as np
    from alibi_detect.cd import FETDriftOnline

    np.random.seed(1)
    ways = {"ert": 20_000, "window_sizes": [50, 200], "n_bootstraps": 21_000, "verbose": False}
    return FETDriftOnline(np.array(reference), **ways)


REFERENCES: list[tuple[int, ...]] = []


def fet(stream: dict[str, Any]) -> list[int]:
    """The online Fisher test of alibi-detect, asked for one false alarm in 20,000 runs (100 days of 200).

    It takes more than a minute to find its thresholds, so all streams get those of the first one's reference.
    """
    import numpy as np

    REFERENCES.append(tuple(days(stream)[0]))
    detector, alarms = _fet(REFERENCES[0]), list[int]()
    detector.reset()
    for hour, one in outcomes(stream):
        if hour >= 0 and detector.predict(np.array([one]))["data"]["is_drift"]:
            alarms.append(hour)
            detector.reset()
    return alarms


def evidently(stream: dict[str, Any]) -> list[int]:
    """The preset for data drift of Evidently, on one column of categories."""
    import pandas as pd
    from evidently import DataDefinition, Dataset, Report
    from evidently.presets import DataDriftPreset

    def dataset(outcome: list[int]) -> Any:
        frame = pd.DataFrame({"failed": [str(one) for one in outcome]})
        return Dataset.from_pandas(frame, data_definition=DataDefinition(categorical_columns=["failed"]))

    reference, after = days(stream)
    then, alarms = dataset(reference), list[int]()
    for day, outcome in after.items():
        told = Report([DataDriftPreset()]).run(dataset(outcome), then).dict()
        share = next(one["value"]["count"] for one in told["metrics"] if "DriftedColumnsCount" in one["metric_name"])
        if share > 0:
            alarms.append(day * DAY + DAY - 1)
    return alarms


def nannyml(stream: dict[str, Any]) -> list[int]:
    """The univariate drift of NannyML, in chunks of a day."""
    import nannyml as nml
    import pandas as pd

    begin = pd.Timestamp("2026-01-05")
    rows = [
        (begin + pd.Timedelta(hours=hour + 24 * stream["reference_days"]), str(one)) for hour, one in outcomes(stream)
    ]
    frame = pd.DataFrame(rows, columns=["at", "failed"])
    split = begin + pd.Timedelta(days=stream["reference_days"])
    asked = nml.UnivariateDriftCalculator(
        column_names=["failed"], treat_as_categorical=["failed"], timestamp_column_name="at", chunk_period="D"
    )
    asked.fit(frame[frame["at"] < split])
    told = asked.calculate(frame[frame["at"] >= split]).filter(period="analysis").to_df(multilevel=False)
    alerts = next(column for column in told.columns if column.endswith("alert"))
    return [place * DAY + DAY - 1 for place, alert in enumerate(told[alerts]) if alert]


def sessions(stream: dict[str, Any]) -> list[tuple[int, SimpleNamespace]]:
    """The runs as sessions of an agent: a bad one has one failed call."""
    dice, found = random.Random(8), list[tuple[int, SimpleNamespace]]()
    for place, (hour, bad) in enumerate(outcomes(stream)):
        tools = dice.choices(list(TOOLS), list(TOOLS.values()), k=1 + sum(dice.random() < 0.25 for _ in range(20)))
        found.append((hour, SimpleNamespace(
            session_id=str(place), bad=bad, tools=tools, tool_call_count=len(tools),
            input_tokens=round(dice.lognormvariate(9, 0.5)), output_tokens=round(dice.lognormvariate(6, 0.5)),
            duration_seconds=dice.lognormvariate(3, 0.5),
        )))  # fmt: skip
    return found


def tokenjam(stream: dict[str, Any]) -> list[int]:
    """The check of tokenjam of each session against the ten before the watch."""
    from tokenjam.core.drift import build_baseline, evaluate_drift

    made = sessions(stream)
    tools = {one.session_id: one.tools for _, one in made}
    db = SimpleNamespace(
        get_recent_spans=lambda session_id, limit: [SimpleNamespace(tool_name=name) for name in tools[session_id]]
    )
    baseline: Any = build_baseline("agent", [one for hour, one in made if hour < 0][-10:], db)
    return [hour for hour, one in made if hour >= 0 and evaluate_drift(one, baseline, db=db).drifted]


def strace(stream: dict[str, Any]) -> list[int]:
    """The drift of agent-strace: the overall score of a day against the reference, by which its command fails."""
    from agent_trace.drift import BehavioralFingerprint, DistStats, compute_drift

    def stats(values: list[float]) -> Any:
        cuts = statistics.quantiles(values, n=20, method="inclusive") if len(values) > 1 else values * 19
        return DistStats(mean=statistics.fmean(values), p50=statistics.median(values), p95=cuts[-1])

    def fingerprint(of: list[SimpleNamespace]) -> Any:
        calls = [name for one in of for name in one.tools]
        return BehavioralFingerprint(
            sessions=len(of),
            tool_mix={name: calls.count(name) / len(calls) for name in TOOLS},
            error_rate=stats([one.bad / len(one.tools) for one in of]),
            tool_calls=stats([float(len(one.tools)) for one in of]),
            cost_usd=stats([one.output_tokens / 1e6 for one in of]),
            session_duration_s=stats([one.duration_seconds for one in of]),
        )

    made = sessions(stream)
    reference = fingerprint([one for hour, one in made if hour < 0])
    after = dict[int, list[SimpleNamespace]]()
    for hour, one in made:
        if hour >= 0:
            after.setdefault(hour // DAY, []).append(one)
    scores = {day: compute_drift(reference, fingerprint(of)) for day, of in after.items()}
    return [day * DAY + DAY - 1 for day, one in scores.items() if one.overall_score >= one.threshold]


def driftbase(stream: dict[str, Any]) -> list[int]:
    """The epochs of driftbase: windows of 20 runs that differ from those before."""
    from driftbase.local import epoch_detector as epochs

    made = sessions(stream)
    runs = [{"tool_sequence": json.dumps(one.tools), "semantic_cluster": f"failed {one.bad}"} for _, one in made]
    alarms = list[int]()
    before = None
    for start in range(0, len(runs) - 20, 10):
        now = epochs._build_simple_fingerprint(runs[start : start + 20])
        hour = made[start + 19][0]
        if before is not None and hour >= 0 and epochs._compute_fingerprint_drift(before, now) > 0.15:
            alarms.append(hour)
        before = now
    return alarms


if __name__ == "__main__":
    with contextlib.suppress(BrokenPipeError):
        main()
