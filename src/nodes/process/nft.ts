/** The kernel's firewall, by the program `nft`, which needs root. */
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { promisify } from 'node:util'
import type { Clock } from '../../base/index.ts'
import { CONNECTED, ISOLATION_TABLE } from '../../swarm/index.ts'

const ENVIRONMENT = { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', LC_ALL: 'C' }
/** Far more than a busy machine needs: a program that takes longer hangs. */
const TIMEOUT_MS = 30_000
const MAX_OUTPUT_BYTES = 16 * 1024 ** 2

/** It ends with this process. */
const MONITOR = ['--pdeathsig', 'SIGKILL', '--', 'nft', 'monitor']
const MONITOR_PAUSE_MS = 10_000

export type Nft = {
  /** All of the rules, or none of them. */
  load(rules: string): Promise<void>
  /** A digest of the table of apps as the kernel has it; undefined if it has none, or none that can be read. */
  read(): Promise<string | undefined>
  /** Calls back when something in the firewall has changed, whatever it is. */
  watch(onChange: () => void): { stop(): Promise<void> }
}

export function createNft(clock: Clock): Nft {
  return {
    async load(rules) {
      await run(['-f', '-'], rules)
    },

    async read() {
      const tables = await run(['-j', 'list', 'tables', 'inet'])
      if (!tables.includes(`"${ISOLATION_TABLE}"`)) return undefined
      return digestOf(await run(['-j', 'list', 'table', 'inet', ISOLATION_TABLE]))
    },

    watch(onChange) {
      const stopping = new AbortController()
      const { signal } = stopping
      let monitor: ChildProcess | undefined

      async function watch() {
        while (!signal.aborted) {
          const started = spawn('setpriv', MONITOR, { env: ENVIRONMENT, stdio: ['ignore', 'pipe', 'ignore'] })
          monitor = started
          started.stdout?.on('data', onChange)
          await new Promise((resolve) => started.once('error', resolve).once('close', resolve))
          await clock.sleep(MONITOR_PAUSE_MS, signal)
          // Something may have changed meanwhile.
          if (!signal.aborted) onChange()
        }
      }
      const watching = watch()
      return {
        async stop() {
          stopping.abort()
          monitor?.kill('SIGKILL')
          await watching
        },
      }
    },
  }
}

async function run(args: readonly string[], input = ''): Promise<string> {
  const options = { env: ENVIRONMENT, timeout: TIMEOUT_MS, maxBuffer: MAX_OUTPUT_BYTES }
  const running = promisify(execFile)('nft', args, options)
  // A program that ends before it has read all reports its error by its exit code.
  running.child.stdin?.on('error', () => undefined)
  running.child.stdin?.end(input)
  try {
    return (await running).stdout
  } catch (error) {
    const { code, stderr, message } = error as NodeJS.ErrnoException & { stderr?: string }
    throw new Error(code === 'ENOENT' ? 'there is no program nft' : `nft fails: ${(stderr || message).trim()}`)
  }
}

type Listed = { metainfo?: unknown; set?: { name: string; elem?: unknown } }

/**
 * Of everything but the numbers that the kernel gives, and the connections that it counts. Undefined for what is no JSON: nft has
 * written such for a table that was switched off.
 */
export function digestOf(text: string): string | undefined {
  let listed: { nftables: Listed[] }
  try {
    listed = JSON.parse(text)
  } catch {
    return undefined
  }
  const kept = listed.nftables.flatMap(({ metainfo, ...object }) => (metainfo === undefined ? object : []))
  for (const { set } of kept) if (set?.name === CONNECTED) delete set.elem
  const withoutHandles = JSON.stringify(kept, (key, value) => (key === 'handle' ? undefined : value))
  return createHash('sha256').update(withoutHandles).digest('hex')
}
