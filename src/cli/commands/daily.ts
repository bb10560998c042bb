/** The definitions of everyday commands. Their code is loaded when they are run. */
import { names } from '../../contract/index.ts'
import { type ClientCommand, ENVIRONMENT_OPTIONS, SERVICE_OPTIONS } from '../command.ts'
import { YES_OPTION } from '../options.ts'

const FOLLOW_OPTIONS = {
  detach: { type: 'boolean', describe: 'Do not wait for the build.' },
  'cancel-on-interrupt': {
    type: 'boolean',
    describe: 'Cancel the build when the command is ended by a signal and there is no terminal to ask.',
  },
  plain: { type: 'boolean', describe: 'Print every line of the log, also where a terminal could show a live view.' },
} as const

/** The response of a site is printed as it is, so there is no --json. */
const { json: _, ...SITE_OPTIONS } = ENVIRONMENT_OPTIONS

export const DAILY_COMMANDS: readonly ClientCommand[] = [
  {
    name: 'login',
    positionals: ['[URL]'],
    summary: 'Log in to a service, as a user or with an API credential',
    options: {
      user: { type: 'string', describe: 'An e-mail address, or the user id of an API credential.' },
      'password-stdin': { type: 'boolean', describe: 'Read the password from stdin.' },
      json: SERVICE_OPTIONS.json,
    },
    run: async (call) => (await import('./login.ts')).login(call),
  },
  {
    name: 'logout',
    positionals: ['[URL]'],
    summary: 'Log out of a service, and forget the log-in',
    options: { json: SERVICE_OPTIONS.json },
    run: async (call) => (await import('./login.ts')).logout(call),
  },
  {
    name: 'deploy',
    positionals: ['[DIR]'],
    summary: 'Send the files of a folder, follow the build, and print the address of the site',
    options: {
      region: { type: 'string', oneOf: Object.keys(names.REGIONS), describe: 'Of a new app.' },
      cms: { type: 'string', value: 'INSTALL', describe: 'Of a new environment: the CMS install that it connects to.' },
      root: {
        type: 'string',
        value: 'FOLDER',
        describe: 'Of a new environment: the folder of the archive with the app.',
      },
      preview: {
        type: 'string',
        isValueOptional: true,
        value: '[NAME]',
        describe:
          'To a preview of this branch, which is made if there is none; of the current git branch unless given.',
      },
      message: {
        type: 'string',
        short: 'm',
        value: 'TEXT',
        describe: "What it is about, in one line; else the subject of the folder's git commit is shown.",
      },
      yes: { ...YES_OPTION.yes, describe: 'Do not ask: take what is suggested, and make what is missing.' },
      create: {
        type: 'boolean',
        describe: 'Make the app and the environment that are named, also where others have similar names.',
      },
      variable: {
        type: 'string',
        multiple: true,
        value: 'KEY=VALUE',
        describe: 'A variable of the app, set before the build; KEY alone reads the value from stdin. May be repeated.',
      },
      'variables-file': {
        type: 'string',
        multiple: true,
        value: 'FILE',
        describe: 'A dotenv file with variables, set before the build; the file itself is not sent. May be repeated.',
      },
      'env-file': {
        type: 'string',
        multiple: true,
        value: 'FILE',
        describe: 'The same by its usual name. Started by npm, Node reads it as well and obeys NODE_OPTIONS in it.',
      },
      'include-env-file': {
        type: 'string',
        value: 'FILE',
        multiple: true,
        describe: 'Send this .env file too, whatever rules and git say. May be repeated.',
      },
      force: { type: 'boolean', describe: 'Make it live also where the check of its pages finds broken ones.' },
      'dry-run': { type: 'boolean', describe: 'Print what the service would do with it; nothing is built.' },
      'list-files': { type: 'boolean', describe: 'Print which files would be sent; nothing is.' },
      ...FOLLOW_OPTIONS,
      ...ENVIRONMENT_OPTIONS,
      app: { type: 'string', describe: 'The app; else that of .headland.json.' },
    },
    run: async (call) => (await import('./deploy.ts')).deploy(call),
  },
  {
    name: 'rebuild',
    positionals: [],
    summary: 'Build the newest upload again, or what a rollback pinned, and follow the build',
    options: {
      clean: { type: 'boolean', describe: 'Without anything kept from earlier builds.' },
      force: { type: 'boolean', describe: 'Make it live also where its output looks wrong, or its pages are broken.' },
      ...FOLLOW_OPTIONS,
      ...ENVIRONMENT_OPTIONS,
    },
    run: async (call) => (await import('./rebuild.ts')).rebuild(call),
  },
  {
    name: 'logs',
    positionals: [],
    summary: 'Print the log of the running app, of a build, or of the requests of visitors',
    options: {
      follow: { type: 'boolean', short: 'f', describe: 'Go on as it is written.' },
      build: { type: 'string', value: 'BUILD', describe: "The log of this build; 'latest' is the newest." },
      lines: {
        type: 'string',
        short: 'n',
        value: 'NUMBER',
        describe: 'The last so many. Else 100, or with -f those since the last start of the app; all of a build.',
      },
      requests: { type: 'boolean', short: 'r', describe: 'The requests of visitors, and what they got.' },
      status: { type: 'string', value: 'STATUS', describe: 'Of --requests: those with this status, as 500 or 5xx.' },
      path: {
        type: 'string',
        value: 'PATTERN',
        describe: "Of --requests: those of this path, where '*' stands for any characters.",
      },
      id: {
        type: 'string',
        value: 'ID',
        describe: "Of --requests: the one with this request id, and the app's log at that time.",
      },
      ...ENVIRONMENT_OPTIONS,
    },
    run: async (call) => {
      if (call.options.requests) return (await import('./requests.ts')).requests(call)
      return (await import('./logs.ts')).logs(call)
    },
  },
  {
    name: 'open',
    positionals: ['[PATH]'],
    summary: 'Open a site in the browser, and print its address',
    options: {
      print: { type: 'boolean', describe: 'Print the address, and open nothing.' },
      ...ENVIRONMENT_OPTIONS,
    },
    run: async (call) => (await import('./open.ts')).open(call),
  },
  {
    name: 'curl',
    positionals: ['PATH'],
    summary: 'Ask a site for a path, and print what it answers; also where *.localhost is not resolved',
    options: {
      request: {
        type: 'string',
        short: 'X',
        value: 'METHOD',
        describe: 'Another method than GET, or POST with --data.',
      },
      header: { type: 'string', short: 'H', multiple: true, describe: "As in 'Accept: text/html'. May be repeated." },
      data: {
        type: 'string',
        short: 'd',
        multiple: true,
        describe:
          'What is sent; @FILE is what a file holds, @- what stdin does. May be repeated, as the fields of a form.',
      },
      include: { type: 'boolean', short: 'i', describe: 'Print the head of the answer too.' },
      head: { type: 'boolean', short: 'I', describe: 'Ask for the head alone.' },
      fail: { type: 'boolean', short: 'f', describe: 'End with 1 where the site answers with 400 or more.' },
      ...SITE_OPTIONS,
    },
    run: async (call) => (await import('./curl.ts')).curl(call),
  },
]
