"""The processor that a trial learns on, and the memory that it may take there."""

from __future__ import annotations

from dataclasses import dataclass

from tuning.memory.gpus import loads


@dataclass(frozen=True)
class Device:
    """The processor that a trial learns on."""

    name: str  # torch's: `cpu` or `cuda`
    card: int | None = None  # NVML's index of the card; None without one
    context_bytes: int = 0  # GPU memory of this process that torch's allocator does not count, as it was expected

    @classmethod
    def take_granted(cls, vram_limit: int, context_bytes: int) -> Device:
        """Take the device that Ray granted to this process; see `take_card`. A trial on the CPU is granted no GPU memory."""
        import ray
        import torch

        ids = ray.get_gpu_ids()
        if not vram_limit or not ids or not torch.cuda.is_available():
            return CPU
        return cls.take_card(int(ids[0]), vram_limit, context_bytes)

    @classmethod
    def take_card(cls, card: int, vram_limit: int, context_bytes: int) -> Device:
        """Take a card, and limit this process to some bytes of its memory.

        Torch limits its own allocator. CUDA's context lies outside it, so its expected bytes are subtracted from the limit, see
        `tuning.memory.baseline`: it grows while the process loads kernels, and some drivers do not tell what a process takes.
        Raises a MemoryError if the context alone takes more. `card` is NVML's index; torch sees no other one.
        """
        import torch

        available = vram_limit - context_bytes
        if available <= 0:
            raise MemoryError(f"CUDA's context takes {context_bytes:,} B, more than the {vram_limit:,} B that were granted")
        total = torch.cuda.get_device_properties(0).total_memory
        # Set for each trial: an earlier one of this process may have had another limit.
        torch.cuda.set_per_process_memory_fraction(min(1.0, available / total), 0)
        return cls("cuda", card, context_bytes)

    @property
    def is_gpu(self) -> bool:
        """Whether it is a card."""
        return self.card is not None

    def reset_peak(self) -> None:
        """Begin a new peak: an earlier trial of this process may have had a larger one."""
        if self.is_gpu:
            import torch

            torch.cuda.empty_cache()
            torch.cuda.reset_peak_memory_stats()

    def memory(self) -> tuple[int, int, int]:
        """GPU memory in bytes, each 0 on the CPU.

        What torch has allocated; the most that it has since `reset_peak`; the most of this process since then, which is torch's
        reserve and the context.
        """
        if self.card is None:
            return 0, 0, 0
        import torch

        taken, cuda = loads()[self.card].own_bytes, torch.cuda
        # Where the driver does not tell it, as it was expected.
        context = self.context_bytes if taken is None else max(0, taken - int(cuda.memory_reserved()))
        return int(cuda.memory_allocated()), int(cuda.max_memory_allocated()), int(cuda.max_memory_reserved()) + context


CPU = Device("cpu")
