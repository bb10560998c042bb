/**
 * A real object store for tests, Ceph, from Debian's packages: unpacked into a folder and not installed, since an installation
 * would start it. The mirrors are those of this machine's apt, which verifies the packages and knows which of them are missing
 * here.
 */
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const FOLDER = fileURLToPath(new URL('../../../node_modules/.cache/ceph', import.meta.url))
const PACKAGES = ['ceph-mon', 'ceph-osd', 'radosgw']

export const isCephThere = (): boolean => existsSync(join(FOLDER, 'usr/bin/radosgw'))

/** For `skip` of a test: a line that names what is missing. */
export const NEEDS_CEPH = isCephThere() ? false : `needs ${PACKAGES.join(', ')}: npm run test:object-store, as root`

export function prepareCeph() {
  if (isCephThere()) return
  const draft = `${FOLDER}.${process.pid}`
  const cache = join(draft, 'apt')
  mkdirSync(join(cache, 'archives/partial'), { recursive: true })
  try {
    // Nothing is installed, so the locks of an installation are not needed.
    const options = ['-o', 'Debug::NoLocking=1', '-o', 'APT::Sandbox::User=root', '-o', `Dir::Cache=${cache}`]
    const install = ['install', '--download-only', '--yes', '--no-install-recommends', ...PACKAGES]
    execFileSync('apt-get', ['update'], { stdio: 'inherit' })
    execFileSync('apt-get', [...options, ...install], { stdio: 'inherit' })
    const archives = join(cache, 'archives')
    for (const name of readdirSync(archives).filter((file) => file.endsWith('.deb'))) {
      execFileSync('dpkg-deb', ['--extract', join(archives, name), draft])
    }
    rmSync(cache, { recursive: true })
    renameSync(draft, FOLDER)
  } finally {
    rmSync(draft, { recursive: true, force: true })
  }
}

/** The folder of Ceph's own libraries, where its plugins are. */
export function cephLibraries(): string {
  const folder = join(FOLDER, 'usr/lib')
  const name = readdirSync(folder).find((found) => found.endsWith('-linux-gnu')) ?? ''
  return join(folder, name)
}

/** The search paths of programs, libraries and Python modules for all of Ceph's programs. */
export function cephEnvironment(): Record<string, string> {
  const libraries = cephLibraries()
  const above = libraries.replace(join(FOLDER, 'usr/lib'), join(FOLDER, 'lib'))
  return {
    PATH: [join(FOLDER, 'usr/bin'), process.env.PATH ?? '', '/usr/sbin'].join(delimiter),
    LD_LIBRARY_PATH: [libraries, join(libraries, 'ceph'), above].join(delimiter),
    PYTHONPATH: join(FOLDER, 'usr/lib/python3/dist-packages'),
  }
}
