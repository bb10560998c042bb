/** What tools have to be told, each in its own words. */
import { access } from 'node:fs/promises'
import { fits } from './choose.ts'
import type { Exact } from './exact.ts'

export function environmentOf({ node, packageManager }: Exact, certificates: string | undefined) {
  return {
    ...TRUST_THE_MACHINE,
    // Older ones do not know the variable, and are shown the file.
    ...(certificates === undefined || fits(node, KNOWS_SYSTEM_CA) ? {} : { NODE_EXTRA_CA_CERTS: certificates }),
    ...(packageManager?.name === 'pnpm' ? PNPM_STAYS_ITSELF : {}),
  }
}

/** A company's own registry has a company's own certificate. */
const TRUST_THE_MACHINE = { NODE_USE_SYSTEM_CA: '1' }

const KNOWS_SYSTEM_CA = '^22.19.0 || >=24.6.0'

/**
 * Where package.json names another version than the one that runs, pnpm fetches that one and hands over to it, or refuses to
 * work. Which one runs is decided here, and an app must not need the registry to start.
 */
const PNPM_STAYS_ITSELF = {
  COREPACK_ENABLE_STRICT: '0',
  npm_config_manage_package_manager_versions: 'false',
  pnpm_config_pm_on_fail: 'ignore',
}

/** All certificates that the machine trusts, in one file, where its system keeps them: Debian, Fedora, SUSE, Alpine. */
export async function findCertificates(): Promise<string | undefined> {
  for (const file of [
    '/etc/ssl/certs/ca-certificates.crt',
    '/etc/pki/tls/certs/ca-bundle.crt',
    '/etc/ssl/ca-bundle.pem',
    '/etc/ssl/cert.pem',
  ]) {
    const isThere = await access(file).then(
      () => true,
      () => false,
    )
    if (isThere) return file
  }
  return undefined
}
