/** The definitions of commands about an account's resources. Their code is loaded when they are run. */
import { names, resources } from '../../contract/index.ts'
import { ACCOUNT_OPTIONS, APP_OPTIONS, type ClientCommand, ENVIRONMENT_OPTIONS } from '../command.ts'
import { LIMIT_OPTION, YES_OPTION } from '../options.ts'

const REGION_OPTION = {
  region: { type: 'string', oneOf: Object.keys(names.REGIONS), describe: 'Where its environments are hosted.' },
} as const

const INSTANCES_OPTIONS = {
  'min-instances': {
    type: 'string',
    value: 'NUMBER',
    describe: 'Instances of the app that always run; 0: it sleeps without visitors.',
  },
  'max-instances': { type: 'string', value: 'NUMBER', describe: 'Instances of the app that run at most.' },
  'requests-per-instance': {
    type: 'string',
    value: 'NUMBER',
    describe: 'Requests in flight at one instance above which another one is started.',
  },
} as const

const PRODUCTION_OPTION = {
  production: {
    type: 'string',
    oneOf: ['yes', 'no'],
    describe: 'Whether it is for the public; if not, search engines are told not to list it.',
  },
} as const

export const RESOURCE_COMMANDS: readonly ClientCommand[] = [
  {
    name: 'apps',
    positionals: [],
    summary: 'List the apps of an account',
    options: ACCOUNT_OPTIONS,
    run: async (call) => (await import('./apps.ts')).listApps(call),
  },
  {
    name: 'apps create',
    positionals: ['NAME'],
    summary: 'Make an app',
    options: { ...REGION_OPTION, ...ACCOUNT_OPTIONS },
    run: async (call) => (await import('./apps.ts')).createApp(call),
  },
  {
    name: 'apps delete',
    positionals: ['APP'],
    summary: 'Delete an app',
    options: {
      ...YES_OPTION,
      force: { type: 'boolean', describe: 'Delete its environments with it.' },
      ...ACCOUNT_OPTIONS,
    },
    run: async (call) => (await import('./apps.ts')).deleteApp(call),
  },
  {
    name: 'envs',
    positionals: [],
    summary: 'List the environments of an app, or of all apps of an account',
    options: {
      all: { type: 'boolean', short: 'A', describe: 'Of all apps, also where .headland.json names one.' },
      ...APP_OPTIONS,
      app: { type: 'string', describe: 'The app; else that of .headland.json, or all of them.' },
    },
    run: async (call) => (await import('./envs.ts')).listEnvironments(call),
  },
  {
    name: 'envs create',
    positionals: ['NAME'],
    summary: 'Make an environment, and print its address',
    options: {
      cms: { type: 'string', value: 'INSTALL', describe: 'The content-management install that it connects to.' },
      root: {
        type: 'string',
        value: 'FOLDER',
        describe: 'Folder of the archive that holds the app; the top unless given.',
      },
      variable: {
        type: 'string',
        multiple: true,
        value: 'KEY=VALUE',
        describe: 'A variable of the app; KEY alone reads the value from stdin. May be repeated.',
      },
      ...INSTANCES_OPTIONS,
      ...PRODUCTION_OPTION,
      ...APP_OPTIONS,
    },
    run: async (call) => (await import('./envs.ts')).createEnvironment(call),
  },
  {
    name: 'envs show',
    positionals: ['[ENV]'],
    summary: 'Show an environment, by name or id',
    options: APP_OPTIONS,
    run: async (call) => (await import('./envs.ts')).showEnvironment(call),
  },
  {
    name: 'envs change',
    positionals: ['[ENV]'],
    summary:
      'Change what an environment is called, its install, its folder, its instances, whether it is production, or when its rebuilds are held',
    options: {
      name: { type: 'string', describe: 'What it shall be called.' },
      cms: { type: 'string', value: 'INSTALL', describe: 'The content-management install that it connects to.' },
      root: {
        type: 'string',
        value: 'FOLDER',
        describe: 'Folder of the archive that holds the app; empty for the top.',
      },
      'suspicious-output': {
        type: 'string',
        oneOf: ['hold', 'warn'],
        value: 'ACTION',
        describe: 'What is done with a rebuild whose output looks wrong.',
      },
      'max-lost-pages': {
        type: 'string',
        value: 'PERCENT',
        describe: 'Share of its pages that a rebuild may lose before it looks wrong; 100 for any.',
      },
      'min-lost-pages': {
        type: 'string',
        value: 'NUMBER',
        describe: 'A rebuild that lost fewer pages never looks wrong.',
      },
      ...INSTANCES_OPTIONS,
      ...PRODUCTION_OPTION,
      ...APP_OPTIONS,
    },
    run: async (call) => (await import('./envs.ts')).changeEnvironment(call),
  },
  {
    name: 'envs delete',
    positionals: ['ENV'],
    summary: 'Delete an environment, by name or id, with everything in it',
    options: { ...YES_OPTION, ...APP_OPTIONS },
    run: async (call) => (await import('./envs.ts')).deleteEnvironment(call),
  },
  {
    name: 'builds',
    positionals: [],
    summary: 'List the builds of an environment',
    options: { ...LIMIT_OPTION, ...ENVIRONMENT_OPTIONS },
    run: async (call) => (await import('./builds.ts')).listBuilds(call),
  },
  {
    name: 'builds show',
    positionals: ['[BUILD]'],
    summary: 'Show a build, the newest unless one is named, and what to do where it failed',
    options: ENVIRONMENT_OPTIONS,
    run: async (call) => (await import('./builds.ts')).showBuild(call),
  },
  {
    name: 'builds cancel',
    positionals: ['BUILD'],
    summary: 'End a build that waits or runs',
    options: ENVIRONMENT_OPTIONS,
    run: async (call) => (await import('./builds.ts')).cancelBuild(call),
  },
  {
    name: 'deployments',
    positionals: [],
    summary: 'List the deployments of an environment',
    options: { ...LIMIT_OPTION, ...ENVIRONMENT_OPTIONS },
    run: async (call) => (await import('./deployments.ts')).listDeployments(call),
  },
  {
    name: 'deployments activate',
    positionals: ['DEPLOYMENT'],
    summary: "Make a deployment live, back or forward; 'previous' is the one before the live one",
    options: ENVIRONMENT_OPTIONS,
    run: async (call) => (await import('./deployments.ts')).activateDeployment(call),
  },
  {
    name: 'operations',
    positionals: [],
    summary: 'List what was asked of an environment, by whom, and how it ended',
    options: { ...LIMIT_OPTION, ...ENVIRONMENT_OPTIONS },
    run: async (call) => (await import('./operations.ts')).listOperations(call),
  },
  {
    name: 'triggers',
    positionals: [],
    summary: 'List who asked for rebuilds and purges of an environment, and how they were answered',
    options: { ...LIMIT_OPTION, ...ENVIRONMENT_OPTIONS },
    run: async (call) => (await import('./triggers.ts')).listTriggers(call),
  },
  {
    name: 'unpin',
    positionals: [],
    summary: 'End what a rollback pinned: the next rebuild builds the newest upload',
    options: ENVIRONMENT_OPTIONS,
    run: async (call) => (await import('./unpin.ts')).unpin(call),
  },
  {
    name: 'purge',
    positionals: ['[PATH…]'],
    summary: 'Purge what the edge and Next.js have stored: of these paths and tags, or everything',
    options: {
      tag: {
        type: 'string',
        multiple: true,
        describe: 'What carries this tag in Cache-Tag. May be repeated.',
      },
      ...ENVIRONMENT_OPTIONS,
    },
    run: async (call) => (await import('./purge.ts')).purge(call),
  },
  {
    name: 'webhooks show',
    positionals: [],
    summary: 'Show when the webhooks of an environment were called, and by whom',
    options: ENVIRONMENT_OPTIONS,
    run: async (call) => (await import('./webhooks.ts')).showWebhooks(call),
  },
  {
    name: 'webhooks create',
    positionals: [],
    summary: 'Make the webhooks of an environment, and print their URLs this once',
    options: ENVIRONMENT_OPTIONS,
    run: async (call) => (await import('./webhooks.ts')).createWebhooks(call),
  },
  {
    name: 'webhooks regenerate',
    positionals: [],
    summary: 'Make new URLs for the webhooks of an environment; the old ones stop at once',
    options: { ...YES_OPTION, ...ENVIRONMENT_OPTIONS },
    run: async (call) => (await import('./webhooks.ts')).regenerateWebhooks(call),
  },
  {
    name: 'webhooks delete',
    positionals: [],
    summary: 'Delete the webhooks of an environment; their URLs stop at once',
    options: { ...YES_OPTION, ...ENVIRONMENT_OPTIONS },
    run: async (call) => (await import('./webhooks.ts')).deleteWebhooks(call),
  },
  {
    name: 'webhooks quiet',
    positionals: ['SECONDS'],
    summary: 'Begin builds when no webhook was called for so long; 0 is at once',
    options: {
      max: { type: 'string', value: 'SECONDS', describe: 'So long after the first call, however many come.' },
      most: { type: 'string', value: 'SECONDS', describe: 'The former name of --max, which the next version removes.' },
      ...ENVIRONMENT_OPTIONS,
    },
    run: async (call) => (await import('./webhooks.ts')).quietWebhooks(call),
  },
  {
    name: 'domains',
    positionals: [],
    summary: 'List the custom host names of an environment',
    options: ENVIRONMENT_OPTIONS,
    run: async (call) => (await import('./domains.ts')).listDomains(call),
  },
  {
    name: 'domains add',
    positionals: ['NAME…'],
    summary: 'Let an environment answer at further host names',
    options: ENVIRONMENT_OPTIONS,
    run: async (call) => (await import('./domains.ts')).addDomains(call),
  },
  {
    name: 'domains remove',
    positionals: ['NAME…'],
    summary: 'Let an environment not answer at these host names any more',
    options: ENVIRONMENT_OPTIONS,
    run: async (call) => (await import('./domains.ts')).removeDomains(call),
  },
  {
    name: 'domains check',
    positionals: [],
    summary: 'Tell whether the DNS of the domains leads here, which certificates they have, and what to enter in DNS',
    options: ENVIRONMENT_OPTIONS,
    run: async (call) => (await import('./domains.ts')).checkDomains(call),
  },
  {
    name: 'domains redirect',
    positionals: ['NAME', '[TO]'],
    summary: 'Send visitors of a host name to another one of the environment, as example.com to www.example.com',
    options: { end: { type: 'boolean', describe: 'Let NAME answer with the site again.' }, ...ENVIRONMENT_OPTIONS },
    run: async (call) => (await import('./domains.ts')).redirectDomain(call),
  },
  {
    name: 'protection',
    positionals: [],
    summary: 'Show who may see an environment, and whether search engines may list it',
    options: ENVIRONMENT_OPTIONS,
    run: async (call) => (await import('./protection.ts')).showProtection(call),
  },
  {
    name: 'protection password',
    positionals: [],
    summary: 'Ask visitors of an environment for a password, which is read from the terminal or from stdin',
    options: { end: { type: 'boolean', describe: 'Ask for none any more.' }, ...ENVIRONMENT_OPTIONS },
    run: async (call) => (await import('./protection.ts')).setPassword(call),
  },
  {
    name: 'protection addresses',
    positionals: ['[ADDRESS…]'],
    summary: 'Show an environment to visitors from these addresses and ranges only, as 203.0.113.0/24',
    options: { end: { type: 'boolean', describe: 'Show it to all addresses again.' }, ...ENVIRONMENT_OPTIONS },
    run: async (call) => (await import('./protection.ts')).setAddresses(call),
  },
  {
    name: 'traffic',
    positionals: [],
    summary: 'Tell how much an environment is visited, its most visited paths, and those that are missing',
    options: {
      range: { type: 'string', oneOf: resources.TRAFFIC_RANGES, describe: 'How far back; 24h unless given.' },
      ...ENVIRONMENT_OPTIONS,
    },
    run: async (call) => (await import('./traffic.ts')).showTraffic(call),
  },
  {
    name: 'variables',
    positionals: [],
    summary: 'List the variables of an environment, with the values of plain ones',
    options: { show: { type: 'boolean', describe: 'Print the values of secrets too.' }, ...ENVIRONMENT_OPTIONS },
    run: async (call) => (await import('./variables.ts')).listVariables(call),
  },
  {
    name: 'variables set',
    positionals: ['[KEY=VALUE…]'],
    summary: 'Set variables of an app, and restart it with them; KEY alone reads the value from stdin',
    options: {
      file: { type: 'string', describe: 'A dotenv file with variables.' },
      secret: { type: 'boolean', describe: 'They are secrets: struck from logs, and shown with --show only.' },
      plain: { type: 'boolean', describe: 'They are not: logs and lists show their values.' },
      ...ENVIRONMENT_OPTIONS,
    },
    run: async (call) => (await import('./variables.ts')).setVariables(call),
  },
  {
    name: 'variables unset',
    positionals: ['KEY…'],
    summary: 'Take variables away from an app, and restart it',
    options: ENVIRONMENT_OPTIONS,
    run: async (call) => (await import('./variables.ts')).unsetVariables(call),
  },
  {
    name: 'trace',
    positionals: ['URL'],
    summary: 'Tell why visitors see what they see at an address, or at a path of an environment',
    options: ENVIRONMENT_OPTIONS,
    run: async (call) => (await import('./trace.ts')).trace(call),
  },
]
