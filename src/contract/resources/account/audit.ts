/** The audit log of an account: who changed what, and when. */
import { LIMITS } from '../../limits.ts'
import { array, object, oneOf, type Static, string, time } from '../../schema.ts'
import { REQUESTER_KINDS } from '../people.ts'

export const AUDIT_ACTIONS = [
  'CREATE_APP',
  'CHANGE_APP',
  'DELETE_APP',
  'CREATE_ENVIRONMENT',
  'CHANGE_ENVIRONMENT',
  'DELETE_ENVIRONMENT',
  'OPEN_PREVIEW',
  'UPLOAD',
  'PUSH',
  'REBUILD',
  'CANCEL',
  'ACTIVATE',
  'PROMOTE',
  'UNPIN',
  'PURGE_CACHE',
  'CHANGE_DOMAINS',
  'UPLOAD_CERTIFICATE',
  'DELETE_CERTIFICATE',
  'RETRY_CERTIFICATE',
  'CREATE_WEBHOOKS',
  'CHANGE_WEBHOOKS',
  'REGENERATE_WEBHOOKS',
  'DELETE_WEBHOOKS',
  'CREATE_SCHEDULE',
  'CHANGE_SCHEDULE',
  'DELETE_SCHEDULE',
  'CONNECT_REPOSITORY',
  'CHANGE_REPOSITORY',
  'REGENERATE_REPOSITORY_SECRET',
  'FETCH_REPOSITORY',
  'DISCONNECT_REPOSITORY',
  'CREATE_NOTIFICATION_TARGET',
  'CHANGE_NOTIFICATION_TARGET',
  'REGENERATE_NOTIFICATION_SECRET',
  'DELETE_NOTIFICATION_TARGET',
  'CREATE_CREDENTIAL',
  'DELETE_CREDENTIAL',
  'ADD_USER',
  'CHANGE_ROLE',
  'REMOVE_USER',
  'ACCEPT_INVITATION',
  'DECLINE_INVITATION',
  'LOG_IN',
  'CHANGE_PASSWORD',
  'RESET_PASSWORD',
  'CREATE_ACCOUNT',
  'CHANGE_CMS',
] as const
export type AuditAction = (typeof AUDIT_ACTIONS)[number]

/** Requested often, by programs as well; fewer of them are kept. */
export const ROUTINE_ACTIONS = [
  'OPEN_PREVIEW',
  'UPLOAD',
  'PUSH',
  'FETCH_REPOSITORY',
  'REBUILD',
  'CANCEL',
  'PURGE_CACHE',
  'LOG_IN',
] as const satisfies readonly AuditAction[]

export const AUDIT_WAYS = ['PORTAL', 'API', 'COMMAND_LINE', 'GIT', 'OPERATOR'] as const
export type AuditWay = (typeof AUDIT_WAYS)[number]

const actor = object(
  {
    kind: oneOf([...REQUESTER_KINDS, 'OPERATOR'] as const),
    name: string({
      description:
        'As it was at that time: the e-mail address of a user, the displayName of a credential, the user of the machine who ran a command of the operator.',
    }),
  },
  { title: 'AuditActor' },
)
export type AuditActor = Static<typeof actor>

export const auditEvent = object(
  {
    name: string({ description: '`accounts/{account}/auditEvents/{auditEvent}`' }),
    time: time('When it was done.'),
    action: oneOf(AUDIT_ACTIONS),
    resource: string({ description: 'The name of what was changed. It may be gone.' }),
    title: string({
      description:
        'What people called it then: the displayName of its environment or credential, the e-mail address of a user. Empty if its name says it all.',
    }),
    fields: array(string(), {
      description: `What was set or removed in it, such as \`production\` or \`shellVariables.API_KEY\`: names, never values. At most ${LIMITS.auditFields}, and \`…\` for more.`,
    }),
    by: actor,
    way: oneOf(AUDIT_WAYS, {
      description:
        'How it was requested: in the portal, by the API, by the command line as it calls itself, by a push, or by a command of the operator on the machine of the service.',
    }),
    address: string({ description: 'The network address that it came from; empty for the operator.' }),
  },
  { title: 'AuditEvent' },
)
export type AuditEvent = Static<typeof auditEvent>
