/**
 * The public suite of HTTP cache behaviour, the one behind cache-tests.fyi, against any shared cache.
 *
 * It is fetched when it is needed and is no dependency: its package brings an old npm with it. Its code was reviewed;
 * the digest of the package ensures that no other version runs.
 */
import { execFile, fork } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'

export type Kind = 'required' | 'optimal' | 'check'

export const KINDS: readonly Kind[] = ['required', 'optimal', 'check']

export type Judged = {
  id: string
  /** Behaviour that the suite expects of a cache. */
  name: string
  kind: Kind
  /**
   * `untried`: the setup of the test failed, or a test that it depends on does not pass, so that its result says
   * nothing about the cache. The suite's site shows such a test as neither passed nor failed; we never count it as
   * passed.
   */
  outcome: 'pass' | 'fail' | 'untried'
  why: string
}

export type CacheSuite = AsyncDisposable & {
  /** The origin that the cache must be put in front of. */
  origin: { host: string; port: number }
  /** Runs all tests of the suite against this address. Only once per suite, since it keeps its results. */
  run(base: string): Promise<Judged[]>
}

const PACKAGE = 'http-cache-tests@0.4.5'
const DIGEST = 'DjuwN9nUZXLTW+wav1LRESCZNVxl8SshwOy4z1pxuWbWt5/ay6sM9QQ1lebBaDO6P1IMBoK6mdf+PuVP/QNL8A=='

/**
 * Where the suite is: in the folder that `CACHE_SUITE` names, to try another version of it, or fetched into this one.
 */
export async function fetchCacheSuite(folder: string): Promise<string> {
  const { CACHE_SUITE: own } = process.env
  if (own) return own
  const run = promisify(execFile)
  const { stdout } = await run('npm', ['pack', PACKAGE, '--silent', '--pack-destination', folder], { cwd: folder })
  const archive = join(folder, stdout.trim())
  const digest = createHash('sha512')
    .update(await readFile(archive))
    .digest('base64')
  if (digest !== DIGEST) throw new Error(`${PACKAGE} is not what was reviewed: its SHA-512 is ${digest}`)
  await run('tar', ['-xzf', archive, '-C', folder])
  return join(folder, 'package')
}

/** A process of its own: the suite keeps its state in its modules, so a process can run it only once. */
export async function startCacheSuite(suiteFolder: string): Promise<CacheSuite> {
  const child = fork(new URL('./cache-suite-process.ts', import.meta.url), [suiteFolder], {
    // It prints everything that its origin finds unusual.
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  })
  const exited = once(child, 'exit')
  const next = async (): Promise<SuiteMessage> => {
    const [message] = await Promise.race([once(child, 'message'), exited.then(() => [undefined])])
    if (message === undefined) throw new Error('the process of the cache suite ended by itself')
    return message as SuiteMessage
  }
  const { port = 0 } = await next()
  return {
    origin: { host: '127.0.0.1', port },
    async run(base) {
      const answered = next()
      child.send({ base } satisfies SuiteRequest)
      const { tests = [] } = await answered
      return judge(tests)
    },
    async [Symbol.asyncDispose]() {
      child.kill('SIGKILL')
      await exited
    },
  }
}

export type SuiteRequest = { base: string }
export type SuiteMessage = { port?: number; tests?: SuiteTest[] }
export type SuiteTest = { id: string; name: string; kind: Kind; dependsOn: string[]; result: SuiteResult }
/** `true`, or the kind of the fault and its message; undefined if the suite did not run the test. */
export type SuiteResult = true | [fault: string, message: string] | undefined

/** As the suite's own site does, where a test whose dependency does not pass says nothing. */
function judge(tests: readonly SuiteTest[]): Judged[] {
  const byId = new Map(tests.map((test) => [test.id, test]))
  const isPassed = (id: string): boolean => {
    const test = byId.get(id)
    return test !== undefined && test.result === true && test.dependsOn.every(isPassed)
  }
  return tests.map(({ id, name, kind, dependsOn, result }) => {
    const unmet = dependsOn.filter((dependency) => !isPassed(dependency))
    if (unmet.length > 0) return { id, name, kind, outcome: 'untried', why: `needs ${unmet.join(', ')}` }
    if (result === true) return { id, name, kind, outcome: 'pass', why: '' }
    const [fault, why] = result ?? ['Setup', 'was not run']
    return { id, name, kind, outcome: fault === 'Setup' ? 'untried' : 'fail', why }
  })
}

export type Tally = Record<Kind, { passed: number; failed: number; untried: number; of: number }>

export function tallyOf(judged: readonly Judged[]): Tally {
  const count = (kind: Kind) => {
    const those = judged.filter((test) => test.kind === kind)
    const having = (outcome: Judged['outcome']) => those.filter((test) => test.outcome === outcome).length
    return { passed: having('pass'), failed: having('fail'), untried: having('untried'), of: those.length }
  }
  return { required: count('required'), optimal: count('optimal'), check: count('check') }
}
