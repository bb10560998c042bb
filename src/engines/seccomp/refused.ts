/**
 * Calls that no build and no web app makes, in groups with the reason of each. EPERM where the kernel itself would say
 * so to somebody without rights; ENOSYS where programs try a call and go another way if it is not there.
 */
import type { Errno } from './bpf.ts'
import type { Call } from './numbers.ts'

export type Refused = { calls: readonly Call[]; answer: Errno }

export const REFUSED: readonly Refused[] = [
  // Another namespace: inside of one of its own, a program is root and meets every call that is meant for root.
  { calls: ['unshare', 'setns'], answer: 'EPERM' },
  // It makes namespaces too, and its flags lie behind a pointer, where no filter looks. Every libc goes back to clone.
  { calls: ['clone3'], answer: 'ENOSYS' },
  // Another view of the files. The newer family does in steps what mount does at once.
  {
    calls: [
      ...(['mount', 'umount2', 'pivot_root', 'chroot'] as const),
      ...(['fsopen', 'fsconfig', 'fsmount', 'fspick', 'move_mount'] as const),
      ...(['open_tree', 'open_tree_attr', 'mount_setattr'] as const),
    ],
    answer: 'EPERM',
  },
  // A file by its number and not by its path, which leads around every mount. Asking for the number falls back to stat.
  { calls: ['open_by_handle_at'], answer: 'EPERM' },
  { calls: ['name_to_handle_at'], answer: 'ENOSYS' },
  // Into another process: its memory, its descriptors. Debuggers have no place in a build.
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
  // Engines inside the kernel that run what a program hands them, and where most ways out of a container were found.
  { calls: ['bpf', 'perf_event_open', 'userfaultfd', 'fanotify_init'], answer: 'EPERM' },
  // It makes other calls without making them: no filter sees those. Node, Bun and the others go back to epoll.
  { calls: ['io_uring_setup', 'io_uring_enter', 'io_uring_register'], answer: 'ENOSYS' },
  // Keys are kept per user id and not per namespace.
  { calls: ['add_key', 'request_key', 'keyctl'], answer: 'EPERM' },
  // Where memory lies on a machine with several nodes, for this process and for others.
  { calls: ['mbind', 'set_mempolicy', 'set_mempolicy_home_node', 'move_pages', 'migrate_pages'], answer: 'EPERM' },
  // Memory that the kernel itself cannot look into or swap out, and pages lent to a pipe: rare, and delicate inside.
  { calls: ['memfd_secret', 'vmsplice'], answer: 'ENOSYS' },
  // Attributes of files by a path: the same that `ioctl` is kept from.
  { calls: ['file_setattr'], answer: 'ENOSYS' },
  // Segments of memory as 16-bit programs have them.
  { calls: ['modify_ldt'], answer: 'ENOSYS' },
  // Calls of the past: the kernel has some no more, and nobody looks after the others.
  { calls: ['_sysctl', 'lookup_dcookie', 'nfsservctl', 'sysfs', 'uselib', 'ustat'], answer: 'ENOSYS' },
]
