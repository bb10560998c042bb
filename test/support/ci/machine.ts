/** A machine of a CI: a folder, a home, and a place for what npm installs globally. Its commands run in Bash. */
import { spawn } from 'node:child_process'
import { mkdir } from 'node:fs/promises'
import { homedir } from 'node:os'
import { delimiter, join } from 'node:path'
import { type Scope, temporaryFolder } from '../folder.ts'
import { TIMEOUT_MS } from '../until.ts'

export type Ended = { code: number | null; printed: string }

export type Machine = {
  place: string
  /** What every command finds. */
  environment: Record<string, string>
  bash(script: string, cwd: string, more?: Record<string, string>): Promise<Ended>
}

export async function startMachine(t: Scope, path: string): Promise<Machine> {
  const place = await temporaryFolder(t)
  const prefix = join(place, 'npm')
  await mkdir(join(place, 'home'))
  const environment = {
    ...ofMachine(),
    HOME: join(place, 'home'),
    LANG: 'C.UTF-8',
    PATH: [join(prefix, 'bin'), path].join(delimiter),
    npm_config_prefix: prefix,
    // Where this machine gets packages from, and those that it has.
    npm_config_userconfig: process.env.npm_config_userconfig ?? join(homedir(), '.npmrc'),
    npm_config_cache: process.env.npm_config_cache ?? join(homedir(), '.npm'),
    ...{ GIT_AUTHOR_NAME: 'Ann', GIT_AUTHOR_EMAIL: 'ann@example.com' },
    ...{ GIT_COMMITTER_NAME: 'Ann', GIT_COMMITTER_EMAIL: 'ann@example.com' },
  }

  function bash(script: string, cwd: string, more: Record<string, string> = {}): Promise<Ended> {
    const flags = ['--noprofile', '--norc', '-eo', 'pipefail', '-c', script]
    // In a group of its own, so that nothing is left of a command that does not end.
    const child = spawn('bash', flags, { cwd, env: { ...environment, ...more }, detached: true })
    const timer = setTimeout(() => child.pid && process.kill(-child.pid, 'SIGKILL'), TIMEOUT_MS)
    let printed = ''
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (printed += chunk))
    return new Promise((resolve, reject) => {
      child.once('error', reject)
      child.once('close', (code) => {
        clearTimeout(timer)
        resolve({ code, printed })
      })
    })
  }

  return { place, environment, bash }
}

/** How this machine reaches the registry of packages. */
function ofMachine(): Record<string, string> {
  const wanted = /^(?:npm_config_\w+|NODE_EXTRA_CA_CERTS|SSL_CERT_\w+|(?:https?|no)_proxy)$/i
  return Object.fromEntries(
    Object.entries(process.env).filter(
      (entry): entry is [string, string] => wanted.test(entry[0]) && entry[1] !== undefined,
    ),
  )
}
