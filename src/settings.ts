/** Every setting: its name, its default, what it means, and how its text is read. `config.ts` decides where a text comes from. */
import { availableParallelism } from 'node:os'
import { resolve } from 'node:path'
import { LOG_FORMATS, LOG_LEVELS, type LogFormat, type LogLevel, Secret } from './base/index.ts'
import { OBJECT_STORE_SETTINGS, type ObjectStoreConfig } from './object-store.ts'
import {
  count,
  countOrNone,
  days,
  type Listen,
  oneOf,
  optionalUrl,
  parseAccounts,
  parseAddresses,
  parseBoolean,
  parseDatabaseUrl,
  parseDnsServers,
  parseDomain,
  parseHosts,
  parseList,
  parseListen,
  parseListens,
  parseRanges,
  parseRegistry,
  type Setting,
  seconds,
  setting,
} from './setting-texts.ts'
import { ACCOUNT_SETTINGS, type AccountConfig } from './settings/accounts.ts'
import { CERTIFICATE_SETTINGS, type CertificateConfig } from './settings/certificates.ts'
import { NODE_SETTINGS, type NodeConfig } from './settings/node.ts'
import { NOTICE_SETTINGS, type NoticeConfig } from './settings/notices.ts'
import { PROGRAM_SETTINGS, type ProgramConfig } from './settings/programs.ts'
import { SWARM_SETTINGS, type SwarmConfig } from './settings/swarm.ts'

export { formatListen, type Listen } from './setting-texts.ts'

/** Settings of subjects that have files of their own. */
type ConfigElsewhere = AccountConfig &
  CertificateConfig &
  NodeConfig &
  NoticeConfig &
  ObjectStoreConfig &
  ProgramConfig &
  SwarmConfig

export type Config = ConfigElsewhere & {
  dataDir: string
  listen: Listen
  edgeListen: Listen
  tlsListen: Listen | undefined
  clusterListen: Listen | undefined
  controlAddresses: Listen[]
  clusterToken: Secret | undefined
  hsts: number
  publicUrl: string | undefined
  edgeUrl: string | undefined
  domain: string
  publicAddresses: string[]
  dnsServers: string[]
  masterKey: Secret | undefined
  databaseUrl: Secret | undefined
  registry: string | undefined
  registryUser: string
  registryPassword: Secret | undefined
  registryPlainHttp: boolean
  registryTimeout: number
  operatorAccounts: string[]
  trustedProxies: string[]
  rewriteHosts: string[]
  concurrency: number
  installTimeout: number
  fetchTimeout: number
  buildTimeout: number
  startTimeout: number
  idleTimeout: number
  retryInterval: number
  archiveBytes: number
  archiveEntries: number
  unpackedBytes: number
  uploadStall: number
  webhookCalls: number
  webhookGuesses: number
  keepDeployments: number
  keepHistory: number
  keepEarlierFiles: number
  diskReserve: number
  roles: readonly Role[]
  edges: number
  drainTimeout: number
  cacheMemory: number
  cacheDisk: number
  edgeFiles: number
  countPaths: boolean
  requestLog: boolean
  requestLogBytes: number
  requestLogDays: number
  stallWarning: number
  logLevel: LogLevel
  logFormat: LogFormat
}

/**
 * `agent` runs builds and apps, `edge` serves the sites, `control` has everything else. Where apps are on a swarm, a `worker`
 * builds, and a `node` keeps the firewall of a machine that runs apps.
 */
export const ROLES = ['agent', 'edge', 'control', 'worker', 'node'] as const
export type Role = (typeof ROLES)[number]

/** `docs/reference/settings.md` is checked against this table. */
export const SETTINGS: { [K in keyof Config]: Setting<Config[K]> } = {
  dataDir: setting('./data', 'Folder that holds everything that must survive.', (text) => resolve(text)),
  listen: setting('127.0.0.1:8080', 'Where API, portal and webhooks listen; port 0 picks a free one.', parseListen),
  edgeListen: setting('127.0.0.1:8081', 'Where the sites are served; port 0 picks a free one.', parseListen),
  tlsListen: setting(
    '',
    'Where the sites and the portal are served over HTTPS, by HTTP/1.1 and HTTP/2; if none is given, only plain HTTP is served.',
    (text) => (text === '' ? undefined : parseListen(text)),
  ),
  clusterListen: setting(
    '',
    'Where the control process listens for edges, nodes and workers of other machines; if none is given, it does not. What connects needs a token of `headland cluster token`, or the master key.',
    (text) => (text === '' ? undefined : parseListen(text)),
  ),
  controlAddresses: setting(
    '',
    'For edges, nodes and workers on another machine than the control process: where control processes listen (`clusterListen`), separated by commas. An edge or node follows one of them, and the next when that is away; a worker is connected to all of them, and runs git for them.',
    parseListens,
  ),
  clusterToken: {
    ...setting('', 'The token with which edges or the node connect there.', (text) =>
      text ? new Secret(text) : undefined,
    ),
    isSecret: true,
  },
  ...SWARM_SETTINGS,
  hsts: setting(
    '0',
    'Seconds for which browsers are told to use HTTPS only (HSTS), where `tlsListen` serves it; 0: they are not told.',
    countOrNone,
  ),
  publicUrl: setting('', 'Public address of the API, where a proxy is in front of it.', optionalUrl),
  edgeUrl: setting('', 'Public address of the edge, where a proxy is in front of it.', optionalUrl),
  domain: setting('localhost', 'Suffix of the host names given to environments.', parseDomain),
  publicAddresses: setting(
    '',
    'Public addresses of this machine, separated by commas; if none is given, those that DNS has for the names of sites.',
    parseAddresses,
  ),
  dnsServers: setting(
    '',
    "DNS servers that are asked where custom domains lead, separated by commas, each with or without `:port`; if none is given, the system's.",
    parseDnsServers,
  ),
  ...CERTIFICATE_SETTINGS,
  masterKey: {
    ...setting(
      '',
      'Key that seals secrets at rest, 32 bytes in base64; if none is given, `master.key` in the data folder.',
      (text) => (text ? new Secret(text) : undefined),
    ),
    isSecret: true,
  },
  databaseUrl: {
    ...setting(
      '',
      'Address of a PostgreSQL database, `postgres://user:password@host:port/name?sslmode=verify-full`; if none is given, the database is SQLite, in the data folder.',
      parseDatabaseUrl,
    ),
    isSecret: true,
  },
  ...OBJECT_STORE_SETTINGS,
  ...NODE_SETTINGS,
  registry: setting(
    '',
    'Address of a registry for images, with the path above its repositories: each output is kept there as an OCI image, `account/app` below it. If none is given, outputs are on the disk only.',
    parseRegistry,
  ),
  registryUser: setting('', 'User at that registry; if none is given, it is asked without one.', (text) => text),
  registryPassword: {
    ...setting('', 'Its password or access token.', (text) => (text ? new Secret(text) : undefined)),
    isSecret: true,
  },
  registryPlainHttp: setting(
    'false',
    'Whether that registry may be asked over plain HTTP where it is not on this machine.',
    parseBoolean,
  ),
  registryTimeout: setting('120', 'Seconds that a deploy waits for a registry that is away, before it fails.', seconds),
  operatorAccounts: setting(
    '',
    'Accounts whose owners operate the installation, separated by commas: they see its processes and machines in the portal, and by `GET /v1/cluster`. If none is given, no account does.',
    parseAccounts,
  ),
  trustedProxies: setting(
    '',
    'Addresses or CIDR ranges whose `X-Forwarded-For` is trusted, separated by commas.',
    parseRanges,
  ),
  rewriteHosts: setting(
    '',
    'Hosts that rewrites of static sites may lead to, separated by commas: `api.example.com`, `*.example.com` for all names below it, each with `:port` where it is not the usual one. If none is given, no site sends requests to another host.',
    parseHosts,
  ),
  ...NOTICE_SETTINGS,
  concurrency: setting(String(Math.max(1, Math.floor(availableParallelism() / 2))), 'Builds at a time.', count),
  fetchTimeout: setting('300', 'Seconds that one step of fetching a connected repository may take.', seconds),
  installTimeout: setting('600', 'Seconds that installing dependencies may take.', seconds),
  buildTimeout: setting('1200', 'Seconds that a build script may take.', seconds),
  startTimeout: setting('60', 'Seconds within which an app must answer after its start.', seconds),
  idleTimeout: setting('900', 'Seconds without a visitor after which an app sleeps.', seconds),
  retryInterval: setting(
    '15',
    'Seconds until the first check whether a CMS that a rebuild could not reach answers again; 0: such rebuilds are not tried again.',
    countOrNone,
  ),
  archiveBytes: setting('536870912', 'Maximum size of an uploaded archive, in bytes.', count),
  archiveEntries: setting('50000', 'Maximum number of entries of an archive.', count),
  unpackedBytes: setting('2147483648', 'Maximum size of an unpacked archive, in bytes.', count),
  uploadStall: setting('30', 'Seconds that an upload may make no progress.', seconds),
  webhookCalls: setting(
    '1200',
    'Webhook calls that an environment accepts in a minute; builds and purges are counted apart.',
    count,
  ),
  webhookGuesses: setting('30', 'Calls of invalid webhook URLs that are accepted from one address in a minute.', count),
  keepDeployments: setting(
    '5',
    'Archives of an environment that can be made live again, beside the live one, each by its newest build. If there are fewer archives, other deployments fill the number, those that were live last first.',
    count,
  ),
  keepHistory: setting(
    '500',
    'Builds, deployments and operations of an environment that stay in its lists; older ones are forgotten.',
    count,
  ),
  keepEarlierFiles: setting(
    '24',
    'Hours that scripts, styles and images with a hash in their name are served after their deployment was replaced, at least: as long as it can be made live again, they are too. 0: not at all.',
    countOrNone,
  ),
  ...ACCOUNT_SETTINGS,
  diskReserve: setting('1073741824', 'Bytes of the disk that uploads and builds leave free.', countOrNone),
  roles: setting(
    'agent,edge,control',
    'Processes of the service that `serve` runs, separated by commas; those that are left out run under another `serve` on the same data folder. With `engine` `swarm`, each `serve` has one of `control`, `worker`, `edge` and `node`.',
    parseRoles,
  ),
  edges: setting('1', 'Processes that serve the sites; each uses one processor.', count),
  drainTimeout: setting('300', 'Seconds that open connections may go on after a reload, WebSockets among them.', count),
  cacheMemory: setting('268435456', 'Bytes of memory that the cache of all edges may use.', count),
  cacheDisk: setting('2147483648', 'Bytes of the disk that the cache of all edges may use; 0 for none.', countOrNone),
  edgeFiles: setting(
    '21474836480',
    'Bytes of the disk that files of static sites may use on a machine whose edges get them from `registry`; above it, those that no site uses any more are removed, the least recently used first.',
    count,
  ),
  countPaths: setting(
    'true',
    'Whether the most visited and the missing paths of sites are counted and kept for a month; `false` deletes them.',
    parseBoolean,
  ),
  requestLog: setting(
    'true',
    'Whether the last requests to each site are recorded one by one; `false` deletes them.',
    parseBoolean,
  ),
  requestLogBytes: setting('8388608', 'Bytes of the disk that the request log of an environment may use.', count),
  requestLogDays: setting('7', 'Days after which a recorded request is deleted.', days),
  ...PROGRAM_SETTINGS,
  stallWarning: setting(
    '250',
    'Milliseconds that the event loop of the service or its edge may stand still before the log reports it, with what it was doing.',
    count,
  ),
  logLevel: setting('info', `One of ${LOG_LEVELS.join(', ')}.`, (text) => oneOf(LOG_LEVELS, text)),
  logFormat: setting(
    'auto',
    'How the log is written: `json`, `text` for people, or `auto`: text where stderr is a terminal, else JSON.',
    (text) => oneOf(LOG_FORMATS, text),
  ),
}

function parseRoles(text: string): Role[] {
  const named = parseList(text)
  if (named.length === 0) throw new Error(`it must name one of ${ROLES.join(', ')}`)
  return ROLES.filter((role) => named.map((name) => oneOf(ROLES, name)).includes(role))
}
