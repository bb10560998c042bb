/** The service's table in the kernel's firewall, and the tables of other services beside it. */
import { type ChildProcess, spawn } from 'node:child_process'
import { setTimeout as wait } from 'node:timers/promises'
import { COMMAND_ENVIRONMENT, NetworkError, run } from '../commands.ts'
import { isTable, tableOf } from '../names.ts'

type Listed = {
  table?: { family: string; name: string }
  chain?: { family: string; table: string; name: string; hook?: string; policy?: string }
  set?: { family: string; table: string; name: string; elem?: unknown[] }
}

export const loadRules = (rules: string): Promise<string> => run('nft', ['-f', '-'], rules)

/** Returns whether there was one. Two services may sweep at the same time. */
export async function removeTable(id: string): Promise<boolean> {
  if (!(await hasTable(id))) return false
  return run('nft', ['delete', 'table', 'inet', tableOf(id)]).then(
    () => true,
    async (error) => {
      if (await hasTable(id)) throw error
      return false
    },
  )
}

export const hasTable = async (id: string): Promise<boolean> => (await idsOfTables()).includes(id)

/** Of all services. */
export async function idsOfTables(): Promise<string[]> {
  const tables = (await list('tables')).flatMap(({ table }) => (table?.family === 'inet' ? table.name : []))
  return tables.filter(isTable).map((name) => name.slice(tableOf('').length))
}

/** Interfaces that any service of this machine guards. */
export async function guardedByTables(): Promise<string[]> {
  return (await list('sets')).flatMap(({ set }) =>
    set && set.name === 'guarded' && isTable(set.table) ? ((set.elem ?? []) as string[]) : [],
  )
}

/** Chains of other programs with the policy `drop`. Rules of legacy iptables are not visible to nft. */
export async function strictChains(): Promise<string[]> {
  return (await list('chains')).flatMap(({ chain }) =>
    chain && !isTable(chain.table) && /^(forward|input)$/.test(chain.hook ?? '') && chain.policy === 'drop'
      ? [`${chain.name} of ${chain.family} ${chain.table}`]
      : [],
  )
}

const MONITOR = ['--pdeathsig', 'SIGKILL', '--', 'nft', 'monitor', 'destroy', 'tables']
const PAUSE_MS = 10_000

/**
 * Calls back when a table was removed. A program that reloads the firewall often flushes everything first, and jobs would be
 * without their rules.
 */
export function watchTables(onLoss: () => void): { stop(): Promise<void> } {
  const stopping = new AbortController()
  let monitor: ChildProcess | undefined

  async function watch() {
    while (!stopping.signal.aborted) {
      monitor = spawn('setpriv', MONITOR, { env: COMMAND_ENVIRONMENT, stdio: ['ignore', 'pipe', 'ignore'] })
      monitor.stdout?.on('data', onLoss)
      await whenGone(monitor)
      if (stopping.signal.aborted) return
      await wait(PAUSE_MS, undefined, { ref: false, signal: stopping.signal }).catch(() => undefined)
      // A table may have been removed meanwhile.
      onLoss()
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
}

const whenGone = (child: ChildProcess): Promise<void> =>
  new Promise((resolve) => {
    child.once('error', () => resolve())
    child.once('close', () => resolve())
  })

async function list(what: 'tables' | 'chains' | 'sets'): Promise<Listed[]> {
  const text = await run('nft', ['-j', 'list', what])
  const { nftables } = JSON.parse(text || '{}') as { nftables?: Listed[] }
  if (!nftables) throw new NetworkError(`nft does not list ${what}`)
  return nftables
}
