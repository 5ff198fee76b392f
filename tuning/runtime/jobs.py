"""Jobs of the driver that Ray runs in parallel, each in a process of its own."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import ray
from ray.util.queue import Empty, Queue
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from common.errors import InconsistentError, UserError
from tuning.runtime.processes import DIED, end_with_parent
from tuning.runtime.ray_session import check_nodes

LEAST_NEWS = 0.02  # part of a job between two messages


class DiedError(UserError):
    """The process of a job died."""


@dataclass(frozen=True)
class Job:
    """Something to do."""

    work: Callable[..., object]
    tells: bool = False  # whether it takes `on_progress`, which it tells how far it is, as a part
    here: bool = False  # whether it reads or writes files that this machine alone may have, such as those of the cache


def run_jobs(
    jobs: Sequence[Job],
    goes_on: Callable[[Sequence[float]], bool] = lambda done: True,
    on_result: Callable[[int, Any], None] = lambda number, result: None,
) -> list[Any]:
    """Results of jobs that run in parallel, None of those that `goes_on` ended; it is told what part of each is done.

    `on_result` gets each result as it comes, with the number of its job.
    """
    # An empty one counts as false.
    queue = Queue(actor_options={"num_cpus": 0}) if any(job.tells for job in jobs) else None
    done, results, running = [0.0] * len(jobs), [None] * len(jobs), dict[Any, int]()
    try:
        for number, job in enumerate(jobs):
            running[_in_process.options(**_place(job)).remote(number, job, queue)] = number
        while running and goes_on(done):
            for ended in ray.wait(list(running), timeout=0.5)[0]:
                number = running.pop(ended)
                results[number], done[number] = result_of(ended), 1.0
                on_result(number, results[number])
            for number, part in () if queue is None else _news(queue):
                done[number] = max(done[number], part)
    finally:
        for left in running:
            ray.cancel(left)  # not by force, as it may be writing a file
        if queue is not None:
            queue.shutdown()
    return results


def _place(job: Job) -> dict[str, Any]:
    if not job.here:
        return {}
    here = ray.get_runtime_context().get_node_id()
    cores = next(node["Resources"].get("CPU", 0.0) for node in ray.nodes() if node["NodeID"] == here)
    # A driver's node of a cluster may have no core for Ray.
    return {"num_cpus": min(1, cores), "scheduling_strategy": NodeAffinitySchedulingStrategy(here, soft=False)}


def _news(queue: Queue) -> Iterator[tuple[int, float]]:
    """How far jobs are, by number. A queue that was lost with its node tells nothing more, and they go on, or are done again.

    Raises a NodeLostError if Ray has no node left.
    """
    try:
        while True:
            yield queue.get_nowait()
    except Empty:
        return
    except ray.exceptions.RayActorError:
        check_nodes()


def _tell(queue: Queue, number: int, part: float) -> None:
    # Nobody waits for its answer, which takes a tenth of a second where all cores work, or never comes from a lost node.
    queue.actor.put_nowait.remote((number, part))  # type: ignore[attr-defined]


def result_of(task: Any) -> Any:
    """Result of a task; errors of ours are raised without Ray's wrapping, and a DiedError if its process died."""
    try:
        return ray.get(task)
    except ray.exceptions.RayTaskError as error:
        if isinstance(error.cause, UserError | InconsistentError):
            raise error.cause from None
        raise
    except (ray.exceptions.WorkerCrashedError, ray.exceptions.OutOfMemoryError):
        raise DiedError(DIED) from None


@ray.remote(num_cpus=1)
def _in_process(number: int, job: Job, queue: Queue | None) -> object:
    end_with_parent()
    told = 0.0

    def tell(done: float) -> None:
        nonlocal told
        # Each hour would be a message.
        if queue is not None and done - told > LEAST_NEWS:
            told = done
            _tell(queue, number, done)

    return job.work(**({"on_progress": tell} if job.tells else {}))
