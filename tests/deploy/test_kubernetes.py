"""Manifests hold what KubeRay and Kubernetes know; pods have no privileges, a token and a place for caches."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jsonschema
import kubernetes_validate
import pytest
import ray

from tests.deploy.files import loaded, text
from tests.deploy.kuberay import SCHEMAS

KUBERNETES = "1.33"  # the oldest with its schemas in the package at its lower bound


def manifest(name: str) -> dict[str, Any]:
    return loaded(f"kubernetes/{name}")


def cluster(name: str) -> dict[str, Any]:
    spec = manifest(name)["spec"]
    return spec.get("rayClusterSpec", spec)


def templates(name: str) -> Iterator[dict[str, Any]]:
    """Templates of all pods of a manifest."""
    of = cluster(name)
    yield of["headGroupSpec"]["template"]
    yield from (group["template"] for group in of["workerGroupSpecs"])
    if "submitterPodTemplate" in manifest(name)["spec"]:
        yield manifest(name)["spec"]["submitterPodTemplate"]


def check_pod(template: dict[str, Any]) -> None:
    whole = {"apiVersion": "v1", "kind": "PodTemplate", "metadata": {"name": "pod"}, "template": template}
    kubernetes_validate.validate(whole, KUBERNETES, strict=True)


@pytest.mark.parametrize("name", SCHEMAS)
def test_a_manifest_has_the_fields_of_kuberay_and_its_pods_those_of_kubernetes(name: str) -> None:
    jsonschema.validate(manifest(name), SCHEMAS[name])
    for template in templates(name):
        check_pod(template)


def test_pods_have_an_account_that_a_manifest_makes() -> None:
    account = manifest("serviceaccount.yaml")
    kubernetes_validate.validate(account, KUBERNETES, strict=True)
    assert account["kind"] == "ServiceAccount"
    assert any(name.endswith("/role-arn") for name in account["metadata"]["annotations"])
    for name in SCHEMAS:
        named = [template["spec"].get("serviceAccountName") for template in templates(name)]
        assert set(named) - {None} == {account["metadata"]["name"]}
        begun = text(f"kubernetes/{name}").partition("apiVersion")[0]
        assert begun.index("serviceaccount.yaml") < begun.index(f"apply -f deploy/kubernetes/{name}")


def test_the_job_makes_the_cluster_of_the_other_manifest() -> None:
    assert cluster("rayjob.yaml") == cluster("raycluster.yaml")


def test_nodes_have_the_version_of_ray_that_the_project_has() -> None:
    assert cluster("raycluster.yaml")["rayVersion"] == ray.__version__


@pytest.mark.parametrize("name", SCHEMAS)
def test_pods_have_no_privileges_and_their_needs_are_stated(name: str) -> None:
    for template in templates(name):
        pod = template["spec"]["securityContext"]
        assert pod["runAsNonRoot"]
        assert pod["runAsUser"] == 1000  # the image's
        assert pod["seccompProfile"] == {"type": "RuntimeDefault"}
        for container in template["spec"]["containers"]:
            assert container["securityContext"]["allowPrivilegeEscalation"] is False
            assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
            assert container["resources"]["requests"] == container["resources"]["limits"]


@pytest.mark.parametrize("name", SCHEMAS)
def test_nodes_have_a_token_and_a_place_for_caches_and_the_head_no_trials(name: str) -> None:
    of = cluster(name)
    assert of["authOptions"] == {"mode": "token"}
    assert of["headGroupSpec"]["rayStartParams"]["num-cpus"] == "0"
    for template in (of["headGroupSpec"]["template"], *(group["template"] for group in of["workerGroupSpecs"])):
        (container,) = template["spec"]["containers"]
        mounted = {mount["name"]: mount["mountPath"] for mount in container["volumeMounts"]}
        assert mounted["cache"] == "/cache"
        assert mounted.keys() <= {volume["name"] for volume in template["spec"]["volumes"]}
        # A stopped job has its time before the pod is ended.
        (wait,) = [int(of["value"]) for of in container["env"] if of["name"] == "RAY_JOB_STOP_WAIT_TIME_S"]
        assert wait < template["spec"]["terminationGracePeriodSeconds"]


def test_a_group_of_cards_stands_beside_one_of_cpus_and_one_of_each_stays() -> None:
    groups = {group["groupName"]: group for group in cluster("raycluster.yaml")["workerGroupSpecs"]}
    assert groups.keys() == {"cpu", "gpu"}
    cards = {
        name: group["template"]["spec"]["containers"][0]["resources"]["limits"].get("nvidia.com/gpu")
        for name, group in groups.items()
    }
    assert cards == {"cpu": None, "gpu": "1"}
    assert all(group["minReplicas"] == group["replicas"] == 1 < group["maxReplicas"] for group in groups.values())
    assert cluster("raycluster.yaml")["enableInTreeAutoscaling"]


def test_a_job_that_begins_again_continues_its_search() -> None:
    spec = manifest("rayjob.yaml")["spec"]
    assert spec["backoffLimit"] > 0
    assert " --name " in spec["entrypoint"]
    assert " --dir s3://" in spec["entrypoint"]
