import type { AuditEvent, AuditFilter, AuditLog } from '../../../audit/index.ts'
import { toRfc3339 } from '../../../base/index.ts'
import { fieldInvalid, LIMITS, names, resources, schema } from '../../../contract/index.ts'
import { toPage } from '../../../storage/index.ts'
import { listOf, pageFields, pageRequest, type Route, route } from '../../route.ts'

const query = schema.object({
  ...pageFields,
  action: schema.optional(schema.oneOf(resources.AUDIT_ACTIONS, { description: 'Only events of this action.' })),
  by: schema.optional(
    schema.string({
      maxLength: LIMITS.requesterLength,
      description:
        'Only what was done by those whose name contains this: an e-mail address, the displayName of a credential.',
    }),
  ),
  resource: schema.optional(
    schema.string({
      maxLength: LIMITS.auditResourceLength,
      description: 'Only changes of the resource of this name, and of all below it: `accounts/{account}/apps/{app}`.',
    }),
  ),
  startTime: schema.optional(schema.time('Only what was done at this time or later.')),
  endTime: schema.optional(schema.time('Only what was done before this time.')),
})

type Query = schema.Static<typeof query>

export const auditRoutes = ({ auditLog }: { auditLog: AuditLog }): Route[] => [
  route({
    method: 'GET',
    path: '/v1/accounts/{account}/auditEvents',
    tag: 'Audit log',
    summary: 'List who changed what in an account, newest first; neither reads nor values are in it',
    access: 'owner',
    query,
    reply: listOf('auditEvents', resources.auditEvent),
    problems: ['PAGE_TOKEN_INVALID'],
    async handle({ account, query: given }) {
      const filter = filterOf(account.name, given)
      const page = toPage(pageRequest(given), `${account.id} ${JSON.stringify(filter)}`)
      const { items, nextPageToken } = await auditLog.list(account.id, filter, page)
      return { auditEvents: items.map((event) => render(account.name, event)), nextPageToken }
    },
  }),
]

function filterOf(account: string, { action, by, resource, startTime, endTime }: Query): AuditFilter {
  return {
    ...(action === undefined ? {} : { action }),
    ...(by === undefined ? {} : { by }),
    ...(resource === undefined ? {} : { resource: belowAccount(account, resource) }),
    ...(startTime === undefined ? {} : { start: timeOf('startTime', startTime) }),
    ...(endTime === undefined ? {} : { end: timeOf('endTime', endTime) }),
  }
}

function belowAccount(account: string, resource: string): string {
  const prefix = `${names.accountResource(account)}/`
  if (!resource.startsWith(prefix)) throw fieldInvalid('resource', `must begin with ${prefix}`)
  return resource.slice(prefix.length)
}

function timeOf(field: string, given: string): number {
  const time = Date.parse(given)
  if (Number.isNaN(time)) throw fieldInvalid(field, 'must be a time such as 2026-01-31T12:00:00Z')
  return time
}

const render = (account: string, event: AuditEvent): resources.AuditEvent => ({
  name: names.auditEventResource(account, event.id),
  time: toRfc3339(event.time),
  action: event.action,
  resource: [names.accountResource(account), ...(event.resource === '' ? [] : [event.resource])].join('/'),
  title: event.title,
  fields: [...event.fields],
  by: event.by,
  way: event.way,
  address: event.address,
})
