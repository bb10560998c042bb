/** A command of the client: it speaks to a Headland over HTTP, as whoever typed it. */
import type { CommandForm, OptionValues } from '../contract/index.ts'
import type { ProxyVariables } from './connection/proxy.ts'
import type { Terminal } from './output/terminal.ts'

export type CiCommit = { sha: string; branch?: string | undefined; subject?: string | undefined }

/** What the client takes from the environment of the process. */
export type ClientEnvironment = {
  url: string | undefined
  apiUser: string | undefined
  apiPassword: string | undefined
  /** Where programs of this person keep what they remember: `~/.config`. */
  configFolder: string
  /** Where they keep what can be had again: `~/.cache`. */
  cacheFolder: string
  homeFolder: string
  isCi: boolean
  /** What a CI says about the commit that it works on. */
  ciCommit: CiCommit | undefined
  /** Whether windows can be opened. */
  hasScreen: boolean
  proxies: ProxyVariables
}

export type ClientCall = {
  positionals: string[]
  options: OptionValues
  /** The folder in which the command was typed. */
  folder: string
  environment: ClientEnvironment
  terminal: Terminal
  /** How long a call may take, where nobody waits for as long as usual. */
  answerMs?: number
}

export type ClientCommand = CommandForm & {
  /** 0 unless it says otherwise. */
  run(call: ClientCall): Promise<number | undefined>
}

/** What a service knows names of, or ids, that can be completed. */
export const NAME_KINDS = ['accounts', 'apps', 'environments', 'builds', 'deployments'] as const
export type NameKind = (typeof NAME_KINDS)[number]

/** A word that a shell can put into the line, and what it shows beside it. */
export type Completion = { word: string; about?: string }

/** Taken by every command that speaks to a service. */
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
