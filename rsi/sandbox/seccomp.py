"""The system-call filter: kernel surface that a shell workspace never needs and that namespaces alone leave open."""

import errno
import functools
import json
import socket
import tempfile

from rsi.errors import InfrastructureError

# A deny-list, grouped by what each group would give away.
_DENIED = (
    ("keyrings", "add_key request_key keyctl"),
    ("io_uring", "io_uring_setup io_uring_enter io_uring_register"),
    ("other processes", "ptrace process_vm_readv process_vm_writev kcmp pidfd_getfd"),
    ("programs in the kernel", "bpf perf_event_open userfaultfd"),
    ("memory that no process holds", "shmget msgget semget mq_open"),
    ("mounts", "mount umount2 pivot_root chroot open_tree move_mount fsopen fsconfig fsmount fspick"),
    ("namespaces", "unshare setns"),
    ("handles past the root", "name_to_handle_at open_by_handle_at"),
    ("the machine", "init_module finit_module delete_module kexec_load reboot swapon swapoff syslog acct quotactl"),
)
_FAMILIES = (socket.AF_UNIX, socket.AF_INET, socket.AF_INET6)
_TERMINAL_INPUT = (0x5412, 0x541C)  # TIOCSTI, TIOCLINUX: typing into the terminal that started us


@functools.cache
def program() -> bytes:
    """The filter as BPF for `bwrap --seccomp`. A system call of another architecture kills the process.

    Raises InfrastructureError where libseccomp is missing or too old to know one of the calls.
    """
    try:
        import pyseccomp as s
    except (ImportError, RuntimeError) as error:
        raise InfrastructureError(f"libseccomp is missing ({error})") from None
    rules, no_family = s.SyscallFilter(s.ALLOW), s.ERRNO(errno.EAFNOSUPPORT)
    refuse = s.ERRNO(errno.EPERM)
    try:
        for _, names in _DENIED:
            for name in names.split():
                rules.add_rule(refuse, name)
        # Arguments are compared as 64 bits, so a family hidden under high bits is "greater" and refused as well.
        rules.add_rule(no_family, "socket", s.Arg(0, s.GT, max(_FAMILIES)))
        for family in set(range(max(_FAMILIES))) - set(_FAMILIES):
            rules.add_rule(no_family, "socket", s.Arg(0, s.EQ, family))
        for request in _TERMINAL_INPUT:
            rules.add_rule(refuse, "ioctl", s.Arg(1, s.MASKED_EQ, 0xFFFFFFFF, request))
        # A process may limit itself only: a CPU limit of 0 would end the supervisor.
        rules.add_rule(refuse, "prlimit64", s.Arg(0, s.NE, 0))
    except (OSError, ValueError, RuntimeError) as error:
        raise InfrastructureError(f"libseccomp is too old for the filter ({error})") from None
    with tempfile.TemporaryFile() as file:
        rules.export_bpf(file)
        file.seek(0)
        return file.read()


def profile() -> str:
    """The same filter as Docker takes it, JSON. Docker's own would let a process limit, and so end, the supervisor."""

    def refuse(names: list[str], number: int = errno.EPERM, **arg: object) -> dict[str, object]:
        args = [{"index": 0, **arg}] if arg else []
        return {"names": names, "action": "SCMP_ACT_ERRNO", "errnoRet": number, "args": args}

    rules = [refuse(names.split()) for _, names in _DENIED]
    rules += [refuse(["socket"], errno.EAFNOSUPPORT, value=max(_FAMILIES), op="SCMP_CMP_GT")]
    for family in sorted(set(range(max(_FAMILIES))) - set(_FAMILIES)):
        rules += [refuse(["socket"], errno.EAFNOSUPPORT, value=int(family), op="SCMP_CMP_EQ")]
    for request in _TERMINAL_INPUT:
        rules += [refuse(["ioctl"], index=1, value=0xFFFFFFFF, valueTwo=request, op="SCMP_CMP_MASKED_EQ")]
    rules += [refuse(["prlimit64"], value=0, op="SCMP_CMP_NE")]
    return json.dumps({"defaultAction": "SCMP_ACT_ALLOW", "syscalls": rules})
