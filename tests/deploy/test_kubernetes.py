"""Ray and Kubernetes read the manifests; pods have no privileges, a token and a place for caches."""

from typing import Any

import kubernetes_validate
import pytest
import ray
from ray.autoscaler._private.kuberay.autoscaling_config import _derive_autoscaling_config_from_ray_cr
from ray.autoscaler._private.util import validate_config

from tests.deploy.files import loaded, text

KUBERNETES = "1.33"  # the oldest with its schemas in the package at its lower bound
BOTH = pytest.mark.parametrize("name", ["raycluster.yaml", "rayjob.yaml"])


def spec_of(name: str) -> dict[str, Any]:
    return loaded(f"kubernetes/{name}")["spec"]


def cluster(name: str) -> dict[str, Any]:
    return spec_of(name).get("rayClusterSpec", spec_of(name))


def nodes(name: str) -> list[dict[str, Any]]:
    """Templates of the pods of nodes, the head first."""
    return [of["template"] for of in (cluster(name)["headGroupSpec"], *cluster(name)["workerGroupSpecs"])]


def pods(name: str) -> list[dict[str, Any]]:
    """Templates of all pods."""
    return [*nodes(name), *(template for key, template in spec_of(name).items() if key == "submitterPodTemplate")]


@BOTH
def test_ray_finds_a_head_without_trials_and_one_of_each_type_that_stays(name: str) -> None:
    read = _derive_autoscaling_config_from_ray_cr({"metadata": {"name": "a", "namespace": "b"}, "spec": cluster(name)})
    validate_config(read)
    head, cpu, gpu = (read["available_node_types"][kind] for kind in ("headgroup", "cpu", "gpu"))
    assert head["resources"]["CPU"] == 0
    assert ("GPU" in cpu["resources"], gpu["resources"]["GPU"]) == (False, 1)
    assert all(kind["min_workers"] == 1 < kind["max_workers"] for kind in (cpu, gpu))
    assert cluster(name)["enableInTreeAutoscaling"]
    assert cluster(name)["rayVersion"] == ray.__version__


@BOTH
def test_pods_are_kubernetes_own_without_privileges_and_state_their_needs(name: str) -> None:
    for template in pods(name):
        whole = {"apiVersion": "v1", "kind": "PodTemplate", "metadata": {"name": "pod"}, "template": template}
        kubernetes_validate.validate(whole, KUBERNETES, strict=True)
        pod = template["spec"]["securityContext"]
        assert pod["runAsNonRoot"]
        assert pod["runAsUser"] == 1000  # the image's
        assert pod["seccompProfile"] == {"type": "RuntimeDefault"}
        for container in template["spec"]["containers"]:
            assert container["securityContext"]["allowPrivilegeEscalation"] is False
            assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
            assert container["resources"]["requests"] == container["resources"]["limits"]


@BOTH
def test_pods_have_an_account_that_a_manifest_makes(name: str) -> None:
    account = loaded("kubernetes/serviceaccount.yaml")
    kubernetes_validate.validate(account, KUBERNETES, strict=True)
    assert {template["spec"].get("serviceAccountName") for template in nodes(name)} == {account["metadata"]["name"]}
    begun = text(f"kubernetes/{name}").partition("apiVersion")[0]
    assert begun.index("serviceaccount.yaml") < begun.index(f"apply -f deploy/kubernetes/{name}")


@BOTH
def test_nodes_have_a_token_a_place_for_caches_and_time_to_stop(name: str) -> None:
    assert cluster(name)["authOptions"] == {"mode": "token"}
    for template in nodes(name):
        (container,) = template["spec"]["containers"]
        mounted = {mount["name"]: mount["mountPath"] for mount in container["volumeMounts"]}
        assert mounted["cache"] == "/cache"
        assert mounted.keys() <= {volume["name"] for volume in template["spec"]["volumes"]}
        (wait,) = [int(of["value"]) for of in container["env"] if of["name"] == "RAY_JOB_STOP_WAIT_TIME_S"]
        assert wait < template["spec"]["terminationGracePeriodSeconds"]


def test_the_job_makes_the_same_cluster_and_continues_its_search_when_it_begins_again() -> None:
    assert cluster("rayjob.yaml") == cluster("raycluster.yaml")
    job = spec_of("rayjob.yaml")
    assert job["backoffLimit"] > 0
    assert " --name " in job["entrypoint"]
    assert " --dir s3://" in job["entrypoint"]
