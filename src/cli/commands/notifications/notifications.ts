/** Notification targets of an account, and what was sent to them. */
import {
  ACCOUNT,
  type IssuedNotificationTarget,
  type NewNotificationTarget,
  type NotificationDelivery,
  type NotificationTarget,
} from '../../../client/index.ts'
import { LIMITS, optionText, Refused, type resources, UsageError } from '../../../contract/index.ts'
import type { ClientCall } from '../../command.ts'
import type { Service } from '../../connection/service.ts'
import { limitOf, makeSure } from '../../options.ts'
import { oneLine, printList, printResult, when } from '../../output/rows.ts'
import { endingWith } from '../../project/ids.ts'
import { namesIn } from '../../project/resource-names.ts'
import { atAccount, lastPart } from '../../project/where.ts'
import { secretFromStdin } from '../variables/variable-pairs.ts'
import { NOTICES, TARGETS, wordOf } from './kinds.ts'

type Target = NotificationTarget
type Delivery = NotificationDelivery

export async function listTargets(call: ClientCall): Promise<undefined> {
  const { service, account } = await atAccount(call)
  printList(call, await read(service, account), {
    row: (one) => ({
      name: textOf(one.displayName),
      kind: wordOf(TARGETS, textOf(one.kind)),
      to: placeOf(one),
      about: listOf(one.noticeKinds)
        .map((kind) => wordOf(NOTICES, kind))
        .join(' '),
      apps: listOf(one.apps).join(' '),
      state: stateOf(one),
      id: lastPart(one).slice(-8),
    }),
    empty:
      "None is told yet. 'headland notifications create email team@example.com' sends an e-mail when a build fails.",
    narrow: { shortened: ['about', 'to', 'name'], leftOut: ['apps'] },
  })
}

export async function createTarget(call: ClientCall): Promise<undefined> {
  const [word = '', given] = call.positionals
  const kind = TARGETS[word as keyof typeof TARGETS]
  if (!kind) throw new UsageError(`the kind must be one of ${Object.keys(TARGETS).join(', ')}: not '${oneLine(word)}'`)
  const { options } = call
  const address = given ?? (await readAddress(call, kind))
  const about = textsOf(options.about).map((each) => NOTICES[each as keyof typeof NOTICES])
  const apps = textsOf(options['only-app'])
  const body: NewNotificationTarget = {
    displayName: optionText(options, 'name') ?? word,
    kind,
    ...(kind === 'EMAIL' ? { addresses: address.split(',').map((each) => each.trim()) } : { url: address }),
    ...(about.length > 0 ? { noticeKinds: about } : {}),
    ...(apps.length > 0 ? { apps } : {}),
  }
  const { service, account } = await atAccount(call)
  const made = await service.client.call(`POST ${ACCOUNT}/notificationTargets`, { path: { account }, body })
  const id = lastPart(made).slice(-8)
  printIssued(call, made, `Its id is ${id}. 'headland notifications test ${id}' sends a test.`)
}

export async function regenerateSecret(call: ClientCall): Promise<undefined> {
  const { service, one } = await atTarget(call)
  const name = oneLine(textOf(one.displayName))
  await makeSure(
    call,
    `For a day, calls to '${name}' are signed with the key in use too, then with the new one.`,
    'regenerate',
  )
  const renewed = await service.client.call(`POST ${TARGET}:regenerateSecret`, { path: targetIn(one) })
  printIssued(call, renewed, `'${name}' has a new key. Give it to the server within a day.`)
}

export async function testTarget(call: ClientCall): Promise<undefined> {
  const { service, one } = await atTarget(call)
  const sent = await service.client.call(`POST ${TARGET}:test`, { path: targetIn(one) })
  const hasArrived = textOf(sent.state) === 'DELIVERED'
  if (hasArrived || call.options.json) printResult(call, sent, 'It arrived.')
  if (!hasArrived) throw new Refused(`it did not arrive: ${oneLine(whyOf(sent) || textOf(sent.state))}`)
}

export async function listDeliveries(call: ClientCall): Promise<undefined> {
  const { service, one } = await atTarget(call)
  const limit = limitOf(call.options)
  const found = await service.client.first(`GET ${TARGET}/deliveries`, { path: targetIn(one), limit })
  printList(call, found.items, {
    row: (delivery) => ({
      time: when(call.terminal, delivery.createTime),
      about: wordOf(NOTICES, textOf(delivery.kind)),
      state: textOf(delivery.state).toLowerCase(),
      attempts: String(Number(delivery.attempts) || 0),
      title: textOf(delivery.title),
      why: whyOf(delivery),
    }),
    empty: 'Nothing was sent yet.',
    narrow: { shortened: ['why', 'title'], leftOut: ['attempts'] },
  })
}

export const disableTarget = (call: ClientCall) => setEnabled(call, false)
export const enableTarget = (call: ClientCall) => setEnabled(call, true)

export async function deleteTarget(call: ClientCall): Promise<undefined> {
  const { service, one } = await atTarget(call)
  const name = oneLine(textOf(one.displayName))
  await makeSure(call, `This deletes the target '${name}' (${placeOf(one)}), with the log of its deliveries.`, 'delete')
  await service.client.call(`DELETE ${TARGET}`, { path: targetIn(one) })
  printResult(call, {}, `Deleted '${name}'.`)
}

function printIssued(call: ClientCall, issued: IssuedNotificationTarget, summary: string) {
  printResult(call, issued, summary)
  if (issued.secret && !call.options.json)
    call.terminal.say(`The key of its signatures, shown this once: ${oneLine(textOf(issued.secret))}`)
}

async function setEnabled(call: ClientCall, enabled: boolean): Promise<undefined> {
  const { service, one } = await atTarget(call)
  const body = { enabled }
  const after = await service.client.call(`PATCH ${TARGET}`, { path: targetIn(one), body })
  printResult(call, after, enabled ? 'It is told again.' : 'It is told nothing until it is enabled again.')
}

const TARGET = `${ACCOUNT}/notificationTargets/{notificationTarget}` as const
const targetIn = ({ name }: Target) => namesIn(name, 'account', 'notificationTarget')

const read = (service: Service, account: string): Promise<Target[]> =>
  Array.fromAsync(
    service.client.list(`GET ${ACCOUNT}/notificationTargets`, {
      path: { account },
      query: { pageSize: LIMITS.maxPageSize },
    }),
  )

async function atTarget(call: ClientCall): Promise<{ service: Service; one: Target }> {
  const { service, account } = await atAccount(call)
  const [named = ''] = call.positionals
  const all = await read(service, account)
  const [one, ...others] = endingWith(all, named.slice(named.lastIndexOf('/') + 1))
  if (one && others.length === 0) return { service, one }
  const known = all.map((each) => `${lastPart(each).slice(-8)} (${textOf(each.displayName)})`).join(', ') || 'none'
  throw new UsageError(`there is no notification target '${oneLine(named)}'. There are: ${oneLine(known)}`)
}

/** The URL of a chat is a secret: it need not be in the list of processes or in the history of a shell. */
async function readAddress({ terminal }: ClientCall, kind: resources.TargetKind): Promise<string> {
  const question = kind === 'EMAIL' ? 'E-mail address: ' : 'URL: '
  const address = terminal.isInteractive
    ? await (kind === 'EMAIL' ? terminal.ask(question) : terminal.ask(question, { isHidden: true }))
    : await secretFromStdin()
  if (!address) throw new UsageError('no address was given: name it, send it at stdin, or run this at a terminal')
  return address
}

const placeOf = ({ host, addresses }: Target): string => textOf(host) || listOf(addresses).join(' ')

/** The other side may have answered without words. */
function whyOf({ responseStatus, error, state }: Delivery): string {
  const status = Number(responseStatus)
  if (state === 'DELIVERED' || !(status > 0)) return textOf(error)
  return `it answered ${status}${textOf(error) ? `: ${textOf(error)}` : ''}`
}

const stateOf = ({ enabled, disabledReason }: Target): string =>
  enabled === true ? 'on' : disabledReason === 'GONE' ? 'off: it is gone' : 'off'

const textsOf = (given: unknown): string[] => (Array.isArray(given) ? given.map(String) : [])
/** Texts of a service may be missing, or something else. */
const textOf = (value: unknown): string => (typeof value === 'string' ? value : '')
const listOf = (value: unknown): string[] => (Array.isArray(value) ? value.map(textOf) : [])
