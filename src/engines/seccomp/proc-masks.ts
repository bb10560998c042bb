/**
 * /proc shows more than a program's own processes: facts about the machine that everybody may read and no app asks for.
 * Those that this machine has are covered: bubblewrap fails on a place that does not exist. What only root may read is
 * left as it is, and nothing can be written.
 */
import { lstat } from 'node:fs/promises'

const COVERED = [
  // The start options of the machine, and how its kernel was made: what an attack would like to know.
  '/proc/cmdline',
  '/proc/config.gz',
  '/proc/kallsyms',
  '/proc/modules',
  // Keys of users, and how often each device spoke: enough to follow somebody's typing.
  '/proc/key-users',
  '/proc/keys',
  '/proc/interrupts',
  // Devices and file systems of the machine.
  '/proc/acpi',
  '/proc/asound',
  '/proc/bus',
  '/proc/fs',
  '/proc/scsi',
]

/** Arguments for bubblewrap, to stand anywhere after `--proc /proc`. */
export async function procMasks(): Promise<string[]> {
  const masks: string[] = []
  for (const path of COVERED) {
    const found = await lstat(path).catch((error) => {
      if (error.code !== 'ENOENT') throw error
    })
    if (found?.isDirectory()) masks.push('--perms', '0000', '--tmpfs', path, '--remount-ro', path)
    // A device on a mount without devices: it cannot be opened at all.
    else if (found?.isFile()) masks.push('--ro-bind', '/dev/null', path)
  }
  // /proc/sys above all, and also the triggers of /proc/pressure and the memory of processes.
  return [...masks, '--remount-ro', '/proc']
}
