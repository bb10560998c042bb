/**
 * /proc shows more than a program's own processes: facts about the machine that every user may read and no app needs. They are
 * masked where this machine has them: bubblewrap fails on a path that does not exist. What only root may read is left as it is,
 * and nothing can be written.
 */
import { lstat } from 'node:fs/promises'
import { absent } from '../../base/index.ts'

const COVERED = [
  // The boot options of the machine, and how its kernel was built: useful to an attacker.
  '/proc/cmdline',
  '/proc/config.gz',
  '/proc/kallsyms',
  '/proc/modules',
  // Keys of users, and the interrupt count of each device, which reveals when a person types.
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

/** Arguments for bubblewrap, to be put anywhere after `--proc /proc`. */
export async function procMasks(): Promise<string[]> {
  const masks: string[] = []
  for (const path of COVERED) {
    const found = await lstat(path).catch(absent)
    if (found?.isDirectory()) masks.push('--perms', '0000', '--tmpfs', path, '--remount-ro', path)
    // A device on a mount without devices: it cannot be opened at all.
    else if (found?.isFile()) masks.push('--ro-bind', '/dev/null', path)
  }
  // /proc/sys above all, and also the triggers of /proc/pressure and the memory of processes.
  return [...masks, '--remount-ro', '/proc']
}
