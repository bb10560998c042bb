/**
 * Installs what the tests need when run as root on Debian, and otherwise prints it in one line. With `--wordpress` also
 * what a real WordPress needs, with `--object-store` a real object store, with `--swarm` Docker's engine.
 */
import { execFileSync } from 'node:child_process'
import {
  accessSync,
  constants,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { delimiter, join } from 'node:path'
import { createLog } from '../src/base/index.ts'
import { openPortal } from '../src/portal/index.ts'
import { isLong } from './support/long.ts'
import { prepareDocker, prepareEngine } from './support/machine/docker-packages.ts'
import { prepareCeph } from './support/object-store/ceph-packages.ts'

const isRoot = process.getuid?.() === 0

const NEEDED = [
  { command: 'curl', debianPackage: 'curl' },
  { command: 'zip', debianPackage: 'zip' },
  { command: 'openssl', debianPackage: 'openssl' },
  { command: 'wrk', debianPackage: 'wrk' },
  { command: 'bwrap', debianPackage: 'bubblewrap' },
  { command: 'chromium-headless-shell', debianPackage: 'chromium-headless-shell' },
  // Their tests are skipped for other users: only root can use the first two, and the shells are needed only for their
  // completion tests.
  ...(isRoot
    ? [
        { command: 'ip', debianPackage: 'iproute2' },
        { command: 'nft', debianPackage: 'nftables' },
        // Used to test completion.
        { command: 'zsh', debianPackage: 'zsh' },
        { command: 'fish', debianPackage: 'fish' },
        // A real server of ssh, as the host of a connected repository. Its tests run their own process of it.
        { command: '/usr/sbin/sshd', debianPackage: 'openssh-server' },
        { command: 'ssh', debianPackage: 'openssh-client' },
        { command: 'git', debianPackage: 'git' },
        // A real CA. Without it, the tests of certificates are skipped, each with a line that names it.
        { command: 'pebble', debianPackage: 'pebble' },
        // A real mail server, in the same way.
        { command: 'exim4', debianPackage: 'exim4-daemon-light' },
        ...(isLong ? [{ command: 'testssl', debianPackage: 'testssl.sh' }] : []),
        // A real PostgreSQL. Without it, the tests that need it are skipped in the same way.
        { command: '/usr/lib/postgresql/15/bin/postgres', debianPackage: 'postgresql-15' },
      ]
    : []),
]

/**
 * Its tests run only as root, since they need an address that builds reach. Debian's package depends on a web server,
 * which the tests do not use: this one starts no process. Neither does the core package of the database.
 */
const WORDPRESS = {
  isThere: existsSync('/usr/share/wordpress/wp-load.php') && isOnPath('php') && isOnPath('mariadbd'),
  debianPackages: [
    ...[
      'wordpress',
      'micro-httpd',
      'netcat-traditional',
      'php-cli',
      'php-mysql',
      'php-xml',
      'php-mbstring',
      'php-curl',
    ],
    ...['mariadb-server-core', 'mariadb-client-core'],
  ],
}

const missing = NEEDED.filter(({ command }) => !isOnPath(command)).map(({ debianPackage }) => debianPackage)
if (isRoot && process.argv.includes('--wordpress') && !WORDPRESS.isThere) missing.push(...WORDPRESS.debianPackages)

if (missing.length > 0) {
  if (isRoot && isOnPath('apt-get')) {
    const options = { stdio: 'inherit', env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' } } as const
    const wait = ['-o', 'DPkg::Lock::Timeout=600']
    if (missing.includes('micro-httpd')) maskSocket('micro-httpd.socket')
    execFileSync('apt-get', [...wait, 'update'], options)
    withoutServices(() =>
      withoutCluster(() =>
        execFileSync('apt-get', [...wait, 'install', '-y', '--no-install-recommends', ...missing], options),
      ),
    )
  } else {
    process.stderr.write(
      `The tests need these Debian packages: ${missing.join(' ')}. Install them, as root: apt-get install ${missing.join(' ')}\n`,
    )
    process.exit(1)
  }
}

if (isRoot && isOnPath('apt-get')) {
  unpackServers('proxies', { nginx: 'usr/sbin/nginx', caddy: 'usr/bin/caddy' })
  unpackServers('image-registry', { 'docker-registry': 'usr/bin/docker-registry' })
}
if (isRoot && isOnPath('apt-get') && process.argv.includes('--swarm')) prepareEngine()
if (isRoot && isOnPath('apt-get') && isLong) prepareDocker()

if (isRoot && isOnPath('apt-get') && process.argv.includes('--object-store')) prepareCeph()

const compileCache = join(import.meta.dirname, '..', 'node_modules', '.cache', 'tests')
execFileSync(process.execPath, [join(import.meta.dirname, 'support', 'compile-tests.ts')], {
  env: { ...process.env, NODE_COMPILE_CACHE: compileCache },
  stdio: 'inherit',
})

// `npm ci` made it, and sources may have changed since.
execFileSync(process.execPath, [join(import.meta.dirname, '..', 'scripts', 'bundle.ts')], { stdio: 'inherit' })

// Built once here, and not by the first services that the tests start at the same time.
const portal = openPortal({ log: createLog('warn') })
await portal.settled
if (portal.now().state !== 'ready') process.exit(1)

/** Debian starts the servers that it installs; the tests start their own. 101 is "not allowed" (policy-rc.d, Debian Policy 9.3.3.1). */
function withoutServices(install: () => void) {
  const policy = '/usr/sbin/policy-rc.d'
  const isOurs = !existsSync(policy)
  if (isOurs) writeFileSync(policy, '#!/bin/sh\nexit 101\n', { mode: 0o755 })
  try {
    install()
  } finally {
    if (isOurs) rmSync(policy)
  }
}

/** Debian makes a cluster with PostgreSQL, for a service of its own. The tests make theirs, and need none. */
function withoutCluster(install: () => void) {
  const cluster = '/etc/postgresql/15/main'
  const wasThere = existsSync(cluster)
  install()
  if (!wasThere && existsSync(cluster)) execFileSync('pg_dropcluster', ['15', 'main'], { stdio: 'inherit' })
}

/** The proxies of the guides, and a registry for images. Unpacked for the tests and not installed, since Debian would start them. */
function unpackServers(name: string, places: Record<string, string>) {
  const folder = join(import.meta.dirname, '..', 'node_modules', '.cache', name)
  const wanted = Object.entries(places)
    .filter(([name, place]) => !isOnPath(name) && !existsSync(join(folder, place)))
    .map(([name]) => name)
  if (wanted.length === 0) return
  mkdirSync(folder, { recursive: true })
  execFileSync('apt-get', ['update'], { stdio: 'inherit' })
  execFileSync('apt-get', ['download', ...wanted], { cwd: folder, stdio: 'inherit' })
  for (const file of readdirSync(folder).filter((name) => name.endsWith('.deb'))) {
    execFileSync('dpkg-deb', ['--extract', file, '.'], { cwd: folder })
    rmSync(join(folder, file))
  }
}

/** systemd would listen for it on port 80. */
function maskSocket(name: string) {
  const folder = '/etc/systemd/system'
  mkdirSync(folder, { recursive: true })
  const path = join(folder, name)
  if (!lstatSync(path, { throwIfNoEntry: false })) symlinkSync('/dev/null', path)
}

function isOnPath(command: string): boolean {
  const folders = command.startsWith('/') ? [''] : [...(process.env.PATH ?? '').split(delimiter), '/usr/sbin', '/sbin']
  return folders.some((folder) => {
    try {
      accessSync(join(folder, command), constants.X_OK)
      return true
    } catch {
      return false
    }
  })
}
