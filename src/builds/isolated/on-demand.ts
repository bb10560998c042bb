/**
 * Planning and diagnosis read untrusted text of tenants, so both run in an isolated process. Modules for package managers are
 * loaded by the first build: loading them would be a tenth of the work of every start.
 */
import { createTurns } from '../../base/index.ts'
import { Problem } from '../../contract/index.ts'
import type { Diagnosis, PhaseFailure } from '../diagnose/index.ts'
import type { Store } from '../plan/package-managers/index.ts'
import type { PackageManager, Plan } from '../plan/plan.ts'
import type { Source } from '../plan/project/project.ts'
import { LimitExceeded, runIsolated } from './isolated.ts'

/** One app of an account is planned at a time, so that no account uses all processors. */
const inTurn = createTurns()

const FILES_AT_A_TIME = 2000

/** Makes the plan for an app from its files. */
export function planSource(source: Source, rootDirectory: string, accountId: string): Promise<Plan> {
  const { files, read, head } = source
  const some = async (from: number) => files.slice(from, from + FILES_AT_A_TIME)
  return inTurn(accountId, () =>
    runIsolated('plan', { rootDirectory }, { answers: { files: some, read, head } }).catch((error) => {
      if (!(error instanceof LimitExceeded)) throw error
      throw new Problem(
        'PLAN_FAILED',
        `Reading the app's configuration takes too much ${error.what}. Look for a generated package.json or configuration file, and make it smaller.`,
        { metadata: { what: error.what } },
      )
    }),
  )
}

const MAX_LINES = 5000
const MAX_CHARACTERS = { line: 4000, log: 4_000_000 }

/** Finds out from its last log lines why a phase failed. */
export async function diagnosePhase(failure: PhaseFailure): Promise<Diagnosis> {
  const lines = lastOf(failure.lines)
  try {
    return await runIsolated('diagnose', { ...failure, lines })
  } catch (error) {
    if (!(error instanceof LimitExceeded)) throw error
    const { diagnose } = await import('../diagnose/index.ts')
    return diagnose({ ...failure, lines: [] })
  }
}

function lastOf(lines: PhaseFailure['lines']): PhaseFailure['lines'] {
  let characters = 0
  const short = lines
    .slice(-MAX_LINES)
    .map(({ number, text }) => ({ number, text: text.slice(0, MAX_CHARACTERS.line) }))
  const first = short.findLastIndex(({ text }) => {
    characters += text.length
    return characters > MAX_CHARACTERS.log
  })
  return short.slice(first + 1)
}

export async function packageStoreOf(manager: PackageManager | null): Promise<Store> {
  const { storeOf } = await import('../plan/package-managers/index.ts')
  return storeOf(manager?.name ?? 'npm', manager?.version ?? '*')
}
