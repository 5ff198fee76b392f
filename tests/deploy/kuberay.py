"""The fields of KubeRay's resources that our manifests use, as a schema.

Written from the API reference of KubeRay 1.6 (ray.io/v1): names, types and choices. KubeRay's own schema is in no package.
Pods within are checked by Kubernetes' schema instead. Fields that are not here are refused, so a slip is noticed.
"""

from __future__ import annotations

from typing import Any


def _object(required: tuple[str, ...] = (), **properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(required), "additionalProperties": False}


TEXT, NUMBER, FLAG, POD = {"type": "string"}, {"type": "integer", "minimum": 0}, {"type": "boolean"}, {"type": "object"}
TEXTS = {"type": "object", "additionalProperties": TEXT}
START = {**TEXTS, "propertyNames": {"pattern": "^[a-z][a-z-]*$"}}
METADATA = _object(("name",), name={"type": "string", "pattern": "^[a-z]([-a-z0-9]*[a-z0-9])?$", "maxLength": 47})
AUTOSCALER = _object(
    version={"enum": ["v1", "v2"]},
    upscalingMode={"enum": ["Default", "Aggressive", "Conservative"]},
    idleTimeoutSeconds=NUMBER,
    securityContext={"type": "object"},
    resources={"type": "object"},
)
WORKERS = _object(
    ("groupName", "rayStartParams", "template"),
    groupName=TEXT,
    replicas=NUMBER,
    minReplicas=NUMBER,
    maxReplicas=NUMBER,
    rayStartParams=START,
    template=POD,
)
CLUSTER = _object(
    ("headGroupSpec", "rayVersion"),
    rayVersion=TEXT,
    authOptions=_object(("mode",), mode={"enum": ["disabled", "token"]}),
    enableInTreeAutoscaling=FLAG,
    autoscalerOptions=AUTOSCALER,
    headGroupSpec=_object(("rayStartParams", "template"), rayStartParams=START, template=POD),
    workerGroupSpecs={"type": "array", "items": WORKERS},
)
JOB = _object(
    ("entrypoint", "rayClusterSpec"),
    entrypoint=TEXT,
    submissionMode={"enum": ["K8sJobMode", "HTTPMode", "InteractiveMode", "SidecarMode"]},
    backoffLimit=NUMBER,
    shutdownAfterJobFinishes=FLAG,
    ttlSecondsAfterFinished=NUMBER,
    submitterPodTemplate=POD,
    rayClusterSpec=CLUSTER,
)


def resource(kind: str, spec: dict[str, Any]) -> dict[str, Any]:
    """Schema of a whole manifest."""
    return _object(
        ("apiVersion", "kind", "metadata", "spec"),
        apiVersion={"const": "ray.io/v1"},
        kind={"const": kind},
        metadata=METADATA,
        spec=spec,
    )


SCHEMAS = {"raycluster.yaml": resource("RayCluster", CLUSTER), "rayjob.yaml": resource("RayJob", JOB)}
