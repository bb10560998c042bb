/**
 * Settings, and where each came from. The only file that reads the environment. Strongest first: flags, environment,
 * `headland.json`, the default. An unknown name is an error: a misspelt setting must not silently be its default.
 */
import { existsSync, readFileSync } from 'node:fs'
import { homedir, networkInterfaces } from 'node:os'
import { join, resolve } from 'node:path'
import { didYouMean } from './base/index.ts'
import { type ClientEnvironment, ciCommitIn } from './cli/index.ts'
import type { Starters } from './parent.ts'
import { type Config, formatListen, type Listen, SETTINGS } from './settings.ts'

export type Origin = 'flag' | 'environment' | 'headland.json' | 'default'

const KEYS = Object.keys(SETTINGS) as (keyof Config)[]

/** Read by the client commands; they may be set in the same environment. */
const CLIENT_VARIABLES = ['HEADLAND_URL', 'HEADLAND_API_USER', 'HEADLAND_API_PASSWORD']
const FILE_VARIABLE = 'HEADLAND_CONFIG'
/** Set by `bin/headland.js` where it stays as the parent of this process: its process id. */
const LAUNCHER_VARIABLE = 'HEADLAND_LAUNCHER'

export const flagName = (key: string): string => key.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)
/** The settings as options of `parseArgs`, with the file to read them from. */
export const settingFlags = (): Record<string, { type: 'string' }> =>
  Object.fromEntries(['config', ...KEYS.map(flagName)].map((name) => [name, { type: 'string' }]))

export const variableName = (key: string): string =>
  `HEADLAND_${key.replaceAll(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase()}`

/** What the client commands take from the environment, and the folders where they may keep a log-in. */
export function clientEnvironment(env: NodeJS.ProcessEnv = process.env): ClientEnvironment {
  return {
    url: env.HEADLAND_URL || undefined,
    apiUser: env.HEADLAND_API_USER || undefined,
    apiPassword: env.HEADLAND_API_PASSWORD || undefined,
    configFolder: env.XDG_CONFIG_HOME || join(env.HOME || homedir(), '.config'),
    cacheFolder: env.XDG_CACHE_HOME || join(env.HOME || homedir(), '.cache'),
    homeFolder: env.HOME || homedir(),
    isCi: Boolean(env.CI) && env.CI !== 'false',
    isDumbTerminal: env.TERM === 'dumb',
    wantsColour: wantsColour(env),
    ciCommit: ciCommitIn(env),
    // Other systems than Linux have one, whatever the environment says.
    hasScreen: process.platform !== 'linux' || Boolean(env.DISPLAY || env.WAYLAND_DISPLAY || env.BROWSER),
    proxies: {
      http: firstOf(env, 'http_proxy', 'HTTP_PROXY'),
      https: firstOf(env, 'https_proxy', 'HTTPS_PROXY'),
      except: firstOf(env, 'no_proxy', 'NO_PROXY')?.value,
    },
  }
}

/** `FORCE_COLOR`, of which 0 and false mean none, before `NO_COLOR`; undefined where neither says something. */
function wantsColour({ FORCE_COLOR, NO_COLOR }: NodeJS.ProcessEnv): boolean | undefined {
  if (FORCE_COLOR) return FORCE_COLOR !== '0' && FORCE_COLOR !== 'false'
  return NO_COLOR ? false : undefined
}

function firstOf(env: NodeJS.ProcessEnv, ...variables: string[]): { variable: string; value: string } | undefined {
  for (const variable of variables) {
    const value = env[variable]?.trim()
    if (value) return { variable, value }
  }
  return undefined
}

/** The environment of a process that the service starts for a part of its work. Only the control process opens secrets. */
export function roleEnvironment(role: string, env: NodeJS.ProcessEnv = process.env): NodeJS.ProcessEnv {
  const secrets = new Set(KEYS.filter((key) => SETTINGS[key].isSecret).map(variableName))
  return role === 'control' || role === 'worker'
    ? env
    : Object.fromEntries(Object.entries(env).filter(([name]) => !secrets.has(name)))
}

/** For programs of the operator that the service starts: without the service's own settings, among which are secrets. */
export const hookEnvironment = (env: NodeJS.ProcessEnv = process.env): NodeJS.ProcessEnv =>
  Object.fromEntries(Object.entries(env).filter(([name]) => !name.startsWith('HEADLAND_')))

/** The service's own environment: where npm is found, and what this machine has set for it. */
export const machineEnvironment = (): Readonly<NodeJS.ProcessEnv> => process.env

/** Which parents that this process ends with have started it. */
export const startersOf = (env: NodeJS.ProcessEnv = process.env): Starters => ({
  npm: env.npm_lifecycle_event !== undefined,
  launcher: env[LAUNCHER_VARIABLE] === undefined ? undefined : Number(env[LAUNCHER_VARIABLE]),
})

export class ConfigError extends Error {}

type Sources = { flags?: Record<string, string | undefined>; env?: NodeJS.ProcessEnv; folder?: string }

export type LoadedConfig = { config: Config; origins: Record<keyof Config, Origin> }

export function loadConfig({ flags = {}, env = process.env, folder = process.cwd() }: Sources = {}): LoadedConfig {
  refuseUnknownVariables(env)
  const file = readFile(flags.config ?? env[FILE_VARIABLE], folder)
  const config: Partial<Record<keyof Config, unknown>> = {}
  const origins: Partial<Record<keyof Config, Origin>> = {}
  for (const key of KEYS) {
    const [text, origin] = pick(flags[flagName(key)], env[variableName(key)], file[key], SETTINGS[key].byDefault)
    origins[key] = origin
    try {
      config[key] = SETTINGS[key].parse(text)
    } catch (error) {
      const shown = SETTINGS[key].isSecret ? '[secret]' : JSON.stringify(withoutPassword(text))
      throw new ConfigError(`${key} (from ${origin}) is ${shown}: ${(error as Error).message}`)
    }
  }
  refusePlainRegistry(config as Config)
  refuseMailWithoutSender(config as Config)
  const loaded = { config: config as Config, origins: origins as Record<keyof Config, Origin> }
  const ofCluster = withMemoryOfCluster(loaded.config, loaded.origins)
  return { ...loaded, config: withSiteAddress(withFrontDoor(ofCluster, loaded.origins)) }
}

/** An address that is refused may have a password in it. */
const withoutPassword = (text: string): string => text.replaceAll(/\/\/[^/?#\s]*@/g, '//[secret]@')

function refusePlainRegistry({ registry, registryPlainHttp }: Config) {
  if (!registry?.startsWith('http:') || registryPlainHttp) return
  if (/^(localhost|127(\.\d{1,3}){3}|\[::1\])$/.test(new URL(registry).hostname)) return
  throw new ConfigError(
    'registry is an address with http: use https, or set registryPlainHttp to true where the network between is yours.',
  )
}

function refuseMailWithoutSender({ smtpUrl, smtpFrom }: Config) {
  if (smtpUrl === undefined || smtpFrom !== undefined) return
  throw new ConfigError('smtpUrl is set without smtpFrom, the address that e-mails come from: set both.')
}

/** The memory of this machine says nothing of the nodes that run apps, and its processes have to agree on a limit. */
const withMemoryOfCluster = (config: Config, { accountAppMemory }: Record<keyof Config, Origin>): Config =>
  config.engine === 'swarm' && accountAppMemory === 'default' ? { ...config, accountAppMemory: 0 } : config

/** A service that gets certificates for a domain of its own is the front door of its machine, unless it is told where to listen. */
function withFrontDoor(config: Config, { edgeListen, tlsListen }: Record<keyof Config, Origin>): Config {
  const isChosen = edgeListen !== 'default' || tlsListen !== 'default'
  const isFront = config.acmeEmail !== undefined && !isChosen && !/(^|\.)localhost$/.test(config.domain)
  if (!isFront) return config
  return { ...config, edgeListen: everywhere(80), tlsListen: everywhere(443) }
}

/** On all addresses; a socket for IPv6 takes IPv4 as well, where the machine has both. */
const everywhere = (port: number): Listen => ({ host: hasIpv6() ? '::' : '0.0.0.0', port })

const hasIpv6 = (): boolean =>
  Object.values(networkInterfaces()).some((addresses) => addresses?.some(({ family }) => family === 'IPv6'))

/** With TLS of its own, sites are reached under the domain. The portal needs a name apart from theirs, which only the operator knows. */
function withSiteAddress(config: Config): Config {
  const { tlsListen, domain } = config
  if (!tlsListen || tlsListen.port === 0) return config
  const port = tlsListen.port === 443 ? '' : `:${tlsListen.port}`
  return { ...config, edgeUrl: config.edgeUrl ?? `https://${domain}${port}` }
}

/** Every setting as text, with secrets hidden. */
export function describeConfig({ config, origins }: LoadedConfig): { key: string; value: string; origin: Origin }[] {
  return KEYS.map((key) => {
    const value = config[key]
    const parts = [value].flat().map((one) => (isListen(one) ? formatListen(one) : String(one ?? '')))
    return { key, value: parts.join(), origin: origins[key] }
  })
}

const isListen = (value: unknown): value is Listen => typeof value === 'object' && value !== null && 'port' in value

function pick(flag: string | undefined, variable: string | undefined, inFile: string | undefined, byDefault: string) {
  if (flag !== undefined) return [flag, 'flag'] as const
  if (variable !== undefined) return [variable, 'environment'] as const
  if (inFile !== undefined) return [inFile, 'headland.json'] as const
  return [byDefault, 'default'] as const
}

function refuseUnknownVariables(env: NodeJS.ProcessEnv) {
  const known = new Set([...KEYS.map(variableName), ...CLIENT_VARIABLES, FILE_VARIABLE, LAUNCHER_VARIABLE])
  const unknown = Object.keys(env).find((name) => name.startsWith('HEADLAND_') && !known.has(name))
  if (unknown)
    throw new ConfigError(
      `The environment has ${unknown}, which is not a setting. 'headland config' lists them.${didYouMean(unknown, [...known])}`,
    )
}

function readFile(given: string | undefined, folder: string): Partial<Record<keyof Config, string>> {
  const path = resolve(folder, given ?? 'headland.json')
  if (given === undefined && !existsSync(path)) return {}
  let content: unknown
  try {
    content = JSON.parse(readFileSync(path, 'utf8'))
  } catch (error) {
    throw new ConfigError(`${path} cannot be read: ${(error as Error).message}`)
  }
  if (typeof content !== 'object' || content === null || Array.isArray(content)) {
    throw new ConfigError(`${path} must hold one JSON object`)
  }
  for (const [key, value] of Object.entries(content)) {
    if (!KEYS.includes(key as keyof Config))
      throw new ConfigError(`${path} has ${key}, which is not a setting.${didYouMean(key, KEYS)}`)
    if (typeof value !== 'string' && typeof value !== 'number')
      throw new ConfigError(`${path}: ${key} must be a string`)
  }
  return Object.fromEntries(Object.entries(content).map(([key, value]) => [key, String(value)]))
}
