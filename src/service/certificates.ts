/** Certificates for the names of the portal and of all sites. */
import { readFileSync } from 'node:fs'
import type { Environments } from '../apps/index.ts'
import type { Log } from '../base/index.ts'
import { type AcmeSettings, openCertificates } from '../certificates/index.ts'
import { hookEnvironment } from '../config.ts'
import type { Database } from '../data-folder.ts'
import type { Edges, EdgeTls } from '../edge/index.ts'
import { reachableByJobs } from '../engines/index.ts'
import { createLookup, createNameCheck } from '../reach/index.ts'
import type { Config } from '../settings.ts'
import type { Vault } from '../storage/index.ts'
import { version } from '../version.ts'
import type { Records } from './records.ts'

type Parts = {
  config: Config
  log: Log
  database: Database
  vault: Vault
  records: Records
  edges: Pick<Edges, 'controls'>
  edgeTls: EdgeTls
}

/** A program for DNS may wait until the change is everywhere. */
const DNS_HOOK_MS = 5 * 60_000

export function assembleCertificates({ config, log, database, vault, records, edges, edgeTls }: Parts) {
  const { sql, clock, newId, changes, environments } = database
  const { domain, publicUrl, publicAddresses, dnsServers, jobNetwork, blockedNetworks, allowedNetworks } = config
  const lookUp = createLookup({ servers: dnsServers })
  const mayCall = reachableByJobs({ range: jobNetwork, blocked: blockedNetworks, allowed: allowedNetworks })
  return openCertificates({
    sql,
    clock,
    log,
    newId,
    vault,
    edgeTls,
    cluster: config.databaseUrl === undefined ? undefined : { changes, controls: edges.controls },
    acme: acmeSettings(config),
    portalHost: publicUrl === undefined ? undefined : new URL(publicUrl).hostname,
    domain,
    sites: (accountId) => sitesOf(environments, records, accountId),
    calling: { lookUp, mayCall },
    checkName: createNameCheck({ lookUp, publicAddresses }),
  })
}

export type AssembledCertificates = ReturnType<typeof assembleCertificates>

async function sitesOf(environments: Environments, { domains }: Records, accountId?: string) {
  const hosts = await environments.hosts(accountId)
  const names = await domains.routed(accountId === undefined ? undefined : hosts.map(({ id }) => id))
  return hosts.map(({ id, accountId: owner, hostLabel }) => ({
    accountId: owner,
    hostLabel,
    domains: (names.get(id) ?? []).map(({ name }) => name),
  }))
}

/** Undefined unless the operator has turned it on. */
function acmeSettings(config: Config): AcmeSettings | undefined {
  const { acmeEmail, acmeDirectory, acmeCaFile, acmeChallenge, acmeDnsHook, acmeDnsWait, acmeEabKeyId, acmeEabKey } =
    config
  if (acmeEmail === undefined) return undefined
  return {
    directory: acmeDirectory,
    email: acmeEmail,
    ca: acmeCaFile === undefined ? undefined : [readCaFile(acmeCaFile)],
    external: acmeEabKey ? { keyId: acmeEabKeyId, hmacKey: acmeEabKey.reveal() } : undefined,
    challengeTypes: acmeChallenge === 'auto' ? ['http-01', 'tls-alpn-01'] : [acmeChallenge],
    dnsHook: acmeDnsHook && { command: acmeDnsHook, env: hookEnvironment(), timeoutMs: DNS_HOOK_MS },
    dnsWaitMs: acmeDnsWait * 1000,
    userAgent: `headland/${version}`,
  }
}

function readCaFile(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    throw new Error(`the file of the setting acmeCaFile cannot be read: ${(error as Error).message}`)
  }
}
