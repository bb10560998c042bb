/**
 * The registry, by the npm of this machine: so its address, its proxy, its certificates and its credentials are those that
 * the operator has set for npm, and npm checks that what arrives is what the registry has published.
 */
import { spawn } from 'node:child_process'
import { mkdir, rm } from 'node:fs/promises'
import { delimiter, dirname } from 'node:path'

/** A version of a package, and its peer dependencies. */
export type Published = { version: string; peers: Readonly<Record<string, unknown>> }

export interface Registry {
  /** All published versions of a package. */
  versions(name: string, signal: AbortSignal): Promise<string[]>
  /** All published versions of a package that are released, with the packages that each must be installed beside. */
  published(name: string, signal: AbortSignal): Promise<Published[]>
  /** Installs a package with what it needs into `<folder>/node_modules`. No script of any package is run. */
  fetch(name: string, version: string, folder: string, signal: AbortSignal): Promise<void>
}

/** What npm said, and the code it gave: `E404`, `ENOTFOUND`, … */
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
  /** The service's own environment, of which npm gets what is meant for it. */
  environment: Readonly<Record<string, string | undefined>>
  /** Room for what npm needs while it works. */
  scratch(): string
}

export function npmRegistry({ program, environment, scratch }: Parts): Registry {
  const env = npmEnvironment(environment)

  /** In a folder of its own: nothing is read from a project around, and no cache grows in somebody's home. */
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
      // Where a version has one field alone, npm leaves out what the fields are called.
      const fields = ['name', 'version', 'peerDependencies']
      const said = await run(['view', `${name}@>=0.0.0`, ...fields], scratch(), signal)
      const found: unknown[] = [JSON.parse(said || '[]')].flat()
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
  // A build is waiting, and something else may do: npm's own patience is more than a minute.
  '--fetch-retries=2',
  '--fetch-retry-mintimeout=500',
  '--fetch-retry-maxtimeout=3000',
]

/** Each says what the operator may have set otherwise for work of another kind. */
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
  // A package that wants to lie beside a framework finds it beside the app.
  '--legacy-peer-deps',
  // A tool is run by the Node that it needs, which need not be the one that npm is running on now.
  '--no-engine-strict',
]

const FOR_NPM =
  /^(PATH|HOME|TMPDIR|LANG|npm_config_.*|(https?_|no_|all_)proxy|NODE_(OPTIONS|EXTRA_CA_CERTS|USE_SYSTEM_CA|USE_ENV_PROXY|TLS_REJECT_UNAUTHORIZED)|SSL_CERT_(FILE|DIR)|XDG_CONFIG_HOME)$/i

/** The rest is not for it: the service's own secrets may be in there. */
export function npmEnvironment(environment: Parts['environment']): Record<string, string> {
  const chosen = Object.entries(environment).filter(
    (entry): entry is [string, string] => entry[1] !== undefined && FOR_NPM.test(entry[0]),
  )
  const { PATH = '', ...rest } = Object.fromEntries(chosen)
  // npm is a script for `node`: the machine's own, which knows the machine's settings; ours where there is no other.
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
  // A group of its own, which can be ended as a whole.
  const child = spawn(program, args, { cwd, env, detached: true, stdio: ['ignore', 'pipe', 'pipe'] })
  const { promise, resolve, reject } = Promise.withResolvers<number | null>()
  child.once('error', reject)
  child.once('close', resolve)
  const [out, err] = [collect(child.stdout), collect(child.stderr)]
  const kill = () => {
    if (child.pid !== undefined && child.exitCode === null && child.signalCode === null) endGroup(child.pid)
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

function endGroup(leader: number) {
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

/** With `--json` npm writes its error as JSON, and for people beside it. */
function errorOf(status: number | null, out: string, err: string): NpmError {
  const code = /"code": *"([A-Z][A-Z0-9_]*)"/.exec(out)?.[1] ?? /^npm error code (\S+)$/m.exec(err)?.[1]
  return new NpmError(code ?? `exit code ${status}`, (err || out).trim().slice(-2000) || `npm ended with ${status}.`)
}
