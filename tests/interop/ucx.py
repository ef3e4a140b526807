"""What the UCX that is installed was built with."""
import functools
import re
import shutil
import subprocess


@functools.cache
def lacks():
    """Why it does not look at RDMA devices at all; empty: it does."""
    if not shutil.which("ucx_info"):
        return "is not installed"
    built = subprocess.run(["ucx_info", "-b"], capture_output=True, text=True, check=False).stdout
    modules = re.search(r'^#define uct_MODULES\s+"(.*)"', built, re.M)
    if modules and "ib" not in modules[1].split(":"):
        return f"was built without its transports for RDMA (modules {modules[1]})"
    return ""
