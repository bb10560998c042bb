/**
 * The order of events: a service, several accounts that use it, faults all the while; then the load stops, and the checks report
 * every broken promise as a violation.
 */
import { writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Scope } from '../test/support/folder.ts'
import { runEditor, runVisitor, runWatcher } from './callers.ts'
import { check } from './check.ts'
import { runFaults } from './faults.ts'
import { inspect } from './inspect.ts'
import { createJournal, linesAbout, type Violation } from './journal.ts'
import { openMachine } from './machine/service.ts'
import { runOwner } from './owner.ts'
import { planEditor, planFaults, planOwner, planRude, planVisitor } from './plan.ts'
import { runRude } from './rude.ts'
import type { System } from './system.ts'
import { createTenant } from './tenant.ts'
import { startWorld, type World } from './world.ts'

export type TortureOptions = {
  seconds: number
  seed: number
  accounts: number
  /** What is tortured, if it is not a service on one machine. */
  open?: OpenSystem
  /** On a busy machine little happens in a given time: it goes on until at least so much has happened. */
  atLeast?: { faults: number; acknowledged: number; pages: number }
}

export type OpenSystem = (
  t: Scope,
  world: World,
  given: { accounts: readonly string[]; seed: number },
) => Promise<System>

export type Outcome = {
  violations: (Violation & { lines: string[] })[]
  actions: Record<string, number>
  faults: Record<string, number>
  restarts: number
  calls: Record<string, number>
  /** Why calls were refused; calls that could not be sent, because the service was down, have no reason. */
  refusals: Record<string, number>
  visits: Record<string, number>
  /** Where the data and the log of the service are, if there were violations. */
  kept: { data: string; log: string } | undefined
}

const VISITORS_OF_ACCOUNT = 2
const NOTHING = { faults: 0, acknowledged: 0, pages: 0 }
const LOOK_MS = 500
/** Where even ten times the time is not enough, something else is wrong. */
const LONGEST = 10

const onOneMachine: OpenSystem = (t, world, { accounts }) => openMachine(t, world, accounts)

export async function torture(t: Scope, options: TortureOptions): Promise<Outcome> {
  const { seconds, seed, accounts: count, open = onOneMachine, atLeast = NOTHING } = options
  const names = Array.from({ length: count }, (_, index) => `tenant-${index}`)
  const world = await startWorld(t)
  const system = await open(t, world, { accounts: names, seed })
  const journal = createJournal()
  const tenants = names.map((name) => createTenant(name, system, journal))
  const [actions, faults] = [createCounts(), createCounts()]
  const over = whenOver(seconds, () => {
    const { calls, visits } = journal.records
    const acknowledged = calls.filter(({ outcome }) => outcome === 'acknowledged').length
    const pages = visits.filter(({ status }) => status === 200).length
    const kinds = Object.keys(faults.all()).length
    return kinds >= atLeast.faults && acknowledged >= atLeast.acknowledged && pages >= atLeast.pages
  })
  const ending = new AbortController()

  const guarding = system.guard(ending.signal)
  const watching = tenants.map((tenant) => runWatcher({ system, tenant, journal }, ending.signal))
  await Promise.all([
    ...tenants.map((tenant, index) =>
      runOwner({ system, tenant, world, next: planOwner(seed, index), count: actions.count }, over),
    ),
    ...tenants.map((tenant, index) =>
      runEditor({ system, tenant, next: planEditor(seed, index), count: actions.count }, over),
    ),
    ...Array.from({ length: VISITORS_OF_ACCOUNT * count }, (_, index) =>
      runVisitor({ system, tenants, journal, next: planVisitor(seed, index, count) }, over),
    ),
    runRude({ system, tenants, next: planRude(seed, count), count: actions.count }, over),
    runFaults({ system, journal, next: planFaults(seed, system.plan), count: faults.count }, over),
  ])
  await system.settle()
  const found = await inspect(system, journal, names)
  ending.abort()
  await Promise.all([guarding, ...watching])
  const quiet = await system.leftWhenQuiet(found)
  const stopped = await system.stop()

  const violations: Violation[] = [
    ...system.violations,
    ...check(journal.records, found),
    ...quiet.map((what) => ({ what: `left over when the service is idle: ${what}`, about: 'the machine' })),
    ...stopped,
  ]
  const { calls, visits } = journal.records
  const kept = violations.length > 0 ? await keep(system, seed) : undefined
  if (!kept) await system.forget()
  return {
    violations: violations.map((violation) => ({ ...violation, lines: linesAbout(journal.records, violation) })),
    actions: actions.all(),
    faults: faults.all(),
    restarts: system.restarts(),
    calls: countBy(calls.map(({ outcome }) => outcome)),
    refusals: countBy(calls.flatMap(({ outcome, reason }) => (outcome === 'refused' ? reason || 'not sent' : []))),
    visits: countBy(visits.map(({ status }) => String(status))),
    kept,
  }
}

/** Aborted after so long, or as soon as it is enough after that. */
function whenOver(seconds: number, isEnough: () => boolean): AbortSignal {
  const over = new AbortController()
  const last = Date.now() + LONGEST * seconds * 1000
  const look = () => {
    if (isEnough() || Date.now() > last) over.abort()
    else setTimeout(look, LOOK_MS)
  }
  setTimeout(look, seconds * 1000)
  return over.signal
}

async function keep(system: System, seed: number) {
  const log = join(tmpdir(), `headland-torture-${seed}.log`)
  await writeFile(log, system.log())
  return { data: await system.keep(seed), log }
}

function createCounts() {
  const counts = new Map<string, number>()
  return {
    count: (kind: string) => void counts.set(kind, (counts.get(kind) ?? 0) + 1),
    all: () => Object.fromEntries([...counts].sort(([a], [b]) => a.localeCompare(b))),
  }
}

function countBy(keys: readonly string[]): Record<string, number> {
  const counts = createCounts()
  for (const key of keys) counts.count(key)
  return counts.all()
}
