/** The definitions of commands about environments. Their code is loaded when they are run. */
import { APP_OPTIONS, type ClientCommand } from '../../command.ts'
import { YES_OPTION } from '../../options.ts'

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

const SNAPSHOTS_OPTION = {
  'content-snapshots': {
    type: 'string',
    value: 'HOSTS',
    describe:
      'Hosts of the CMS, with commas, whose answers to builds are recorded for when it is down; `off` for none.',
  },
} as const

const BADGE_OPTION = {
  badge: {
    type: 'string',
    oneOf: ['yes', 'no'],
    describe: 'Whether everyone can see its name and state as a picture, badge.svg.',
  },
} as const

const LEARNED_OPTION = {
  'learned-caching': {
    type: 'string',
    value: 'SECONDS',
    describe: 'How long the edge keeps pages by the content that they are made of; off: it does not.',
  },
} as const

export const ENVIRONMENT_COMMANDS: readonly ClientCommand[] = [
  {
    name: 'envs',
    positionals: [],
    summary: 'List the environments of an app, or of all apps of an account',
    options: {
      all: { type: 'boolean', short: 'A', describe: 'Of all apps, also where .headland.json names one.' },
      ...APP_OPTIONS,
      app: { type: 'string', describe: 'The app; else that of .headland.json, or all of them.' },
    },
    run: async (call) => (await import('../envs.ts')).listEnvironments(call),
  },
  {
    name: 'envs create',
    positionals: ['NAME'],
    summary: 'Make an environment, and print its address',
    options: {
      cms: { type: 'string', value: 'INSTALL', describe: 'The content-management install that it connects to.' },
      branch: {
        type: 'string',
        value: 'BRANCH',
        describe: 'The git branch whose pushes are deployed here; none unless given.',
      },
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
      ...BADGE_OPTION,
      ...LEARNED_OPTION,
      ...SNAPSHOTS_OPTION,
      ...APP_OPTIONS,
    },
    run: async (call) => (await import('../envs.ts')).createEnvironment(call),
  },
  {
    name: 'envs show',
    positionals: ['[ENV]'],
    summary: 'Show an environment, by name or id',
    options: APP_OPTIONS,
    run: async (call) => (await import('../envs.ts')).showEnvironment(call),
  },
  {
    name: 'envs change',
    positionals: ['[ENV]'],
    summary:
      'Change what an environment is called, its install, its branch, its folder, its instances, whether it is production or has a badge, when its builds are held, or of which CMS snapshots are kept',
    options: {
      name: { type: 'string', describe: 'What it shall be called.' },
      cms: { type: 'string', value: 'INSTALL', describe: 'The content-management install that it connects to.' },
      branch: {
        type: 'string',
        value: 'BRANCH',
        describe: 'The git branch whose pushes are deployed here; `uploadable` for none.',
      },
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
      'promotion-checks': {
        type: 'string',
        oneOf: ['auto', 'block', 'warn', 'off'],
        value: 'MODE',
        describe: 'What a broken page of a new version does; auto warns in the first 30 days and blocks afterwards.',
      },
      'check-pages': { type: 'string', value: 'NUMBER', describe: 'How many pages of a new version are checked.' },
      'check-timeout': { type: 'string', value: 'SECONDS', describe: 'How long the check of a new version may take.' },
      ...INSTANCES_OPTIONS,
      ...PRODUCTION_OPTION,
      ...BADGE_OPTION,
      ...LEARNED_OPTION,
      ...SNAPSHOTS_OPTION,
      ...APP_OPTIONS,
    },
    run: async (call) => (await import('../envs.ts')).changeEnvironment(call),
  },
  {
    name: 'envs delete',
    positionals: ['ENV'],
    summary: 'Delete an environment, by name or id, with everything in it',
    options: { ...YES_OPTION, ...APP_OPTIONS },
    run: async (call) => (await import('../envs.ts')).deleteEnvironment(call),
  },
]
