"""The other projects' own readers over the exports below a folder: Harbor's models and validator, its OpenTelemetry
converter's validator, Inspect's reader and schema, OpenTelemetry's protobuf messages. Exit code 1 names what is refused.

    python check.py EXPORTS    where EXPORTS holds harbor/, inspect/ and otlp/
"""

import json
import pathlib
import sys

from google.protobuf.json_format import ParseDict
from harbor.models.job.config import JobConfig
from harbor.models.job.result import JobResult
from harbor.models.trial.config import TrialConfig
from harbor.models.trial.result import TrialResult
from harbor.utils.trajectory_validator import TrajectoryValidator
from harbor_atif2otel import validate_trajectory
from inspect_ai.log import read_eval_log
from opentelemetry.proto.trace.v1.trace_pb2 import TracesData


def harbor(job):
    JobConfig.model_validate_json((job / "config.json").read_text())
    JobResult.model_validate_json((job / "result.json").read_text())
    trials = sorted(path for path in job.iterdir() if path.is_dir())
    for trial in trials:
        TrialConfig.model_validate_json((trial / "config.json").read_text())
        TrialResult.model_validate_json((trial / "result.json").read_text())
        path = trial / "agent/trajectory.json"
        validator = TrajectoryValidator()
        if not validator.validate(path):
            yield f"{path}: {validator.get_errors()}"
        for error in validate_trajectory(json.loads(path.read_text())):
            yield f"{path}: {error}"
    print(f"harbor: {len(trials)} trials")


def inspect(folder):
    logs = sorted(folder.glob("*.json"))
    for path in logs:
        log = read_eval_log(str(path))
        if not log.samples or len(log.samples) != log.results.total_samples:
            yield f"{path}: samples are missing"
        if not all(any(event.event == "model" for event in sample.events) for sample in log.samples):
            yield f"{path}: a sample without a model event"
    print(f"inspect: {len(logs)} logs")


def otlp(path):
    data = json.loads(path.read_text())
    spans = data["resourceSpans"][0]["scopeSpans"][0]["spans"]
    # OTLP writes ids in hexadecimal, protobuf's JSON mapping reads base64: both have the same alphabet for these.
    ParseDict(data, TracesData())
    ids = {span["spanId"] for span in spans}
    if len(ids) != len(spans):
        yield f"{path}: span ids repeat"
    for span in spans:
        if span.get("parentSpanId") not in ids | {None}:
            yield f"{path}: {span['name']} has a parent that is not there"
        if int(span["endTimeUnixNano"]) < int(span["startTimeUnixNano"]):
            yield f"{path}: {span['name']} ends before it starts"
    print(f"otlp: {len(spans)} spans")


root = pathlib.Path(sys.argv[1])
found = [*harbor(root / "harbor"), *inspect(root / "inspect"), *otlp(root / "otlp/traces.json")]
print("\n".join(found[:20]))
sys.exit(1 if found else 0)
