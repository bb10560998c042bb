/**
 * Calls that no build and no web app makes, in groups with the reason of each. EPERM where the kernel itself would give it to
 * an unprivileged caller; ENOSYS where programs try a call and fall back to another one.
 */
import type { Errno } from './bpf.ts'
import type { SystemCallName } from './numbers.ts'

export type Refused = { calls: readonly SystemCallName[]; answer: Errno }

export const REFUSED: readonly Refused[] = [
  // New namespaces: inside of a user namespace of its own, a program is root and reaches kernel code that is meant for root.
  { calls: ['unshare', 'setns'], answer: 'EPERM' },
  // It makes namespaces too, and its flags are behind a pointer, which no filter can read. Every libc falls back to clone.
  { calls: ['clone3'], answer: 'ENOSYS' },
  // Mounts. The newer family of calls does in steps what mount does at once.
  {
    calls: [
      ...(['mount', 'umount2', 'pivot_root', 'chroot'] as const),
      ...(['fsopen', 'fsconfig', 'fsmount', 'fspick', 'move_mount'] as const),
      ...(['open_tree', 'open_tree_attr', 'mount_setattr'] as const),
    ],
    answer: 'EPERM',
  },
  // Opening a file by its handle and not by its path bypasses every mount. Programs that ask for a handle fall back to stat.
  { calls: ['open_by_handle_at'], answer: 'EPERM' },
  { calls: ['name_to_handle_at'], answer: 'ENOSYS' },
  // Access to another process: its memory, its descriptors. No build needs a debugger.
  {
    calls: ['ptrace', 'process_vm_readv', 'process_vm_writev', 'process_madvise', 'pidfd_getfd', 'kcmp'],
    answer: 'EPERM',
  },
  // The kernel itself, and the machine.
  {
    calls: [
      ...(['kexec_load', 'kexec_file_load', 'init_module', 'finit_module', 'delete_module'] as const),
      ...(['reboot', 'swapon', 'swapoff', 'acct', 'quotactl', 'quotactl_fd', 'vhangup', 'syslog'] as const),
      ...(['sethostname', 'setdomainname', 'iopl', 'ioperm'] as const),
      ...(['settimeofday', 'clock_settime', 'adjtimex', 'clock_adjtime'] as const),
    ],
    answer: 'EPERM',
  },
  // Kernel subsystems that run what a program gives them, in which most container escapes were found.
  { calls: ['bpf', 'perf_event_open', 'userfaultfd', 'fanotify_init'], answer: 'EPERM' },
  // It performs other calls without a system call, so that no filter sees them. Node, Bun and the others fall back to epoll.
  { calls: ['io_uring_setup', 'io_uring_enter', 'io_uring_register'], answer: 'ENOSYS' },
  // Keys are kept per user id and not per namespace.
  { calls: ['add_key', 'request_key', 'keyctl'], answer: 'EPERM' },
  // NUMA placement of memory, of this process and of others.
  { calls: ['mbind', 'set_mempolicy', 'set_mempolicy_home_node', 'move_pages', 'migrate_pages'], answer: 'EPERM' },
  // Memory that the kernel itself cannot read or swap out, and pages lent to a pipe: rarely used, and delicate kernel code.
  { calls: ['memfd_secret', 'vmsplice'], answer: 'ENOSYS' },
  // Attributes of files by a path: the same that are refused for `ioctl`.
  { calls: ['file_setattr'], answer: 'ENOSYS' },
  // Memory segments for 16-bit programs.
  { calls: ['modify_ldt'], answer: 'ENOSYS' },
  // Obsolete calls: some are removed from the kernel, and the others are unmaintained.
  { calls: ['_sysctl', 'lookup_dcookie', 'nfsservctl', 'sysfs', 'uselib', 'ustat'], answer: 'ENOSYS' },
]
