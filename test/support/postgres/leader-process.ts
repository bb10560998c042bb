/**
 * A control process as far as leadership goes, which a test can kill, freeze and cut off. While it leads, it writes its term
 * again and again, in fenced transactions. Started with the address of the database and its name.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { createLog, parseDatabaseAddress, repeat, systemClock } from '../../../src/base/index.ts'
import { createLeadership, LeadershipLost, statement, type Term } from '../../../src/storage/index.ts'
import { createElection } from '../../../src/storage/sql/postgres/election.ts'
import { openPostgres } from '../../../src/storage/sql/postgres/postgres.ts'

/** What it tells its parent. */
export type LeaderEvent =
  | { kind: 'begins' | 'ends' | 'holds' | 'refused' | 'late'; term: number }
  | { kind: 'failed'; message: string }
/** `hold`: open a fenced transaction, and write in it after `goOn`. */
export type LeaderCommand = 'hold' | 'goOn'

const [url = '', holder = ''] = process.argv.slice(2)
const address = parseDatabaseAddress(url)
const sql = await openPostgres(address)
const clock = systemClock
const tell = (event: LeaderEvent) => void process.send?.(event)
const commands = new Map<LeaderCommand, () => void>()
const told = (command: LeaderCommand) => new Promise<void>((resolve) => commands.set(command, resolve))
process.on('message', (command: LeaderCommand) => commands.get(command)?.())
process.on('disconnect', () => process.exit())

/** Numbers are given out beside the transactions, so they conflict over nothing. */
const write = (term: Term, note: string, meanwhile: () => Promise<unknown>) =>
  sql.transaction(async (tx) => {
    await term.check(tx)
    await meanwhile()
    await tx.query(statement`
      INSERT INTO writes (number, term, note) VALUES (nextval('write_numbers'), ${term.number}, ${note})`)
  })

async function writeAgain(term: Term) {
  try {
    // Some of them are in the middle of a transaction when the process is frozen.
    await write(term, 'usual', () => sleep(10))
  } catch (error) {
    if (error instanceof LeadershipLost) tell({ kind: 'refused', term: term.number })
  }
}

async function writeLate(term: Term) {
  await told('hold')
  const goOn = told('goOn')
  try {
    await write(term, 'late', () => {
      tell({ kind: 'holds', term: term.number })
      return goOn
    })
    tell({ kind: 'late', term: term.number })
  } catch (error) {
    if (error instanceof LeadershipLost) tell({ kind: 'refused', term: term.number })
    else tell({ kind: 'failed', message: String(error) })
  }
}

const leadership = createLeadership({ clock, log: createLog('silent'), election: createElection(address), holder })
leadership.lead((term) => {
  tell({ kind: 'begins', term: term.number })
  writeLate(term)
  const writing = repeat(clock, 20, () => writeAgain(term), { isImmediate: true })
  return {
    stop() {
      tell({ kind: 'ends', term: term.number })
      return writing.stop()
    },
  }
})
leadership.start()
