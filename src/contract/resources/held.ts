/** A build with a suspicious output: when it is one, what the API shows of it, and when it is tried again. */
import { array, boolean, integer, object, oneOf, optional, type Static, string, time } from '../schema.ts'

export const SUSPICIOUS_OUTPUT_ACTIONS = ['HOLD', 'WARN'] as const

const MAX_PAGES = 1_000_000

/** When the output of a build is suspicious, and what is done then. */
export const suspiciousOutput = object(
  {
    action: oneOf(SUSPICIOUS_OUTPUT_ACTIONS, {
      description:
        'HOLD: a rebuild with a suspicious output is held. WARN: it goes live with a warning, as an upload does.',
    }),
    maxLostPagesPercent: integer({
      minimum: 0,
      maximum: 100,
      description:
        'An output is suspicious if it lost more than this percentage of the pages of the live deployment. 100: never.',
    }),
    minLostPages: integer({
      minimum: 1,
      maximum: MAX_PAGES,
      description: 'Fewer lost pages than this are never suspicious.',
    }),
  },
  {
    title: 'SuspiciousOutput',
    description:
      'What to do with a rebuild that could not reach a server that the variables name, or that lost pages of the live deployment.',
  },
)
export type SuspiciousOutput = Static<typeof suspiciousOutput>

export const DEFAULT_SUSPICIOUS_OUTPUT: SuspiciousOutput = {
  action: 'HOLD',
  maxLostPagesPercent: 20,
  minLostPages: 10,
}

export const contactOutcome = oneOf(
  ['CONNECTED', 'CONNECTION_REFUSED', 'NO_ANSWER', 'BLOCKED', 'NAME_NOT_RESOLVED', 'ASKED'],
  {
    description:
      'How the calls went, the best of them. CONNECTED: a connection was accepted; what came over it is not known. CONNECTION_REFUSED: the server refused all. NO_ANSWER: nothing came back. BLOCKED: the network let nothing through. NAME_NOT_RESOLVED: the name has no address. ASKED: it has one, and no connection is known to be its own. Absent in records of earlier versions.',
  },
)

const unreachable = object({
  host: string(),
  port: optional(integer({ description: 'The port that was called; absent where the name has no address.' })),
  outcome: contactOutcome,
})

const lostPages = object(
  {
    before: integer({ description: 'Pages of the live deployment.' }),
    now: integer({ description: 'Pages of this output.' }),
    count: integer({ description: 'Pages of the live deployment that this output does not have.' }),
    names: array(string(), { description: 'The first of them.' }),
  },
  { title: 'LostPages' },
)

/** On a build. */
export const held = object(
  {
    reason: string({
      description: '`SUSPICIOUS_OUTPUT`, or `CHECK_FAILED`: then `check` of the deployment has the pages.',
    }),
    message: string({ description: 'What is missing, in words.' }),
    todo: string({ description: 'What to do about it.' }),
    page: string({ description: 'The page of the documentation about it.' }),
    unreachable: array(unreachable, {
      description: 'Servers that the variables name and that could not be reached at all.',
    }),
    lostPages: optional(lostPages),
  },
  {
    title: 'Held',
    description: 'The output is kept and is not live. Activate the deployment of this build to make it live.',
  },
)
export type Held = Static<typeof held>

/** On an environment. */
export const heldDeployment = object(
  {
    deployment: string({ description: 'The deployment that is not live; activate it to make it live.' }),
    build: string({ description: 'The build; its `held` has the details.' }),
    message: string({ description: 'What is missing, in words.' }),
    createTime: time('When it was held.'),
  },
  { title: 'HeldDeployment', description: 'The newest build was held, and nothing went live since.' },
)
export type HeldDeployment = Static<typeof heldDeployment>

/** On an environment. */
export const retry = object(
  {
    build: string({ description: 'The build that is tried again.' }),
    hosts: array(string(), {
      description: 'Servers that must answer first, as `host:port`. Empty: it is tried again when the time has come.',
    }),
    nextTime: optional(time('When the servers are asked next, or it is built again. Absent where it was given up.')),
    untilTime: time('When it is given up.'),
    rebuilds: integer({ description: 'How often it was built again by the service.' }),
    givenUp: boolean({ description: 'True where the service does not try any more.' }),
  },
  { title: 'Retry', description: 'The service builds again by itself after an outage of a server.' },
)
export type Retry = Static<typeof retry>
