/** A command of the client: it calls the HTTP API of a Headland with the log-in of the user who runs it. */
import type { CommandForm, OptionValues } from '../contract/index.ts'
import type { ProxyVariables } from './connection/proxy.ts'
import type { Terminal } from './output/terminal.ts'

export type CiCommit = { sha: string; branch?: string | undefined; subject?: string | undefined }

/** What the client takes from the environment of the process. */
export type ClientEnvironment = {
  url: string | undefined
  apiUser: string | undefined
  apiPassword: string | undefined
  /** The folder for configuration: `~/.config`. */
  configFolder: string
  /** The folder for caches: `~/.cache`. */
  cacheFolder: string
  homeFolder: string
  isCi: boolean
  /** It cannot move its cursor. */
  isDumbTerminal: boolean
  /** Undefined where the terminal decides. */
  wantsColour: boolean | undefined
  /** The commit that a CI builds, from its variables. */
  ciCommit: CiCommit | undefined
  /** Whether a browser window can be opened. */
  hasScreen: boolean
  proxies: ProxyVariables
}

export type ClientCall = {
  positionals: string[]
  options: OptionValues
  /** The current folder of the shell. */
  folder: string
  environment: ClientEnvironment
  terminal: Terminal
  /** Of this program; read only where it is shown. */
  version?(): Promise<string>
  /** How long a call may take, where that is shorter than usual. */
  answerMs?: number
}

export type ClientCommand = CommandForm & {
  /** Returns the exit code; undefined is 0. */
  run(call: ClientCall): Promise<number | undefined>
}

/** The resources whose names or ids a shell can complete. */
export const NAME_KINDS = ['accounts', 'apps', 'environments', 'builds', 'deployments'] as const
export type NameKind = (typeof NAME_KINDS)[number]

/** A word that a shell can complete, and the description that it shows beside it. */
export type Completion = { word: string; about?: string }

/** Taken by every command that calls a service. */
export const SERVICE_OPTIONS = {
  url: { type: 'string', describe: 'The service; else HEADLAND_URL, .headland.json, or the last log-in.' },
  json: { type: 'boolean', describe: 'Print JSON.' },
} as const

export const ACCOUNT_OPTIONS = {
  ...SERVICE_OPTIONS,
  account: { type: 'string', describe: 'The account; else that of .headland.json, or the only one.' },
} as const

export const APP_OPTIONS = {
  ...ACCOUNT_OPTIONS,
  app: { type: 'string', describe: 'The app; else that of .headland.json, or the only one.' },
} as const

export const ENVIRONMENT_OPTIONS = {
  ...APP_OPTIONS,
  env: { type: 'string', describe: 'The environment, by name or id; else that of .headland.json, or the only one.' },
} as const
