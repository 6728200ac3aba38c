"""What JupyterLab may write: everything in the course's folder but the chapters.

A chapter or a solution that was only looked at would otherwise be marked as unsaved at
once, and saved with other metadata after two minutes.
"""

from __future__ import annotations

from pathlib import Path
from platform import python_version
from typing import Any

from jupyter_client.kernelspec import NATIVE_KERNEL_NAME
from jupyter_server.services.contents.largefilemanager import AsyncLargeFileManager
from tornado.web import HTTPError

CHAPTERS = Path(__file__).resolve().parent


class ReadOnlyChapters(AsyncLargeFileManager):
    """Files as JupyterLab knows them, except that `notebooks/` can only be read."""

    def is_chapter(self, path: str) -> bool:
        """Tell whether an API path leads into `notebooks/`, or is that folder."""
        file = Path(self._get_os_path(path.strip("/"))).resolve()
        return file == CHAPTERS or CHAPTERS in file.parents

    def refuse(self, *paths: str) -> None:
        """Raise error 403 if one of the paths leads into `notebooks/`."""
        for path in paths:
            if self.is_chapter(path):
                raise HTTPError(
                    403,
                    f"{path.strip('/')} is read-only: work in your copy, in work/. "
                    "To edit the course itself: make lab ARGS=--edit "
                    "(without make: python notebooks/lab.py --edit)",
                )

    async def get(self, path: str, *arguments: Any, **options: Any) -> dict[str, Any]:
        """Return a file, and a notebook with the metadata that its kernel will set.

        JupyterLab would otherwise mark it as unsaved once the kernel has started, and
        ask what to do with a chapter that was only looked at.
        """
        model = await super().get(path, *arguments, **options)
        if model["type"] == "notebook" and model["content"]:
            metadata = model["content"]["metadata"]
            if metadata.get("kernelspec", {}).get("name") == NATIVE_KERNEL_NAME:
                spec = self.parent.kernel_spec_manager.get_kernel_spec(
                    NATIVE_KERNEL_NAME
                )
                metadata["kernelspec"]["display_name"] = spec.display_name
                metadata.setdefault("language_info", {})["version"] = python_version()
        return model

    def is_writable(self, path: str) -> bool:
        return not self.is_chapter(path) and super().is_writable(path)

    async def save(self, model: dict[str, Any], path: str = "") -> dict[str, Any]:
        self.refuse(path)
        return await super().save(model, path)

    async def delete_file(self, path: str) -> None:
        self.refuse(path)
        await super().delete_file(path)

    async def rename_file(self, old_path: str, new_path: str) -> None:
        self.refuse(old_path, new_path)
        await super().rename_file(old_path, new_path)

    async def restore_checkpoint(self, checkpoint_id: str, path: str) -> None:
        self.refuse(path)
        await super().restore_checkpoint(checkpoint_id, path)
