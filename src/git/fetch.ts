/**
 * Fetches one commit of a repository elsewhere, in the sandbox, with the network that builds have. Only https and ssh are spoken;
 * no helper, hook or configuration of anyone but the service is used. The token and the key are files and variables of the job
 * alone: they are in no argument, and what git writes is cleaned of them before it is shown.
 */
import { chown, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { getCACertificates } from 'node:tls'
import type { Secret } from '../base/index.ts'
import { Problem, type Reason } from '../contract/index.ts'
import type { NetworkNamespace } from '../engines/index.ts'
import { oneLine } from './archive.ts'
import type { GitJob, GitJobs, GitOutput } from './jobs.ts'
import { type GitFolder, INSIDE, type WorkFolders } from './work-folders.ts'

export type FetchFrom = {
  /** Checked before: https or ssh, without credentials. */
  url: string
  branch: string
  /** For https; empty for one that providers take with any token. */
  username: string
  token?: Secret
  /** For ssh, in the format of OpenSSH. */
  privateKey?: Secret
  /** Keys of the server for ssh. Empty: the key that it has now is learned. */
  knownHosts: string
}

export type FetchSettings = {
  /** Nothing is fetched if the branch has this commit. */
  known: string | null
  signal: AbortSignal
  timeoutMs: number
}

/** `folder` is absent if the commit is the known one. `knownHosts`: lines that were learned. */
export type Fetched = { commit: string; folder?: GitFolder; knownHosts?: string }

type Parts = {
  jobs(): GitJobs
  folders: WorkFolders
  /** Undefined where this machine has none: then jobs have that of the machine. */
  openNetwork: ((label: string) => Promise<NetworkNamespace>) | undefined
}

/** Answers git's two questions, for a user name and for a password. */
const ASKPASS = `#!/bin/sh
case "$1" in
Username*) printf '%s\\n' "$FETCH_USER" ;;
*) printf '%s\\n' "$FETCH_TOKEN" ;;
esac
`
/** Without an entry for its user, ssh does not start. */
const passwd = (uid: number) => `git:x:${uid}:${uid}::/tmp:/bin/sh\n`

const SSH = [
  'ssh -F none',
  `-i ${INSIDE.folder}/key`,
  ...[
    'IdentitiesOnly=yes',
    'IdentityAgent=none',
    'BatchMode=yes',
    'PreferredAuthentications=publickey',
    'ForwardAgent=no',
    'ForwardX11=no',
    'ControlMaster=no',
    'CheckHostIP=no',
    'HashKnownHosts=no',
    'UpdateHostKeys=no',
    'GlobalKnownHostsFile=/dev/null',
    `UserKnownHostsFile=${INSIDE.folder}/known_hosts`,
    'ConnectTimeout=15',
    'ServerAliveInterval=15',
    'LogLevel=ERROR',
  ].map((option) => `-o ${option}`),
].join(' ')

const COMMIT = /^([0-9a-f]{40}|[0-9a-f]{64})\b/
const MAX_OUTPUT = 64 * 1024
const MAX_HOSTS = 8000

export function createFetch({ jobs, folders, openNetwork }: Parts) {
  /** The caller removes the folder. Throws Problems of repositories. */
  return async function fetch(from: FetchFrom, { known, signal, timeoutMs }: FetchSettings): Promise<Fetched> {
    const folder = await folders.make()
    let network: NetworkNamespace | undefined
    try {
      const isSsh = from.url.startsWith('ssh:')
      await prepare(folder, from)
      network = await openNetwork?.('git')
      // A token that was meant for one host is not sent to another.
      const redirects = from.token === undefined ? 'initial' : 'false'
      const job: Omit<GitJob, 'script'> = {
        folder,
        args: [isSsh ? 'ssh' : 'https', redirects, from.url, from.branch],
        environment: environmentOf(from),
        mounts: [{ from: join(folder.path, 'passwd'), to: '/etc/passwd', isWritable: false }],
        network,
        isOnline: true,
        signal,
        timeoutMs,
      }
      const learned = async (): Promise<{ knownHosts?: string }> =>
        isSsh && from.knownHosts === '' ? learnedHosts(jobs(), folder, signal) : {}
      const look = await runIn(jobs(), { ...job, script: 'look' })
      const hosts = await learned()
      if (look.exit.code !== 0) throw problemOf(look.errors, from, hosts)
      const [, tip] = COMMIT.exec(look.output) ?? []
      if (tip === undefined) throw new Problem('REPOSITORY_BRANCH_NOT_FOUND', undefined, { metadata: hosts })
      if (tip === known) {
        await folder.remove()
        return { commit: tip, ...hosts }
      }
      const fetched = await runIn(jobs(), { ...job, script: 'fetch' })
      if (fetched.exit.code !== 0) throw problemOf(fetched.errors, from, hosts)
      const [, commit] = COMMIT.exec(fetched.output) ?? []
      if (commit === undefined) throw new Problem('REPOSITORY_FETCH_FAILED')
      return { commit, folder, ...hosts }
    } catch (error) {
      await folder.remove()
      throw error
    } finally {
      await network?.close()
    }
  }
}

/** What git and ssh read beside their arguments. Nothing runs in the folder yet. */
async function prepare({ path, user }: GitFolder, { privateKey, knownHosts }: FetchFrom) {
  const uid = user?.uid ?? process.getuid?.() ?? 0
  const write = async (name: string, text: string, mode: number) => {
    await writeFile(join(path, name), text, { mode })
    if (user) await chown(join(path, name), user.uid, user.gid)
  }
  await write('askpass', ASKPASS, 0o700)
  await write('passwd', passwd(uid), 0o644)
  await write('known_hosts', knownHosts, 0o600)
  if (privateKey) await write('key', privateKey.reveal(), 0o600)
  const authorities = await trustedAuthorities()
  if (authorities !== undefined) await write('authorities.pem', authorities, 0o644)
}

/** Where the operator trusts further authorities (NODE_EXTRA_CA_CERTS): all of them. Otherwise git uses those of the machine. */
async function trustedAuthorities(): Promise<string | undefined> {
  const extra = getCACertificates('extra')
  if (extra.length === 0) return undefined
  const own = await readFile('/etc/ssl/certs/ca-certificates.crt', 'utf8').catch(() => '')
  return [own, ...extra].join('\n')
}

function environmentOf({ url, username, token, knownHosts }: FetchFrom): Record<string, string> {
  const strict = knownHosts === '' ? 'accept-new' : 'yes'
  return {
    GIT_SSH_COMMAND: `${SSH} -o StrictHostKeyChecking=${strict}`,
    GIT_SSH_VARIANT: 'ssh',
    ...(getCACertificates('extra').length > 0 ? { GIT_SSL_CAINFO: `${INSIDE.folder}/authorities.pem` } : {}),
    ...(token === undefined
      ? {}
      : { FETCH_USER: username || usualUser(url), FETCH_TOKEN: url.startsWith('https:') ? token.reveal() : '' }),
  }
}

/** Bitbucket wants this one with its tokens; others take any. */
const usualUser = (url: string): string => (/^https:\/\/bitbucket\.org\//.test(url) ? 'x-token-auth' : 'oauth2')

async function runIn(jobs: GitJobs, job: GitJob): Promise<GitOutput & { output: string }> {
  let output = ''
  try {
    const done = await jobs.run(job, (chunk) => {
      if (output.length < MAX_OUTPUT) output += chunk.toString('latin1')
    })
    return { ...done, output }
  } catch (error) {
    // A limit of disk, memory or time: the repository is larger than what may be fetched.
    if (error instanceof Problem && error.reason === 'GIT_FAILED')
      throw new Problem('REPOSITORY_TOO_LARGE', `The commit could not be fetched: ${error.message}`)
    throw error
  }
}

async function learnedHosts(jobs: GitJobs, folder: GitFolder, signal: AbortSignal): Promise<{ knownHosts?: string }> {
  const hosts = await jobs.read({ folder, script: 'hosts', isReading: true, signal }, MAX_HOSTS).catch(() => undefined)
  const text = hosts?.toString('latin1') ?? ''
  return /^(?:\S+ \S+ \S+\n)+$/.test(text) ? { knownHosts: text } : {}
}

/** What git and ssh write, in the order in which it is looked for. */
const CAUSES: [pattern: RegExp, reason: Reason][] = [
  [/cannot run ssh|ssh: not found/i, 'GIT_UNAVAILABLE'],
  [
    /REMOTE HOST IDENTIFICATION HAS CHANGED|Host key verification failed|No \S+ host key is known/i,
    'REPOSITORY_HOST_KEY_CHANGED',
  ],
  [
    /Could not resolve|Connection (?:refused|timed out|reset|closed by)|Failed to connect|No route to host/i,
    'REPOSITORY_UNREACHABLE',
  ],
  [/Network is unreachable|Operation timed out|Empty reply|early EOF|Operation too slow/i, 'REPOSITORY_UNREACHABLE'],
  [/certificate|SSL|gnutls|TLS/i, 'REPOSITORY_UNREACHABLE'],
  [/couldn't find remote ref/i, 'REPOSITORY_BRANCH_NOT_FOUND'],
  [
    /Authentication failed|could not read (?:Username|Password)|Permission denied|access denied/i,
    'REPOSITORY_AUTHENTICATION_FAILED',
  ],
  [
    /not found|returned error: 40[134]|does not appear to be a git repo|Invalid username|unauthorized/i,
    'REPOSITORY_AUTHENTICATION_FAILED',
  ],
  [/redirect/i, 'REPOSITORY_UNREACHABLE'],
  [/returned error: (?:429|5\d\d)|RPC failed/i, 'REPOSITORY_UNREACHABLE'],
  [/No space left|file too large|exceeds maximum allowed size/i, 'REPOSITORY_TOO_LARGE'],
]

const MAX_MESSAGE = 300

/** With the last that git wrote, cleaned of secrets. */
export function problemOf(errors: string, from: FetchFrom, metadata: Record<string, string> = {}): Problem {
  const [, reason = 'REPOSITORY_FETCH_FAILED'] = CAUSES.find(([pattern]) => pattern.test(errors)) ?? []
  const lines = cleaned(errors, from)
    .split('\n')
    .filter((line) => /\w/.test(line) && !/^(?:hint|@+$|remote: *$)/.test(line))
  const last = oneLine(lines.slice(-3).join(' '), MAX_MESSAGE)
  return new Problem(
    reason,
    `${MEANINGS[reason] ?? 'git could not fetch the branch.'} It wrote: ${last || 'nothing'}.`,
    { metadata },
  )
}

const MEANINGS: Partial<Record<Reason, string>> = {
  GIT_UNAVAILABLE: 'The client of OpenSSH is not installed: apt install openssh-client.',
  REPOSITORY_AUTHENTICATION_FAILED: 'The repository is not there, or may not be read with what is stored.',
  REPOSITORY_HOST_KEY_CHANGED: 'The server shows another key than the one that is known.',
  REPOSITORY_UNREACHABLE: 'The server of the repository does not answer as it should.',
  REPOSITORY_BRANCH_NOT_FOUND: 'The repository has no such branch.',
  REPOSITORY_TOO_LARGE: 'The commit is larger than what may be fetched.',
}

/** A server may send back what it was given, as it is or encoded. */
function cleaned(text: string, { username, token, url }: FetchFrom): string {
  const secret = token?.reveal()
  if (!secret) return text
  const basic = Buffer.from(`${username || usualUser(url)}:${secret}`).toString('base64')
  return [secret, encodeURIComponent(secret), basic, Buffer.from(secret).toString('base64')].reduce(
    (rest, one) => rest.replaceAll(one, '[secret]'),
    text,
  )
}
