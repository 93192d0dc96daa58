"""Pages of opgen: what a report packs for its script, and what a browser makes of a page."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from base64 import b64decode
from html import escape, unescape
from pathlib import Path
from typing import Any
from zlib import decompress

import pytest

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
BROWSER = next(filter(None, map(shutil.which, BROWSERS)), "")
needs_browser = pytest.mark.skipif(not BROWSER, reason=f"there is no {', '.join(BROWSERS)}")


def packed(page: str) -> dict[str, Any]:
    """What the script of a report reads."""
    (text,) = re.findall('<script type="application/octet-stream" id="data">(.*?)</script>', page)
    data: dict[str, Any] = json.loads(decompress(b64decode(text)))
    return data


def framed(page: str, width: int, height: int) -> str:
    """A page in a frame: a browser's window is never as narrow as a phone."""
    style = "html, body { margin: 0; overflow: hidden } iframe { border: 0; display: block }"
    frame = f'<iframe width="{width}" height="{height}" srcdoc="{escape(page)}"></iframe>'
    return f'<!doctype html><meta charset="utf-8"><style>{style}</style>{frame}'


def with_script(page: str, script: str) -> str:
    """A page that does something more when its own script has run."""
    return page.replace(
        "</body>", f"<script>setTimeout(async () => {{ {script} }}, 300);</script></body>"
    )


def browse(path: Path, *options: str) -> str:
    """What the browser writes of a page, given these options."""
    command = [BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"]
    command += [f"--user-data-dir={path.parent / 'browser'}", "--virtual-time-budget=4000"]
    done = subprocess.run(
        [*command, *options, path.as_uri()], capture_output=True, timeout=120, check=True
    )
    return done.stdout.decode("utf-8")


def answered(page: str, script: str, folder: Path, width: int = 0) -> Any:
    """What a script, which returns it, finds in a page; in a window, or in a frame of a width."""
    whole = with_script(
        page,
        f"const answer = await (async () => {{ {script} }})().catch(String);"
        "top.document.documentElement.dataset.answer = JSON.stringify(answer);",
    )
    path = folder / "page.html"
    path.write_text(framed(whole, width, 800) if width else whole, encoding="utf-8")
    (found,) = re.findall('data-answer="(.*?)"', browse(path, "--dump-dom"))
    return json.loads(unescape(found))
