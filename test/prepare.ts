/** What the tests need of the machine: installed when we are root on Debian, and else named in one line. */
import { execFileSync } from 'node:child_process'
import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'

const isRoot = process.getuid?.() === 0

const NEEDED = [
  { command: 'curl', debianPackage: 'curl' },
  { command: 'zip', debianPackage: 'zip' },
  { command: 'bwrap', debianPackage: 'bubblewrap' },
  // Only root can use them, and the tests of networks are skipped for others.
  ...(isRoot
    ? [
        { command: 'ip', debianPackage: 'iproute2' },
        { command: 'nft', debianPackage: 'nftables' },
      ]
    : []),
]

const missing = NEEDED.filter(({ command }) => !isOnPath(command)).map(({ debianPackage }) => debianPackage)

if (missing.length > 0) {
  if (isRoot && isOnPath('apt-get')) {
    const options = { stdio: 'inherit', env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' } } as const
    const wait = ['-o', 'DPkg::Lock::Timeout=600']
    execFileSync('apt-get', [...wait, 'update'], options)
    execFileSync('apt-get', [...wait, 'install', '-y', '--no-install-recommends', ...missing], options)
  } else {
    process.stderr.write(
      `The tests need these Debian packages: ${missing.join(' ')}. Install them, as root: apt-get install ${missing.join(' ')}\n`,
    )
    process.exit(1)
  }
}

function isOnPath(command: string): boolean {
  return [...(process.env.PATH ?? '').split(delimiter), '/usr/sbin', '/sbin'].some((folder) => {
    try {
      accessSync(join(folder, command), constants.X_OK)
      return true
    } catch {
      return false
    }
  })
}
