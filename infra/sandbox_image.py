"""Makes the image of Docker sandboxes without a registry: `python -m infra.sandbox_image [--rootfs FOLDER]`.

Needs root, `docker`, and (without --rootfs, a Debian tree that is there already) `debootstrap`.
"""

import argparse
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

NAME = "rsi-sandbox:1"  # as rsi.sandbox.docker.provider.IMAGE
PACKAGES = "python3,git,sqlite3,zip,unzip,jq"


def make(rootfs: Path | None) -> str:
    """Import the image; its id. Raises CalledProcessError or FileNotFoundError where a tool fails or is missing."""
    with tempfile.TemporaryDirectory(prefix="rsi-image-") as folder:
        tree = rootfs or Path(folder, "rootfs")
        if rootfs is None:
            command = ["debootstrap", "--variant=minbase", f"--include={PACKAGES}", "bookworm", str(tree)]
            subprocess.run(command, check=True, stdout=sys.stderr)
        # A copy of bash that nobody may read: the kernel lets nothing inside trace it or open its descriptors.
        extra = Path(folder, "extra")
        extra.mkdir()
        for name in ("task", "pipes"):
            (extra / name).mkdir()
        shutil.copyfile(
            tree / "usr/bin/bash" if (tree / "usr/bin/bash").exists() else tree / "bin/bash", extra / "supervisor"
        )
        (extra / "supervisor").chmod(0o111)
        tar = ["tar", "-C", str(tree), "--exclude=./var/cache/apt/*", "--exclude=./dev/*", "-c", "."]
        tar += ["-C", str(extra), "./supervisor", "./task", "./pipes"]
        with subprocess.Popen(tar, stdout=subprocess.PIPE) as packing:
            done = subprocess.run(
                ["docker", "import", "-", NAME], stdin=packing.stdout, check=True, capture_output=True
            )
        if packing.returncode:
            raise subprocess.CalledProcessError(packing.returncode, tar)
        return done.stdout.decode().strip()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rootfs", type=Path)
    print(make(parser.parse_args().rootfs))
