/** The settings of apps on a swarm, and what they come to. */
import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { Refused } from '../contract/index.ts'
import { type Listen, oneOf, optionalUrl, parseListen, type Setting, setting } from '../setting-texts.ts'
import type { DockerAddress } from '../swarm/index.ts'

/** What runs apps: this machine, or the nodes of a swarm. */
export const ENGINES = ['local', 'swarm'] as const
export type EngineName = (typeof ENGINES)[number]

export type SwarmConfig = {
  engine: EngineName
  dockerSocket: string
  swarmAddress: string | undefined
  swarmCertificates: string | undefined
  swarmCluster: string
  inAppListen: Listen | undefined
  inAppUrl: string | undefined
}

export const SWARM_SETTINGS: { [K in keyof SwarmConfig]: Setting<SwarmConfig[K]> } = {
  engine: setting(
    'local',
    'What runs apps: `local` is this machine, `swarm` the nodes of Docker Swarm, with machines of their own for the roles.',
    (text) => oneOf(ENGINES, text),
  ),
  dockerSocket: setting(
    '/var/run/docker.sock',
    'With apps on a swarm, the Unix socket of a Docker engine: on a node that of its own, on a control machine one that manages the swarm.',
    (text) => resolve(text),
  ),
  swarmAddress: setting(
    '',
    'For control processes, the address of an engine that manages the swarm where it is on another machine, as in `https://10.0.0.5:2376`; it needs `swarmCertificates`.',
    parseEngineAddress,
  ),
  swarmCertificates: setting('', 'Folder with `ca.pem`, `cert.pem` and `key.pem` for that address.', (text) =>
    text === '' ? undefined : resolve(text),
  ),
  swarmCluster: setting(
    'headland',
    'Name of this service among others on the same swarm: what it makes there has it as a label.',
    parseClusterName,
  ),
  inAppListen: setting(
    '',
    'With apps on a swarm, where control processes listen to apps: an address that the nodes reach.',
    (text) => (text === '' ? undefined : parseListen(text)),
  ),
  inAppUrl: setting(
    '',
    'With apps on a swarm, the address at which apps reach control processes: that of one of them, or of what is in front of them.',
    optionalUrl,
  ),
}

/** Where Docker's API is reached. Throws if its certificates cannot be read. */
export function dockerAddressOf({ dockerSocket, swarmAddress, swarmCertificates }: SwarmConfig): DockerAddress {
  if (swarmAddress === undefined) return { socketPath: dockerSocket }
  if (swarmCertificates === undefined)
    throw new Refused('swarmAddress needs swarmCertificates, the folder with ca.pem, cert.pem and key.pem.')
  const { hostname: host, port } = new URL(swarmAddress)
  const read = (name: string): string => readCertificate(join(swarmCertificates, name))
  return { host, port: Number(port), tls: { ca: read('ca.pem'), cert: read('cert.pem'), key: read('key.pem') } }
}

function readCertificate(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    throw new Refused(`A file of the setting swarmCertificates cannot be read: ${(error as Error).message}`)
  }
}

function parseEngineAddress(text: string): string | undefined {
  if (text === '') return undefined
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url?.protocol !== 'https:' || !url.port || url.pathname !== '/')
    throw new Error('it must be an address with https and a port, as in https://10.0.0.5:2376')
  return `https://${url.host}`
}

function parseClusterName(text: string): string {
  if (!/^[a-z0-9]([a-z0-9-]{0,10}[a-z0-9])?$/.test(text))
    throw new Error('it must be a name of up to 12 small letters, digits and hyphens')
  return text
}
