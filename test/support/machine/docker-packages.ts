/**
 * Docker's engine and the base of an image, from Debian's packages: unpacked into a folder and not installed, since an
 * installation would start the engine. The mirrors are those of this machine's apt, which verifies the packages.
 */
import { execFileSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const TOP = fileURLToPath(new URL('../../..', import.meta.url))
const FOLDER = join(TOP, 'node_modules', '.cache', 'docker')
const ROOT = join(FOLDER, 'root')

/** The first suite of Debian with Docker 28, which compose.yaml asks for. Its programs run on the C library of Debian 12. */
const SUITE = 'forky'
const OF_SUITE = ['docker.io', 'docker-cli', 'docker-buildx', 'docker-compose', 'containerd', 'tini-static']
/** Packages that need the C library of their own suite come from the suite of this machine. */
const OF_MACHINE = [
  ...['runc', 'iptables', 'libxtables12', 'libnftnl11', 'libmnl0', 'libip4tc2', 'libip6tc2'],
  ...['libnetfilter-conntrack3', 'libnfnetlink0', 'slirp4netns', 'libslirp0', 'debootstrap'],
]

/** The image that the Dockerfile begins with, and the suite of Debian in it. */
export const BASE_IMAGE = /^ARG NODE_IMAGE=(\S+)$/m.exec(readFileSync(join(TOP, 'Dockerfile'), 'utf8'))?.[1] ?? ''
const BASE_SUITE = /^node:\d+-(\w+)-slim$/.exec(BASE_IMAGE)?.[1] ?? ''

/** The files of `BASE_IMAGE`, as close as possible without an image registry. */
export const BASE_FILES = join(FOLDER, `base-${BASE_SUITE}`)

export const CLI_PLUGINS = join(ROOT, 'usr/libexec/docker/cli-plugins')
/** The engine and its programs; the base of an image takes much longer to make, and not every test needs it. */
export const isEngineThere = (): boolean => existsSync(CLI_PLUGINS)
export const isDockerThere = (): boolean => isEngineThere() && existsSync(BASE_FILES)

/** The search paths of programs and libraries for all of Docker's programs. */
export function dockerEnvironment(): Record<string, string> {
  const libraries = readdirSync(join(ROOT, 'usr/lib'))
    .filter((name) => name.endsWith('-linux-gnu'))
    .map((name) => join(ROOT, 'usr/lib', name))
  return {
    PATH: [...['bin', 'usr/sbin', 'usr/bin'].map((name) => join(ROOT, name)), process.env.PATH ?? ''].join(delimiter),
    LD_LIBRARY_PATH: libraries.join(delimiter),
    XTABLES_LIBDIR: libraries.map((folder) => join(folder, 'xtables')).join(delimiter),
  }
}

export function prepareDocker() {
  const mirror = mirrorOfMachine()
  if (mirror === undefined) return
  prepareEngine(mirror)
  if (!existsSync(BASE_FILES)) into(BASE_FILES, (draft) => makeBase(draft, mirror))
}

export function prepareEngine(mirror = mirrorOfMachine()) {
  if (mirror !== undefined && !isEngineThere()) into(ROOT, (draft) => unpackPackages(draft, mirror))
}

/** Undefined on a system other than Debian. */
function mirrorOfMachine(): string | undefined {
  const format = '$(ORIGIN)|$(LABEL)|$(COMPONENT)|$(REPO_URI)'
  const targets = execFileSync('apt-get', ['indextargets', '--format', format, 'Created-By: Packages'])
  return /^Debian\|Debian\|main\|(\S+)$/m.exec(targets.toString())?.[1]
}

/** The folder gets its final name only when it is complete. */
function into(place: string, make: (draft: string) => void) {
  const draft = `${place}.${process.pid}`
  mkdirSync(draft, { recursive: true })
  try {
    make(draft)
    renameSync(draft, place)
  } finally {
    rmSync(draft, { recursive: true, force: true })
  }
}

function unpackPackages(draft: string, mirror: string) {
  const apt = join(draft, 'apt')
  for (const name of ['lists/partial', 'cache/archives/partial', 'sources', 'packages']) {
    mkdirSync(join(apt, name), { recursive: true })
  }
  const keyring = '/usr/share/keyrings/debian-archive-keyring.gpg'
  writeFileSync(join(apt, 'sources/suite.list'), `deb [signed-by=${keyring}] ${mirror} ${SUITE} main\n`)
  const places = {
    'Dir::State::lists': join(apt, 'lists'),
    'Dir::Cache': join(apt, 'cache'),
    'Dir::Etc::SourceList': '/dev/null',
    'Dir::Etc::SourceParts': join(apt, 'sources'),
    'Acquire::Languages': 'none',
  }
  const ofSuite = Object.entries(places).flatMap(([name, value]) => ['-o', `${name}=${value}`])
  const asRoot = ['-o', 'APT::Sandbox::User=root']
  const options = { cwd: join(apt, 'packages'), stdio: 'inherit' } as const
  execFileSync('apt-get', [...asRoot, ...ofSuite, 'update'], options)
  execFileSync('apt-get', [...asRoot, ...ofSuite, 'download', ...OF_SUITE], options)
  execFileSync('apt-get', ['update'], options)
  execFileSync('apt-get', [...asRoot, 'download', ...OF_MACHINE], options)
  for (const file of readdirSync(options.cwd)) {
    execFileSync('dpkg-deb', ['--extract', join(options.cwd, file), draft])
  }
  rmSync(apt, { recursive: true })
  // The program acts by the name it is called by; the package makes these links when it is installed.
  mkdirSync(join(draft, 'bin'))
  for (const name of [
    'iptables',
    'iptables-save',
    'iptables-restore',
    'ip6tables',
    'ip6tables-save',
    'ip6tables-restore',
  ]) {
    execFileSync('ln', ['--symbolic', '../usr/sbin/xtables-nft-multi', join(draft, 'bin', name)])
  }
}

/** Debian, the Node of this checkout, npm, and the certificates that the machine trusts. */
function makeBase(draft: string, mirror: string) {
  const scripts = join(ROOT, 'usr/share/debootstrap')
  execFileSync('sh', [join(ROOT, 'usr/sbin/debootstrap'), '--variant=minbase', BASE_SUITE, draft, mirror], {
    stdio: 'inherit',
    env: { ...process.env, DEBOOTSTRAP_DIR: scripts },
  })
  for (const name of ['var/cache/apt', 'var/lib/apt/lists', 'usr/share/doc', 'usr/share/man', 'usr/share/locale']) {
    rmSync(join(draft, name), { recursive: true, force: true })
  }
  const local = join(draft, 'usr/local')
  cpSync(process.execPath, join(local, 'bin/node'))
  execFileSync('npm', ['install', '--global', '--prefix', local, '--no-audit', '--no-fund', 'npm@11'], {
    stdio: 'inherit',
  })
  // Behind a proxy that opens TLS the machine has a certificate of its own, without which no registry is reached.
  const certificates = 'usr/local/share/ca-certificates'
  if (existsSync(join('/', certificates))) {
    cpSync(join('/', certificates), join(draft, certificates), { recursive: true })
  }
  cpSync('/etc/ssl/certs/ca-certificates.crt', join(draft, CERTIFICATES), { dereference: true })
}

/** The path in the base image. Debian's package uses the same path, and adds the machine's own certificates again. */
export const CERTIFICATES = '/etc/ssl/certs/ca-certificates.crt'
