/**
 * The registry, accessed by the npm of this machine: its address, proxy, certificates and credentials are those that the
 * operator has configured for npm, and npm checks the integrity of packages.
 */
import { spawn } from 'node:child_process'
import { mkdir, rm } from 'node:fs/promises'
import { delimiter, dirname } from 'node:path'

/** A version of a package, and its peer dependencies. */
export type Published = { version: string; peers: Readonly<Record<string, unknown>> }

export interface Registry {
  /** All published versions of a package. */
  versions(name: string, signal: AbortSignal): Promise<string[]>
  /** All released versions of a package, with their peer dependencies. */
  published(name: string, signal: AbortSignal): Promise<Published[]>
  /** Installs a package with its dependencies into `<folder>/node_modules`. No install script is run. */
  fetch(name: string, version: string, folder: string, signal: AbortSignal): Promise<void>
}

/** The message of npm and its code: `E404`, `ENOTFOUND`, … */
export class NpmError extends Error {
  readonly code: string
  constructor(code: string, message: string) {
    super(message)
    this.name = 'NpmError'
    this.code = code
  }
}

type Parts = {
  /** The `npm` that a shell would find. */
  program: string
  /** The service's own environment, of which npm gets only the variables for npm. */
  environment: Readonly<Record<string, string | undefined>>
  /** A new folder for the temporary files of npm. */
  scratch(): string
}

export function npmRegistry({ program, environment, scratch }: Parts): Registry {
  const env = npmEnvironment(environment)

  /** In a separate folder, so that npm reads no project above it and leaves no cache in a home folder. */
  async function run(args: readonly string[], prefix: string, signal: AbortSignal): Promise<string> {
    const cache = scratch()
    const all = [...args, ...FLAGS, '--prefix', prefix, '--cache', cache]
    try {
      return await runToText(program, all, { cwd: dirname(cache), env }, signal)
    } finally {
      await rm(cache, { recursive: true, force: true })
    }
  }

  return {
    async versions(name, signal) {
      const prefix = scratch()
      const found: unknown = JSON.parse((await run(['view', name, 'versions'], prefix, signal)) || '[]')
      return (Array.isArray(found) ? found : [found]).filter((version) => typeof version === 'string')
    },

    async published(name, signal) {
      // Where a version has only one of the fields, npm omits the names of the fields; `name` and `version` always exist.
      const fields = ['name', 'version', 'peerDependencies']
      const output = await run(['view', `${name}@>=0.0.0`, ...fields], scratch(), signal)
      const found: unknown[] = [JSON.parse(output || '[]')].flat()
      return found
        .map(Object)
        .flatMap(({ version, peerDependencies }) =>
          typeof version === 'string' ? [{ version, peers: Object(peerDependencies) }] : [],
        )
    },

    async fetch(name, version, folder, signal) {
      await mkdir(folder, { recursive: true, mode: 0o755 })
      await run(['install', `${name}@${version}`, ...INSTALL_FLAGS], folder, signal)
    },
  }
}

const FLAGS = [
  '--json',
  '--loglevel=error',
  '--global=false',
  // A build is waiting, and another version may be available: npm's own timeouts are more than a minute.
  '--fetch-retries=2',
  '--fetch-retry-mintimeout=500',
  '--fetch-retry-maxtimeout=3000',
]

/** Each overrides a setting that the operator may have changed for other purposes. */
const INSTALL_FLAGS = [
  '--ignore-scripts',
  '--no-save',
  '--no-package-lock',
  '--no-audit',
  '--no-fund',
  '--no-update-notifier',
  '--no-dry-run',
  '--include=optional',
  '--bin-links',
  // Peer dependencies such as the framework are provided by the app.
  '--legacy-peer-deps',
  // A tool may run on another Node than npm does now.
  '--no-engine-strict',
]

const FOR_NPM =
  /^(PATH|HOME|TMPDIR|LANG|npm_config_.*|(https?_|no_|all_)proxy|NODE_(OPTIONS|EXTRA_CA_CERTS|USE_SYSTEM_CA|USE_ENV_PROXY|TLS_REJECT_UNAUTHORIZED)|SSL_CERT_(FILE|DIR)|XDG_CONFIG_HOME)$/i

/** Without other variables, among which may be secrets of the service. */
export function npmEnvironment(environment: Parts['environment']): Record<string, string> {
  const chosen = Object.entries(environment).filter(
    (entry): entry is [string, string] => entry[1] !== undefined && FOR_NPM.test(entry[0]),
  )
  const { PATH = '', ...rest } = Object.fromEntries(chosen)
  // npm is a script for `node`: the machine's own, which has the machine's settings, or else the service's.
  return { ...rest, PATH: [PATH, dirname(process.execPath)].filter(Boolean).join(delimiter) }
}

const MAX_TEXT_BYTES = 16 * 1024 * 1024

async function runToText(
  program: string,
  args: readonly string[],
  { cwd, env }: { cwd: string; env: Record<string, string> },
  signal: AbortSignal,
): Promise<string> {
  signal.throwIfAborted()
  // In its own process group, which can be killed as a whole.
  const child = spawn(program, args, { cwd, env, detached: true, stdio: ['ignore', 'pipe', 'pipe'] })
  const { promise, resolve, reject } = Promise.withResolvers<number | null>()
  child.once('error', reject)
  child.once('close', resolve)
  const [out, err] = [collect(child.stdout), collect(child.stderr)]
  const kill = () => {
    if (child.pid !== undefined && child.exitCode === null && child.signalCode === null) killGroup(child.pid)
  }
  signal.addEventListener('abort', kill)
  try {
    const code = await promise
    signal.throwIfAborted()
    if (code !== 0) throw errorOf(code, out(), err())
    return out()
  } finally {
    signal.removeEventListener('abort', kill)
  }
}

function killGroup(leader: number) {
  try {
    process.kill(-leader, 'SIGKILL')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}

function collect(stream: NodeJS.ReadableStream): () => string {
  const chunks: Buffer[] = []
  let bytes = 0
  stream.on('data', (chunk: Buffer) => {
    bytes += chunk.length
    if (bytes <= MAX_TEXT_BYTES) chunks.push(chunk)
  })
  return () => Buffer.concat(chunks).toString('utf8')
}

/** With `--json` npm writes its error as JSON to stdout, and as text to stderr. */
function errorOf(status: number | null, out: string, err: string): NpmError {
  const code = /"code": *"([A-Z][A-Z0-9_]*)"/.exec(out)?.[1] ?? /^npm error code (\S+)$/m.exec(err)?.[1]
  return new NpmError(code ?? `exit code ${status}`, (err || out).trim().slice(-2000) || `npm ended with ${status}.`)
}
