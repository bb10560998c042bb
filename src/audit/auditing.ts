/**
 * Writes the events. A request or a command says what it is about to do (`auditing`), and the database writes the event in the
 * transaction that changes something of the account: both are committed, or neither is. So what is refused leaves no event, nor
 * what changes nothing, and a request that fails after its change was committed leaves one.
 *
 * A transaction changes something of an account if it notifies the account's followers of it. A request that needs several
 * transactions has its event in the first of these.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import { type Clock, isId, type NewId } from '../base/index.ts'
import type { resources } from '../contract/index.ts'
import type { ChangeAbout, Sql, Transaction } from '../storage/index.ts'
import { type AuditEvent, insertEvents } from './events.ts'

/** What a request or a command is about to do. */
export type Audited = {
  /** Undefined if only the change tells: then it is in the log of every account that it changes. */
  accountId?: string
  action: resources.AuditAction
  /**
   * The name of what is changed, below its account, or of the list that something is added to. Undefined if only the change
   * tells.
   */
  resource?: string
  /** Names of the fields that are given. */
  fields?: readonly string[]
  by: resources.AuditActor
  way: resources.AuditWay
  address?: string
}

type Pending = {
  audited: Audited
  /** Of its events, by account. */
  ids: Map<string, string>
  /** Accounts whose event is committed. */
  written: Set<string>
  /** The request is answered: what goes on in its context is the work of the service. */
  isOver: boolean
}

type Change = { name: string; about: ChangeAbout | undefined }

const current = new AsyncLocalStorage<Pending>()

/** Does the work of a request or a command. */
export async function auditing<T>(audited: Audited, work: () => Promise<T>): Promise<T> {
  const pending: Pending = { audited, ids: new Map(), written: new Set(), isOver: false }
  try {
    return await current.run(pending, work)
  } finally {
    pending.isOver = true
  }
}

/** The database, with the events of what is changed. */
export function withAudit(sql: Sql, { clock, newId }: { clock: Clock; newId: NewId }): Sql {
  function eventsOf(pending: Pending, changes: ReadonlyMap<string, Change[]>): AuditEvent[] {
    const { audited, ids, written } = pending
    const isMeant = (accountId: string) =>
      !written.has(accountId) && (audited.accountId === undefined || audited.accountId === accountId)
    return [...changes]
      .filter(([accountId]) => isMeant(accountId))
      .map(([accountId, ofAccount]) => {
        const id = ids.get(accountId) ?? newId()
        ids.set(accountId, id)
        const { action, by, way, address = '' } = audited
        return { id, accountId, action, ...describe(audited, ofAccount), by, way, address, time: clock.now() }
      })
  }

  return {
    ...sql,
    async transaction(work, options) {
      const pending = current.getStore()
      if (!pending || pending.isOver) return sql.transaction(work, options)
      let events: AuditEvent[] = []
      const result = await sql.transaction(async (tx) => {
        const changes = new Map<string, Change[]>()
        const done = await work(noting(tx, changes))
        events = eventsOf(pending, changes)
        if (events.length > 0) await insertEvents(tx, events)
        for (const { accountId } of events) tx.notify(accountId, 'auditEvents')
        return done
      }, options)
      for (const { accountId } of events) pending.written.add(accountId)
      return result
    },
  }
}

const noting = (tx: Transaction, changes: Map<string, Change[]>): Transaction => ({
  ...tx,
  notify(accountId, name, about) {
    // Hints between processes belong to no account.
    if (isId(accountId)) changes.set(accountId, [...(changes.get(accountId) ?? []), { name, about }])
    tx.notify(accountId, name, about)
  },
})

function describe(audited: Audited, changes: readonly Change[]): Pick<AuditEvent, 'resource' | 'title' | 'fields'> {
  const resource = resourceOf(audited, changes)
  const isOfIt = ({ name }: Change) =>
    name === resource || (isInEnvironment(resource) && environmentOf(name) === environmentOf(resource))
  const title = changes.filter(isOfIt).find(({ about }) => about?.title)?.about?.title ?? ''
  const named = changes.filter(isOfIt).flatMap(({ about }) => about?.fields ?? [])
  return { resource, title, fields: [...new Set((audited.fields ?? []).flatMap((field) => withParts(field, named)))] }
}

/** The parts of the field that were changed, if the change names them. */
function withParts(field: string, named: readonly string[]): readonly string[] {
  const parts = named.filter((name) => name.startsWith(`${field}.`))
  return parts.length > 0 ? parts : [field]
}

/** The path of a request has no id of what is made, and may have an app's name in other letters. */
function resourceOf({ resource }: Audited, changes: readonly Change[]): string {
  const names = changes.map(({ name }) => name)
  if (resource === undefined) return names[0] ?? ''
  const [list = '', entry = '', ...below] = resource.split('/')
  const known = names.map((name) => name.split('/')).find((parts) => isSame(parts, [list, entry]))
  const path = [list, ...(entry === '' ? [] : [known?.[1] ?? entry]), ...below].join('/')
  const added = isList(path) ? names.find((name) => name.startsWith(`${path}/`)) : undefined
  return added?.split('/', path.split('/').length + 1).join('/') ?? path
}

const isSame = ([list = '', entry = '']: string[], [otherList, otherEntry = '']: string[]): boolean =>
  list === otherList && entry.toLowerCase() === otherEntry.toLowerCase()

/** Names alternate: a list, and an entry of it. */
const isList = (resource: string): boolean => resource.split('/').length % 2 === 1

const ENVIRONMENT_PARTS = 4
const isInEnvironment = (name: string): boolean => name.split('/').length >= ENVIRONMENT_PARTS
const environmentOf = (name: string): string => name.split('/').slice(0, ENVIRONMENT_PARTS).join('/')
