/**
 * Whether the service may make cgroups below its own. systemd stops a whole unit when the kernel kills one of its processes
 * for want of memory, unless the unit says `Delegate=yes`: a tenant's program would take the service along.
 */
import { execFile } from 'node:child_process'
import { basename } from 'node:path/posix'
import { promisify } from 'node:util'
import { codeOf } from './files.ts'

const TIMEOUT_MS = 5000

export async function isDelegated(ownGroup: string): Promise<boolean> {
  // Only system units can be queried. Without a unit there is no systemd to stop the service.
  if (!ownGroup.endsWith('.service') || ownGroup.includes('/user@')) return true
  const question = ['show', '--property=Delegate', '--value', '--', basename(ownGroup)]
  try {
    const options = { timeout: TIMEOUT_MS, env: { PATH: '/usr/bin:/bin' } }
    const { stdout } = await promisify(execFile)('systemctl', question, options)
    return stdout.trim() === 'yes'
  } catch (error) {
    return codeOf(error) === 'ENOENT'
  }
}
