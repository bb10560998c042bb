/** The variables that tools need. */
import { access } from 'node:fs/promises'
import { fits } from './choose.ts'
import type { Exact } from './exact.ts'

export function environmentOf({ node, packageManager }: Exact, certificates: string | undefined) {
  return {
    ...SYSTEM_CERTIFICATES,
    // Older versions do not know NODE_USE_SYSTEM_CA, and get the file instead.
    ...(certificates === undefined || fits(node, KNOWS_SYSTEM_CA) ? {} : { NODE_EXTRA_CA_CERTS: certificates }),
    ...(packageManager?.name === 'pnpm' ? PNPM_KEEPS_VERSION : {}),
  }
}

/** A private registry may have a certificate of a private authority. */
const SYSTEM_CERTIFICATES = { NODE_USE_SYSTEM_CA: '1' }

const KNOWS_SYSTEM_CA = '^22.19.0 || >=24.6.0'

/**
 * Where package.json names another version than the one that runs, pnpm fetches and runs that version, or refuses to work.
 * The service decides which version runs, and an app must not need the registry to start.
 */
const PNPM_KEEPS_VERSION = {
  COREPACK_ENABLE_STRICT: '0',
  npm_config_manage_package_manager_versions: 'false',
  pnpm_config_pm_on_fail: 'ignore',
}

/** The file with all certificates that the machine trusts: on Debian, Fedora, SUSE, Alpine. */
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
