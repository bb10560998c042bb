/** Certificates of an account: those that the service gets, and uploaded ones. */

import { resolve } from 'node:path'
import { ACCOUNT, type Certificate } from '../../client/index.ts'
import { LIMITS, type resources, UsageError } from '../../contract/index.ts'
import type { ClientCall } from '../command.ts'
import type { Service } from '../connection/service.ts'
import { makeSure } from '../options.ts'
import { oneLine, printList, printResult } from '../output/rows.ts'
import { endingWith } from '../project/ids.ts'
import { namesIn } from '../project/resource-names.ts'
import { readSmallFile } from '../project/small-files.ts'
import { atAccount, lastPart } from '../project/where.ts'

const MAX_FILE_BYTES = 256 * 1024
const LARGE_PAGES = { pageSize: LIMITS.maxPageSize }

const read = (service: Service, account: string): Promise<Certificate[]> =>
  Array.fromAsync(service.client.list(`GET ${ACCOUNT}/certificates`, { path: { account }, query: LARGE_PAGES }))

export async function listCertificates(call: ClientCall): Promise<undefined> {
  const { service, account } = await atAccount(call)
  const found = await read(service, account)
  printList(call, found, {
    row: (one) => ({
      names: namesOf(one),
      state: textOf(STATES[one.state] ?? one.state),
      until: one.notAfter ? textOf(one.notAfter).slice(0, 10) : '',
      source: one.source === 'UPLOADED' ? 'uploaded' : 'by the service',
      next: one.state === 'ISSUED' ? '' : (one.nextAttemptTime ?? ''),
      id: lastPart(one).slice(-8),
      why: whyOf(one),
    }),
    empty:
      "No certificates. If the operator has turned it on, each domain gets one when it leads here: 'headland domains add NAME'.",
    narrow: { shortened: ['why', 'names'], leftOut: ['next', 'source'] },
  })
  if (call.options.json) return
  for (const { failure, warning, ...one } of found) {
    if (failure) call.terminal.say(oneLine(`${namesOf(one)}: ${textOf(failure.action)}`))
    else if (warning) call.terminal.say(oneLine(`${namesOf(one)}: ${textOf(warning)}`))
  }
}

export async function uploadCertificate(call: ClientCall): Promise<undefined> {
  const [chainFile = '', keyFile = ''] = call.positionals
  const [chain, privateKey] = [await readText(call, chainFile), await readText(call, keyFile)]
  const { service, account } = await atAccount(call)
  const asked = { path: { account }, body: { chain, privateKey } }
  const made = await service.client.call(`POST ${ACCOUNT}/certificates`, asked)
  printResult(call, made, `It is used for ${listed(made.usedFor)} until ${textOf(made.notAfter).slice(0, 10)}.`)
}

export async function deleteCertificate(call: ClientCall): Promise<undefined> {
  const { service, account } = await atAccount(call)
  const one = await find(call, await read(service, account), 'UPLOADED')
  await makeSure(call, `This deletes the uploaded certificate for ${namesOf(one)}, with its key.`, 'delete')
  const path = namesIn(one.name, 'account', 'certificate')
  await service.client.call(`DELETE ${ACCOUNT}/certificates/{certificate}`, { path })
  printResult(call, {}, `Deleted the certificate for ${namesOf(one)}.`)
}

export async function retryCertificate(call: ClientCall): Promise<undefined> {
  const { service, account } = await atAccount(call)
  const one = await find(call, await read(service, account), 'ACME')
  const path = namesIn(one.name, 'account', 'certificate')
  const after = await service.client.call(`POST ${ACCOUNT}/certificates/{certificate}:retry`, { path })
  printResult(call, after, `It is tried again now: 'headland certificates' shows what comes of it.`)
}

/** By a host name, or by its id. */
async function find(
  call: ClientCall,
  all: readonly Certificate[],
  source: Certificate['source'],
): Promise<Certificate> {
  const [named = ''] = call.positionals
  const fitting = all.filter((one) => one.source === source)
  const byName = fitting.filter(({ names }) => Array.isArray(names) && names.includes(named))
  const [found, ...others] = byName.length > 0 ? byName : endingWith(fitting, named)
  if (found && others.length === 0) return found
  const known = fitting.map((one) => `${namesOf(one)} (${lastPart(one).slice(-8)})`).join(', ') || 'none'
  const what = source === 'UPLOADED' ? 'uploaded certificate' : 'certificate of the service'
  if (!found) throw new UsageError(`there is no ${what} '${named}'. There are: ${oneLine(known)}`)
  throw new UsageError(`more than one ${what} is for '${named}': name it by its id. There are: ${oneLine(known)}`)
}

async function readText({ folder }: ClientCall, file: string): Promise<string> {
  const found = await readSmallFile(resolve(folder, file), { maxBytes: MAX_FILE_BYTES, followsLinks: true })
  if (!found) throw new UsageError(`there is no file '${file}'`)
  return found.content.toString('utf8')
}

const STATES: Record<resources.IssuanceState, string> = {
  PENDING: 'being got',
  WAITING_FOR_DNS: 'waits for DNS',
  ISSUED: 'valid',
  RENEWING: 'valid, being renewed',
  FAILED: 'failed',
  EXPIRED: 'expired',
}

const whyOf = ({ failure, warning }: Certificate): string =>
  failure ? `${textOf(failure.type)}: ${textOf(failure.detail)}` : textOf(warning)

const namesOf = ({ names }: Pick<Certificate, 'names'>): string => listed(names)
const listed = (names: unknown): string => (Array.isArray(names) ? names.map(textOf).join(' ') : '') || '-'
/** Texts of a service may be missing, or something else. */
const textOf = (value: unknown): string => (typeof value === 'string' ? value : '')
