/** The commands about certificates of the operator, and what the doctor finds about them. */
import { readFile } from 'node:fs/promises'
import { printableLine, systemClock } from '../base/index.ts'
import { createOperatorCertificates, type OperatorCertificates } from '../certificates/index.ts'
import { type resources, table, UsageError } from '../contract/index.ts'
import { openVault } from '../storage/index.ts'
import type { CommandCall, DataFolder, Finding } from './command.ts'
import { isWithoutTables, openStored } from './database.ts'

type Certificate = resources.Certificate

async function opened({ services, folder }: CommandCall): Promise<OperatorCertificates> {
  const { sql, clock, newId } = await services()
  return createOperatorCertificates({ sql, clock, newId, vault: await openVault(sql, folder.masterKey) })
}

export async function list(call: CommandCall): Promise<number> {
  const found = await (await opened(call)).list()
  if (call.options.json) call.print(JSON.stringify(found))
  else if (found.length === 0) call.print('None yet. The setting acmeEmail turns them on; or upload one.')
  else call.print(table(found.map(toRow)))
  return 0
}

const toRow = (one: Certificate) => ({
  id: idOf(one),
  names: one.names.join(' '),
  state: one.state,
  source: one.source,
  until: one.notAfter?.slice(0, 10) ?? '',
  next: one.nextAttemptTime ?? '',
  why: printableLine(one.failure ? `${one.failure.type}: ${one.failure.detail}` : (one.warning ?? '')),
})

export async function upload(call: CommandCall): Promise<number> {
  const [chainFile = '', keyFile = ''] = call.positionals
  const [chain, key] = await Promise.all([chainFile, keyFile].map(readText))
  const made = await (await opened(call)).upload(chain ?? '', key ?? '')
  call.print(call.options.json ? JSON.stringify(made) : `Uploaded. It is for ${made.names.join(', ')}.`)
  return 0
}

export async function remove(call: CommandCall): Promise<number> {
  const certificates = await opened(call)
  const { names, ...one } = find(call, await certificates.list())
  await certificates.remove(idOf(one))
  call.print(`Deleted the certificate for ${names.join(', ')}.`)
  return 0
}

export async function retry(call: CommandCall): Promise<number> {
  const certificates = await opened(call)
  const one = find(call, await certificates.list())
  if (one.source !== 'ACME' || one.state === 'ISSUED') throw new UsageError('there is nothing to try again')
  await certificates.retry(idOf(one))
  call.print(`A service that runs tries ${one.names.join(', ')} again within ten seconds.`)
  return 0
}

const idOf = ({ name }: { name: string }): string => name.slice(name.lastIndexOf('/') + 1)

function find({ positionals: [named = ''] }: CommandCall, all: readonly Certificate[]): Certificate {
  const [found, ...others] = all.filter((one) => idOf(one) === named || one.names.includes(named))
  if (found && others.length === 0) return found
  const known = all.map((one) => `${one.names.join(' ')} (${idOf(one)})`).join(', ') || 'none'
  throw new UsageError(`${found ? 'more than one certificate' : 'no certificate'} is '${named}'. There are: ${known}`)
}

const readText = (file: string): Promise<string> =>
  readFile(file, 'utf8').catch((error) => {
    throw new UsageError(`${file} cannot be read: ${error.message}`)
  })

/** Reads the database of a data folder as it is, and changes nothing. */
export async function certificateFinding(folder: DataFolder, isOn: boolean): Promise<Finding> {
  const part = 'certificates'
  const found = await stored(folder).catch((error: Error) => error)
  if (found instanceof Error) {
    const why = `the database cannot be read: ${found.message}`.replaceAll(/\s+/g, ' ').slice(0, 500)
    return { part, state: 'weaker', found: why, advice: 'Check the data folder first.' }
  }
  const bad = found.filter(({ failure, warning }) => failure || warning)
  const words = (all: readonly Certificate[]) =>
    all
      .map((one) => `${one.names.join(' ')}: ${one.state}${one.notAfter ? ` until ${one.notAfter.slice(0, 10)}` : ''}`)
      .join('; ')
  if (bad.length > 0) {
    const why = bad.map(({ names, failure, warning }) => `${names.join(' ')}: ${failure?.detail ?? warning}`).join('; ')
    const advice = bad.map(({ failure, warning }) => failure?.action ?? warning).join(' ')
    return { part, state: 'weaker', found: why.replaceAll(/\s+/g, ' ').slice(0, 500), advice }
  }
  if (found.length > 0) return { part, state: 'ok', found: words(found), advice: '' }
  const off = 'none are got by the service: the setting acmeEmail turns it on'
  return { part, state: 'ok', found: isOn ? 'none of the operator yet' : off, advice: '' }
}

/** None where there is no database yet, or one of an earlier version. */
async function stored(folder: DataFolder): Promise<Certificate[]> {
  const sql = await openStored(folder)
  if (!sql) return []
  try {
    return await createOperatorCertificates({ sql, clock: systemClock, newId: unused, vault: SEALED }).list()
  } catch (error) {
    if (isWithoutTables(error)) return []
    throw error
  } finally {
    await sql.close()
  }
}

const unused = (): never => {
  throw new Error('the doctor changes nothing')
}
/** No key is opened or sealed. */
const SEALED = { keyId: '', seal: unused, open: unused, derive: unused }
