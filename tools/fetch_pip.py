"""Put one pinned pip into an environment that was made without it; standard library only."""

import hashlib
import ssl
import subprocess
import sys
import urllib.request
from pathlib import Path

URL = (
    "https://files.pythonhosted.org/packages/29/a2/"
    "d40fb2460e883eca5199c62cfc2463fd261f760556ae6290f88488c362c0/pip-25.1.1-py3-none-any.whl"
)
SHA256 = "2913a38a2abf4ea6b64ab507bd9e967f3b53dc1ede74b01b0931e1ce548751af"


def main() -> int:
    """Fetch the wheel, check its digest, and let the pip inside it install itself."""
    # A machine this bare often has no certificates either. The digest decides, not the server.
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    try:
        with urllib.request.urlopen(URL, timeout=60, context=context) as answer:
            data = answer.read()
    except OSError as error:
        print(f"cannot fetch {URL}: {error}", file=sys.stderr)
        return 1
    if hashlib.sha256(data).hexdigest() != SHA256:
        print(f"{URL} does not have the expected SHA-256", file=sys.stderr)
        return 1
    wheel = Path(sys.argv[1]) / URL.rsplit("/", 1)[1]
    wheel.write_bytes(data)
    install = [sys.executable, f"{wheel}/pip", "install", "--quiet", "--no-index", str(wheel)]
    done = subprocess.run(install, check=False)
    wheel.unlink()
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
