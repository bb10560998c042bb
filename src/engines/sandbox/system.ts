/** What of this machine every sandbox shows: programs, libraries, name resolution and certificates. */
import { lstat, readlink, stat } from 'node:fs/promises'
import { absent } from '../../base/index.ts'
import { procMasks } from '../seccomp/proc-masks.ts'
import type { System } from './command.ts'

const TOP = ['/usr', '/bin', '/sbin', '/lib', '/lib32', '/lib64', '/libx32']

/** Named one by one: beside certificates, their folders hold the machine's private keys. */
const ETC = [
  '/etc/resolv.conf',
  '/etc/hosts',
  '/etc/nsswitch.conf',
  '/etc/localtime',
  '/etc/alternatives',
  '/etc/ld.so.cache',
  '/etc/ssl/certs',
  '/etc/ssl/openssl.cnf',
  '/etc/ssl/cert.pem',
  '/etc/ssl/ca-bundle.pem',
  '/etc/ca-certificates/extracted',
  '/etc/pki/ca-trust/extracted',
  '/etc/pki/tls/certs',
  '/etc/pki/tls/cert.pem',
  '/etc/pki/tls/openssl.cnf',
]

/** What exists of it, and whether as a folder or as a link into /usr. */
export async function lookAtSystem({ isFiltered }: Pick<System, 'isFiltered'>): Promise<System> {
  const folders: string[] = []
  const links: { path: string; target: string }[] = []
  for (const path of TOP) {
    const found = await lstat(path).catch(absent)
    if (found?.isSymbolicLink()) links.push({ path, target: await readlink(path) })
    else if (found) folders.push(path)
  }
  const etc: string[] = []
  for (const path of ETC) if (await stat(path).catch(absent)) etc.push(path)
  return { folders, links, etc, masks: await procMasks(), isFiltered }
}
