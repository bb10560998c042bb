/** The resources that the API returns and accepts. */

import { etagOf, expectedEtag } from '../etag.ts'
import * as names from '../names.ts'
import { role } from '../roles.ts'
import {
  anyObject,
  array,
  boolean,
  integer,
  mapOf,
  nullable,
  object,
  oneOf,
  optional,
  type Static,
  string,
  time,
} from '../schema.ts'
import { badge } from './badge.ts'
import { archive } from './build.ts'
import { changedPromotionChecks, promotionCheck, promotionChecks } from './checks/promotion-checks.ts'
import { INSTANCE_STATES } from './environment/activity.ts'
import { learnedCaching } from './environment/learned-caching.ts'
import { changedVariable, shellVariable, shownVariable, variableList } from './environment/variables.ts'
import { heldDeployment, retry, suspiciousOutput } from './held.ts'
import { latestBuild, latestOperation } from './latest.ts'
import { TRIGGERS } from './operation.ts'
import { described, requestedBy } from './people.ts'
import { pin } from './pin.ts'
import { changedPreviewSettings, preview, previewSettings, promotedFrom } from './previews.ts'
import { changedProtection, production, protection } from './protection.ts'
import { publishPromiseSeconds } from './publishes/publishes.ts'
import { maxInstances, minInstances, requestsPerInstance } from './scaling.ts'
import { contentSnapshots } from './snapshots/snapshots.ts'
import { invitation } from './users.ts'

export * from '../roles.ts'
export * from './account/audit.ts'
export * from './account/notifications.ts'
export * from './badge.ts'
export * from './build.ts'
export * from './certificates.ts'
export * from './checks/promotion-checks.ts'
export * from './cluster.ts'
export * from './credentials.ts'
export * from './domain-checks.ts'
export * from './environment/activity.ts'
export * from './environment/domains.ts'
export * from './environment/learned-caching.ts'
export * from './environment/variables.ts'
export * from './events.ts'
export * from './examples/examples.ts'
export * from './held.ts'
export * from './latest.ts'
export * from './operation.ts'
export * from './people.ts'
export * from './pin.ts'
export * from './previews.ts'
export * from './protection.ts'
export * from './publishes/publishes.ts'
export * from './purge.ts'
export * from './repositories/repositories.ts'
export * from './requests.ts'
export * from './scaling.ts'
export * from './schedules.ts'
export * from './snapshots/snapshots.ts'
export * from './trace.ts'
export * from './traffic.ts'
export * from './usage.ts'
export * from './users.ts'
export * from './webhooks.ts'

export const account = object(
  { name: string({ description: '`accounts/{account}`' }), role },
  { title: 'Account', description: "An account that the caller belongs to, with the caller's role." },
)

export const region = object(
  { name: string({ description: '`regions/{region}`' }), displayName: string() },
  { title: 'Region' },
)

export const regionName = oneOf(
  (Object.keys(names.REGIONS) as (keyof typeof names.REGIONS)[]).map((id) => `regions/${id}` as const),
  { description: 'Where all environments of the app are hosted.' },
)

const uploadable = object({}, { description: 'Empty object: the app is fed by archive upload.' })

export const newApp = object({ region: regionName, uploadable }, { title: 'NewApp' })

export const app = object(
  {
    name: string({ description: '`accounts/{account}/apps/{app}`' }),
    region: regionName,
    uploadable,
    previews: previewSettings,
    createTime: time('When it was created.'),
    etag: etagOf('the app itself, and for another app of the same name'),
  },
  { title: 'App' },
)
export type App = Static<typeof app>

export const changedApp = object(
  { previews: optional(changedPreviewSettings), etag: expectedEtag },
  { title: 'ChangedApp' },
)
export type ChangedApp = Static<typeof changedApp>

export const newEnvironment = object(
  {
    displayName: names.displayName,
    branch: names.branchName,
    cmsEnvironment: optional(names.cmsEnvironmentName),
    wpEnvironment: optional({ ...names.cmsEnvironmentName, description: 'Another name for cmsEnvironment.' }),
    shellVariables: optional(variableList(shellVariable)),
    rootDirectory: optional(names.rootDirectory),
    suspiciousOutput: optional(suspiciousOutput),
    promotionChecks: optional(changedPromotionChecks),
    contentSnapshots: optional(contentSnapshots),
    minInstances: optional(minInstances),
    maxInstances: optional(maxInstances),
    requestsPerInstance: optional(requestsPerInstance),
    production: optional(production),
    protection: optional(changedProtection),
    badge: optional(badge),
    publishPromiseSeconds: optional(publishPromiseSeconds),
    learnedCaching: optional(learnedCaching),
  },
  {
    title: 'NewEnvironment',
    description: '`cmsEnvironment` is required; `wpEnvironment` is taken in its place.',
    anyOf: [{ required: ['cmsEnvironment'] }, { required: ['wpEnvironment'] }],
  },
)
export type NewEnvironment = Static<typeof newEnvironment>

export const changedEnvironment = object(
  {
    displayName: optional(names.displayName),
    branch: optional(names.branchName),
    cmsEnvironment: optional(names.cmsEnvironmentName),
    shellVariables: optional(variableList(changedVariable)),
    rootDirectory: optional(names.rootDirectory),
    suspiciousOutput: optional(suspiciousOutput),
    promotionChecks: optional(changedPromotionChecks),
    contentSnapshots: optional(contentSnapshots),
    minInstances: optional(minInstances),
    maxInstances: optional(maxInstances),
    requestsPerInstance: optional(requestsPerInstance),
    production: optional(production),
    protection: optional(changedProtection),
    badge: optional(badge),
    publishPromiseSeconds: optional(publishPromiseSeconds),
    learnedCaching: optional(learnedCaching),
    etag: expectedEtag,
  },
  { title: 'ChangedEnvironment' },
)
export type ChangedEnvironment = Static<typeof changedEnvironment>

export const ENVIRONMENT_STATES = ['EMPTY', 'LIVE', 'DELETING'] as const
export type EnvironmentState = (typeof ENVIRONMENT_STATES)[number]

export const PURGE_REACHES = ['NOTHING', 'EDGE', 'PAGES'] as const
export const freshness = object(
  {
    purge: oneOf(PURGE_REACHES, {
      description:
        "What Purge Cache brings. PAGES: the next visitor of a page gets a new one; EDGE: the app is asked, and answers what it has; NOTHING: the site's files stay as the build made them.",
    }),
    advice: string({ description: 'Which of Purge Cache, Rebuild and Clean Rebuild publishes new content, in words.' }),
  },
  { title: 'Freshness', description: 'How new content reaches visitors, by what is live.' },
)
export type Freshness = Static<typeof freshness>

export const environment = object(
  {
    name: string({ description: '`accounts/{account}/apps/{app}/environments/{environment}`' }),
    displayName: names.displayName,
    branch: string({ description: 'The git branch whose pushes are deployed here, or `uploadable`.' }),
    cmsEnvironment: names.cmsEnvironmentName,
    shellVariables: array(shownVariable),
    rootDirectory: string(),
    suspiciousOutput,
    promotionChecks,
    contentSnapshots,
    minInstances,
    maxInstances,
    requestsPerInstance,
    production,
    protection,
    badge,
    publishPromiseSeconds,
    learnedCaching,
    url: string({ description: 'Where the site answers; empty until the environment is ready.' }),
    domains: array(string(), { description: 'Custom host names.' }),
    build: string({ description: 'The build that is live, or empty.' }),
    deployment: string({ description: 'The deployment that is live, or empty.' }),
    pin: nullable(pin),
    preview: nullable(preview, { description: 'What makes it a preview; null for other environments.' }),
    state: oneOf(ENVIRONMENT_STATES, { description: 'EMPTY: nothing deployed yet; LIVE; DELETING.' }),
    reconciling: boolean({ description: 'True while an operation changes it.' }),
    latestOperation: optional(latestOperation),
    latestBuild: optional(latestBuild),
    held: optional(heldDeployment),
    retry: optional(retry),
    /** Only where a single live environment is read. */
    freshness: optional(freshness),
    createTime: time('When it was created.'),
    updateTime: time('When it was last changed.'),
    etag: etagOf('what `PATCH` can set. Builds, deployments and domains leave it as it is'),
    shellVariableEtags: mapOf(string(), {
      description: 'The etag of each variable, by its key: it differs after every change of that variable.',
    }),
  },
  { title: 'Environment' },
)
export type Environment = Static<typeof environment>

/** The optional body of a deletion. */
export const deletion = object({ etag: expectedEtag }, { title: 'Deletion' })

export const isolation = object(
  {
    sandbox: string(),
    layers: string(),
    limits: string({ description: 'What holds programs to their limits.' }),
    network: string(),
    weaknesses: array(string(), { description: 'What is not protected here; empty where all of it is.' }),
  },
  { title: 'Isolation', description: 'How this machine keeps builds and apps apart, in words.' },
)
export type Isolation = Static<typeof isolation>

export const DEPLOYMENT_STATES = ['STARTING', 'LIVE', 'RETIRED', 'FAILED', 'HELD'] as const
export type DeploymentState = (typeof DEPLOYMENT_STATES)[number]

export const deployment = object(
  {
    name: string({ description: '`accounts/…/environments/{environment}/deployments/{deployment}`' }),
    build: string({ description: 'The build whose output it is.' }),
    trigger: oneOf(TRIGGERS, { description: 'What asked for it: a build, or a change of the environment.' }),
    requestedBy,
    ...described,
    promotedFrom: optional({ ...promotedFrom, description: 'If its build was promoted: where from.' }),
    archive: { ...archive, description: 'The archive that its build was made from.' },
    state: oneOf(DEPLOYMENT_STATES, {
      description:
        'HELD: its build has a suspicious output, or the check found broken pages, so it was not made live. It can be, by hand.',
    }),
    /** Only where a single deployment is read. */
    check: optional(promotionCheck),
    activatable: boolean({
      description: 'Whether it can be made live, again or still: its files are kept for a number of newer deployments.',
    }),
    instance: optional(
      object(
        {
          state: oneOf(INSTANCE_STATES, { description: 'RUNNING if one of its instances answers.' }),
          running: integer({ description: 'How many of its instances answer.' }),
          restarts: integer({ description: 'How often they died by themselves.' }),
        },
        { title: 'Instance', description: 'Its processes, while it is live and has one.' },
      ),
    ),
    createTime: time('When it was made.'),
    liveTime: optional(time('When traffic was first switched to it.')),
    retireTime: optional(time('When another took its place.')),
  },
  { title: 'Deployment' },
)
export type Deployment = Static<typeof deployment>

export const rebuild = object(
  {
    clean: optional(boolean({ description: 'Start without anything kept from earlier builds.' })),
    force: optional(
      boolean({ description: 'Make it live also where its output is suspicious, or its pages are broken.' }),
    ),
  },
  { title: 'Rebuild' },
)

export const newSession = object(
  { email: string({ maxLength: 254 }), password: string({ maxLength: 1024 }) },
  { title: 'NewSession' },
)

export const session = object(
  {
    email: string(),
    accounts: array(account),
    invitations: array(invitation, {
      description: 'Accounts that ask the user to join them. They are not among `accounts` until they are accepted.',
    }),
    operator: boolean({
      description: 'The user may see the processes and machines of the installation: `GET /v1/cluster`.',
    }),
    expireTime: time('When the session ends by itself.'),
  },
  { title: 'Session' },
)

export const errorReply = object(
  {
    error: object({
      code: integer(),
      status: string(),
      message: string(),
      details: array(anyObject()),
    }),
  },
  {
    title: 'Error',
    description:
      'AIP-193: `details` holds an ErrorInfo with the reason, names bad fields, and links to help as a path under the address of the service.',
  },
)

export const empty = object({}, { title: 'Empty' })
