/** Logs under `test/fixtures/logs/` are what real tools wrote, with folders and hosts replaced, and some of them cut. */
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { rounds } from '../../../test/support/long.ts'
import { BUILD_FAILURES, type Reason } from '../../contract/index.ts'
import { type Diagnosis, diagnose, type PhaseFailure } from './index.ts'

const LOGS = join(import.meta.dirname, '../../../test/fixtures/logs')
const OFFSET = 100

const LOCKFILES_BY_MANAGER: Record<string, string> = {
  npm: 'package-lock.json',
  pnpm: 'pnpm-lock.yaml',
  yarn: 'yarn.lock',
  bun: 'bun.lock',
}

type Given = Partial<Omit<PhaseFailure, 'lines'>>

function diagnoseText(text: string, given: Given = {}): Diagnosis & { proof: string } {
  const lines = text.split('\n').map((line, index) => ({ number: OFFSET + index, text: line }))
  const failure: PhaseFailure = {
    phase: 'BUILDING',
    argv: ['npm', 'run', 'build'],
    exit: { code: 1, signal: null },
    packageManager: 'npm',
    lockfile: LOCKFILES_BY_MANAGER[given.packageManager ?? 'npm'] ?? null,
    missing: [],
    cmsHosts: ['cms.example.com'],
    names: {},
    ...given,
    lines,
  }
  const diagnosis = diagnose(failure)
  return { ...diagnosis, proof: lines[diagnosis.logLine - OFFSET]?.text ?? '' }
}

const logOf = (name: string): string => readFileSync(join(LOGS, `${name}.txt`), 'utf8')

const install = (packageManager: string): Given => ({
  phase: 'INSTALLING',
  argv: [packageManager, 'install'],
  packageManager,
})
const build = (packageManager: string): Given => ({ packageManager, argv: [packageManager, 'run', 'build'] })
const START: Given = { phase: 'STARTING', argv: ['npm', 'start'] }

type Expected = {
  log: string
  given?: Given
  reason: Reason
  says: RegExp
  proof: RegExp
  metadata?: Record<string, string>
}

const LOCKFILES: Expected[] = [
  {
    log: 'lockfile-npm',
    given: install('npm'),
    reason: 'LOCKFILE_MISMATCH',
    says: /^package-lock\.json does not fit package\.json \(Missing: left-pad@1\.3\.0 from lock file\): run `npm install`/,
    proof: /can only install packages when your package\.json and package-lock\.json/,
    metadata: { lockfile: 'package-lock.json' },
  },
  {
    log: 'lockfile-npm-none',
    given: install('npm'),
    reason: 'LOCKFILE_MISMATCH',
    says: /^package-lock\.json is missing or cannot be read/,
    proof: /can only install with an existing package-lock\.json/,
  },
  {
    log: 'lockfile-pnpm',
    given: install('pnpm 10.34.9'),
    reason: 'LOCKFILE_MISMATCH',
    says: /^pnpm-lock\.yaml does not fit package\.json \(1 dependencies were added: left-pad@1\.3\.0\): run `pnpm install`/,
    proof: /ERR_PNPM_OUTDATED_LOCKFILE/,
  },
  {
    log: 'lockfile-pnpm-config',
    given: install('pnpm'),
    reason: 'LOCKFILE_MISMATCH',
    says: /^pnpm-lock\.yaml does not fit/,
    proof: /ERR_PNPM_LOCKFILE_CONFIG_MISMATCH/,
  },
  {
    log: 'lockfile-pnpm-other-version',
    given: install('pnpm'),
    reason: 'LOCKFILE_MISMATCH',
    says: /^pnpm-lock\.yaml was written by another version .* `packageManager` of package\.json/,
    proof: /ERR_PNPM_LOCKFILE_BREAKING_CHANGE/,
  },
  {
    log: 'lockfile-yarn1',
    given: install('yarn'),
    reason: 'LOCKFILE_MISMATCH',
    says: /^yarn\.lock does not fit package\.json: run `yarn install`/,
    proof: /^error Your lockfile needs to be updated/,
  },
  {
    log: 'lockfile-yarn4',
    given: install('yarn 4.18.1'),
    reason: 'LOCKFILE_MISMATCH',
    says: /^yarn\.lock does not fit/,
    proof: /YN0028: .* The lockfile would have been modified/,
  },
  {
    log: 'lockfile-bun',
    given: install('bun'),
    reason: 'LOCKFILE_MISMATCH',
    says: /^bun\.lock does not fit package\.json \(dependencies in package\.json changed .* 2\.1\.2 to 2\.1\.3\): run `bun install`/,
    proof: /lockfile had changes, but lockfile is frozen/,
  },
  {
    log: 'checksum-npm',
    given: install('npm'),
    reason: 'CHECKSUM_MISMATCH',
    says: /the checksums differ/,
    proof: /EINTEGRITY/,
  },
  {
    log: 'checksum-yarn1',
    given: install('yarn'),
    reason: 'CHECKSUM_MISMATCH',
    says: /^ms is not what yarn\.lock says/,
    proof: /^error Incorrect integrity/,
    metadata: { package: 'ms' },
  },
]

const NOT_FOUND_PROOF: Record<string, RegExp> = {
  npm: /404 {2}The requested resource/,
  pnpm: /ERR_PNPM_FETCH_404/,
  yarn1: /^error Couldn't find package/,
  yarn4: /YN0035: .* Package not found/,
  bun: /^error: GET .* - 404/,
}

const NO_VERSION_PROOF: Record<string, RegExp> = {
  npm: /notarget No matching version found/,
  pnpm: /ERR_PNPM_NO_MATCHING_VERSION/,
  yarn1: /^error Couldn't find any versions/,
  yarn4: /YN0082: .* No candidates found/,
  bun: /^error: No version matching/,
}

const MANAGERS = ['npm', 'pnpm', 'yarn1', 'yarn4', 'bun']
const nameOf = (manager: string): string => manager.replace(/\d$/, '')

const DEPENDENCIES: Expected[] = [
  ...MANAGERS.map((manager) => ({
    log: `not-found-${manager}`,
    given: install(nameOf(manager)),
    reason: 'DEPENDENCY_NOT_FOUND' as const,
    says: /^The registry has no package @acme\/not-there-xyz/,
    proof: NOT_FOUND_PROOF[manager] ?? /never/,
  })),
  ...MANAGERS.map((manager) => ({
    log: `no-version-${manager}`,
    given: install(nameOf(manager)),
    reason: 'DEPENDENCY_NOT_FOUND' as const,
    says: /^The registry has no version left-pad@9\.9\.9\./,
    proof: NO_VERSION_PROOF[manager] ?? /never/,
    metadata: { package: 'left-pad@9.9.9' },
  })),
  {
    log: 'conflict-npm',
    given: install('npm'),
    reason: 'DEPENDENCY_CONFLICT',
    says: /^react-dom@18\.2\.0 wants react@\^18\.2\.0, but react@17\.0\.2 is asked for\./,
    proof: /^npm error peer react@"\^18\.2\.0" from react-dom@18\.2\.0/,
    metadata: { package: 'react-dom@18.2.0' },
  },
  ...MANAGERS.map((manager) => ({
    log: `script-${manager}`,
    given: install(nameOf(manager)),
    reason: 'INSTALL_SCRIPT_FAILED' as const,
    says: /^The install script of bad-native failed: Error: download of libfoo failed: 404\. /,
    proof: /Error: download of libfoo failed: 404$/,
    metadata: { package: 'bad-native' },
  })),
  {
    log: 'script-npm-own',
    given: install('npm'),
    reason: 'COMMAND_NOT_FOUND',
    says: /^The command husky was not found/,
    proof: /^sh: 1: husky: not found/,
    metadata: { command: 'husky' },
  },
]

const REGISTRY: Expected[] = [
  ...['refused', 'unknown', '500'].flatMap((how) =>
    MANAGERS.map((manager) => ({
      log: `registry-${how}-${manager}`,
      given: install(nameOf(manager)),
      reason: 'REGISTRY_UNREACHABLE' as const,
      says: how === '500' ? /^The registry.* failed: it answered 500\./ : /^The registry.* could not be reached: /,
      proof: /ECONNREFUSED|ConnectionRefused|ENOTFOUND|DNSResolveFailed|500/,
    })),
  ),
  ...['401', '403'].flatMap((how) =>
    MANAGERS.filter((manager) => manager !== 'yarn1').map((manager) => ({
      log: `registry-${how}-${manager}`,
      given: install(nameOf(manager)),
      reason: 'REGISTRY_REFUSED' as const,
      says: /^The registry.* refused left-pad.*_authToken=\$\{NPM_TOKEN\}/,
      proof: /left-pad/,
    })),
  ),
  // Yarn 1 does not say that it was refused.
  ...['401', '403'].map((how) => ({
    log: `registry-${how}-yarn1`,
    given: install('yarn'),
    reason: 'INSTALL_FAILED' as const,
    says: /^`yarn install` ended with exit code 1: error Error: https:\/\/registry\.example\.com\/left-pad: nope\.$/,
    proof: /^error Error: https:/,
  })),
]

const native = (log: string, name: string, proof: RegExp): Expected => ({
  log,
  reason: 'NATIVE_PACKAGE_MISSING',
  says: new RegExp(`^The native package ${name} is not installed\\. .* \`npm install --save-optional ${name}\`\\.$`),
  proof,
  metadata: { package: name, platform: 'linux-arm64' },
})

const NATIVE: Expected[] = [
  native('native-rollup', '@rollup/rollup-linux-arm64-gnu', /^Error: Cannot find module @rollup/),
  native('native-rolldown', '@rolldown/binding-linux-arm64-gnu', /^Error: Cannot find native binding/),
  native('native-esbuild', '@esbuild/linux-arm64', /could not be found, and is needed by esbuild/),
  native('native-esbuild-other', '@esbuild/linux-arm64', /^needs the "@esbuild\/linux-arm64" package instead/),
  native('native-sharp', '@img/sharp-linux-arm64', /^Error: Could not load the "sharp" module/),
  native('native-lightningcss', 'lightningcss-linux-arm64-gnu', /lightningcss\.linux-arm64-gnu\.node'$/),
  native('native-next', '@next/swc-linux-arm64-gnu', /Failed to load SWC binary for linux\/arm64/),
]

const module = (log: string, name: string, says: RegExp, proof: RegExp): Expected => ({
  log,
  reason: 'MODULE_NOT_FOUND',
  says,
  proof,
  metadata: { module: name },
})

const CODE: Expected[] = [
  module(
    'module-next',
    '../components/header',
    /two names, unlike on macOS/,
    /Can't resolve '\.\.\/components\/header'/,
  ),
  module('module-webpack', './Header', /^\.\/Header was not found\./, /Can't resolve '\.\/Header'/),
  module('module-esbuild', './components/Header.js', /two names/, /Could not resolve "\.\/components\/Header\.js"/),
  module('module-vite8', './components/Header', /, which src\/main\.ts imports\./, /Could not resolve/),
  module('module-rollup-file', './components/Header.js', /, which src\/main\.ts imports\./, /Could not resolve/),
  module('module-vite5-package', 'not-installed', /`npm install not-installed`/, /Rollup failed to resolve import/),
  module('module-node-package', 'nothing-pkg', /`npm install nothing-pkg`/, /^Error: Cannot find module 'nothing-pkg'/),
  module('module-node-file', '/app/lib/Posts.js', /which \/app\/a\.mjs imports/, /ERR_MODULE_NOT_FOUND/),
  ...['types-tsc', 'types-tsc-pretty', 'types-next'].map((log) => ({
    log,
    reason: 'TYPE_ERROR' as const,
    says: /^The TypeScript compiler found an error: .*TS2322: Type 'string' is not assignable to type 'number'\. Run `npx/,
    proof: /TS2322/,
  })),
  ...MANAGERS.map((manager) => ({
    log: `command-${manager}`,
    given: build(nameOf(manager)),
    reason: 'COMMAND_NOT_FOUND' as const,
    says: /^The command next was not found\. /,
    proof: /next/,
    metadata: { command: 'next' },
  })),
  {
    log: 'missing-script-npm',
    reason: 'BUILD_SCRIPT_FAILED',
    says: /^`npm run build` ended with exit code 1: Missing script: "build"\. Add the script build to package\.json\.$/,
    proof: /Missing script/,
  },
  {
    log: 'syntax-next',
    reason: 'SYNTAX_ERROR',
    says: /^A file of the app cannot be parsed: \.\/app\/page\.jsx:2 Expected '>', got '<eof>'\. Correct it/,
    proof: /^Error: Expected '>'/,
  },
  ...['syntax-next14', 'syntax-next15'].map((log) => ({
    log,
    reason: 'SYNTAX_ERROR' as const,
    says: /^A file of the app cannot be parsed: \/app\/app\/page\.jsx:1 Unexpected eof\. Correct it/,
    proof: /x.{0,5} Unexpected eof/,
  })),
  {
    log: 'syntax-vite5',
    reason: 'SYNTAX_ERROR',
    says: /^A file of the app cannot be parsed: \/app\/src\/main\.ts:2:0: ERROR: Expected "\)" but found end of file\. Correct it/,
    proof: /ERROR: Expected/,
  },
]

const CMS_UP = /^cms\.example\.com failed: it answered 503\. Look into the log of the CMS/

const SERVICES: Expected[] = [
  {
    log: 'cms-next',
    reason: 'CMS_UNREACHABLE',
    says: /^cms\.example\.com could not be reached: its name is not known\. Check that the CMS is up/,
    proof: /ENOTFOUND cms\.example\.com/,
    metadata: { host: 'cms.example.com' },
  },
  { log: 'cms-next-503', reason: 'CMS_UNREACHABLE', says: CMS_UP, proof: /^Error: Failed to fetch posts: 503/ },
  {
    log: 'cms-axios',
    reason: 'CMS_UNREACHABLE',
    says: CMS_UP,
    proof: /^AxiosError: Request failed with status code 503/,
  },
  { log: 'cms-got', reason: 'CMS_UNREACHABLE', says: CMS_UP, proof: /^HTTPError/ },
  {
    log: 'cms-graphql',
    reason: 'CMS_UNREACHABLE',
    says: /^A service that the app asks failed: it answered 503\./,
    proof: /^ClientError: GraphQL Error \(Code: 503\)/,
  },
  {
    log: 'cms-axios-unknown',
    reason: 'CMS_UNREACHABLE',
    says: /^cms\.example\.com could not be reached: its name is not known\./,
    proof: /^AxiosError: getaddrinfo ENOTFOUND/,
  },
  {
    log: 'cms-localhost',
    given: { cmsHosts: ['localhost'] },
    reason: 'CMS_UNREACHABLE',
    says: /^127\.0\.0\.1:4777 .* That address is the build machine itself and not yours/,
    proof: /ECONNREFUSED 127\.0\.0\.1:4777/,
    metadata: { host: '127.0.0.1:4777' },
  },
  {
    log: 'cms-certificate',
    reason: 'CMS_UNREACHABLE',
    says: /its certificate is not trusted\. Give the CMS a valid certificate/,
    proof: /self-signed certificate/,
  },
  {
    log: 'cms-axios-401',
    reason: 'BUILD_SCRIPT_FAILED',
    says: /status code 401\. A service refused what the app asked: check the tokens/,
    proof: /^AxiosError: Request failed with status code 401/,
  },
  ...['font-next', 'font-next-webpack'].map((log) => ({
    log,
    reason: 'DOWNLOAD_FAILED' as const,
    says: /^The font Inter could not be fetched from fonts\.googleapis\.com .* next\/font\/local .* allowedNetworks\.$/,
    proof: /^Failed to fetch `?Inter`? from Google Fonts/,
    metadata: { host: 'fonts.googleapis.com' },
  })),
  {
    log: 'font-next15',
    reason: 'DOWNLOAD_FAILED',
    says: /^The font Geist could not be fetched from fonts\.googleapis\.com \(Google Fonts\): the connection failed\./,
    proof: /^Failed to fetch `Geist` from Google Fonts/,
    metadata: { host: 'fonts.googleapis.com' },
  },
  ...['font-next-file', 'font-next15-file'].map((log) => ({
    log,
    reason: 'DOWNLOAD_FAILED' as const,
    says: /^The font geist could not be fetched from fonts\.gstatic\.com \(Google Fonts\): the connection failed\. .* next\/font\/local/,
    proof: /^There was an issue establishing a connection while requesting https:\/\/fonts\.gstatic\.com\//,
    metadata: { host: 'fonts.gstatic.com' },
  })),
]

const MACHINE: Expected[] = [
  {
    log: 'memory-heap',
    given: { exit: { code: 134, signal: null } },
    reason: 'OUT_OF_MEMORY',
    says: /^The heap of Node\.js was full\. /,
    proof: /JavaScript heap out of memory/,
    metadata: { exitCode: '134' },
  },
  {
    log: 'memory-killed',
    given: { exit: { code: 137, signal: null } },
    reason: 'OUT_OF_MEMORY',
    says: /^A process was killed, most likely because it used all its memory\. /,
    proof: /^Killed$/,
  },
  ...['npm', 'yarn1', 'bun'].map((manager) => ({
    log: `disk-${manager}`,
    given: install(nameOf(manager)),
    reason: 'DISK_FULL' as const,
    says: /^The disk was full\. /,
    proof: /ENOSPC/,
  })),
  ...['npm', 'pnpm', 'yarn1'].map((manager) => ({
    log: `node-${manager}`,
    given: install(nameOf(manager)),
    reason: 'NODE_VERSION_WRONG' as const,
    says: /^Node\.js >=99 is needed, .* `engines\.node` of package\.json/,
    proof: /EBADENGINE|ERR_PNPM_UNSUPPORTED_ENGINE|The engine "node" is incompatible/,
    metadata: { wanted: '>=99' },
  })),
]

const STARTS: Expected[] = [
  {
    log: 'start-next-no-build',
    given: START,
    reason: 'START_CRASHED',
    says: /^The app ended with exit code 1 before it answered: Error: Could not find a production build.* must run `next build`\.$/,
    proof: /Could not find a production build/,
  },
  {
    log: 'start-port-taken',
    given: START,
    reason: 'START_CRASHED',
    says: /Port 4811 is taken: listen on the port in `process\.env\.PORT`\.$/,
    proof: /^Error: listen EADDRINUSE/,
  },
  {
    log: 'start-variable',
    given: START,
    reason: 'START_CRASHED',
    says: /: Error: DATABASE_URL is not set\. Set the shell variable DATABASE_URL\.$/,
    proof: /^Error: DATABASE_URL is not set$/,
  },
  {
    log: 'module-node-package',
    given: START,
    reason: 'MODULE_NOT_FOUND',
    says: /to the dependencies of package\.json, not to devDependencies: `npm install nothing-pkg`\.$/,
    proof: /Cannot find module/,
  },
]

const KNOWN = [LOCKFILES, DEPENDENCIES, REGISTRY, NATIVE, CODE, SERVICES, MACHINE, STARTS].flat()

for (const { log, given, reason, says, proof, metadata } of KNOWN) {
  test(`${log} is diagnosed as ${reason}${given?.phase === 'STARTING' ? ' at the start' : ''}`, () => {
    const diagnosis = diagnoseText(logOf(log), given)
    assert.equal(diagnosis.reason, reason, diagnosis.message)
    assert.match(diagnosis.message, says)
    assert.match(diagnosis.proof, proof)
    for (const [key, value] of Object.entries(metadata ?? {})) assert.equal(diagnosis.metadata[key], value)
  })
}

test('every log of the fixtures is used', () => {
  const used = new Set(KNOWN.map(({ log }) => `${log}.txt`))
  assert.deepEqual(
    readdirSync(LOGS).filter((name) => !used.has(name)),
    [],
  )
})

type Line = { text: string; given?: Given; reason: Reason; says?: RegExp }

/** Words of tools that are too large to run for a test, as their sources have them. */
const WORDS: Line[] = [
  {
    text: 'No prebuild or local build of @parcel/watcher found. Tried @parcel/watcher-linux-x64-glibc. Please ensure it',
    reason: 'NATIVE_PACKAGE_MISSING',
    says: /@parcel\/watcher-linux-x64-glibc is not installed/,
  },
  {
    text: "Error: Cannot find module '@tailwindcss/oxide-linux-arm64-gnu'",
    reason: 'NATIVE_PACKAGE_MISSING',
    says: /oxide-linux-arm64-gnu/,
  },
  {
    text: 'Error: Could not locate the bindings file. Tried:',
    given: START,
    reason: 'NATIVE_PACKAGE_MISSING',
    says: /Clean Rebuild/,
  },
  {
    text: 'You are using Node.js 18.20.8. For Next.js, Node.js version ">=20.9.0" is required.',
    reason: 'NODE_VERSION_WRONG',
    says: />=20\.9\.0 is needed/,
  },
  {
    text: 'You are using Node.js 18.20.8. Vite requires Node.js version 20.19+ or 22.12+. Please upgrade your Node.js version.',
    reason: 'NODE_VERSION_WRONG',
    says: /20\.19\+ or 22\.12\+ is needed/,
  },
  {
    text: 'Node.js v18.20.8 is not supported by Astro!\nPlease upgrade Node.js to a supported version: ">=22.12.0"',
    reason: 'NODE_VERSION_WRONG',
    says: />=22\.12\.0 is needed/,
  },
  {
    text: 'Error: error:0308010C:digital envelope routines::unsupported',
    reason: 'NODE_VERSION_WRONG',
    says: /too new .*--openssl-legacy-provider/,
  },
  {
    text: "Failed to compile.\n\n./pages/index.tsx:3:7\nType error: Type 'string' is not assignable to type 'number'.",
    reason: 'TYPE_ERROR',
    says: /: \.\/pages\/index\.tsx:3:7 Type error/,
  },
  {
    text: "Failed to compile.\n\n./pages/index.js\n7:10  Error: 'x' is not defined.  no-undef",
    reason: 'LINT_ERROR',
    says: /no-undef/,
  },
  {
    text: "/app/src/a.js\n  1:7  error  'x' is assigned a value but never used  no-unused-vars\n\n✖ 1 problem (1 error, 0 warnings)",
    reason: 'LINT_ERROR',
  },
  {
    text: "src/a.ts(1,20): error TS2307: Cannot find module './Header' or its corresponding type declarations.",
    reason: 'MODULE_NOT_FOUND',
    says: /two names/,
  },
  {
    text: 'TypeError: fetch failed\n  [cause]: ConnectTimeoutError: Connect Timeout Error (attempted address: cms.example.com:443, timeout: 10000ms)',
    reason: 'CMS_UNREACHABLE',
    says: /^cms\.example\.com:443 could not be reached: it did not answer in time/,
  },
  {
    text: 'Error: connect ECONNREFUSED 10.1.2.3:5432',
    given: { ...START, cmsHosts: ['10.1.2.3'] },
    reason: 'CMS_UNREACHABLE',
    says: /^10\.1\.2\.3:5432 /,
  },
  { text: 'fatal error: runtime: out of memory', reason: 'OUT_OF_MEMORY' },
  { text: '⨯ Next.js build worker exited with code: null and signal: SIGKILL', reason: 'OUT_OF_MEMORY' },
  {
    text: 'npm error code 1\nnpm error path /app/node_modules/sharp\nnpm error command failed\nnpm error command sh -c node install.js\nnpm error sharp: Installation error: getaddrinfo ENOTFOUND github.com',
    given: install('npm'),
    reason: 'DOWNLOAD_FAILED',
    says: /install script of sharp .* from github\.com/,
  },
  {
    text: 'npm error code 1\nnpm error path /app/node_modules/@scope/addon\nnpm error command failed\nnpm error command sh -c node-gyp rebuild\nnpm error gyp ERR! find Python',
    given: install('npm'),
    reason: 'INSTALL_SCRIPT_FAILED',
    says: /install script of @scope\/addon .* Python, make and a compiler/,
  },
  {
    text: 'npm error code 3\nnpm error path /app\nnpm error command failed\nnpm error command sh -c node setup.js',
    given: install('npm'),
    reason: 'INSTALL_SCRIPT_FAILED',
    says: /^The app's own install script failed/,
  },
  {
    text: "Error: Module not found: Can't resolve '@vercel/turbopack-next/internal/font/google/font'",
    reason: 'DOWNLOAD_FAILED',
    says: /^A font could not be fetched from fonts\.gstatic\.com /,
  },
  {
    text: "Received response with status 404 when requesting https://fonts.gstatic.com/s/a.woff2\nError: Module not found: Can't resolve '@vercel/turbopack-next/internal/font/google/font'",
    reason: 'DOWNLOAD_FAILED',
    says: /fonts\.gstatic\.com \(Google Fonts\): it answered with an error\./,
  },
  {
    text: "⨯ Module not found: Can't resolve '@vercel/turbopack-next/internal/font/local/public/fonts/Amiri-Bold.woff2%22,%22preload%22:true}'",
    reason: 'MODULE_NOT_FOUND',
    says: /^\.\/public\/fonts\/Amiri-Bold\.woff2 was not found\. Check that the file is in the archive/,
  },
  {
    text: "Module not found: Can't resolve 'private-next-instrumentation-client'",
    reason: 'MODULE_NOT_FOUND',
    says: /It is a part of Next\.js itself/,
  },
  {
    text: "Error: Cannot find module 'node:sqlite'",
    reason: 'MODULE_NOT_FOUND',
    says: /This Node\.js does not have it/,
  },
  {
    text: 'Rollup failed to resolve import "virtual:pwa-register" from "src/main.ts".',
    reason: 'MODULE_NOT_FOUND',
    says: /It is not a package: a plugin or the framework provides it/,
  },
  {
    text: 'Rollup failed to resolve import "cloudflare:workers" from "src/main.ts".',
    reason: 'MODULE_NOT_FOUND',
    says: /Only another runtime has it/,
  },
  {
    text: '/app/build.js:3\nconst a = (\n\nSyntaxError: Unexpected end of input\n    at wrapSafe (node:internal/modules/cjs/loader:1637:18)',
    reason: 'SYNTAX_ERROR',
    says: /: \/app\/build\.js:3 SyntaxError: Unexpected end of input\./,
  },
  {
    text: 'SyntaxError: /app/src/a.jsx: Unexpected token (3:4)',
    reason: 'SYNTAX_ERROR',
  },
  {
    text: 'SyntaxError: Unexpected token \'<\', "<!DOCTYPE "... is not valid JSON\n    at JSON.parse (<anonymous>)',
    reason: 'BUILD_SCRIPT_FAILED',
  },
  {
    text: '/app/node_modules/a/index.js:3\nconst a = (\n\nSyntaxError: Unexpected end of input\n    at wrapSafe (node:internal/modules/cjs/loader:1637:18)',
    reason: 'BUILD_SCRIPT_FAILED',
  },
  { text: 'sh: 1: hugo: not found', reason: 'COMMAND_NOT_FOUND', says: /No package contains it/ },
  { text: 'sh: 1: ng: not found', reason: 'COMMAND_NOT_FOUND', says: /`npm install --save-dev @angular\/cli`/ },
]

for (const { text, given, reason, says } of WORDS) {
  test(`${reason} is what it means when a log says: ${text.split('\n').at(-1)}`, () => {
    const diagnosis = diagnoseText(text, given)
    assert.equal(diagnosis.reason, reason, diagnosis.message)
    if (says) assert.match(diagnosis.message, says)
    assert.notEqual(diagnosis.logLine, 0)
  })
}

const UNREACHED: { text: string; given?: Given; reason: Reason; says: RegExp }[] = [
  {
    text: 'Error: getaddrinfo ENOTFOUND fonts.google.com',
    reason: 'DOWNLOAD_FAILED',
    says: /^fonts\.google\.com could not be reached: its name is not known\. No shell variable names it\./,
  },
  {
    text: 'Error: getaddrinfo ENOTFOUND fonts.google.com',
    given: { cmsHosts: ['fonts.google.com'] },
    reason: 'CMS_UNREACHABLE',
    says: /^fonts\.google\.com could not be reached/,
  },
  {
    text: 'Error: connect ECONNREFUSED 127.0.0.1:1337',
    reason: 'DOWNLOAD_FAILED',
    says: /^127\.0\.0\.1:1337 .* That address is the build machine itself/,
  },
  {
    text: 'TypeError: fetch failed\n  [cause]: Error: connect ECONNREFUSED 192.0.2.7:443',
    given: { names: { '192.0.2.7': 'cms.example.com' } },
    reason: 'CMS_UNREACHABLE',
    says: /^cms\.example\.com could not be reached: it refused the connection/,
  },
  {
    text: 'Error: connect ECONNREFUSED 2001:db8::7:443',
    given: { names: { '2001:db8::7': 'api.example.net' } },
    reason: 'DOWNLOAD_FAILED',
    says: /^api\.example\.net could not be reached/,
  },
  {
    text: 'FetchError: request to [secret]/graphql failed, reason: connect ECONNREFUSED 192.0.2.7:443',
    reason: 'CMS_UNREACHABLE',
    says: /^192\.0\.2\.7:443 could not be reached/,
  },
  {
    text: 'Error: getaddrinfo ENOTFOUND [secret]\n  url: https://elsewhere.example.net/',
    reason: 'CMS_UNREACHABLE',
    says: /^A service that the app asks could not be reached: its name is not known/,
  },
  {
    text: 'request to https://tiles.example.net/?key=[secret] failed: getaddrinfo ENOTFOUND tiles.example.net',
    reason: 'DOWNLOAD_FAILED',
    says: /^tiles\.example\.net could not be reached/,
  },
  {
    text: 'TypeError: fetch failed',
    given: { cmsHosts: [] },
    reason: 'DOWNLOAD_FAILED',
    says: /^A service that the app asks could not be reached: the connection failed\./,
  },
]

for (const { text, given, reason, says } of UNREACHED) {
  const where = given?.cmsHosts?.length ? `where the variables name ${given.cmsHosts}` : 'by the variables at hand'
  test(`${reason} is found ${where} in: ${text.replaceAll('\n', ' ')}`, () => {
    const diagnosis = diagnoseText(text, given)
    assert.equal(diagnosis.reason, reason, diagnosis.message)
    assert.match(diagnosis.message, says)
  })
}

const MISSING = {
  name: '@rollup/rollup-linux-arm64-gnu',
  parent: { name: 'rollup', version: '4.60.1' },
  isLocked: false,
}

test('without a lockfile the message about a missing native package names the version that was used, and no lockfile to delete', () => {
  const { message } = diagnoseText(logOf('native-rollup'), { lockfile: null, missing: [MISSING] })
  assert.equal(
    message,
    'The native package @rollup/rollup-linux-arm64-gnu is not installed. The app has no lockfile, so the newest rollup that package.json allows was taken (4.60.1), and most likely the registry has no binary of that one for linux-arm64. Try the version before of rollup: name it in package.json, under overrides if another package brings it, and upload the lockfile that `npm install` writes.',
  )
})

test('where a package manager does not report what is missing, well-known names are used', () => {
  const given = { ...build('pnpm'), lockfile: null }
  assert.match(diagnoseText(logOf('native-sharp'), given).message, /the newest sharp .* under pnpm\.overrides /)
  const unknown = "Error: Cannot find module '@acme/thing-linux-arm64-gnu'"
  assert.match(
    diagnoseText(unknown, given).message,
    /the newest version of what asks for it .* Try the version before: /,
  )
})

test('a native package that the lockfile has is not blamed on the lockfile', () => {
  const { message } = diagnoseText(logOf('native-rollup'), { missing: [{ ...MISSING, isLocked: true }] })
  assert.match(message, /package-lock\.json has it for rollup \(4\.60\.1\), and most likely the registry has no binary/)
})

test('a lockfile is called by the name that it has in the archive', () => {
  const { message } = diagnoseText(logOf('native-rollup'), { lockfile: 'web/npm-shrinkwrap.json' })
  assert.match(
    message,
    /Most likely web\/npm-shrinkwrap\.json was made on another platform than linux-arm64: delete it/,
  )
})

test('checksums that differ without a lockfile are not blamed on one', () => {
  const { reason, message } = diagnoseText('npm error code EINTEGRITY', { ...install('npm'), lockfile: null })
  assert.equal(reason, 'CHECKSUM_MISMATCH')
  assert.doesNotMatch(message, /lock/)
})

test('a process that was killed is out of memory even if it wrote nothing', () => {
  const { reason, logLine } = diagnoseText('', { exit: { code: null, signal: 'SIGKILL' } })
  assert.deepEqual({ reason, logLine }, { reason: 'OUT_OF_MEMORY', logLine: 0 })
})

test('what the kernel says about memory is believed before the log', () => {
  assert.equal(diagnoseText('Error: boom', { oomKilled: true }).reason, 'OUT_OF_MEMORY')
})

test('too many watched files are no full disk', () => {
  const text = 'Error: ENOSPC: System limit for number of file watchers reached, watch /app/src'
  assert.equal(diagnoseText(text).reason, 'BUILD_SCRIPT_FAILED')
})

test('a warning about a module is not why another error ended the build', () => {
  const text = `⚠ Compiled with warnings in 3.2s

./node_modules/node-fetch/lib/index.js
Module not found: Can't resolve 'encoding' in '/app/node_modules/node-fetch/lib'

   Collecting page data ...
TypeError: posts is not iterable
    at Page (/app/.next/server/page.js:1:1)`
  const { reason, proof } = diagnoseText(text)
  assert.deepEqual([reason, proof], ['BUILD_SCRIPT_FAILED', 'TypeError: posts is not iterable'])
})

test('a request that failed early and did no harm is not why types ended the build', () => {
  const text = `[TypeError: fetch failed] { [cause]: Error: getaddrinfo ENOTFOUND cms.example.com }
Using the posts of yesterday.
src/a.ts(1,7): error TS2322: Type 'string' is not assignable to type 'number'.`
  assert.equal(diagnoseText(text).reason, 'TYPE_ERROR')
})

test('unreachable telemetry is not the cause', () => {
  const text = 'Error: boom\n    at main.js:1:1\nError: getaddrinfo ENOTFOUND telemetry.nextjs.org'
  assert.equal(diagnoseText(text).reason, 'BUILD_SCRIPT_FAILED')
})

test('numbers in a stack are not taken for the status of a server', () => {
  const text = 'Error: boom\n    at Request.emit (node:events:514:28)\n    at fetch (/app/x.js:503:1)'
  assert.equal(diagnoseText(text).reason, 'BUILD_SCRIPT_FAILED')
})

test('a registry that a build script does not reach is reported as the registry', () => {
  assert.equal(diagnoseText('Error: getaddrinfo EAI_AGAIN registry.example.com').reason, 'REGISTRY_UNREACHABLE')
})

const FALLBACKS = { INSTALLING: 'INSTALL_FAILED', BUILDING: 'BUILD_SCRIPT_FAILED', STARTING: 'START_CRASHED' } as const

for (const [phase, reason] of Object.entries(FALLBACKS)) {
  test(`${phase} that fails without a word is ${reason}, proved by no line`, () => {
    const diagnosis = diagnoseText('', { phase: phase as keyof typeof FALLBACKS })
    assert.deepEqual([diagnosis.reason, diagnosis.logLine], [reason, 0])
    assert.deepEqual(diagnosis.metadata, { phase, exitCode: '1' })
  })
}

test('for an app that ends well before it answers, the message says that a server must go on running', () => {
  assert.match(
    diagnoseText('done', { ...START, exit: { code: 0, signal: null } }).message,
    /a server must go on running/,
  )
})

test('the line that proves an unknown failure is the first of the last error, not a line after it', () => {
  const text = `Error: first, and survived
    at a.js:1:1
Trying again.
SyntaxError: Unexpected token
    at b.js:1:1
  Caused by: Error: deeper
npm error Lifecycle script \`build\` failed with error:
npm error code 1
npm error A complete log of this run can be found in: /cache/npm/_logs/x.log`
  assert.equal(diagnoseText(text).proof, 'SyntaxError: Unexpected token')
})

test('where no line speaks of an error, the last one is the best there is', () => {
  assert.equal(diagnoseText('one\ntwo\n\n').proof, 'two')
})

test('the message about a slow phase has its deadline, and a server is recognised', () => {
  const { reason, message, proof } = diagnoseText('  ➜  Local:   http://localhost:5173/\n', { deadlineSeconds: 1200 })
  assert.equal(reason, 'BUILD_TIMEOUT')
  assert.match(message, /^The build script took longer than 1200 s\. .* must end by itself\.$/)
  assert.match(proof, /Local:/)
})

test('the message about a phase that waited for a host names the host', () => {
  const text = 'Retrying after: connect ETIMEDOUT 10.1.2.3:443'
  assert.match(diagnoseText(text, { deadlineSeconds: 1200 }).message, /10\.1\.2\.3:443 could not be reached/)
})

test('an app that was too slow to answer is START_TIMEOUT', () => {
  assert.equal(diagnoseText('', { ...START, deadlineSeconds: 60 }).reason, 'START_TIMEOUT')
})

test('escapes of a terminal hide nothing, and do not come into the message', () => {
  const { reason, message } = diagnoseText('\x1b[31m\x1b[1mError\x1b[0m: \x1b[33mbo\x1b[0mom\x07')
  assert.equal(reason, 'BUILD_SCRIPT_FAILED')
  assert.match(message, /: Error: boom\.$/)
})

test('a message is short however long the line that it quotes', () => {
  assert.ok(diagnoseText(`Error: ${'x'.repeat(100_000)}`).message.length < 400)
})

/** Each would keep a careless pattern busy for minutes; the limit of this test is what notices. */
const HOSTILE = [
  'a',
  ' ',
  'npm error ',
  'fetch failed ',
  'http://',
  "Cannot find module '",
  'Could not resolve "',
  'ERR_PNPM_FETCH_404 GET ',
  'status code 5',
  'getaddrinfo ENOTFOUND a.',
  'sh: 1: a',
  ': line 1: ',
  'linux-arm64-',
  'error  ',
  '1:1 Error: ',
  'A_A',
  'SyntaxError: /',
  'Error: Expected ',
  'Parsing css file failed',
  'There was an issue requesting http://',
  "Module not found: Can't resolve '@vercel/turbopack-next/internal/font/google/",
  '\x1b[',
]

test('a log that was made to keep its reader busy is read in a moment', () => {
  for (const piece of HOSTILE) {
    const text = Array(rounds({ short: 150, long: 1000 }))
      .fill(piece.repeat(Math.ceil(1000 / piece.length)))
      .join('\n')
    for (const phase of ['INSTALLING', 'BUILDING'] as const) {
      assert.ok((BUILD_FAILURES as readonly Reason[]).includes(diagnoseText(text, { phase }).reason))
    }
  }
})

test("the output of the app's own install script is found before the last lines of npm", () => {
  const { reason, logLine } = diagnose({
    phase: 'INSTALLING',
    argv: ['npm', 'install'],
    exit: { code: 7, signal: null },
    packageManager: 'npm',
    lockfile: null,
    missing: [],
    cmsHosts: [],
    names: {},
    lines: [
      '> shop@1.0.0 postinstall',
      '> ./fetch-browser',
      'the browser is not there',
      'npm error code 7',
      'npm error path /app',
      'npm error command failed',
      'npm error command sh -c ./fetch-browser',
      'npm error A complete log of this run can be found in: /cache/npm/_logs/x.log',
    ].map((text, index) => ({ number: index + 1, text })),
  })
  assert.deepEqual([reason, logLine], ['INSTALL_SCRIPT_FAILED', 3])
})
