"""A stand-in for the Hugging Face hub: as much of its interface as downloads and uploads of small files need."""

import base64
import hashlib
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

REVISION = "0123456789abcdef0123456789abcdef01234567"
Models = dict[str, dict[str, bytes]]


class Handler(BaseHTTPRequestHandler):
    """Answers requests from a table of models, which uploads change."""

    models: Models

    @property
    def address(self) -> str:
        """The address of this server."""
        return f"http://127.0.0.1:{self.server.server_address[1]}"

    def log_message(self, *_: object) -> None:
        """Say nothing."""

    def do_HEAD(self) -> None:
        self._answer_file(body=False)

    def do_GET(self) -> None:
        words = self.path.partition("?")[0].strip("/").split("/")
        if words[:2] == ["api", "models"]:
            self._answer_description("/".join(words[2:4]), listing="tree" in words)
        else:
            self._answer_file(body=True)

    def do_POST(self) -> None:
        text = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        words = self.path.partition("?")[0].strip("/").split("/")
        name = "/".join(words[2:4])
        if words[:3] == ["api", "repos", "create"]:
            asked = json.loads(text)
            name = "/".join(filter(None, (asked.get("organization"), asked["name"])))
            self.models.setdefault(name, {})
            self._answer_json({"url": f"{self.address}/{name}", "name": name, "id": "1"})
        elif "validate-yaml" in words:
            self._answer_json({"errors": [], "warnings": []})
        elif "preupload" in words:
            files = json.loads(text)["files"]
            self._answer_json(
                {"files": [{"path": one["path"], "uploadMode": "regular", "shouldIgnore": False} for one in files]}
            )
        elif "commit" in words:
            for line in text.decode().splitlines():
                one = json.loads(line)
                if one["key"] == "file":
                    self.models[name][one["value"]["path"]] = base64.b64decode(one["value"]["content"])
            address = f"{self.address}/{name}/commit/{REVISION}"
            self._answer_json({"success": True, "commitOid": REVISION, "commitUrl": address, "hookOutput": ""})
        else:
            self._answer_json({}, status=404)

    def _answer_description(self, name: str, *, listing: bool) -> None:
        if name not in self.models:
            self._answer_json({"error": "not found"}, status=404, headers={"X-Error-Code": "RepoNotFound"})
            return
        files = [{"rfilename": file, "path": file, "type": "file", "size": 1, "oid": "0"} for file in self.models[name]]
        described = {"id": name, "modelId": name, "sha": REVISION, "siblings": files, "private": False, "tags": []}
        self._answer_json(files if listing else described)

    def _answer_file(self, *, body: bool) -> None:
        owner, model, _, _, *rest = [*self.path.partition("?")[0].strip("/").split("/"), "", "", "", ""]
        name, file = f"{owner}/{model}", "/".join(filter(None, rest))
        content = self.models.get(name, {}).get(file)
        if content is None:
            code = "EntryNotFound" if name in self.models else "RepoNotFound"
            self._answer_json({"error": "none"}, status=404, headers={"X-Error-Code": code, "X-Repo-Commit": REVISION})
            return
        self.send_response(200)
        headers = {"ETag": f'"{hashlib.sha256(content).hexdigest()}"', "X-Repo-Commit": REVISION}
        for key, value in {**headers, "Content-Length": str(len(content))}.items():
            self.send_header(key, value)
        self.end_headers()
        if body:
            self.wfile.write(content)

    def _answer_json(self, value: Any, *, status: int = 200, headers: dict[str, str] | None = None) -> None:
        text = json.dumps(value).encode()
        self.send_response(status)
        for key, one in {
            **(headers or {}),
            "Content-Type": "application/json",
            "Content-Length": str(len(text)),
        }.items():
            self.send_header(key, one)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(text)


@contextmanager
def serving(models: Models) -> Iterator[str]:
    """Serve models on this machine, and yield the address."""
    kind = type("OwnHandler", (Handler,), {"models": models})
    server = ThreadingHTTPServer(("127.0.0.1", 0), kind)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
